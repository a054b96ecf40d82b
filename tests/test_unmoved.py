"""While the house is rebuilt, unmoved.txt lists what still stands in an old place, and only loses lines."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from fedlib.files import ROOT

LIST = "tests/unmoved.txt"
UNMOVED = (ROOT / LIST).read_text().split()


def test_what_is_listed_is_there_and_no_new_module_goes_to_an_old_room():
    gone = [name for name in UNMOVED if not (ROOT / name).exists()]
    assert not gone, f"{gone} have moved: take their lines out of {LIST}"
    old_rooms = {Path(name).parts[1] for name in UNMOVED} - {"federated", "models", "numerics"}
    modules = [path for room in old_rooms for path in (ROOT / "fedlib" / room).glob("[!_]*.py")]
    new = {path.relative_to(ROOT).as_posix() for path in modules} - {*UNMOVED}
    assert not new, f"{sorted(new)}: a new module belongs in a room of fedlib/papers, or above it"


def test_the_list_only_loses_lines():
    commits = subprocess.run(["git", "log", "--format=%H", "--", LIST], cwd=ROOT, capture_output=True, text=True)
    if commits.returncode or not commits.stdout:
        pytest.skip("no history of the list here")
    show = ["git", "show"]
    of = [
        subprocess.run([*show, f"{c}:{LIST}"], cwd=ROOT, capture_output=True, text=True) for c in commits.stdout.split()
    ]
    for newer, older in pairwise(
        [{*UNMOVED}, *({*version.stdout.split()} for version in of if not version.returncode)]
    ):
        assert newer <= older, f"{LIST} has gained {sorted(newer - older)}"
