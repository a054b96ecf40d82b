"""Errors at home and elsewhere, and whose place is where."""

import numpy as np
import torch
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.stack import predict
from fedlib.models.networks import mlp
from fedlib.problems import function_kinds, function_levels, function_maps, function_study, functions

NET = mlp((1, 4, 1), nn.Tanh)


def test_predictions_are_those_of_the_models():
    data, levels = functions.on_line(20, 10), function_levels.line(20, [3], [2])
    sweep = function_study.sweep(NET, data, levels, [1], 2, lr=0.05, local=Local(2))
    x = torch.linspace(-1, 1, 5)[:, None]
    found = function_maps.predictions(NET, sweep, x, (3, 2), 1)
    assert list(found) == ["federated", *(f"client {k} alone" for k in (1, 2, 3)), "centralised"]
    of = sweep.history
    expected = [of.model("federated", (3, 2), 1), *of.models("isolated", (3, 2), 1), of.model("central", None, 1)]
    for said, row in zip(found.values(), expected, strict=True):
        np.testing.assert_array_equal(said, predict(NET, row, x)[:, 0])


def test_a_place_belongs_to_the_nearest_point():
    shards = [np.array([0, 3]), np.array([1, 2])]
    whose = function_maps.owner([0.1, 0.9, 2.4, 3.5], [0.0, 1.0, 2.0, 3.0], shards)
    assert whose.tolist() == [0, 1, 1, 0]


def test_errors_at_home_and_elsewhere():
    truth, whose = np.array([1.0, 1.0, 2.0, 2.0]), np.array([0, 0, 1, 1])
    found = {"federated": truth, "client 1 alone": np.array([1.1, 1.1, 0, 0]), "client 2 alone": truth * 2}
    np.testing.assert_allclose(function_maps.own_and_other(found, truth, whose), [[0.1, 1], [1, 1]])


def test_each_kind_differs_in_what_it_says():
    """Table 1: by the clients' points themselves."""
    of = {kind: clouds for kind, (_, clouds, _) in function_kinds.kinds(400).items()}
    w1 = {kind: w1 for kind, (*_, w1) in function_kinds.kinds(400).items()}
    assert w1["concept shift"] == 0 < min(w1["covariance shift"], w1["concept drift"])
    a, b = of["covariance shift"]
    assert a[:, 0].max() <= b[:, 0].min(), "other places"
    curve = [np.abs(c[:, 1] - np.sin(3 * c[:, 0])).mean() for c in (a, b)]
    assert max(curve) < 0.1, "of one curve"
    shares = [(c[:, 1] > 0.5).mean() for c in of["prior probability shift"]]
    assert shares[1] - shares[0] > 0.5
    means = [[c[c[:, 1] > 0.5, 0].mean(), c[c[:, 1] < 0.5, 0].mean()] for c in of["prior probability shift"]]
    np.testing.assert_allclose(*means, atol=0.05)
    a, b = of["concept drift"]
    assert ((a[:, 1] > 0.5) == (b[:, 1] > 0.5)).all() and (b[:, 0] - a[:, 0]).mean() > 0.2
    a, b = of["concept shift"]
    np.testing.assert_array_equal(a[:, 0], b[:, 0])
    assert (b[:, 1] - a[:, 1]).mean() > 0.7
