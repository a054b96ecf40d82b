"""Notebook 06b live: two panels, u and k; and the explorer has the stored errors."""

import numpy as np
import pytest

from fedlib.live import views
from fedlib.live.player import PACES, moments
from fedlib.live.stage import close
from fedlib.live.watched import watched_experiment
from fedlib.papers.fedsciml.reaction import live, problem, study
from fedlib.trainings.store import file_of, folder_of


def test_both_functions_are_watched(page):
    training = watched_experiment(problem.reaction(), 24, 2, lr=0.003)
    moment = next(moments(training.begin(), lambda: PACES[1]))
    assert views.experiment_panels(training) == 2
    fig = views.view(views.page(2), views.experiment_scene, training, moment, {})
    left, _, right, _ = fig.axes
    for ax, i in ((left, 0), (right, 1)):
        drawn = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
        for k in range(2):
            answer = training.values(
                moment.models[k : k + 1], lambda predict: problem.answer(predict, training.more.data.test)
            )[0]
            np.testing.assert_allclose(drawn[f"client {k + 1}"], answer[:, i], atol=1e-5)
    live.show()
    assert "round 1, after local step" in page[0][0]["text/plain"]
    close("06b")


STORED = all(file_of(folder_of(study.NOTEBOOK), (points.file, "levels")).exists() for points in live.CHOICES)


@pytest.mark.skipif(not STORED, reason="not trained yet: python -m fedlib train 06b_reaction")
def test_the_explorer_has_two_sliders_and_the_stored_errors():
    data = live.explorer().data
    pieces, points = data["controls"]
    assert pieces["name"] == "pieces" and points["options"] == ["8 inner and 2 end", "10 inner"]
    assert data["seeds"] == 5 and len(data["sentences"]) == 12
