"""What a loss may compute: by XLA as torch does it; or it is named and left to torch; or it is refused with a fix."""

import jax
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from fedlib.federated.backends import client_gradient, flat
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.optimizers import adam
from fedlib.federated.rounds import one_point, prepared
from fedlib.federated.stack import as_dict
from fedlib.federated.xla.aten import in_jax
from fedlib.federated.xla.program import array, knows_all
from fedlib.federated.xla.recording import direct, recorded
from fedlib.models.networks import mlp

B = 12
NET = mlp((1, 4, B), nn.Tanh).double()
POOL = {
    "x": torch.linspace(-1, 1, 2 * B, dtype=torch.float64)[:, None], "k": torch.arange(2 * B) % 4,
    "y": torch.linspace(0.2, 2, 2 * B, dtype=torch.float64),
}  # fmt: skip
SHARDS = [np.arange(B), np.arange(B, 2 * B)]
EYE = torch.eye(B, dtype=torch.float64)


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        return 3 * ctx.saved_tensors[0] ** 2 * gradient


def positive(A):
    return A @ A.mT + 3 * EYE


def in_place(u):
    new = u.clone()
    new[1:, 0] = 2 * u[:-1, 0]
    new[:, 1] *= 3
    return new


# name -> function of u [B, B], what the network says, y [B] and whole numbers k [B]
XLA = {
    "where": lambda u, y, k: torch.where(u > 0, u, y),
    "einsum": lambda u, y, k: torch.einsum("ij,j->i", u, y),
    "one_hot": lambda u, y, k: u[:, :4] * F.one_hot(k, 4),
    "a table": lambda u, y, k: u[0][k],
    "amax": lambda u, y, k: u.amax(1),
    "huber": lambda u, y, k: F.huber_loss(u[0], y),
    "softplus": lambda u, y, k: F.softplus(u),
    "logsumexp": lambda u, y, k: u.logsumexp(1),
    "tril": lambda u, y, k: u.tril(),
    "x ** y": lambda u, y, k: u.abs() ** y,
    "func.grad": lambda u, y, k: torch.func.grad(lambda v: v.sin().sum())(u),
    "func.jvp": lambda u, y, k: torch.func.jvp(torch.tanh, (u,), (u,))[1],
    "a function of one's own": lambda u, y, k: Cube.apply(u),
    "sin of large numbers": lambda u, y, k: (1e3 * u).sin(),
    "diagonal": lambda u, y, k: u.diag(),
    "std": lambda u, y, k: u.std(1),
    "norm of order 3": lambda u, y, k: u.norm(p=3, dim=1),
    "whole norm": lambda u, y, k: u.norm(),
    "cross entropy": lambda u, y, k: F.cross_entropy(u, k),
    "gelu": lambda u, y, k: F.gelu(u),
    "elu": lambda u, y, k: F.elu(u, 0.7),
    "erf": lambda u, y, k: u.erf(),
    "atan2": lambda u, y, k: torch.atan2(u, y),
    "round": lambda u, y, k: u * (3 * y).round(),
    "remainder": lambda u, y, k: u * (y % 0.3),
    "towards 0": lambda u, y, k: u * torch.div(y - 1, 0.3, rounding_mode="trunc"),
    "clamp": lambda u, y, k: u.clamp(-0.2, 0.3),
    "&": lambda u, y, k: u * ((y > 1) & (k > 1)),
    "logical_not": lambda u, y, k: u * torch.logical_not(k),
    "isnan": lambda u, y, k: torch.where(y.isnan(), y, u),
    "pad": lambda u, y, k: F.pad(u, (1, 2, 0, -1), value=0.3),
    "flip": lambda u, y, k: u.flip(0) * y,
    "cumsum": lambda u, y, k: u.cumsum(0),
    "gather": lambda u, y, k: u.gather(1, k[:, None]),
    "scatter_add": lambda u, y, k: u.scatter_add(1, k[:, None], u[:, :1]),
    "index_add": lambda u, y, k: u.index_add(0, k, u.mT),
    "embedding": lambda u, y, k: F.embedding(k, u),
    "slices in place": lambda u, y, k: in_place(u),
    "matrix power": lambda u, y, k: torch.linalg.matrix_power(u, 3),
    "heaviside": lambda u, y, k: u * torch.heaviside(y - 1, y),
    "attention": lambda u, y, k: F.scaled_dot_product_attention(u[None], u[None], u[None]),
}
TORCH = {
    "solve": lambda u, y, k: torch.linalg.solve(positive(u), y),
    "svdvals": lambda u, y, k: torch.linalg.svdvals(u),
    "fft": lambda u, y, k: torch.fft.rfft(u).abs(),
    "complex": lambda u, y, k: torch.complex(u, u).abs(),
    "conv1d": lambda u, y, k: F.conv1d(u[:, None], y[None, None, :3]),
    "max_pool": lambda u, y, k: F.max_pool1d(u, 2),
    "sort": lambda u, y, k: u.sort(1)[0],
    "layer_norm": lambda u, y, k: F.layer_norm(u, (B,)),
    "bessel": lambda u, y, k: torch.special.i0(u),
    "searchsorted": lambda u, y, k: u[0][torch.searchsorted(y, y)],
}
REFUSED = {
    "a mask as an index": (lambda u, y, k: u[y > 1], "torch.where"),
    "if": (lambda u, y, k: u if u.sum() > 0 else -u, "torch.where"),
    "item": (lambda u, y, k: u * y[0].item(), "torch.where"),
    "numpy": (lambda u, y, k: torch.as_tensor(np.sin(y.numpy())), "numpy"),
    "tolist": (lambda u, y, k: u * y.tolist()[0], "numpy"),
    "autograd.grad": (lambda u, y, k: torch.autograd.grad(u.sum(), y)[0], "JetNet"),
    "requires_grad_": (lambda u, y, k: u * y.requires_grad_(), "JetNet"),
    "checkpoint": (lambda u, y, k: checkpoint(torch.sin, u, use_reentrant=False), "JetNet"),
    "rand": (lambda u, y, k: u * torch.rand(B), "noise"),
}


