"""The steps as one program of XLA are the steps that torch takes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated.batches import POINTS_PER_BLOCK, Local
from fedlib.federated.experiment import weighted_mean_square
from fedlib.federated.federation import Federation
from fedlib.federated.mixing import ring
from fedlib.federated.optimizers import Server, adam, sgd
from fedlib.federated.rounds import beginning, prepared, rounds_from
from fedlib.federated.rules import averaged_moments, corrected, fedadam, fedprox, mime, scaffold
from fedlib.federated.train import train
from fedlib.federated.xla import aten, program
from fedlib.models.networks import fan_in_uniform, mlp
from fedlib.streams import stream

SHARDS = [np.arange(7), np.arange(7, 12), np.arange(12, 31), np.arange(31, 33), np.arange(33, 43)]  # XLA fills 19 up


@pytest.fixture(scope="module")
def pool():
    x = torch.as_tensor(stream(0, "data").uniform(-1, 1, (43, 2)))
    return {"x": x, "y": x.prod(1).sin()}


def squared_error(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()


@pytest.mark.parametrize(
    ("optimizer", "local", "fraction"),
    [
        (adam(), Local(2, "epochs", 4), (0.2, 1.0)),
        (fedprox(0.1, adam()), Local(3), 0.5),
    ],
    ids=["other clients in every round", "fedprox"],
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


ALL_RULES = {
    "FedAvg": (adam(), None),
    "fedprox": (fedprox(0.1, adam()), None),
    "scaffold": (scaffold(adam()), None),
    "corrected": (corrected(adam()), None),
    "repair": (corrected(averaged_moments()), None),
    "mime": (mime(), None),
    "fedadam": (adam(), fedadam(0.01)),
}


@pytest.mark.parametrize(
    ("rule", "local", "reset"),
    [(rule, Local(3), False) for rule in ALL_RULES]
    + [("FedAvg", Local(2, "epochs", 4), True), ("scaffold", Local(2, "epochs", 4), False), ("repair", Local(3), True)],
)
def test_whole_rounds_as_one_program_equal_eager_rounds(pool, rule, local, reset):
    """Ragged clients, two mixing rules, starts of one's own, a rate that falls; nobody looks for seven rounds."""
    optimizer, server = ALL_RULES[rule]
    common = dict(lr=0.02, server=server, decay=0.9)
    shards = SHARDS[:3]
    feds = [Federation(shards, **common), Federation(shards, seed=1, mixing=ring, common_init=False, **common)]
    feds = feds[:1] if rule == "mime" else feds  # it has no common model on a ring, and blows up
    args = dict(rounds=7, local=local, optimizer=optimizer, dtype=torch.float64, reset_moments=reset)
    net = mlp((2, 5, 1), nn.Tanh).double()
    one, other = (train(net, squared_error, pool, feds, backend=b, **args) for b in ("eager", "xla"))
    assert (one.backend, other.backend) == ("eager", "xla")
    assert_same(one.theta, other.theta, 1e-11)
    assert_same(one.losses, other.losses, 1e-11)


@pytest.mark.parametrize("rule", ["FedAvg", "scaffold", "corrected", "fedadam"])
def test_personal_parameters_stay_at_home_in_a_program(pool, rule):
    optimizer, server = ALL_RULES[rule]
    net, fed = mlp((2, 5, 1), nn.Tanh).double(), Federation(SHARDS, lr=0.02, server=server)
    args = dict(rounds=5, local=Local(3), optimizer=optimizer, dtype=torch.float64, personal=["0.weight"])
    one, other = (train(net, squared_error, pool, [fed], backend=b, **args) for b in ("eager", "xla"))
    assert_same(one.theta, other.theta, 1e-12)
    assert (one.theta[0] - one.theta[1])[:10].abs().min() > 0


def test_how_often_somebody_looks_changes_nothing(pool):
    """Bit-equal, so that a training which was interrupted goes on to the same result."""
    net, fed, looks = mlp((2, 5, 1), nn.Tanh), Federation(SHARDS, lr=0.02), {}
    for every in (1, 4, 12):
        work = prepared(net, squared_error, pool, [fed], local=Local(2), backend="xla")
        ends = [*range(every, 13, every)]
        played = rounds_from(work, beginning(work, fan_in_uniform), lambda r, ends=ends: min(e for e in ends if e > r))
        done = [next(played)]
        while done[-1].state.round < 12:
            done.append(next(played))
        looks[every] = np.concatenate([one.loss for one in done]), done[-1].after
    assert all(np.array_equal(losses, looks[1][0]) and torch.equal(x, looks[1][1]) for losses, x in looks.values())


