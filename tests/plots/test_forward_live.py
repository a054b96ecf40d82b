"""Notebook 05 live: the curves are u and the residual of the networks that are trained."""

import numpy as np
import torch

from fedlib.notebook import live, live_views
from fedlib.notebook.player import PACES, moments
from fedlib.plots import forward_live
from fedlib.problems import forward
from fedlib.problems import forward_live as problem


def test_the_exact_solution_has_no_residual():
    at, exact = problem.on_a_fine_grid()
    x = torch.linspace(0, torch.pi, problem.FINE, dtype=torch.float64)
    second = sum(-i * (i * x).sin() for i in (1, 2, 3, 4, 8))  # u'' of x + sum sin(i x) / i
    np.testing.assert_allclose(-second, at["f"], atol=1e-4)
    np.testing.assert_allclose(exact[[0, -1]], [0, np.pi], atol=1e-5)


def test_the_residual_is_that_of_the_curve():
    training = problem.training(4, E=3)
    _, walk = next(training.begin())
    u, residual = (training.of(walk[:1, -1], what)[0] for what in (problem.solution, problem.residual))
    at, _ = problem.on_a_fine_grid()
    h = np.pi / (problem.FINE - 1)
    second = np.diff(u.double().numpy(), 2) / h**2
    np.testing.assert_allclose(residual[1:-1], -second - at["f"][1:-1].numpy(), atol=0.5)


def test_clients_own_the_points_in_turn_and_the_picture_shows_their_networks(page):
    training = problem.training(8, E=2)
    pool, own = training.pool["x"][:, 0], training.federations["federated"].shards
    assert [len(shard) for shard in own] == [16, 16]
    assert sorted(np.concatenate(own)) == list(range(32)) and (np.diff(pool) > 0).all()
    moment = next(moments(training.begin(), lambda: PACES[1]))
    above, _, below, _ = live_views.view(forward_live.scene, training, moment, {}, 2).axes
    for ax in (above, below):
        drawn = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
        x = np.linspace(0, np.pi, problem.FINE)[:, None]
        if ax is above:
            for k in range(2):
                u = forward.solve(problem.PROBLEM, moment.models[k], x)
                np.testing.assert_allclose(drawn[f"client {k + 1}"], u, atol=1e-4)
        assert not np.array_equal(drawn["client 1"], drawn["client 2"])
    forward_live.show()
    assert "round 1, after local step 20 of 20" in page[0][0]["text/plain"]
    live.close("05")
