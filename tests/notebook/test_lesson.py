"""What a run reads of stored trainings, marked where they are old; and the blank of a lesson."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from fedlib.federated.batches import Local
from fedlib.federated.sweep import errors
from fedlib.notebook.lesson import filled
from fedlib.notebook.run import Run
from fedlib.trainings import files, store
from fedlib.trainings.calls import Call

from ..new_problem import oscillator


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A room of one training, at two levels."""
    room = ModuleType("room.study")
    room.NOTEBOOK, room.PAPER, room.RULES, room.check = "05_pinn_forward", {}, {}, lambda p: None
    room.results = lambda p, histories: histories
    changes = {"rounds": 3, "local": Local(2), "evaluations": 1}
    room.trainings = lambda p: {"oscillator": Call(oscillator, {}, [2, 6], [0], ["federated"], changes=changes)}
    monkeypatch.setattr(store, "folder_of", lambda notebook: tmp_path)
    room.file = tmp_path / "oscillator.nc"
    room.trainings({})["oscillator"].fill(room.file, backend="eager")
    return room


def with_errors(stack, error):
    """The stored stack with other metrics."""
    metrics = {name: np.full_like(values, error) for name, values in stack.history.metrics.items()}
    return stack._replace(history=replace(stack.history, metrics=metrics))


def last(study):
    return store.last_reading(store.calls_of(study), "oscillator", [study.file.parent], earlier=True)


def raised(monkeypatch):
    """The experiment's numerics becomes 2."""
    experiment = Call.experiment
    monkeypatch.setattr(Call, "experiment", lambda call: experiment(call)._replace(numerics=2))


def test_after_numerics_was_raised_the_old_row_is_shown_and_marked_until_it_is_trained(study, monkeypatch, tmp_path):
    assert not last(study)[1]
    raised(monkeypatch)
    with pytest.raises(ValueError, match="numerics = 1, not 2"):
        store.stored(study, "oscillator")
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path))
    run = Run(study)
    assert [*run.stored("oscillator").rows] == [("federated", 2, 0), ("federated", 6, 0)]
    fig = Figure((1, 1))
    run.figure(fig, "answer", alt="nothing")
    assert [text.get_text() for text in fig.texts] == ["stored, by an earlier version"]
    files.write(study.file, [with_errors(stack, 50.0) for stack in files.read(study.file)])
    study.trainings({})["oscillator"]._replace(levels=[2]).fill(study.file, backend="eager")
    reading, outdated = last(study)
    new, old = errors(reading.result)[-1].values.ravel()
    assert outdated and old == 50 and new != 50, "of each level what is the latest"
    study.trainings({})["oscillator"].fill(study.file, backend="eager")
    run = Run(study)
    assert len(run.stored("oscillator").rows) == 2 and run.label == "stored"


def test_other_settings_are_no_earlier_version(study):
    longer = study.trainings({})["oscillator"]._replace(changes={"rounds": 5})
    study.trainings = lambda p: {"oscillator": longer}
    with pytest.raises(ValueError, match="rounds"):
        Run(study).stored("oscillator")


def test_a_blank_is_empty_or_filled_or_says_what_it_should_return():
    example = torch.ones(3)
    assert not filled(None, example) and filled(0.5 * example, example)
    for answer, words in (
        (0.0, "returns a float; return a tensor \\[3\\]"), ((example, example), "returns a tuple"),
        (torch.ones(2), "returns a tensor \\[2\\]"), (example / 0, "not finite"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            filled(answer, example)
