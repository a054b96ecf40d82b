"""What a run is called: its profile, or what was changed."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from fedlib.trainings.settings import named, parameter_file, profile_parameters, profiles_of

CELL = 'profile: str = "quick"\nrounds: int = 10\nclients: list[int] = [10, 20]\nlr: float = 0.5\ncompile: bool = False'


def write(folder, cell=CELL, name="own"):
    (folder / "parameters").mkdir(exist_ok=True)
    parameters = new_code_cell(cell)
    parameters.metadata["tags"] = ["parameters"]
    nbformat.write(new_notebook(cells=[parameters]), folder / f"{name}.ipynb")


@pytest.fixture
def folder(tmp_path):
    write(tmp_path)
    parameter_file(tmp_path / "own.ipynb", "paper").write_text("rounds: 20\n")
    return tmp_path


def test_quick_is_the_first_profile(folder):
    path = folder / "own.ipynb"
    assert profiles_of(path) == ["quick", "paper"]
    assert profile_parameters(path, "quick") == {}
    assert profile_parameters(path, "paper") == {"rounds": 20, "profile": "paper"}


def test_unchanged_parameters_are_the_profile(folder):
    same = {"profile": "quick", "rounds": 10.0, "clients": (10, 20), "lr": 0.5, "compile": False}
    assert named("own", "quick", same, folder) == ("quick profile", "own/quick")
    assert named("own", "quick", {}, folder) == ("quick profile", "own/quick")
    assert named("own", "paper", same | {"rounds": 20}, folder) == ("paper profile", "own/paper")


def test_changed_parameters_are_custom(folder):
    label, where = named("own", "quick", {"rounds": 5, "lr": 0.5, "clients": [10, 50]}, folder)
    assert label == "custom: rounds=5, clients=[10, 50]"
    assert where.startswith("own/custom-")
    assert len(where) == len("own/custom-") + 8
    assert named("own", "quick", {"clients": [10.0, 50], "rounds": 5}, folder)[1] == where  # order and type of a number
    assert named("own", "quick", {"rounds": 6, "clients": [10, 50]}, folder)[1] != where
    paper = named("own", "paper", {"rounds": 5, "clients": [10, 50]}, folder)
    assert paper[0] == "custom (paper profile): rounds=5, clients=[10, 50]"
    assert paper[1] != where
    assert named("own", "quick", {"compile": 0}, folder)[0] == "custom: compile=0"  # 0 == False, but no sound value
    assert named("own", "quick", {"mine": 1}, folder)[0] == "custom: mine=1"


def test_long_values_are_cut(folder):
    label, _ = named("own", "quick", {"clients": list(range(10, 900))}, folder)
    assert label == "custom: clients=[10, 11, 12, 13, 14, 15, 16, 17, 18, ..."
    label, _ = named("own", "quick", {f"parameter_{i}": i for i in range(99)}, folder)
    assert len(label) <= 130


def test_the_cell_is_the_quick_profile(folder):
    write(folder, CELL.replace("= 10", "= 5"))
    assert named("own", "quick", {"rounds": 5}, folder)[0] == "quick profile"
    assert named("own", "quick", {"rounds": 10}, folder)[0] == "custom: rounds=10"
    assert named("nobody", "test", {"rounds": 5}, folder) == ("test profile", "nobody/test")


@pytest.mark.parametrize("profile", ["mine", "../..", ""])
def test_an_unknown_profile(folder, profile):
    with pytest.raises(ValueError, match=r"own has no profile '.*'; known: quick, paper"):
        named("own", profile, {}, folder)
