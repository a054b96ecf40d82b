"""Rounds one by one, constants, and devices: nothing is pinned to the CPU."""

from itertools import islice

import pytest
import torch

from fedlib import Federation, Local, play, train
from fedlib.federated import batches, dry
from fedlib.federated import local as local_module
from fedlib.federated.mixing import ring
from fedlib.federated.rounds import device_of


def test_playing_is_training(problem):
    net, loss, pool, shards = problem
    feds = [Federation(shards, fraction=0.67, lr=0.01), Federation(shards, mixing=ring, seed=1)]
    how = dict(local=Local(2, "epochs", 4), dtype=torch.float64)
    played = list(islice(play(net, loss, pool, feds, **how), 4))
    history = train(net, loss, pool, feds, rounds=4, **how)
    assert torch.equal(played[-1].after, history.theta)
    assert [p.number for p in played] == [0, 1, 2, 3]
    for p in played:
        torch.testing.assert_close(torch.tensor(p.losses), torch.tensor(history.losses[p.number]), equal_nan=True)


def test_a_state_goes_on(problem):
    net, loss, pool, shards = problem
    feds, how = [Federation(shards, fraction=0.67)], dict(local=Local(3, "steps", 4), dtype=torch.float64)
    one, two, three = (r.state for r in islice(play(net, loss, pool, feds, **how), 3))
    assert (one.round, two.round) == (1, 2)
    kept = three._replace(theta=three.theta.clone(), optimizer={k: v.clone() for k, v in three.optimizer.items()})
    fourth = next(play(net, loss, pool, feds, state=kept, **how))
    assert torch.equal(fourth.after, train(net, loss, pool, feds, rounds=4, **how).theta)


def test_constants_come_with_every_batch(problem):
    net, loss, pool, shards = problem

    def scaled(predict, batch):
        return batch["scale"] * loss(predict, batch)

    one = train(
        net, scaled, pool, [Federation(shards)], rounds=2, local=Local(2), constants={"scale": torch.tensor(1.0)}
    )
    assert torch.equal(one.theta, train(net, loss, pool, [Federation(shards)], rounds=2, local=Local(2)).theta)
    with pytest.raises(ValueError, match="constants has 'x', which a batch has already; rename yours"):
        train(net, loss, pool, [Federation(shards)], rounds=1, local=Local(1), constants={"x": pool["x"]})
    with pytest.raises(ValueError, match="constants has 't', which the test has already; rename yours"):
        train(
            net, scaled, pool, [Federation(shards)], rounds=1, local=Local(1), test={"t": pool["x"][None]},
            constants={"t": pool["x"], "scale": torch.tensor(1.0)},
        )  # fmt: skip


@pytest.mark.parametrize("local", [Local(2), Local(2, "steps", 4)], ids=["full batch", "mini-batches"])
def test_nothing_is_pinned_to_the_cpu(problem, monkeypatch, local):
    """On the device "meta" tensors have shapes only; an operation with a CPU tensor fails, as on an accelerator."""
    net, loss, pool, shards = problem
    monkeypatch.setattr(local_module, "diverged", lambda *_: {})  # these look at numbers
    monkeypatch.setattr(dry, "same", lambda *_: True)
    monkeypatch.setattr(dry, "check_padding", lambda *_: None)
    monkeypatch.setattr(torch.Tensor, "cpu", lambda t: torch.zeros(t.shape, dtype=t.dtype))

    def shifted(predict, batch):
        return loss(predict, batch) + batch["shift"] + batch["noise"].mean()

    feds = [Federation(shards, fraction=0.67), Federation(shards, mixing=ring)]
    history = train(
        net, shifted, pool, feds, rounds=2, local=local, device="meta", noise=(2,), constants={"shift": torch.ones(())},
        evaluate=lambda predict, test: {"u": predict(test["x"])}, test={"x": pool["x"].expand(2, *pool["x"].shape)},
    )  # fmt: skip
    assert history.theta.shape == (6, sum(p.numel() for p in net.parameters()))


@pytest.mark.parametrize("backend", ["eager", "xla"])
def test_the_processor_waits_for_the_device_once_a_round(problem, monkeypatch, backend):
    """However many blocks, steps and clients there are."""
    net, loss, pool, shards = problem
    waits, cpu, item = [], torch.Tensor.cpu, torch.Tensor.item
    monkeypatch.setattr(torch.Tensor, "cpu", lambda x: waits.append(x.shape) or cpu(x))
    monkeypatch.setattr(torch.Tensor, "item", lambda x: waits.append(x.shape) or item(x))
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda x: waits.append(x.shape) or item(x))
    monkeypatch.setitem(batches.POINTS_PER_BLOCK, "eager", 1)
    played = play(net, loss, pool, [Federation(shards)] * 2, local=Local(3), backend=backend)
    next(played)
    waits.clear()
    next(played)
    assert waits == [(3, 2 * len(shards))]  # losses, those before the first step, sums of the models


def test_auto_takes_an_accelerator_where_there_is_one(monkeypatch):
    for there, device in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert device_of("auto") == device
    assert device_of("cpu") == "cpu"
    with pytest.raises(ValueError, match="device = 'cuda', but torch finds no accelerator"):
        device_of("cuda")
