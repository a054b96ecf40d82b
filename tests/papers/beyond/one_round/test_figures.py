"""What notebook 13 chooses of stored trainings, and the arrays of its explorer."""

from copy import deepcopy

import numpy as np
import pytest
import xarray

from fedlib.federated import sums
from fedlib.federated.sweep import errors, sweep
from fedlib.papers.beyond.one_round import pieces, problem, study
from fedlib.papers.beyond.one_round.problem import equation_in_halves
from fedlib.papers.fedsciml.forward import study as forward
from fedlib.trainings.store import stored


def test_each_level_takes_its_own_rate_and_one_without_all_rates_is_left_out():
    """Made-up errors: at two pieces the second rate has the smaller validation error, at four the first one."""
    history = sweep(
        equation_in_halves("poisson"), [2, 4, 8], [0, 1], ["federated"], rounds=1,
        over={"rule": {"FedAvg": {}}, "lr": [1e-3, 1e-2]},
        rows=[("federated", level, seed, "FedAvg", lr) for level in (2, 4, 8) for seed in (0, 1)
              for lr in (1e-3, 1e-2)[: 1 + (level < 8)]],
    )  # fmt: skip
    for key, rows in history.rows.items():
        second = key[-1] == 1e-2
        history.metrics["validation error"][:, rows] = [3, 1][second] if key[1] == 2 else [1, 3][second]
        history.metrics["error"][:, rows] = 10 * key[1] + second
    error = study.at_best_rates("poisson", "FedAvg", {"rules_poisson": history})
    assert error.dims == ("round", "level", "seed") and error.level.values.tolist() == [2, 4]
    assert error.values.tolist() == [[[21, 21], [40, 40]]]
    falling = deepcopy(history)
    falling.metrics["validation error"] += 1
    falling.metrics["error"] += 100
    both = {"rules_poisson": history, "falling_poisson": falling}
    assert study.at_best_rates("poisson", "FedAvg", both).equals(error), "validation points choose among both"
    falling.metrics["validation error"] -= 5
    assert (study.at_best_rates("poisson", "FedAvg", both) - error == 100).all()
    assert study.at_best_rates("poisson", "SCAFFOLD", both) is None and study.at_best_rates("poisson", "x", {}) is None


def test_what_was_chosen_has_the_least_score():
    gcv = xarray.DataArray(
        [[[3, 9], [1, 2]], [[2, 3], [1, 4]]], {"m": [5, 6], "scale": [1.0, 2.0]}, ["m", "scale", "seed"]
    )
    best = study.chosen(xarray.Dataset({"gcv": gcv}))
    assert (best.m.item(), best.scale.item()) == (5, 2.0)
    best = study.chosen(xarray.Dataset({"gcv": gcv.isel(seed=0, drop=True).where(gcv.m == 6, np.inf)}))
    assert (best.m.item(), best.scale.item()) == (6, 2.0)


def test_the_arrays_of_the_explorer_are_solves_of_the_library():
    """Roots of rows computed once for all are those that each client would send; 05's network knows 32 points only."""
    table = pieces.curves_and_errors([4, 8], [10, 20], [32, 64], [0, 1])
    for n, m, seed in ((4, 10, 0), (8, 20, 1)):
        equation = problem.with_sines("poisson", m, pieces.SCALE, seed)
        step = sums.one_round(equation, equation.data(n, 0), problem.start(equation)).step
        error = problem.error(equation, step, equation.data(n, 0).test)
        cell = table.error.sel(pieces=n, sines=m, points=32, seed=seed)
        assert cell.sel(model="sums").item() == pytest.approx(error, rel=0.05)
    network = errors(stored(forward, "poisson"))[-1].sel(kind="federated", level=[4, 8])
    mine = table.error.sel(model="federated", sines=10, points=32)
    assert np.array_equal(mine.transpose("pieces", "seed"), network.transpose("level", "seed"))
    assert table.error.sel(model="federated", points=64).isnull().all()
    percent = 100 * ((table.u - table.truth) ** 2).sum("x") ** 0.5 / np.linalg.norm(table.truth)
    first = table.error.isel(seed=0)
    assert np.allclose(percent.where(first.notnull()), first, rtol=1e-5, equal_nan=True)
