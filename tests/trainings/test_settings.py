"""The paper's settings, and what was changed of them."""

import pytest

from fedlib.trainings import settings
from fedlib.trainings.settings import FIGURES, changed, folder_of, has_type, hint_of, in_words, paper

PAPER = {"rounds": 10, "clients": [10, 20], "lr": 0.5, "compile": False}


def test_what_is_the_same_is_not_changed():
    assert changed({"rounds": 10.0, "clients": (10, 20), "lr": 0.5, "compile": False, "mine": 1}, PAPER) == {}
    assert changed({"compile": 0}, PAPER) == {"compile": 0}, "0 == False, but no sound value"
    assert changed({"clients": [20, 10]}, PAPER) == {"clients": [20, 10]}


def test_a_folder_for_each_change():
    assert folder_of("own", {}) == FIGURES / "own"
    where = folder_of("own", {"rounds": 5, "clients": [10, 50]})
    assert where.parent == FIGURES / "own/changed" and len(where.name) == 8
    assert folder_of("own", {"clients": [10.0, 50], "rounds": 5}) == where, "order and type of a number"
    assert folder_of("own", {"rounds": 6, "clients": [10, 50]}) != where


def test_changes_in_words_are_cut():
    assert in_words({"rounds": 5}, PAPER) == "rounds 5 instead of 10"
    lists = {"names": ["a", "b", "d"], "rounds": {"a": 5, "b": 2}, "seeds": [7]}
    before = {"names": ["a", "b", "c"], "rounds": {"a": 1, "b": 2}, "seeds": [0, 1]}
    said = "names with ['d'] and without ['c'], rounds {'a': 5} instead of {'a': 1}, seeds [7] instead of [0, 1]"
    assert in_words(lists, before) == said
    many = {f"parameter_{i}": i for i in range(99)}
    assert len(in_words(many, many)) <= 160


@pytest.mark.parametrize(
    "value, hint",
    [(3, "int"), (3.0, "float"), (True, "bool"), ("a", "str"), ([1, 2], "list[int]"), ([1, 2.5], "list[float]"),
     (["a"], "list[str]"), ([], "list"), ([[1, "a"]], "list"), ({"a": 1}, "dict")],
)  # fmt: skip
def test_a_setting_tells_its_type(value, hint):
    assert hint_of(value) == hint and has_type(value, hint)


def test_settings_of_a_room_stand_once(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "ROOT", tmp_path)
    assert paper("nobody") == {}
    for room in ("a", "b"):
        (tmp_path / f"fedlib/papers/p/{room}").mkdir(parents=True)
        (tmp_path / f"fedlib/papers/p/{room}/own.yaml").write_text("rounds: 3\n")
    with pytest.raises(ValueError, match="expected one file"):
        paper("own")
