"""The steps as one program of XLA are the steps that torch takes."""

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated import aten, xla
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.reference import fedavg_adam
from fedlib.federated.rules import fedprox, scaffold
from fedlib.federated.train import train
from fedlib.models.networks import mlp
from fedlib.streams import stream

SHARDS = [np.arange(7), np.arange(7, 12), np.arange(12, 30), np.arange(30, 33), np.arange(33, 43)]


@pytest.fixture(scope="module")
def pool():
    x = torch.as_tensor(stream(0, "data").uniform(-1, 1, (43, 2)))
    return {"x": x, "y": x.prod(1).sin()}


def squared_error(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()


@pytest.mark.parametrize(
    ("optimizer", "local", "fraction"),
    [
        (adam(), Local(3), 1),
        (adam(), Local(2, "epochs", 4), (0.2, 1.0)),
        (sgd(0.5), Local(5, "steps", 4), 0.5),
        (fedprox(0.1, adam()), Local(3), 0.5),
        (scaffold(), Local(2, "epochs", 4), 1),
    ],
    ids=["full batch", "other clients in every round", "momentum", "fedprox", "scaffold"],
)
def test_xla_equals_eager(pool, optimizer, local, fraction):
    """Ragged clients, partial participation, rows that end before others, rules with memory: in float64."""
    how = dict(rounds=3, local=local, optimizer=optimizer, dtype=torch.float64)
    net, feds = (
        mlp((2, 5, 1), nn.Tanh).double(),
        [Federation(SHARDS, fraction=fraction, lr=0.05, seed=s) for s in (0, 1)],
    )
    one, other = (train(net, squared_error, pool, feds, backend=b, **how) for b in ("eager", "xla"))
    torch.testing.assert_close(one.theta, other.theta, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.losses, other.losses, rtol=0, atol=1e-12)


def test_xla_equals_the_plain_loop(pool):
    net, fed = mlp((2, 5, 1), nn.Tanh).double(), Federation(SHARDS, fraction=0.6, lr=0.05)
    twin = fedavg_adam(net, squared_error, pool, fed, rounds=5, local=Local(3, "steps", 4))
    history = train(
        net, squared_error, pool, [fed], rounds=5, local=Local(3, "steps", 4), dtype=torch.float64, backend="xla"
    )
    torch.testing.assert_close(history.model(0), twin, rtol=0, atol=1e-12)


def test_noise_comes_in_pieces(pool, monkeypatch):
    """What a long round needs at once is small, and the pieces are the whole."""

    def loss(predict, batch):
        return squared_error(predict, batch) * (1 + (batch["w"][:, None] * batch["noise"] ** 2).sum())

    net, how = mlp((2, 5, 1), nn.Tanh).double(), dict(rounds=2, noise=(3,), dtype=torch.float64)
    found = []
    for numbers, backend in ((2**22, "eager"), (2**22, "xla"), (150, "xla"), (1, "eager")):
        monkeypatch.setattr("fedlib.federated.batches.NUMBERS_AT_ONCE", numbers)
        for local in (Local(3), Local(7, "steps", 4)):
            found.append(train(net, loss, pool, [Federation(SHARDS)], local=local, backend=backend, **how).theta)
    for theta in found[2:]:
        assert min((theta - whole).abs().max() for whole in found[:2]) < 1e-12


def test_the_given_tensors_stay_what_they_are(pool):
    """XLA may not write into memory that is torch's: pool, constants and the models before a round are left alone."""
    known = torch.ones(2, dtype=torch.float64)

    def loss(predict, batch):
        return squared_error(predict, batch) + batch["c"].sum() * (batch["w"] * predict(batch["x"])[:, 0]).sum()

    before = {name: value.clone() for name, value in pool.items()}
    train(
        mlp((2, 5, 1), nn.Tanh).double(), loss, pool, [Federation(SHARDS)], rounds=3, local=Local(2),
        constants={"c": known}, dtype=torch.float64, backend="xla",
    )  # fmt: skip
    assert all(torch.equal(pool[name], before[name]) for name in pool) and torch.equal(known, torch.ones(2).double())


def test_an_unknown_operation_is_named(pool):
    def loss(predict, batch):
        return (batch["w"] * predict(batch["x"])[:, 0]).cumsum(0)[-1]

    with pytest.raises(
        NotImplementedError, match=r"aten\.cumsum.* has no meaning in fedlib/federated/aten.py; train wi"
    ):
        train(mlp((2, 5, 1), nn.Tanh), loss, pool, [Federation(SHARDS)], rounds=1, local=Local(2), backend="xla")


def test_few_programs_for_many_shapes():
    """With other clients in every round a block is filled up: a power of two of rows, at most an eighth more points."""
    assert [xla.rounder(n, 1) for n in range(1, 9)] == [1, 2, 4, 4, 8, 8, 8, 8]
    assert len({xla.rounder(n, 4) for n in range(1, 1025)}) == 16 + 8 * 6
    assert all(n <= xla.rounder(n, 4) < 1.125 * n + (n < 16) for n in range(1, 1025))


x, y = torch.linspace(-0.9, 1.1, 24, dtype=torch.float64).reshape(2, 3, 4), torch.linspace(0.3, 2, 24).reshape(2, 3, 4)
ops = torch.ops.aten
CASES = [
    (ops.add.Tensor, x, y), (ops.sub.Tensor, x, y), (ops.mul.Tensor, x, y), (ops.div.Tensor, x, y), (ops.neg, x),
    *((getattr(ops, name), y) for name in aten.SAME if name not in ("maximum", "minimum")),
    (ops.maximum, x, y), (ops.minimum, x, y), (ops.pow.Tensor_Scalar, x, 3), (ops.pow.Tensor_Tensor, y, x),
    (ops.reciprocal, x), (ops.rsqrt, y), (ops.sigmoid, x), (ops.relu, x), (ops.where.self, x > 0, x, y),
    (ops.clamp, x, 0.1), (ops.clamp, x, None, 0.5), (ops.clamp, x, -0.1, 0.1),
    *((getattr(ops, name).Scalar, x, 0.1) for name in ("eq", "ne", "le", "lt", "ge", "gt")),
    (ops.bmm, x, x.mT), (ops.mm, x[0], x[1].T), (ops.sum.dim_IntList, x, [0, 2]), (ops.sum.dim_IntList, x, [-1], True),
    (ops.sum.default, x), (ops.mean.dim, x, [1]), (ops.amax, x, [1], True), (ops.amin, x, [0]),
    (ops.view, x, [6, -1]), (ops.permute, x, [2, 0, 1]), (ops.expand, x[:, :1], [5, 2, 3, -1]), (ops.unsqueeze, x, -1),
    (ops.squeeze.dims, x[:1, :1], [0, -2]), (ops.squeeze.dim, x[:, :1], 1), (ops.squeeze.dims, x, [1]),
    (ops.select.int, x, -1, -2), (ops.slice.Tensor, x, 2, -3, 9223372036854775807, 2), (ops.slice.Tensor, x, 0, 1),
    (ops.select_scatter, x, x[:, 0] + 1, 1, 2), (ops.slice_scatter, x, x[..., :2] + 1, -1, 1, 3), (ops.cat, [x, x], 1),
    (ops.index_select, x, 1, torch.tensor([2, 0, 0])), (ops.full, [2, 3], 0.5), (ops.full_like, x, 2),
    (ops.scalar_tensor, 3.0), (ops.arange.start_step, 1, 7, 2), (ops._to_copy, x > 0),
]  # fmt: skip


def name(case):
    return str(case[0]).removeprefix("aten.")


@pytest.mark.parametrize("case", CASES, ids=map(name, CASES))
def test_operations_mean_what_they_mean_in_torch(case):
    jax = xla.import_jax()
    target, *given = case
    with jax.enable_x64(True):
        arrays = jax.tree.map(lambda a: jax.numpy.asarray(a.numpy()) if isinstance(a, torch.Tensor) else a, given)
        packet = getattr(target, "overloadpacket", target)
        found = np.asarray(aten.TABLE[packet.__name__](*arrays))
    expected = target(*given).numpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12 if expected.dtype == float else 1e-6)


def test_every_meaning_is_tested():
    same = {"var_mean", "clone", "alias", "detach", "lift_fresh_copy", "_unsafe_view", "split", "split_with_sizes"}
    tested = {getattr(target, "overloadpacket", target).__name__ for target, *_ in CASES}
    assert set(aten.TABLE) - same == tested


def test_variance_and_mean():
    jax = xla.import_jax()
    with jax.enable_x64(True):
        for how in ({}, {"correction": 0}, {"keepdim": True}):
            found = aten.TABLE["var_mean"](x.numpy(), [1, 2], **how)
            for one, other in zip(found, ops.var_mean.correction(x, [1, 2], **{"correction": 1} | how), strict=True):
                np.testing.assert_allclose(one, other.numpy(), rtol=1e-12)


def test_pieces_of_an_axis():
    given = torch.arange(24.0).reshape(4, 6)
    for name, sizes, axis in (("split", 2, 1), ("split_with_sizes", [1, 3], 0)):
        found, expected = aten.TABLE[name](given.numpy(), sizes, axis), given.split(sizes, axis)
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
