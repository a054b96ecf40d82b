"""The picture of three letters (FedStNN, Section 5.3) from one round: ridge regression on fixed random sines."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
import xarray

from ....federated import sums
from ....federated.experiment import Data, Experiment, data_of
from ....models.features import random_sines
from ....numerics.tabulated import tabulated
from ....streams import stream
from ...fedstnn.letters import problem as letters
from ...fedstnn.letters.study import measured
from .problem import start, timed_round


def linear_letters(m: int, scale: float, seed: int) -> Experiment:
    """Pixels and owners of notebook 09, whose level is L, the pixels of a client's own third; the model is linear in m
    random sines of a pixel's place.

    A pixel of several clients is a row of each, so that nobody has to know who else has it.
    """
    theirs = letters.drawing()

    def data(L: int, seed: int) -> Data:
        dealt = theirs.data(L, seed)
        every = np.concatenate(dealt.owners)
        edges = np.cumsum([0, *map(len, dealt.owners)])
        pool = {"x": dealt.pool["x"][every], "y": dealt.pool["y"][every, None]}
        return Data(pool, [np.arange(a, b) for a, b in pairwise(edges)], {"x": dealt.pool["x"]})

    def residuals(predict, batch):
        return predict(batch["x"]) - batch["y"]

    net = random_sines(m, scale, "xy", (), stream(seed, "features", m)).net
    return Experiment("letters", net, residuals, data=data, level=theirs.level)


def letters_in_one_round(
    seeds: Sequence[int], features: Sequence[int], scales: Sequence[float], own_pixels: int
) -> xarray.Dataset:
    """The letters by all features [m, scale, seed] that were tried.

    gcv; error: wrong pixels (%), where the highest scores are white, as many as the picture has; edge: wrong of those
    within two pixels of an edge (%); bytes, seconds: see ``timed_round``.
    """
    picture = letters.picture_of("", letters.SHAPE)

    def once(m: int, scale: float, seed: int) -> dict:
        experiment = linear_letters(m, scale, seed)
        solution, costs = timed_round(experiment, data := data_of(experiment, own_pixels, seed))
        with torch.no_grad():
            scores = sums.predicting(experiment, start(experiment) + solution.step)(data.test["x"].double())[:, 0]
        white = picture.drawn(scores).numpy()
        edge = measured(white.reshape(1, *picture.shape), picture.white).edge[0]
        return {"gcv": solution.gcv, "error": 100 * (1 - picture.right(white)), "edge": 100 * edge, **costs}

    return tabulated(once, m=features, scale=scales, seed=seeds)
