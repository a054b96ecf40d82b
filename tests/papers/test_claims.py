"""What holds of the claims of every room; in its own folder each claim is judged both ways."""

import subprocess
import sys
from importlib import import_module

import pytest

from fedlib.files import ROOT
from fedlib.notebook.claims import find
from fedlib.notebook.relations import judged

ROOMS = [".".join(path.with_suffix("").relative_to(ROOT).parts) for path in ROOT.glob("fedlib/papers/**/claims.py")]


def test_a_verdict_needs_no_pictures():
    assert "fedlib.papers.fedsciml.functions.claims" in ROOMS
    code = f"import sys, {', '.join(ROOMS)}; assert not {{'matplotlib', 'ipywidgets', 'IPython'}} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("room", ROOMS)
def test_claims_are_known_and_panels_name_those_of_their_room(room):
    module = import_module(room)
    for id in module.CLAIMS:
        assert find(id).target == ("target." in id), id
    assert {id for panel in getattr(module, "PANELS", ()) for id in panel.claims} <= {*module.CLAIMS}


OTHERS = ("flow", "letters", "drift", "leak", "claims")
"""Rooms whose results are never empty, or that have no settings of their own."""


@pytest.mark.parametrize("room", [room for room in ROOMS if room.split(".")[3] not in OTHERS])
def test_of_what_is_not_trained_nothing_is_said(room):
    study, claims = import_module(room.removesuffix("claims") + "study"), import_module(room)
    nothing = study.results(study.PAPER, {})
    assert not any(judged(claim, nothing) for claim in claims.CLAIMS.values())
