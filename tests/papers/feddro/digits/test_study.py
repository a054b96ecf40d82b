"""Readings are those of the models that were trained, and find their labels."""

import numpy as np
import pytest
import torch
import xarray
from fedlib.problems.digits import Clients
from fedlib.problems.feddro import CNN, learn
from fedlib.problems.readings import labelled, more, readings, rows, share, trained

from fedlib import Local
from fedlib.streams import stream

from ..conftest import recorded


def constant(net, digit):
    """A model [P] that reads the same digit in everything: only the bias of one output is not 0."""
    theta = torch.zeros(sum(p.numel() for p in net.parameters()))
    theta[digit - 10] = 1.0
    return theta


def test_share_of_right_answers():
    net = CNN()
    assert share(net, constant(net, 7), torch.zeros(4, 784), torch.tensor([7, 1, 7, 7, 3])) == 0.75


@pytest.mark.parametrize("displaced", [False, True])
def test_readings_are_those_of_the_models(displaced):
    """All parameters are 0 but an output's bias: one model answers 3 to everything, the other one 7."""
    net = CNN(displaced)
    theta = torch.zeros(4, sum(p.numel() for p in net.parameters()))
    theta[:2, -7] = theta[2:, -3] = 1.0
    theta[:, :784] = torch.tensor([[1.0], [2.0], [0.0], [0.0]]) if displaced else 0
    losses = np.array([[1.0, 3.0, 5.0, 5.0]])
    metrics = {name: np.array([[0.25, 0.25, 0.5, 0.5]], np.float32) for name in ("accuracy", "commonest")}
    keys = {("a", 0.5): slice(0, 2), ("b", 2.0): slice(2, 4)}
    history = recorded(keys, ("way", "level"), [1], metrics, losses, theta)
    x = np.zeros((2, 4, 784), np.float32)
    clean = torch.zeros(5, 784), torch.tensor([3, 3, 7, 3, 0])
    found = readings(net, history, clean, {0.5: {"own": x}, 2.0: {"own": x[:1]}})
    assert list(found) == ["a, 0.5", "b, 2"]
    assert [found[name]["own"] for name in found] == [[0.75, 0.75], [0.25]]
    assert [found[name]["clean"] for name in found] == [pytest.approx([0.6]), pytest.approx([0.2])]
    assert [found[name]["loss"].tolist() for name in found] == [[2.0], [5.0]]
    for name in ("accuracy", "commonest"):
        assert [read[name].tolist() for read in found.values()] == [[0.25], [0.5]]
    np.testing.assert_allclose(found["a, 0.5"]["theta"], [28, 56] if displaced else [0, 0])


RESULTS = {
    "iid, seed 3": {
        "mapped, 0.5": {"accuracy": [0.1, 0.2], "long": [0.3], "clean": [0.9]},
        "a, b, 0.5": {"accuracy": [0.5, 0.6]},
    },
    "iid, seed 1": {"mapped, 0.5": {"accuracy": [0.3, 0.4], "theta": [1.0, 2.0]}},
    "dirichlet, seed 1": {"mapped, 0.5": {"accuracy": [0.7, 0.8]}},
}


def test_labels_are_those_of_the_result_file():
    found = labelled(RESULTS)
    assert set(found) == {"clean", "accuracy", "long", "theta"}
    accuracy = found["accuracy"]
    assert accuracy.sel(partition="iid", seed=1, way="mapped", level=0.5, round=2) == pytest.approx(40)
    assert accuracy.sel(partition="iid", seed=3, way="a, b", level=0.5).values == pytest.approx([50, 60])
    assert np.isnan(accuracy.sel(partition="dirichlet", seed=3)).all()
    assert found["theta"].sel(way="mapped", level=0.5, client=2).item() == 2
    clean = found["clean"].sel(partition="iid", way="mapped", level=0.5)
    assert clean.dims == ("seed",)
    assert clean.sel(seed=3).item() == pytest.approx(90)
    assert found["long"].sel(way="mapped", level=0.5, round=1).item() == pytest.approx(30)


def test_more_is_the_difference_of_two_ways():
    difference = more(labelled(RESULTS)["accuracy"].sel(partition="iid"), "a, b", "mapped")
    assert difference.sel(seed=3, level=0.5).values == pytest.approx([40, 40])


def test_training_and_reading_are_one_call():
    digits = stream(0, "digits").uniform(size=(8, 784))
    clients = Clients(digits, np.arange(8), [np.arange(4), np.arange(4, 8)])
    owned = {("plain", 0.5): clients, ("nothing", 0.5): clients._replace(x=0 * digits)}
    test = torch.as_tensor(digits, dtype=torch.float32), torch.arange(8)
    how = dict(rounds=2, local=Local(1), lr=0.1, momentum=0.5)
    found = trained(owned, 0, test, 3, **how)
    assert list(found) == ["plain, 0.5", "nothing, 0.5"]
    history = learn({("plain", 0.5): clients}, 0, test, **how)[1]
    plain = found["plain, 0.5"]
    np.testing.assert_allclose(plain["loss"], history.metric("loss").values.mean(-1).ravel(), rtol=1e-5)
    assert plain["clean"] == pytest.approx([history.metric("accuracy", client=0).values.ravel()[-1]])
    assert plain["accuracy"][-1] * 3 == pytest.approx(round(plain["accuracy"][-1] * 3))  # of three digits
    assert "own" not in plain
    more = trained(owned, 0, test, 3, {0.5: {"own": digits[None].astype(np.float32)}}, **how)
    assert more["plain, 0.5"]["own"] == pytest.approx(plain["clean"])


def test_rows_have_a_spread_over_the_seeds_that_were_trained():
    values = xarray.DataArray([[1.0, 3.0, np.nan], [2.0, 2.0, np.nan]], {"level": [0.5, 2.0]}, ("level", "seed"))
    assert rows({"a": values, "b": values.mean("seed")}, 2) == [
        ["a", "2.00 ± 1.41", "2.00 ± 0.00"],
        ["b", "2.00", "2.00"],
    ]
