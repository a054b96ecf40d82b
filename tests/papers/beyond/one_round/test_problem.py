"""Notebook 13's problems at small sizes: what is solved by sums is what it should be."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from fedlib.federated import sums
from fedlib.federated.experiment import data_of
from fedlib.papers.beyond.one_round import curve, networks, partitions, pendulum, problem, windows
from fedlib.papers.fedsciml.forward import problem as forward
from fedlib.streams import stream


def test_one_round_chooses_by_cross_validation_and_knows_no_level():
    of = problem.in_one_round("poisson", [2, 8], [0, 1], [20, 60], [4.0, 12.0])
    score = of.gcv.median("seed").sel(m=of.attrs["chosen_m"], scale=of.attrs["chosen_scale"])
    assert score == of.gcv.median("seed").min()
    assert (of.error < 1e-5).all() and (of.error.max("level") < 1.01 * of.error.min("level")).all()
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


def test_after_fedavg_only_the_last_layer_is_new():
    of = networks.after_fedavg("poisson", [6], [0])
    assert of.before.item() == pytest.approx(1.67, abs=0.01)  # notebook 05's
    assert of.after.item() < 0.1


def test_whoever_owns_what():
    of = partitions.whoever_owns_what(4, {"poisson": [60, 6.0]}, 300)
    assert of.gap.max() < 1e-8 and of.sizes == {"problem": 3, "partition": 4}
    owners = partitions.random_owners(pendulum.linear_pendulum(2, 2, 40).data(2, 0), stream(0, "owners")).owners
    assert np.array_equal(np.sort(np.concatenate(owners)), np.arange(40))