def test_a_rule_that_aten_does_not_know_is_played_round_by_round(pool):
    """Its local steps are compiled all the same."""
    server = Server(lambda x: {}, lambda before, mixed, state: before + (mixed - before).cumsum(0)[-1:])
    net, args = mlp((2, 5, 1), nn.Tanh).double(), dict(rounds=3, local=Local(2), dtype=torch.float64)
    feds = [Federation(SHARDS, server=server)]
    one, other = (train(net, squared_error, pool, feds, backend=b, **args) for b in ("eager", "xla"))
    assert_same(one.theta, other.theta, 1e-12)


def test_a_diverged_client_is_named_and_ends_the_program(pool):
    """One client's curvature is too large for the rate; its overflow comes some rounds before the others'."""
    steep, words = {**pool, "x": pool["x"].clone()}, set()
    steep["x"][SHARDS[2]] *= 30
    net, args = mlp((2, 1), nn.Tanh), dict(rounds=200, local=Local(3), optimizer=sgd())
    for backend in ("eager", "xla"):
        with pytest.raises(FloatingPointError, match=r"at client 2 in round [1-9]\d*, local step \d of 3") as error:
            train(net, squared_error, steep, [Federation(SHARDS, lr=0.1)], backend=backend, **args)
        words.add(str(error.value))
    assert len(words) == 1, "the same round and step"


def assert_same(one, other, atol):
    np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=0, atol=atol)


@pytest.mark.parametrize("shards", [SHARDS, [np.arange(43)], [np.arange(20), np.arange(20, 43)]])
def test_slices_of_the_points_are_the_whole(pool, monkeypatch, shards):
    """A loss that sums over points, in slices that hold 6 of them: ragged clients, two, one alone; in float64."""
    monkeypatch.setitem(POINTS_PER_BLOCK, "xla", 6)
    cuts, sliced = [], program.sliced
    monkeypatch.setattr(
        program, "sliced", lambda step, slices, *more: cuts.append(slices) or sliced(step, slices, *more)
    )
    loss = weighted_mean_square(lambda predict, batch: predict(batch["x"]) - batch["y"][:, None])
    net, feds = mlp((2, 5, 1), nn.Tanh).double(), [Federation(shards, lr=0.05)]
    train_args = dict(rounds=3, local=Local(3), dtype=torch.float64, optimizer=scaffold(adam()))
    one, other = (train(net, loss, pool, feds, backend=b, **train_args) for b in ("eager", "xla"))
    assert min(cuts) > 1
    torch.testing.assert_close(one.theta, other.theta, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.losses, other.losses, rtol=0, atol=1e-12)


def test_a_loss_that_is_no_sum_over_points_is_not_sliced(pool, monkeypatch):
    """The root of a mean is not the sum of the roots of its slices."""

    def root(predict, batch):
        return squared_error(predict, batch).sqrt()

    monkeypatch.setitem(POINTS_PER_BLOCK, "xla", 6)
    net, train_args = mlp((2, 5, 1), nn.Tanh).double(), dict(rounds=3, local=Local(3), dtype=torch.float64)
    one, other = (train(net, root, pool, [Federation(SHARDS)], backend=b, **train_args) for b in ("eager", "xla"))
    torch.testing.assert_close(one.theta, other.theta, rtol=0, atol=1e-12)


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


def test_sines_are_right_over_a_wide_range():
    """Against float64, up to where XLA's own sine takes over and beyond, at the borders of the reduction, at 0."""
    rng = stream(0, "angles")
    for far in (1, 30, 1e3, aten.FAR):
        borders = np.arange(-40, 41) * np.pi / 4
        x = np.concatenate([rng.uniform(-far, far, 200_000), borders, [0.0, -0.0]]).astype(np.float32)
        for name, true in (("sin", np.sin), ("cos", np.cos)):
            gap = np.abs(np.asarray(aten.jax.jit(aten.TABLE[name])(x), float) - true(x.astype(float)))
            assert gap.max() < 1e-7, (name, far, x[gap.argmax()])
    beyond = np.array([1e6, -3e8, 1e30], np.float32)
    for name, true in (("sin", np.sin), ("cos", np.cos)):
        np.testing.assert_allclose(aten.TABLE[name](beyond), true(beyond.astype(float)), atol=1e-6)
        assert np.isnan(aten.TABLE[name](np.array([np.nan, np.inf], np.float32))).all()


