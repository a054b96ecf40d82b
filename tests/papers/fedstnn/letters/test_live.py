"""Notebook 09 live: who owns what, and that the pictures are those of the networks that are trained."""

import numpy as np
import pytest
import torch

from fedlib.live import stage, views
from fedlib.live.player import PACES, moments
from fedlib.plots import letters_live
from fedlib.problems import letters_live as problem


@pytest.mark.parametrize(("own", "others"), [(400, 0), (20, 200)])
def test_what_clients_own(own, others):
    shown = problem.training(own, others, clients=3).more
    for k, mine in enumerate(shown.owned):
        at_home = np.isin(mine, shown.picture.thirds[k])
        assert (at_home.sum(), (~at_home).sum()) == (own, others)


def test_the_pictures_are_of_the_networks_that_are_trained(page):
    training = problem.training(active=1 / 3, E=2)
    shown = training.more
    white = shown.picture.truth.numpy()
    apart, averaged = (m for m, _ in zip(moments(training.begin(), lambda: PACES[1]), range(2), strict=False))
    assert len(apart.done.clients) == 3  # two of six, and the centralised one

    def drawn(model):
        torch.nn.utils.vector_to_parameters(model, training.net.parameters())
        score = training.net(shown.x, shown.w)[:, 0].detach().numpy()
        answer = np.zeros(len(white), bool)
        answer[np.argsort(-score)[: white.sum()]] = True
        return answer

    for moment, server in (apart, apart.walk[0, 0]), (averaged, averaged.done.after[0]):
        above, _, below, *_ = views.view(letters_live.scene, training, moment, {}, 2).axes
        colours = above.images[0].get_array().ravel()
        np.testing.assert_array_equal(np.isin(colours, (1, 2)), drawn(server))  # white, rightly or wrongly
        wrong = training.errors(moment)["federated"][0].item()
        assert wrong == pytest.approx(100 * (drawn(moment.models[0]) != white).mean(), abs=1e-3)
        sheet, (rows, columns) = below.images[0].get_array(), shown.picture.shape
        for i, k in enumerate((0, 2, 4)):
            top = i * (rows + letters_live.GAP)
            left, right = sheet[top : top + rows, :columns], sheet[top : top + rows, -columns:]
            np.testing.assert_array_equal(np.flatnonzero(left != letters_live.UNKNOWN), np.sort(shown.owned[k]))
            np.testing.assert_array_equal(np.isin(right.ravel(), (1, 2)), drawn(apart.walk[k, 2]))
            np.testing.assert_array_equal(np.isin(right.ravel(), (0, 1)), drawn(apart.walk[k, 2]) == white)
    letters_live.show()
    assert "round 1, after local step 10 of 10" in page[0][0]["text/plain"]
    stage.close("09")
