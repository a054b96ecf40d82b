"""The backend that is chosen without asking: a rule on what is known beforehand."""

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated import rounds as engine
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.optimizers import Optimizer, sgd
from fedlib.federated.train import train
from fedlib.federated.xla import program
from fedlib.federated.xla.recording import recorded
from fedlib.models.networks import mlp

POOL = {"x": torch.linspace(-1, 1, 40)[:, None], "y": torch.linspace(-1, 1, 40).sin()}
SHARDS = [np.arange(15), np.arange(15, 40)]


def squared_error(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()


def unknown(predict, batch):
    loss = (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()
    return loss.expand(2).cumprod(0)[0]


@pytest.fixture(autouse=True)
def the_rule_as_users_have_it(monkeypatch):
    monkeypatch.setattr(engine, "STEPS_TO_COMPILE", 100)


def trained(rounds=30, loss=squared_error, backend="auto", **args):
    net = mlp((1, 4, 1), nn.Tanh)
    return train(net, loss, POOL, [Federation(SHARDS)], rounds=rounds, local=Local(5), backend=backend, **args)


def test_few_steps_are_not_compiled():
    assert trained(rounds=19).backend == "eager" and trained(rounds=20).backend == "xla"


@pytest.mark.parametrize("local", [Local(5), Local(2, "epochs", 4)], ids=["full batch", "ragged mini-batches"])
def test_few_steps_are_written_down_and_done_again_to_the_last_bit(monkeypatch, local):
    """Under a rate that falls, with moments that are kept; the loss itself is only called until then."""
    monkeypatch.setattr(engine, "STEPS_TO_COMPILE", 10**6)
    fed, called = Federation(SHARDS, lr=0.05, decay=0.9), []

    def loss(predict, batch):
        called.append(None)
        return squared_error(predict, batch)

    def trained(backend):
        called.clear()
        return train(mlp((1, 4, 1), nn.Tanh), loss, POOL, [fed], rounds=20, local=local, backend=backend), len(called)

    (eager, steps), (replayed, some) = trained("eager"), trained("auto")
    assert torch.equal(eager.theta, replayed.theta) and np.array_equal(eager.losses, replayed.losses)
    assert some < steps / 2


def test_gradients_that_nobody_asks_for_are_no_tensors():
    """A convolution's first layer: its backward returns None for the points."""
    pool = {"x": torch.rand(40, 9), "y": torch.rand(40)}
    net = nn.Sequential(nn.Unflatten(1, (1, 9)), nn.Conv1d(1, 1, 9))

    def loss(predict, batch):
        return (batch["w"] * (predict(batch["x"])[:, 0, 0] - batch["y"]) ** 2).sum()

    eager, replayed = (
        train(net, loss, pool, [Federation(SHARDS)], rounds=5, local=Local(5), backend=b).theta
        for b in ("eager", "auto")
    )
    assert torch.equal(eager, replayed)


def test_what_is_written_down_takes_other_tensors():
    """Also what it captured is looked at again, and what is changed in place is changed."""
    captured = torch.ones(2)

    def function(x, y):
        x.add_(captured)
        return [x * y, y.sum()]

    graph, x, y = recorded(function, [torch.zeros(2), torch.zeros(2)]), torch.ones(2), torch.full((2,), 3.0)
    captured.fill_(2)
    assert torch.equal(graph(x, y)[0], torch.full((2,), 9.0)) and torch.equal(x, torch.full((2,), 3.0))
    with pytest.raises(NotImplementedError, match=r"_local_scalar_dense.* looks at a number"):
        recorded(lambda x: [x * x.sum().item()], [x])


def test_nothing_is_measured_and_nothing_remembered():
    """The same bits twice."""
    assert torch.equal(trained().theta, trained().theta)


def test_an_optimiser_that_reads_numbers_is_eager_and_sees_all_of_them():
    inner, norms = sgd(), []

    def apply(theta, gradient, state, lr):
        norms.append(float(gradient.norm()))
        inner.apply(theta, gradient, state, lr)

    optimizer = Optimizer(inner.init, apply)
    assert trained(optimizer=optimizer).backend == "eager" and len(set(norms)) > 100
    with pytest.raises(NotImplementedError, match="torch cannot write this down; train with backend='eager'"):
        trained(optimizer=optimizer, backend="xla")


def no_devices():
    raise AssertionError


@pytest.mark.parametrize("what", ["operation", "device", "jax", "jax that cannot start"])
def test_what_xla_cannot_do_is_eager(monkeypatch, what):
    if what == "device":
        monkeypatch.setattr(program, "has_device", lambda device: False)
    if what == "jax":
        monkeypatch.setattr(engine, "find_spec", lambda name: None)
    if what == "jax that cannot start":
        monkeypatch.setattr(program.jax, "devices", no_devices)
    loss = unknown if what == "operation" else squared_error
    chosen = trained(loss=loss)
    assert chosen.backend == "eager" and torch.equal(chosen.theta, trained(loss=loss, backend="eager").theta)


def test_what_is_not_here_is_an_error_that_says_so(monkeypatch):
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"needs jax, which is not here .pip install jax.; 'auto' takes what there is"):
        trained(backend="xla")
    monkeypatch.undo()
    monkeypatch.setattr(program.jax, "devices", no_devices)
    with pytest.raises(ValueError, match=r"needs jax, which cannot start: AssertionError, no such device"):
        trained(backend="xla")
    with pytest.raises(ValueError, match=r"backend = 'fast': expected one of auto, eager, xla"):
        trained(backend="fast")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator")
@pytest.mark.parametrize("backend", ["auto", "eager"])
def test_an_accelerator_trains_the_same_models(backend):
    assert not torch.backends.cuda.matmul.allow_tf32
    there = trained(device="cuda", backend=backend).theta.cpu()
    torch.testing.assert_close(there, trained(backend="eager").theta, rtol=0, atol=2e-3)


@pytest.mark.fault("clear error")
def test_a_process_that_was_forked_after_jax_began_is_told_to_be_spawned(monkeypatch):
    """It would wait for threads that it does not have."""
    monkeypatch.setattr(program, "PROCESS", program.PROCESS + 1)
    with pytest.raises(ValueError, match=r"get_context\('spawn'\); 'auto' takes what there is"):
        trained(backend="xla")
    assert trained().backend == "eager"


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("session", [torch.no_grad, torch.inference_mode])
def test_a_training_without_gradients_around_it_is_refused(session):
    with session(), pytest.raises(ValueError, match=r"no_grad\(\) or torch.inference_mode\(\) is .*begin it outside"):
        trained()
