"""Three problems as FedSciML's authors run them: DeepXDE's points, initialisation, loss and training loop.

Written from the facts of their code, with no line of it. A client is a DeepXDE model; a federation is ``train`` of each
and then the mean of the weights, again and again (``peer_deepxde.rounds``), so every client keeps its Adam moments.
"""

from collections.abc import Callable

import numpy as np
import torch

from fedlib.federated.partitions import index_rule
from fedlib.numerics.metrics import percent
from fedlib.numerics.solutions import DIFFUSION, antiderivative, reaction_rate, steady_reaction
from fedlib.numerics.spaces import TERMS, chebyshev_draws, chebyshev_series
from fedlib.streams import stream

from .peer_deepxde import import_library, rounds

CLIENTS, E = 2, 5
SINES = (1, 2, 3, 4, 8)


def seeded(dde, problem: str, seed: int) -> None:
    """DeepXDE draws weights from torch's global generator; the authors leave it as it is."""
    dde.config.set_random_seed(int(stream(seed, f"deepxde {problem}").integers(2**31)))


def compiled(dde, data, net, lr: float):
    """A client: Adam is made here, once, and lives as long as the model."""
    model = dde.Model(data, net)
    model.compile("adam", lr=lr, verbose=0)
    return model


def poisson(n: int, R: int, seed: int, lr: float = 1e-3) -> dict[str, float]:
    """Section 5.2: 32 equispaced points as anchors, the same first weights for all clients -> {"u": error (%)}."""
    dde = import_library()
    seeded(dde, "poisson", seed)
    x = np.linspace(0, np.pi, 32)[:, None]
    line = dde.geometry.Interval(0, np.pi)

    def residual(x, u):
        return -dde.grad.hessian(u, x) - sum(i * torch.sin(i * x) for i in SINES)

    def net():
        made = dde.nn.FNN([1, 20, 20, 20, 1], "tanh", "Glorot uniform")
        made.apply_output_transform(lambda x, N: x + torch.tanh(x) * torch.tanh(np.pi - x) * N)
        return made

    sets = [dde.data.PDE(line, residual, [], anchors=x[own]) for own in index_rule(32, CLIENTS, n // CLIENTS)]
    models = [compiled(dde, data, net(), lr) for data in sets]
    for model in models[1:]:
        model.net.load_state_dict(models[0].net.state_dict())
    rounds(models, R, E)
    x = np.linspace(0, np.pi, 100)[:, None]
    truth = x + sum(np.sin(i * x) / i for i in SINES)
    return {"u": percent(models[0].predict(x.astype(np.float32)), truth)}


def reaction(n: int, R: int, seed: int, lr: float = 1e-3) -> dict[str, float]:
    """Section 5.6: two nets, 24 observations, 8 residual points inside and both ends -> {"u", "k": errors (%)}."""
    dde = import_library()
    seeded(dde, "reaction", seed)
    x = np.linspace(0, 1, 24)[:, None]
    u, line = steady_reaction(x[:, 0])[:, None], dde.geometry.Interval(0, 1)

    def residual(x, both):
        second = dde.grad.hessian(both, x, component=0)
        return DIFFUSION * second - both[:, :1] * both[:, 1:] - torch.sin(2 * np.pi * x)

    def client(own):
        observed = dde.icbc.PointSetBC(x[own], u[own], component=0)
        data = dde.data.PDE(line, residual, [observed], 8, 2, train_distribution="uniform")
        net = dde.nn.PFNN([1, [20, 20], [20, 20], [20, 20], 2], "tanh", "Glorot uniform")
        net.apply_output_transform(
            lambda x, N: torch.cat([torch.tanh(x) * torch.tanh(1 - x) * N[:, :1], N[:, 1:]], 1)
        )  # fmt: skip
        return compiled(dde, data, net, lr)

    models = [client(own) for own in index_rule(24, CLIENTS, n // CLIENTS)]
    rounds(models, R, E)
    x = np.linspace(0, 1, 1001)
    found = models[0].predict(x[:, None].astype(np.float32))
    return {"u": percent(found[:, 0], steady_reaction(x)), "k": percent(found[:, 1], reaction_rate(x))}


def learn_antiderivative(n: int, R: int, seed: int, lr: float = 1e-3) -> dict[str, float]:
    """Section 6.2: 100 functions for each client, fresh ones for each seed -> {"G": error (%) on 1000 functions of all
    terms}. Solutions are exact, as ours; the authors integrate a staircase."""
    dde = import_library()
    seeded(dde, "antiderivative", seed)
    x = np.linspace(0, 1, 100)

    def pairs(kind, terms, count, use):
        c = chebyshev_draws(kind, terms, count, stream(seed, f"deepxde {use}"))
        return chebyshev_series(c, x).astype(np.float32), antiderivative(c, x).astype(np.float32)

    y = x[:, None].astype(np.float32)
    v, s = pairs("forward", TERMS, 1000, "test")
    models = []
    for kind in ("forward", "inverse"):
        own = pairs(kind, n, 100, kind)
        data = dde.data.TripleCartesianProd((own[0], y), own[1], (v[:1], y), s[:1])
        net = dde.nn.DeepONetCartesianProd([100, 40, 40], [1, 40, 40], "relu", "Glorot normal")
        models.append(compiled(dde, data, net, lr))
    rounds(models, R, E)
    return {"G": percent(models[0].predict((v, y)), s)}


THEIRS: dict[str, Callable[..., dict[str, float]]] = {
    "poisson": poisson, "reaction": reaction, "antiderivative": learn_antiderivative,
}  # fmt: skip
