"""Notebook 06b live: two panels, u and k."""

import numpy as np

from fedlib.live import views
from fedlib.live.player import PACES, moments
from fedlib.live.watched import watched_experiment
from fedlib.papers.fedsciml.reaction import problem


def test_both_functions_are_watched():
    training = watched_experiment(problem.reaction(), 24, 2, lr=0.003)
    moment = next(moments(training.begin(), lambda: PACES[1]))
    fig = views.view(views.page(2), views.experiment_scene, training, moment, {})
    left, _, right, _ = fig.axes
    for ax, i in ((left, 0), (right, 1)):
        drawn = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
        for k in range(2):
            answer = training.values(
                moment.models[k : k + 1], lambda predict: problem.answer(predict, training.more.data.test)
            )[0]
            np.testing.assert_allclose(drawn[f"client {k + 1}"], answer[:, i], atol=1e-5)
