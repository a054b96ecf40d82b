"""Changed parameters train what is neither stored nor the paper's, the first seed of everything first, and keep it."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import xarray

from fedlib.federated.batches import Local
from fedlib.federated.sweep import errors
from fedlib.notebook.run import Run
from fedlib.papers.studies import STUDIES
from fedlib.trainings import again, changes, settings, store
from fedlib.trainings.calls import Call, Computed, read

from ..new_problem import oscillator

EAGER = {"backend": "eager"}
PAPER = {"levels": [2, 6], "seeds": [0, 1], "rounds": 3, "lr": 1e-3, "n": 5}


def slow_squares(n: int) -> xarray.Dataset:
    if n > 50:
        time.sleep(60)
    return xarray.Dataset({"squares": ("i", np.arange(float(n)) ** 2)})


def trainings(p):
    long = {"rounds": p["rounds"], "local": Local(2), "lr": p["lr"], "evaluations": 1}
    both = Call(oscillator, {}, p["levels"], p["seeds"], ["federated"], changes=long)
    other = Call(oscillator, {}, [2], p["seeds"], ["isolated"], changes=long | {"rounds": 2})
    return {"both": both, "other": other, "squares": Computed(slow_squares, {"n": p["n"]})}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Stored is "both" but for level 6 and seed 1, which will be, and "squares"."""
    room = SimpleNamespace(
        NOTEBOOK="lab", PAPER=PAPER, RULES={}, check=lambda p: None, trainings=trainings,
        results=lambda p, histories: {name: one for name, one in histories.items()}, AGAIN="both",
    )  # fmt: skip
    for module in (store, settings):
        monkeypatch.setattr(module, "FIGURES", tmp_path)
    calls = store.calls_of(room)
    folder = store.folder_of("lab")
    calls["both"].fill(
        folder / "both.nc", rows=[("federated", 2, 0), ("federated", 2, 1), ("federated", 6, 0)], **EAGER
    )
    calls["squares"].fill(folder / "squares.nc")
    return room


def begun(study, monkeypatch, tmp_path, **values):
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path / "out"))
    run = Run(study)
    run.begin({"backend": "eager"} | values)
    return run


def rows(run, name):
    return [*run.stored(name).rows]


def test_unchanged_parameters_train_nothing_and_say_what_is_absent(study, monkeypatch, tmp_path, capsys):
    run = begun(study, monkeypatch, tmp_path)
    assert {*run.results()} == {"both", "squares"} and not changes.folder_of_changes("lab").exists()
    assert "both: 1 of 4 rows" in (words := capsys.readouterr().out) and "other: 2 of 2 rows" in words


def test_a_longer_axis_trains_what_is_new_and_no_row_of_the_papers(study, monkeypatch, tmp_path, capsys):
    run = begun(study, monkeypatch, tmp_path, seeds=[0, 1, 7])
    run.results()
    assert rows(run, "both") == [("federated", 2, 0), ("federated", 6, 0), ("federated", 2, 1),
                                 ("federated", 2, 7), ("federated", 6, 7)]  # fmt: skip
    assert rows(run, "other") == [("isolated", 2, 7)]
    words = capsys.readouterr().out
    assert "seeds with [7]" in words and "3 of 3 rows that were asked for are trained" in words
    kept = changes.folder_of_changes("lab") / "both.nc"
    assert [key for stack in read(kept) for key in stack.history.rows] == [("federated", 2, 7), ("federated", 6, 7)]
    before = kept.stat().st_mtime_ns
    monkeypatch.setattr("fedlib.trainings.calls.sweep", None)  # the second time nothing is trained
    run = begun(study, monkeypatch, tmp_path, seeds=[0, 1, 7])
    assert {*run.results()} == {"both", "other", "squares"} and kept.stat().st_mtime_ns == before


def test_other_rounds_are_other_rows_and_only_chooses(study, monkeypatch, tmp_path):
    run = begun(study, monkeypatch, tmp_path, rounds=4, only="bo")
    run.results()
    assert len(rows(run, "both")) == 4 and errors(run.stored("both"))["round"].max() == 4
    with pytest.raises(ValueError, match="nothing of other"):
        run.stored("other")


def test_the_first_seed_of_everything_comes_first(study):
    calls = trainings(PAPER | {"lr": 0.1})
    order = changes.parts(calls, changes.asked(study, calls), store.folder_of("lab"), 60)
    assert [part.seed for part in order] == [0, 0, 1, 1]
    assert {part.name for part in order[:2]} == {part.name for part in order[2:]} == {"both", "other"}


@pytest.mark.fault("survived")
def test_what_does_not_fit_ends_goes_on_and_ends_the_same(study, monkeypatch, tmp_path, capsys):
    """Out of time after a round; the next run goes on from there."""
    whole = trainings(PAPER | {"rounds": 40})["both"]
    whole.fill(tmp_path / "whole.nc", **EAGER)
    values = {"rounds": 40, "only": "both"}
    run = begun(study, monkeypatch, tmp_path, **values)
    run.options |= {"minutes": 1e-4}
    with monkeypatch.context() as cheap:
        cheap.setattr(Call, "core_seconds", lambda *_: 1e-9)
        run.results()
    assert "0 of 4 rows that were asked for are trained" in capsys.readouterr().out
    assert len([*changes.folder_of_changes("lab").glob(".*.pt")]) == 1
    run = begun(study, monkeypatch, tmp_path, minutes=1.0, **values)
    run.results()
    expected = whole.read(tmp_path / "whole.nc").result
    assert errors(run.stored("both")).equals(errors(expected))


@pytest.mark.fault("clear error")
def test_what_cannot_fit_is_refused_with_its_price(study, monkeypatch, tmp_path):
    run = begun(study, monkeypatch, tmp_path, rounds=10**9, only="both", minutes=0.1)
    with pytest.raises(ValueError, match=r"takes about \d+ core-.*minutes = 0.1; make rounds"):
        run.results()


@pytest.mark.fault("survived")
def test_what_is_computed_is_ended(study, monkeypatch, tmp_path, capsys):
    run = begun(study, monkeypatch, tmp_path, n=99, only="squares", minutes=0.02)
    began = time.monotonic()
    run.results()
    assert time.monotonic() - began < 20 and "0 of 1 rows" in capsys.readouterr().out


def test_a_training_begins_again_as_it_did_and_no_other_one(study, monkeypatch, tmp_path):
    assert begun(study, monkeypatch, tmp_path).begun_again()
    other, stack = trainings(PAPER | {"lr": 1.1e-3})["both"], read(store.folder_of("lab") / "both.nc")[0]
    assert again.replay(other, stack, [again.Row(*next(iter(stack.history.rows))[:3])]) > 1


@pytest.mark.parametrize("notebook", STUDIES)
def test_what_a_notebook_begins_again_are_three_rounds(notebook):
    calls = store.calls_of(STUDIES[notebook])
    call = calls.get(store.SHORT, calls[STUDIES[notebook].AGAIN])
    assert isinstance(call, Computed) or 3 * call.experiment().local.updates <= again.BRIEF


def test_a_whole_row_from_nothing_comes_out_the_same(study):
    _, line, end = again.whole_rows([study], None, "both")
    assert "the same" in line and end == "1 of 1 trainings, one row of each"
