"""The scene of an experiment: the curves are u and the residual of the networks that are trained."""

import numpy as np
import torch

from fedlib.live import views
from fedlib.live.player import PACES, moments
from fedlib.live.watched import watched_experiment
from fedlib.models.jets import VALUE_ONLY
from fedlib.papers.fedsciml.forward import problem


def test_the_residual_is_that_of_the_curve():
    training = watched_experiment(problem.poisson(), 8, 2, lr=0.003)
    moment = next(moments(training.begin(), lambda: PACES[1]))
    fig = views.view(views.page(2), views.experiment_scene, training, moment, {})
    above, _, below, _ = fig.axes
    x = training.more.data.test["x"][:, 0].double()
    f = sum(i * (i * x).sin() for i in (1, 2, 3, 4, 8)).numpy()
    g, b = x, x.tanh() * (torch.pi - x).tanh()
    drawn = [{line.get_label(): line.get_ydata() for line in ax.get_lines()} for ax in (above, below)]
    for k in range(2):
        N = training.values(moment.models[k : k + 1], lambda predict: predict(x.float()[:, None], VALUE_ONLY)[:, 0])[0]
        u = (g + b * N).numpy()
        np.testing.assert_allclose(drawn[0][f"client {k + 1}"], u, atol=1e-4)
        second = np.diff(u, 2) / float(x[1]) ** 2
        np.testing.assert_allclose(drawn[1][f"client {k + 1}"][1:-1], -second - f[1:-1], atol=0.5)
    assert not np.array_equal(drawn[0]["client 1"], drawn[0]["client 2"])
