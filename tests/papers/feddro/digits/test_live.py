"""Notebook 10 live: the pictures are of what the clients own, the bars are of the networks that are trained."""

import numpy as np
import torch

from fedlib.live import stage, views
from fedlib.live.player import PACES, moments
from fedlib.plots import feddro_live
from fedlib.problems import feddro_live as problem


def test_a_tile_is_a_digit_of_its_client_as_seen_and_as_carried():
    of = problem.world(0.5, 2, 1)
    page, step = feddro_live.tiles(of, digit=7), 28 + feddro_live.GAP
    for k, own in enumerate(of.seen.shards):
        for row, part in enumerate((of.seen, of.mapped)):
            tile = page[row * step : row * step + 28, k * step : k * step + 28].ravel()
            alike = [np.corrcoef(tile, part.x[i])[0, 1] for i in own]
            assert of.seen.y[own[np.argmax(alike)]] == 7
            assert max(alike) > 1 - 1e-9


def test_each_federation_trains_on_its_own_pictures():
    training, of = problem.training(0.5, 2, 1), problem.world(0.5, 2, 1)
    for name, part in ((problem.ON_Q, of.mapped), (problem.RAW, of.seen)):
        for shard, own in zip(training.federations[name].shards, part.shards, strict=True):
            np.testing.assert_array_equal(training.pool["x"][shard], part.x[own].astype(np.float32))


def test_bars_are_what_the_trained_networks_read(page):
    training = problem.training(level=0.5, atoms=2, rounds=1, E=1)
    apart, averaged = (m for m, _ in zip(moments(training.begin(), lambda: PACES[1]), range(2), strict=False))
    x, y = (v[: problem.TESTED] for v in problem.digits()["test"])
    for moment, models in (apart, apart.walk[[0, 5], 0]), (averaged, averaged.done.after[[0, 5]]):
        for model, (name, found) in zip(models, feddro_live.read(training, moment).items(), strict=True):
            torch.nn.utils.vector_to_parameters(model, training.net.parameters())
            with torch.no_grad():
                right = training.net(x).argmax(1) == y
            counts = torch.bincount(y, minlength=10)
            assert abs((found * counts.numpy()).sum() / 100 - right.sum()) < 1e-3
            if moment.averaged:
                np.testing.assert_allclose(training.errors(moment)[name], 100 * (~right).double().mean(), atol=1e-3)
            assert found[3] == 100 * right[y == 3].double().mean()
        heights = [bar.get_height() for axis in views.view(feddro_live.scene, training, moment, {}, 2).axes
                   for bar in axis.patches]  # fmt: skip
        np.testing.assert_allclose(heights, np.concatenate([*feddro_live.read(training, moment).values()]))
    feddro_live.show()
    assert "round 1" in page[0][0]["text/plain"]
    stage.close("10")
