"""Notebook 13's problems at small sizes: what is solved by sums is what it should be."""

from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
import torch
import xarray

from fedlib.federated import sums
from fedlib.federated.experiment import data_of
from fedlib.federated.sweep import sweep
from fedlib.papers.beyond.one_round import curve, pendulum, pieces, problem, study, table, windows
from fedlib.papers.beyond.one_round.problem import equation_in_halves
from fedlib.papers.fedsciml.forward import problem as forward
from fedlib.streams import stream


def test_one_round_chooses_by_cross_validation_and_knows_no_level():
    of = problem.in_one_round("poisson", [2, 8], [0, 1], [20, 60], [4.0, 12.0])
    score = of.gcv.median("seed").sel(m=of.attrs["chosen_m"], scale=of.attrs["chosen_scale"])
    assert score == of.gcv.median("seed").min()
    assert (of.error < 1e-5).all() and (of.error.max("level") < 1.01 * of.error.min("level")).all()
    chosen = of.sel(m=[of.attrs["chosen_m"]], scale=[of.attrs["chosen_scale"]])
    assert problem.bytes_of_all("poisson", 8, chosen) == of.bytes.sel(level=8).mean()
    assert (of.bytes < 15_000).all() and (of.error_of_all.sel(m=20) > of.error_of_all.sel(m=60).min()).all()


def test_windows_cover_all_points_and_keep_ends_and_start():
    lines, before = 8, torch.as_tensor(stream(0, "before").standard_normal(3))
    whole = forward.allen_cahn(2, lines, 10, 40, 80)
    edges, seen = (0.0, 0.5, 1.0), []
    for a, b in pairwise(edges):
        experiment, data = windows.window(lines, 10, 2, a, b, 3, 2, before)
        x = data.pool["x"]
        seen.append(x)
        theta = torch.as_tensor(stream(1, "theta").standard_normal(6))
        ends = (x[:, 0].abs() == 1) | (x[:, 1] == a)
        u = experiment.answer(sums.predicting(experiment, theta), data.pool)
        known = (
            x[:, 0] ** 2 * (torch.pi * x[:, 0]).cos()
            + torch.sin(torch.arange(1, 4) * torch.pi * (x[:, :1] + 1) / 2) @ before
        )
        np.testing.assert_allclose(u[ends], known[ends], atol=1e-6)
        assert sum(len(shard) for shard in data.owners) >= len(x)
    assert sum(map(len, seen)) == len(data_of(whole, 2).pool["x"])


def test_allen_cahn_in_windows_finds_the_solution():
    """At half of the paper's lines, within 3 %; in fewer waves than the front needs, not."""
    of = windows.allen_cahn_in_windows(40, 40, 8, [12, 36], [4])
    assert of.error.sel(waves=36).item() < 3 < of.error.sel(waves=12).item()
    assert of.gcv.argmin("waves") == 1 and of.rounds.max() < 80


def test_error_bars_cover_what_they_should():
    of = curve.error_bars([0, 1], 50, [10], [1.0])
    assert (np.abs(of.coverage - 0.954) < 0.01).all() and (np.abs(of.noise / 0.1 - 1) < 0.05).all()
    assert (of.inside > 0.7).all() and (of.spread.mean("x") < 0.02).all()


@pytest.mark.parametrize("name", ["pendulum", "noisy curve"])
def test_one_round_is_all_data_in_one_place_whoever_owns_what(name):
    """For random owners, ragged, some without points; of equations ``tests/federated/test_sums.py`` does."""
    experiment = pendulum.linear_pendulum(8, 10, 300) if name == "pendulum" else curve.noisy(20, 1.0, 100, 0)
    data, zero, rng = experiment.data(20, 0), problem.start(experiment), stream(0, "partitions")
    n = len(next(iter(data.pool.values())))
    whole = sums.one_round(experiment, data._replace(owners=[np.arange(n)]), zero)
    rows = sums.rows(experiment, data.pool, zero)[:, :-1]
    for _ in range(5):
        owner = rng.choice(8, n, p=rng.dirichlet(np.full(8, 0.3)))
        owned = data._replace(owners=[np.flatnonzero(owner == k) for k in range(8)])
        step = sums.one_round(experiment, owned, zero, whole.ridge).step
        assert (rows @ (step - whole.step)).norm() < 1e-10 * (rows @ whole.step).norm()


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
    best = table.chosen(xarray.Dataset({"gcv": gcv}))
    assert (best.m.item(), best.scale.item()) == (5, 2.0)
    best = table.chosen(xarray.Dataset({"gcv": gcv.isel(seed=0, drop=True).where(gcv.m == 6, np.inf)}))
    assert (best.m.item(), best.scale.item()) == (6, 2.0)


def test_the_arrays_of_the_explorer_are_solves_of_the_library():
    """Roots of rows computed once for all are those that each client would send; 05's network knows 32 points only."""
    table = pieces.curves_and_errors([4, 8], [10, 20], [32, 64], [0, 1])
    assert table.error.sel(model="federated", points=64).isnull().all()
    for n, m, seed in ((4, 10, 0), (8, 20, 1)):
        equation = problem.with_sines("poisson", m, pieces.SCALE, seed)
        step = sums.one_round(equation, equation.data(n, 0), problem.start(equation)).step
        error = problem.error(equation, step, equation.data(n, 0).test)
        cell = table.error.sel(pieces=n, sines=m, points=32, seed=seed)
        assert cell.sel(model="sums").item() == pytest.approx(error, rel=0.05)