def test_an_unknown_operation_is_named(pool):
    def loss(predict, batch):
        return (batch["w"] * predict(batch["x"])[:, 0].cumprod(0)).sum()

    with pytest.raises(
        NotImplementedError, match=r"aten\.cumprod.* has no meaning in fedlib/federated/xla/aten.py; train wi"
    ):
        train(mlp((2, 5, 1), nn.Tanh), loss, pool, [Federation(SHARDS)], rounds=1, local=Local(2), backend="xla")


def test_few_programs_for_many_shapes():
    """With other clients in every round a block is filled up, with at most an eighth more points."""
    assert len({program.rounder(n) for n in range(1, 1025)}) == 16 + 8 * 6
    assert all(n <= program.rounder(n) < 1.125 * n + (n < 16) for n in range(1, 1025))


x, y = torch.linspace(-0.9, 1.1, 24, dtype=torch.float64).reshape(2, 3, 4), torch.linspace(0.3, 2, 24).reshape(2, 3, 4)
ops, WHERE = torch.ops.aten, torch.tensor([[[2, 0, 1]]])
CASES = [
    (ops.add.Tensor, x, y), (ops.sub.Tensor, x, y), (ops.mul.Tensor, x, y), (ops.div.Tensor, x, y), (ops.neg, x),
    *((getattr(ops, name), y) for name in aten.SAME ),
    (ops.maximum, x, y), (ops.minimum, x, y), (ops.pow.Tensor_Scalar, x, 3), (ops.pow.Tensor_Tensor, y, x),
    (ops.addcmul, x, -x, x + 2), (ops.addcdiv, x, -x, x + 2), (ops.lerp.Scalar, x, x**2, 0.1),
    (ops.lerp.Scalar, x, x**2, 0.9), (ops.where.ScalarSelf, x > 0, 2.0, x), (ops.unbind, x, -1), (ops.arange, 5),
    (ops.reciprocal, x), (ops.rsqrt, y), (ops.sigmoid, x), (ops.relu, x), (ops.where.self, x > 0, x, y),
    (ops.clamp, x, 0.1), (ops.clamp, x, None, 0.5), (ops.clamp, x, -0.1, 0.1),
    *((getattr(ops, name).Scalar, x, 0.1) for name in ("eq", "ne", "le", "lt", "ge", "gt")),
    (ops.bmm, x, x.mT), (ops.mm, x[0], x[1].T), (ops.sum.dim_IntList, x, [0, 2]), (ops.sum.dim_IntList, x, [-1], True),
    (ops.sum.default, x), (ops.mean.dim, x, [1]), (ops.amax, x, [1], True), (ops.amin, x, [0]),
    (ops.view, x, [6, -1]), (ops.permute, x, [2, 0, 1]), (ops.expand, x[:, :1], [5, 2, 3, -1]), (ops.unsqueeze, x, -1),
    (ops.squeeze.dims, x[:1, :1], [0, -2]), (ops.squeeze.dim, x[:, :1], 1), (ops.squeeze.dims, x, [1]),
    (ops.select.int, x, -1, -2), (ops.slice.Tensor, x, 2, -3, 9223372036854775807, 2), (ops.slice.Tensor, x, 0, 1),
    (ops.select_scatter, x, x[:, 0] + 1, 1, 2), (ops.slice_scatter, x, x[..., :2] + 1, -1, 1, 3), (ops.cat, [x, x], 1),
    (ops.index_select, x, 1, torch.tensor([2, 0, 0])), (ops.index.Tensor, x, [None, torch.tensor([2, 0])]),
    (ops.index_put, x, [torch.tensor([0, 0])], x, True), (ops.index_put, x, [None, torch.tensor([2, 1])], x[:, :2] + 1),
    (ops.index_add, x[0], 0, torch.tensor([2, 2, 0]), x[1]), (ops.copy, x, x[:1] + 1), (ops.sin, x), (ops.cos, x),
    (ops.index_copy, x, 1, torch.tensor([2, 0]), x[:, :2] + 1), (ops.full, [2, 3], 0.5), (ops.full_like, x, 2),
    (ops.scalar_tensor, 3.0), (ops.arange.start_step, 1, 7, 2), (ops._to_copy, x > 0), (ops.fmod.Tensor, x, y),
    (ops.remainder.Tensor, x, y), (ops.bitwise_not, x > 0), (ops.atan2, x, y),
    *((getattr(ops, name), x > 0, y > 1) for name in aten.TWO if name.startswith(("logical", "bitwise"))),
    *((getattr(ops, name), 0.9 * x) for name in ("asin", "acos", "atan", "erf", "erfc", "gelu")),
    (ops.elu, x, 0.7), (ops.leaky_relu, x, 0.1), (ops.hardtanh, x, -0.2, 0.3), (ops._softmax, x, 1, False),
    (ops._log_softmax, x, -1, False), (ops.linalg_vector_norm, x, 3, [1]), (ops.linalg_vector_norm, x, 0, [0, 2], True),
    (ops.linalg_vector_norm, x, np.inf, [0]), (ops.linalg_vector_norm, x, -np.inf, [0]), (ops.cumsum, x, 1),
    (ops.embedding, x[0], torch.tensor([2, 0])), (ops.gather, x, 1, WHERE), (ops.scatter.src, x, 1, WHERE, x + 1),
    (ops.scatter.value, x, 1, WHERE, 0.5), (ops.scatter_add, x, 1, WHERE, x + 1), (ops.flip, x, [0, 2]),
    (ops.constant_pad_nd, x, [1, 2, 0, -1], 0.3), (ops.var.correction, x, [1]), (ops.diagonal, x, -1, 1, 2),
    (ops.diagonal_scatter, x, x.diagonal(1, 2, 1) + 1, 1, 2, 1), (ops.repeat, x, [2, 1, 3]), (ops.any.dim, x > 0, -1),
    (ops.as_strided, x, [2, 3], [12, 2], 4), (ops.as_strided_scatter, x, x[:, 0, 1:] + 1, [2, 3], [12, 2], 4),
]  # fmt: skip


