"""While the house is rebuilt, unmoved.txt lists what still stands in an old place, and only loses lines."""

import subprocess
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


def versions(file: str) -> list[str]:
    """The texts that a file has had, by git's history; skips the test where there is none."""
    commits = git("log", "--format=%H", "--", file).stdout.split()
    if not commits:
        pytest.skip(f"no history of {file} here")
    shown = [git("show", f"{commit}:{file}") for commit in commits]
    return [show.stdout for show in shown if not show.returncode]


def git(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


def test_the_list_only_loses_lines():
    for text in versions(LIST):
        gained = {*UNMOVED} - {*text.split()}
        assert not gained, f"{LIST} has gained {sorted(gained)}"
