"""A committed result speaks for itself: figures and claims come from its numbers again."""

import json
import shutil

import pytest

from fedlib.plots import operator_redraw
from fedlib.trainings.profiles import NOTEBOOKS, committed, folder_of, profiles_of

NAME = operator_redraw.NOTEBOOK
PROFILES = [p for p in profiles_of(NOTEBOOKS / f"{NAME}.ipynb") if p != "quick" and committed(NAME, p)]


@pytest.mark.parametrize("profile", PROFILES)
def test_claims_of_a_committed_result_are_those_of_its_numbers(profile):
    """A number changed by hand, or a rule changed in the code, is seen here: redraw the result."""
    result = committed(NAME, profile)
    assert result["claims"] == operator_redraw.judged(result)
    for name in operator_redraw.figures(result):
        assert (folder_of(NAME, profile) / f"{name}.png").exists()


def test_a_result_is_redrawn_in_its_folder(tmp_path):
    shutil.copy(folder_of(NAME, "diffusion_reaction") / "result.json", tmp_path)
    before = json.loads((tmp_path / "result.json").read_text())
    operator_redraw.redraw(tmp_path)
    after = json.loads((tmp_path / "result.json").read_text())
    assert after["metrics"] == before["metrics"] and after["claims"]
    assert {p.stem for p in tmp_path.glob("*.png")} == {"fig12_14_error", "divergence"}
