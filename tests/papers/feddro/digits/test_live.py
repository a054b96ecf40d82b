"""Notebook 10b live: the pictures are of what the clients own, the bars are of the networks that are trained."""

import numpy as np
import torch
import xarray

from fedlib.live.levels import explore
from fedlib.live.player import PACES, moments
from fedlib.papers.feddro.digits import live


def test_the_slider_shows_digits_that_are_not_read():
    values = np.arange(16.0).reshape(2, 2, 2, 2)
    coords = {"way": ["FedAvg", "mapped"], "round": [10, 20], "level": [5.0, 0.5], "seed": [0, 1]}
    curves, errors = live.misread(xarray.DataArray(values, coords, [*coords]))
    assert curves.sel(model="mapped", x=20, **{"shift s": 0.5}) == 100 - values[1, 1, 1, 0]
    assert errors.sel(model="FedAvg", seed=1, **{"shift s": 5.0}) == 100 - values[0, 1, 0, 1]
    assert "mapped by" in explore(curves, errors).data["sentences"][0]


def test_a_tile_is_a_digit_of_its_client_as_seen_and_as_carried_and_each_federation_trains_on_its_own():
    training, shown = live.training(0.5, 2, 1), live.carried(0.5, 2, 1)
    for name, part in ((live.ON_Q, shown.mapped), (live.RAW, shown.seen)):
        for shard, own in zip(training.federations[name].shards, part.shards, strict=True):
            np.testing.assert_array_equal(training.pool["x"][shard], part.x[own].astype(np.float32))
    page, step = live.page(shown, digit=4), live.STEP
    for k, own in enumerate(shown.seen.shards):
        for row, part in enumerate(shown):
            tile = page[row * step : row * step + 28, k * step : k * step + 28].ravel()
            alike = [np.corrcoef(tile, part.x[i])[0, 1] for i in own]
            assert shown.seen.y[own[np.argmax(alike)]] == 4
            assert max(alike) > 1 - 1e-9


def test_bars_are_what_the_trained_networks_read():
    training = live.training(level=0.5, atoms=2, rounds=1, E=1)
    apart, averaged = (m for m, _ in zip(moments(training.begin(), lambda: PACES[1]), range(2), strict=False))
    x, y = (v[: live.TESTED] for v in live.small("test"))
    for moment, models in (apart, apart.walk[[0, live.K], 0]), (averaged, averaged.done.after[[0, live.K]]):
        for model, (name, found) in zip(models, live.read(training, moment).items(), strict=True):
            torch.nn.utils.vector_to_parameters(model, training.net.parameters())
            with torch.no_grad():
                right = training.net(x).argmax(1) == y
            counts = torch.bincount(y, minlength=live.KINDS)
            assert abs((found * counts.numpy()).sum() / 100 - right.sum()) < 1e-3
            if moment.averaged:
                np.testing.assert_allclose(training.errors(moment)[name], 100 * (~right).double().mean(), atol=1e-3)
            assert found[3] == 100 * right[y == 3].double().mean()
