"""Sweeps over settings are stored like any other: trained, read, made longer, replayed, interrupted, diverged."""

import json
import time

import numpy as np
import pytest

from fedlib.federated.batches import Local
from fedlib.federated.checkpoints import OutOfTime
from fedlib.federated.experiment import Experiment, rule_changes
from fedlib.federated.sweep import best, errors, sweep
from fedlib.trainings import calls, store
from fedlib.trainings.calls import Call, read

from ..new_problem import oscillator
from .replaying import replay

EAGER = {"backend": "eager"}
STEPS = {1: {"local": Local(1), "rounds": 8}, 2: {"local": Local(2), "rounds": 4}}
RULES = {("FedAvg", 0.0): {}, ("FedProx", 0.1): rule_changes("FedProx", 0.1)}
OVER = {"lr": [1e-3, 1e-2], "E": STEPS, ("rule", "knob"): RULES}


def call(over=OVER, **more) -> Call:
    return Call(oscillator, {}, [2, 6], [0], ("federated",), over, **more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "oscillator.nc"


def test_a_sweep_over_settings_comes_back_as_it_was(path):
    call().fill(path, **EAGER)
    history, absent, rows, _ = call().read(path)
    assert not absent and rows == len(history.rows) == 16
    alone = sweep(oscillator(), [2, 6], [0], ["federated"], over=OVER, **EAGER)
    assert history.parts == alone.parts or [*history.parts] == [*alone.parts]
    np.testing.assert_allclose(errors(history), errors(alone), rtol=1e-6)
    assert best(history) == best(alone) and {*best(history)} == {"lr", "E", "rule", "knob"}
    np.testing.assert_array_equal(
        history.models("federated", 6, 0, 1e-2, 1, "FedProx", 0.1),
        alone.models("federated", 6, 0, 1e-2, 1, "FedProx", 0.1),
    )
    assert max(replay(stack) for stack in read(path)) < 0.1


def test_a_longer_axis_leaves_old_rows_valid_and_trains_the_new_ones_only(path, monkeypatch):
    call({"lr": [1e-3]}).fill(path, **EAGER)
    (old,) = read(path)
    trained = []
    monkeypatch.setattr(calls, "sweep", lambda *a, **k: trained.extend(k["rows"]) or sweep(*a, **k))
    call({"lr": [1e-2, 1e-3]}).fill(path, **EAGER)
    assert trained == [("federated", 2, 0, 1e-2), ("federated", 6, 0, 1e-2)]
    assert call({"lr": [1e-3]}).read(path).result.rows.keys() == old.history.rows.keys()
    other = call({"learning": {"fast": {"lr": 1e-2}}})
    assert len(other.read(path).absent) == 2, "another axis"
    assert len(call({"lr": [1e-3]}, changes={"rounds": 9}).read(path).absent) == 2


def test_each_stack_is_kept_when_it_ends_and_an_interrupted_one_goes_on(path, monkeypatch):
    steps = call({"E": STEPS})
    ends = iter([np.inf, 0.0])
    trained = Call.trained
    monkeypatch.setattr(
        Call, "trained", lambda self, keys, p, path, until, **a: trained(self, keys, p, path, next(ends), **a)
    )
    with pytest.raises(OutOfTime, match="the same command goes on from there"):
        steps.fill(path, **EAGER)
    assert {key[3] for key in steps.read(path).absent} == {2}
    monkeypatch.setattr(Call, "trained", trained)
    began = time.monotonic()
    steps.fill(path, until=began + 1000, **EAGER)
    whole = sweep(oscillator(), [2, 6], [0], ["federated"], over={"E": STEPS}, **EAGER)
    np.testing.assert_allclose(errors(steps.read(path).result), errors(whole), rtol=1e-6)
    assert sum(stack.about["cpu_seconds"] for stack in read(path)) < 1.1 * (time.process_time() + 1)


def explosive() -> Experiment:
    return oscillator()._replace(rounds=6)


def test_rows_that_diverged_are_stored_as_such_and_not_trained_again(path, capsys):
    over = {"lr": [1e-3, 1e30], "optimizer": {"Adam": None, "FedProx": rule_changes("FedProx", 0.1)["optimizer"]}}
    wild = Call(explosive, {}, [2], [0], ("federated",), over)
    with pytest.warns(UserWarning, match="is NaN from there on"):
        wild.fill(path, **EAGER)
    history = wild.read(path).result
    last = errors(history)[-1].squeeze()
    assert last.sel(lr=1e30).isnull().all() and last.sel(lr=1e-3).notnull().all()
    assert {key[3] for key in history.diverged} == {1e30} and not wild.read(path).absent
    assert best(history)["lr"] == 1e-3
    assert store.histories_of({"oscillator": wild}, path.parent).keys() == {"oscillator"}
    assert "Not there yet" not in capsys.readouterr().out


def test_rows_say_their_own_labels_and_no_others(path):
    call({"lr": [1e-3, 1e-2], "E": STEPS}).fill(path, **EAGER)
    for stack in read(path):
        labels = {json.dumps(key[3:]) for key in stack.history.rows}
        assert len(labels) == 1, "a group has one setting"
        lr, E = next(iter(stack.history.rows))[3:]
        assert stack.settings["over"] == {"lr": lr, "E": E}
        assert stack.settings["resolved"]["lr"] == lr and stack.settings["resolved"]["local"][0] == E
    assert call({"lr": [1e-3], "E": STEPS}).core_seconds(path) == 0
    assert call({"lr": [1e-3, 2e-2], "E": STEPS}).core_seconds(path) > 0


def test_what_a_call_cannot_mean_is_refused_before_it_is_read(path):
    for wrong, message in (
        (Call(oscillator, {}, [2, 2], [0]), "levels has 2 twice"),
        (Call(oscillator, {}, [2], [0], ["federatd"]), "kinds has 'federatd'.* did you mean 'federated'"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong.read(path)
    typo = Call(oscillator, {}, [2], [0], ("federated",), changes={"rounds": 1}, models={"federatd": [0]})
    with pytest.raises(ValueError, match="models has 'federatd'; expected seeds of some of federated"):
        typo.fill(path, **EAGER)


def test_a_price_is_that_of_the_same_experiment(path):
    for lr in (1e-3, 1e-2):
        call({"lr": [lr]}).fill(path, **EAGER)
    assert Call(explosive, {}, [2], [0], ("federated",)).core_seconds(path) is None
    another_seed = call({"lr": [1e-3]})._replace(seeds=[1])
    took = read(path)[0].about["cpu_seconds"]
    assert another_seed.core_seconds(path) == pytest.approx(took), "what these settings took, not others"


def test_a_share_of_clients_that_varies_by_round_comes_back(path):
    call({"fraction": {"half or all": (0.5, 1.0)}}).fill(path, **EAGER)
    assert replay(read(path)[0]) < 0.1
