"""Readings are those of the models that were trained, and find their labels."""

import numpy as np
import pytest
import torch
import xarray

from fedlib import History, Local
from fedlib.problems.barycenters import World
from fedlib.problems.digits import Clients
from fedlib.problems.feddro import CNN, learn
from fedlib.problems.readings import findings, gains, labelled, more, points, readings, rows, share, trained
from fedlib.streams import stream


def test_share_of_right_answers():
    logits = torch.eye(4)[[0, 1, 2, 2]]
    assert share(logits, torch.tensor([0, 1, 2, 3, 3])) == 0.75


@pytest.mark.parametrize("displaced", [False, True])
def test_readings_are_those_of_the_models(displaced):
    """All parameters are 0 but an output's bias: one model answers 3 to everything, the other one 7."""
    net = CNN(displaced)
    theta = torch.zeros(4, sum(p.numel() for p in net.parameters()))
    theta[:2, -7] = theta[2:, -3] = 1.0
    theta[:, :784] = torch.tensor([[1.0], [2.0], [0.0], [0.0]]) if displaced else 0
    losses = np.array([[1.0, 3.0, 5.0, 5.0]])
    metrics = {"accuracy": np.array([[0.25, 0.25, 0.5, 0.5]], np.float32)}
    keys = {("a", 0.5): slice(0, 2), ("b", 2.0): slice(2, 4)}
    history = History.dense(theta, keys, ("way", "level"), losses, [1], metrics)
    x = np.zeros((2, 4, 784), np.float32)
    found = readings(net, history, {0.5: {"own": x}, 2.0: {"own": x[:1]}}, torch.tensor([3, 3, 7, 3, 0]))
    assert list(found) == ["a, 0.5", "b, 2"]
    assert [found[name]["own"] for name in found] == [[0.75, 0.75], [0.25]]
    assert [found[name]["loss"].tolist() for name in found] == [[2.0], [5.0]]
    assert [found[name]["accuracy"].tolist() for name in found] == [[0.25], [0.5]]
    np.testing.assert_allclose(found["a, 0.5"]["theta"], [28, 56] if displaced else [0, 0])


RESULTS = {
    "iid, seed 3": {"mapped, 0.5": {"accuracy": [0.1, 0.2], "long": [0.3]}, "a, b, 0.5": {"accuracy": [0.5, 0.6]}},
    "iid, seed 1": {"mapped, 0.5": {"accuracy": [0.3, 0.4], "theta": [1.0, 2.0]}},
    "dirichlet, seed 1": {"mapped, 0.5": {"accuracy": [0.7, 0.8]}},
}


def test_labels_are_those_of_the_result_file():
    found = labelled(RESULTS)
    assert set(found) == {"accuracy", "long", "theta"}
    accuracy = found["accuracy"]
    assert accuracy.sel(partition="iid", seed=1, way="mapped", level=0.5, round=2) == pytest.approx(40)
    assert accuracy.sel(partition="iid", seed=3, way="a, b", level=0.5).values == pytest.approx([50, 60])
    assert np.isnan(accuracy.sel(partition="dirichlet", seed=3)).all()
    assert found["theta"].sel(way="mapped", level=0.5, client=2).item() == 2
    assert found["long"].sel(way="mapped", level=0.5, round=1).item() == pytest.approx(30)


def test_more_is_the_difference_of_two_ways():
    difference = more(labelled(RESULTS)["accuracy"].sel(partition="iid"), "a, b", "mapped")
    assert difference.sel(seed=3, level=0.5).values == pytest.approx([40, 40])