def name(case):
    return str(case[0]).removeprefix("aten.")


@pytest.mark.parametrize("case", CASES, ids=map(name, CASES))
def test_operations_mean_what_they_mean_in_torch(case):
    jax = aten.jax
    target, *given = case
    with jax.enable_x64(True):
        arrays = jax.tree.map(lambda a: jax.numpy.asarray(a.numpy()) if isinstance(a, torch.Tensor) else a, given)
        packet = getattr(target, "overloadpacket", target)
        found = np.asarray(aten.TABLE[packet.__name__](*arrays))
    expected = np.asarray(target(*given))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12 if expected.dtype == float else 1e-6)


def test_every_meaning_is_tested():
    same = {"var_mean", "clone", "alias", "detach", "lift_fresh_copy", "_unsafe_view", "split", "split_with_sizes"}
    same |= {"new_empty_strided", "empty", "empty_permuted"}  # whatever is in that memory
    tested = {getattr(target, "overloadpacket", target).__name__ for target, *_ in CASES}
    assert set(aten.TABLE) - same == tested


@pytest.mark.parametrize(
    ("function", "last"),
    [
        (lambda A, B: torch.bmm(A, B).view(2, 3, 5).transpose(1, 2) * 1, "dot_general"),
        (lambda A, B: torch.bmm(A, B).view(2, 5, 3).transpose(1, 2) * 1, "transpose"),  # no longer the product
        (lambda A, B: torch.bmm(A, B).transpose(0, 1) * 1, "transpose"),
    ],
)
def test_a_turned_product_is_the_product_of_turned_factors(function, last):
    """XLA would compute A B and copy it: a tenth of a round, for the gradients of weights come so."""
    A, B = (
        torch.as_tensor(stream(0, name).normal(size=(2, *of))).float() for name, of in (("A", (3, 4)), ("B", (4, 5)))
    )
    given, run = [jnp.asarray(x.numpy()) for x in (A, B)], aten.in_jax(function, A, B)
    np.testing.assert_allclose(run([], *given), function(A, B), rtol=1e-5)
    steps = [step.primitive.name for step in jax.make_jaxpr(run.function)([], *given).eqns]
    assert [step for step in steps if step in ("dot_general", "transpose")][-1] == last


def test_variance_and_mean():
    jax = aten.jax
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
