"""The backend that is chosen without asking."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated import choice
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.train import train
from fedlib.models.networks import mlp

POOL = {"x": torch.linspace(-1, 1, 40)[:, None], "y": torch.linspace(-1, 1, 40).sin()}
SHARDS = [np.arange(15), np.arange(15, 40)]


def squared_error(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()


@pytest.fixture(autouse=True)
def measured_from_200_steps_on(monkeypatch):
    monkeypatch.setattr(choice, "FEW", 200)


def trained(rounds=50, loss=squared_error, backend="auto", **how):
    net = mlp((1, 4, 1), nn.Tanh)
    return train(net, loss, POOL, [Federation(SHARDS)], rounds=rounds, local=Local(5), backend=backend, **how)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """One that remembers nothing, and takes ``speeds`` seconds per step; ``made``: the backends that were asked for."""
    speeds, made = {"eager": 1e-3, "xla": 1e-3, "inductor": 1e-3}, []
    eager = choice.BACKENDS["eager"]

    def backend(name):
        def one(*training):
            made.append(name)
            run = eager(*training)
            return lambda *given: run(*given)

        return one

    monkeypatch.setattr(choice, "SPEEDS", tmp_path / "new" / "speeds.json")
    monkeypatch.setattr(choice, "BACKENDS", {name: backend(name) for name in choice.BACKENDS})
    monkeypatch.setattr(choice, "seconds", lambda run, example: speeds[made[-1]])
    return speeds, made


def test_a_short_training_is_not_measured(machine):
    trained(rounds=choice.FEW // 5)
    assert machine[1] == ["eager"] and not choice.SPEEDS.exists()


@pytest.mark.parametrize(
    ("seconds", "tried", "taken"),
    [
        ({"eager": 0.001}, ["eager"], "eager"),  # 1 s in all: no compiler is worth its while
        ({"eager": 0.1, "xla": 0.01}, ["eager", "xla"], "xla"),  # 11 s left: not worth inductor
        ({"eager": 0.1, "xla": 0.2}, ["eager", "xla", "inductor"], "eager"),
        ({"eager": 1, "xla": 0.5, "inductor": 0.4}, ["eager", "xla", "inductor"], "inductor"),
        ({"eager": 0.2, "xla": 0.14, "inductor": 0.13}, ["eager", "xla", "inductor"], "xla"),  # it compiles faster
    ],
)
def test_compilers_are_tried_where_there_is_enough_to_do(machine, seconds, tried, taken):
    """1000 steps lie ahead. What was measured is remembered, and decides alone the next time."""
    speeds, made = machine
    speeds |= {"xla": 9.0, "inductor": 0.2} | seconds
    trained(rounds=200)
    assert made == tried
    (kept,) = json.loads(choice.SPEEDS.read_text()).values()
    assert kept == {name: speeds[name] for name in tried}
    made.clear()
    speeds |= dict.fromkeys(speeds, 1e9)
    trained(rounds=200)
    assert made == [taken]


def test_what_is_not_here_is_not_tried(machine, monkeypatch):
    machine[0]["eager"] = 10
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(choice, "find_spec", lambda name: None)
    trained(rounds=200)
    assert machine[1] == ["eager"]
    with pytest.raises(ValueError, match=r"backend = 'inductor' needs a C.. compiler, such as g.., which is not here"):
        trained(backend="inductor")
    with pytest.raises(
        ValueError, match=r"backend = 'xla' needs jax .pip install jax., which is not here; 'auto' takes"
    ):
        trained(backend="xla")
    with pytest.raises(ValueError, match=r"backend = 'fast': expected one of auto, eager, inductor, xla"):
        trained(backend="fast")


def test_damaged_notes_are_measured_anew(machine):
    choice.SPEEDS.parent.mkdir()
    choice.SPEEDS.write_text("{")
    trained(rounds=200)
    assert machine[1] == ["eager"] and json.loads(choice.SPEEDS.read_text())


def test_an_operation_that_xla_does_not_know_leaves_eager(monkeypatch, tmp_path):
    def loss(predict, batch):
        return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).cumsum(0)[-1]

    monkeypatch.setattr(choice, "SPEEDS", tmp_path / "speeds.json")
    monkeypatch.setattr(choice, "COMPILING", {"eager": 0, "xla": 1e-9})
    chosen, eager = (trained(loss=loss, backend=b).theta for b in ("auto", "eager"))
    assert torch.equal(chosen, eager)
    assert [[*speeds] for speeds in json.loads(choice.SPEEDS.read_text()).values()] == [["eager"]]


def test_measuring_changes_nothing(monkeypatch, tmp_path):
    """A training that measured two backends ends where the chosen one alone does; so does the next one."""
    monkeypatch.setattr(choice, "SPEEDS", tmp_path / "speeds.json")
    monkeypatch.setattr(choice, "COMPILING", {"eager": 1e9, "xla": 1e-9})
    first, second, alone = (trained(backend=b).theta for b in ("auto", "auto", "xla"))
    assert torch.equal(first, alone) and torch.equal(second, alone)
