"""The walk on the ladder of rates, and what is trained with what it found."""

import json

import numpy as np
import pytest
import torch

from fedlib.federated import sweep as sweeps
from fedlib.federated.batches import Local
from fedlib.federated.checkpoints import Checkpoint
from fedlib.problems import drift
from fedlib.problems.drift_search import combined, next_rates, restored, search, stored
from fedlib.problems.drift_study import CENTRAL, run

EXACT = {"dtype": torch.float64, "backend": "eager"}


ON_LINE = (drift.gramacy_lee(16, 4)._replace(rounds=2, local=Local(4)), 4, [2, 5, 1])  # 8 steps


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7])
def test_the_walk_comes_to_the_valley_of_any_ladder_and_ends_between_its_sides(length):
    lrs = [10.0**k for k in range(length)]
    for valley in range(length):
        scores = {}
        while new := next_rates(lrs, min(scores, key=scores.get) if scores else None, [*scores]):
            assert not set(new) & set(scores), "no rate is tried twice"
            scores |= {lr: abs(lrs.index(lr) - valley) for lr in new}
        assert scores[lrs[valley]] == 0
        beside = {lrs[i] for i in (valley - 1, valley + 1) if 0 <= i < length}
        assert beside <= set(scores)


def test_a_long_ladder_is_not_tried_whole():
    lrs = [float(k) for k in range(20)]
    assert next_rates(lrs, None, []) == [9, 10] and next_rates(lrs, 10, [9, 10]) == [11]


def test_all_seeds_are_trained_with_what_the_first_ones_chose_on_validation_points():
    lrs = [1e-3, 1e-2, 3e-2]
    found = search(*ON_LINE, "FedProx", lrs, searched=2, E=4, **EXACT)
    stacks = run(*ON_LINE, "FedProx", lrs, E=4, **EXACT)  # everything, at once
    validation = {at: e for stack in stacks for at, e in stack.last("validation error").items()}
    for at, errors in found.grid.items():
        np.testing.assert_allclose(errors, validation[at][:2], rtol=1e-9)
    assert found.chosen() == min(found.grid, key=lambda at: validation[at][:2].mean())
    test = {at: e for stack in stacks for at, e in stack.last().items()}
    np.testing.assert_allclose(found.error(), test[found.chosen()], rtol=1e-9)
    assert found.path().dims == ("seed", "round") and found.path()["seed"].values.tolist() == [2, 5, 1]
    np.testing.assert_allclose(found.path().isel(round=-1), found.error())
    best = {lr: min(e.mean() for at, e in found.grid.items() if at[0] == lr) for lr in found.by_rate()}
    assert found.by_rate() == pytest.approx(best) and list(best) == sorted(best)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_rate_that_diverges_is_out_and_its_neighbours_are_not():
    found = search(*ON_LINE, "FedAvg", [1e-3, 1e200], searched=3, E=4, **EXACT)
    assert np.isinf(found.grid[1e200, 0.0]).all() and found.chosen() == (1e-3, 0.0)
    (alone,) = run(*ON_LINE, "FedAvg", [1e-3], E=4, **EXACT)
    np.testing.assert_allclose(found.error(), alone.error(), rtol=1e-12)
    lost = search(*ON_LINE, CENTRAL, [1e200], E=4, **EXACT)
    assert np.isinf(lost.error()).all() and lost.parts == ()


def test_a_rate_that_diverges_with_a_later_seed_is_out():
    line, level, seeds = ON_LINE

    def data(level, seed):
        of = line.data(level, seed)
        return of._replace(pool={name: 1e200 * value for name, value in of.pool.items()}) if seed == 1 else of

    found = search(line._replace(data=data), level, seeds, "FedAvg", [1e-3], searched=2, E=4, **EXACT)
    assert np.isinf(found.error()).all() and np.isinf(found.grid[1e-3, 0.0]).all()


def test_a_search_that_is_killed_goes_on_to_the_same_result(tmp_path, monkeypatch):
    rounds, train, how = [], sweeps.train, EXACT | {"E": 4, "searched": 2}

    def killed(*args, **values):
        if len(rounds) == 2:
            raise KeyboardInterrupt
        rounds.append(values["rounds"])
        return train(*args, **values)

    def kept(stack):
        return Checkpoint(tmp_path / f"{stack}.pt", stack)

    whole = search(*ON_LINE, "FedProx", [1e-3, 1e-2], **how)
    monkeypatch.setattr(sweeps, "train", killed)
    with pytest.raises(KeyboardInterrupt):
        search(*ON_LINE, "FedProx", [1e-3, 1e-2], kept=kept, **how)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(before) == 2, "a file for each stack"
    monkeypatch.setattr(sweeps, "train", train)
    found = search(*ON_LINE, "FedProx", [1e-3, 1e-2], kept=kept, **how)
    np.testing.assert_array_equal(found.error(), whole.error())
    assert {at: list(e) for at, e in found.grid.items()} == {at: list(e) for at, e in whole.grid.items()}
    assert all(path.stat().st_mtime_ns == at for path, at in before.items()), "what was done is not done again"
    search(*ON_LINE, "FedProx", [1e-3, 1e-2], kept=kept, **how | {"E": 2})  # another training, another file


def test_what_diverged_survives_a_result_file():
    values = {"a": {"b": np.array([1.0, np.inf]), "c": 2.5}, "d": {0.001: np.inf}}
    found = restored(json.loads(json.dumps(stored(values), allow_nan=False)))
    np.testing.assert_array_equal(found["a"]["b"], [1, np.inf])
    assert found["a"]["c"].item() == 2.5 and np.isinf(found["d"]["0.001"]).all()


def test_of_several_ladders_the_one_with_the_smallest_validation_error_counts_whatever_its_test_error_is():
    first = {
        "error_percent": {"A": {"x": [1.0], "y": [2.0]}},
        "grid": {"A": {"x": {"0.01": [5.0]}, "y": {"0.01": [4.0]}}},
    }
    longer = {
        "error_percent": {"A": {"x": [3.0], "y": [0.1], "z": [None]}},
        "grid": {"A": {"x": {"0.01": [5.5], "0.03": [4.5]}, "y": {"0.03": [6.0]}, "z": {"0.03": [None]}}},
    }
    shown = {"error_percent": {}, "grid": {"A": {"x": {"0.1": [0.5]}}}}  # searched, but of another section
    for order in [first, longer, shown], [shown, longer, first]:
        grid, errors = combined(order)
        assert errors == {"A": {"x": [3.0], "y": [2.0], "z": [np.inf]}}
        assert grid["A"]["y"] == {0.01: 4.0, 0.03: 6.0} and set(grid["A"]["x"]) == {0.01, 0.03, 0.1}
    assert combined([first, longer])[0]["A"]["x"][0.01] == 5.0, "the first one that knows a rate tells it"