def loss_with(function):
    def loss(predict, batch):
        u = predict(batch["x"])
        extra = function(u, batch["y"], batch["k"])
        return (batch["w"] * (u[:, 0] - batch["y"]) ** 2).sum() + (extra + 0.1).square().mean()

    return loss


def work(loss, net=NET):
    return prepared(net, loss, POOL, [Federation(SHARDS)], local=Local(2), backend="eager", dtype=torch.float64)


def example():
    theta = nn.utils.parameters_to_vector(NET.parameters()).detach() * torch.tensor([[1.0], [0.8]], dtype=torch.float64)
    return theta, {name: x.reshape(2, B, *x.shape[1:]) for name, x in POOL.items()} | {
        "w": torch.full((2, B), 1 / B).double()
    }


def gradients(function):
    gradient = client_gradient(NET, loss_with(function))

    def of(theta, *batch):
        g, losses = gradient(as_dict(NET, theta), dict(zip((*POOL, "w"), batch, strict=True)))
        return [flat(g), losses]

    return of


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch has no fast way for several models
@pytest.mark.parametrize("name", [*XLA, *TORCH])
def test_an_operation_is_done_by_xla_as_by_torch_or_named_and_left_to_torch(name):
    function = (XLA | TORCH)[name]
    of, (theta, batch) = gradients(function), example()
    expected = of(theta, *batch.values())
    assert all(x.isfinite().all() for x in expected)
    again = direct(recorded(of, [theta, *batch.values()]))(theta, *batch.values())
    torch.testing.assert_close(again, expected, rtol=1e-9, atol=0)
    training = NET, loss_with(function), adam()
    assert knows_all(*training, POOL, batch_of_both(batch)) == (name in XLA)
    if name in XLA:
        with jax.enable_x64(True):
            piece = in_jax(of, theta, *batch.values())
            values = piece(*jax.tree.map(array, (piece.captured, theta, *batch.values())))
        for value, right in zip(values, expected, strict=True):
            np.testing.assert_allclose(value, right, rtol=1e-9, atol=1e-12)


def batch_of_both(batch):
    """The losses here need all their points."""
    assert set(one_point(POOL, None, torch.float64)) == set(batch)
    return {name: x[:1] for name, x in batch.items()}


def test_auto_compiles_where_whole_numbers_come_first_in_the_pool():
    pool = {"label": (POOL["x"][:, 0] > 0).long(), "x": POOL["x"].float()}
    loss = lambda p, b: (b["w"] * (p(b["x"])[:, 0] - b["label"]) ** 2).sum()  # noqa: E731
    net = mlp((1, 4, 1), nn.Tanh)
    assert knows_all(net, loss, adam(), pool, one_point(pool, None, torch.float32))


@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_cannot_do_for_many_clients_is_refused_with_a_way_out(name):
    function, word = REFUSED[name]
    with pytest.raises(ValueError, match=f"the loss cannot be computed: .*{word}"):
        work(loss_with(function))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(1, B, batch_first=True)

    def forward(self, x):
        return self.cells(x[None])[0][0]


def test_a_layer_that_torch_has_for_one_model_only_is_named():
    with pytest.raises(ValueError, match=r"torch cannot compute aten::lstm\.input for several models at once"):
        work(loss_with(lambda u, y, k: u), Recurrent().double())