def test_training_and_reading_are_one_call():
    digits = stream(0, "digits").uniform(size=(8, 784))
    clients = Clients(digits, np.arange(8), [np.arange(4), np.arange(4, 8)])
    worlds = {0.5: World(clients, clients._replace(x=0 * digits), clients, [])}
    test = torch.as_tensor(digits, dtype=torch.float32), torch.arange(8)
    how = dict(rounds=2, local=Local(1), lr=0.1, momentum=0.5)
    found = trained({"plain": "seen", "nothing": "mapped"}, worlds, 0, test, **how)
    assert list(found) == ["plain, 0.5", "nothing, 0.5"]
    history = learn({("plain", 0.5): worlds[0.5].seen}, 0, test, **how)[1]
    np.testing.assert_allclose(found["plain, 0.5"]["loss"], history.of("loss").values.mean(-1).ravel(), rtol=1e-5)
    assert "own" not in found["plain, 0.5"]
    more = trained({"plain": "seen"}, worlds, 0, test, {0.5: {"own": digits[None].astype(np.float32)}}, **how)
    assert more["plain, 0.5"]["own"] == pytest.approx([found["plain, 0.5"]["accuracy"][-1]])


WAYS = {"FedAvg": 10, "mapped": 30, "barycenter Q": 5, "FedAvg + ascent": 11, "mapped + ascent": 33}
WAYS |= {"mapped + strong ascent": 20, "mapped, Q from client 1's samples": 36}


@pytest.fixture
def of():
    """Accuracy (way + 100 round, the maps lose their lead of 20 by 8 a round), over two levels and seeds."""
    at = {"level": [0.5, 2.0], "seed": [0, 1], "way": list(WAYS)}
    flat = xarray.DataArray(np.tile(np.array(list(WAYS.values()), float), (2, 2, 1)), at, list(at))
    rounds = xarray.DataArray([1.0, 2.0, 3.0], {"round": [1, 2, 3]}, ["round"])
    drop = xarray.DataArray([8.0 * way.startswith("mapped") for way in WAYS], {"way": list(WAYS)}, ["way"])
    shift = xarray.DataArray([2.0, 0.0, 4.0], {"shift": [1, 2, 3]}, ["shift"])
    loss = flat / 10 + 0 * rounds
    return {"accuracy": flat + 100 * rounds - drop * rounds, "loss": loss, "fresh": 2 * flat + shift,
            "own": (flat + shift).rename(shift="client")}  # fmt: skip


def test_gains_are_differences_of_means(of):
    found = gains(of, 1, 3)
    assert found["maps"].sel(level=2.0).values == pytest.approx([12, 4, -4])
    assert found["early"].values == pytest.approx([12, 12])
    assert found["late"].values == pytest.approx([-4, -4])
    assert found["ascent"].values == pytest.approx([3, 3])
    assert found["worst fresh"].values == pytest.approx([6, 6])
    assert found["loss"].values == pytest.approx([-0.5, -0.5])
    assert points(found["late"]) == ["-4.0", "-4.0"]


def test_findings_are_of_the_rounds_that_their_words_say(of):
    skewed = of["accuracy"] + 1000
    found = {name: float(values.isel(level=0).mean()) for name, values in findings(of, skewed, 3, 2).items()}
    assert found == pytest.approx(
        {
            "largest mean lead of the maps in rounds 1 to 2": 12,
            "lead of the maps, Dirichlet labels, round 3": -4,
            "mapped, Dirichlet labels, round 3": 1306,
            "ascent: change of FedAvg, round 2": 1,
            "ascent: change of mapped, round 2": 3,
            "strong ascent: change of mapped (one seed)": -10,
            "Q from client 1's samples: change of mapped (one seed)": 6,
            "FedAvg, own shifts": 12,
            "mapped, own shifts": 32,
            "FedAvg, worst fresh shift": 20,
            "mapped, worst fresh shift": 60,
            "barycenter Q, worst fresh shift": 10,
            "FedAvg + ascent, worst fresh shift": 22,
            "mapped + ascent, worst fresh shift": 66,
        }
    )


def test_rows_have_a_spread_over_the_seeds_that_were_trained():
    values = xarray.DataArray([[1.0, 3.0, np.nan], [2.0, 2.0, np.nan]], {"level": [0.5, 2.0]}, ("level", "seed"))
    assert rows({"a": values, "b": values.mean("seed")}, 2) == [
        ["a", "2.00 ± 1.41", "2.00 ± 0.00"],
        ["b", "2.00", "2.00"],
    ]
