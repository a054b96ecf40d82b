"""What three ways to train FedStNN are compared on: data, federations, gradients, normalisation, quality."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad

from ....federated.federation import Federation, join
from ....federated.history import History
from ....federated.mixing import isolated
from ....federated.stack import as_dict, predict, stack
from ....numerics.metrics import relative_l2
from ....streams import stream, torch_stream
from .. import plane
from ..experiment import Answers, asked, quality
from ..sine import curve, curve_grid, inputs, owners
from .coded import Coded, is_statistic
from .problem import Way

POINTS = "non-IID 60"  # the authors' saved notebook has 50 + 10 points per client


class Data(NamedTuple):
    """Data of several seeds in one pool.

    shards: seed -> who owns what. joined: ``joined(key, shards)`` are these of the data set ``key``, see ``join``.
    """

    shards: Mapping
    pool: Mapping[str, Tensor]
    joined: Callable


def observe(clients: int, sigmas: Sequence[float], seeds: Sequence[int]) -> Data:
    """Noisy observations of the sine: keys (sigma, seed), shards "non-IID 60" and "one", 110 points of one client.

    A client's noise is drawn for the client, as coded: two of them see different y at the same x.
    """
    pools, shards = {}, {}
    for seed in seeds:
        parts = [*owners(POINTS, clients, seed), owners("IID 110", clients, seed)[0]]
        ends = np.cumsum([0, *map(len, parts)])
        places = [np.arange(a, b) for a, b in pairwise(ends)]
        shards[seed] = {POINTS: places[:-1], "one": places[-1:]}
        x = curve_grid()[np.concatenate(parts)]
        e = stream(seed, "noise of the clients").standard_normal(len(x))
        for sigma in sigmas:
            pools[sigma, seed] = {"x": inputs(x), "y": torch.as_tensor(curve(x) + sigma * e)}
    return Data(shards, *join(pools))


def federations(way: Way, data: Data, sigmas: Sequence[float], fraction: float) -> dict[tuple, Federation]:
    """(sigma, seed) -> Federation of clients with equal weights (all have as many points)."""
    return {
        (sigma, seed): Federation(data.joined((sigma, seed), parts[POINTS]), fraction=fraction, seed=seed, **way.common)
        for seed, parts in data.shards.items()
        for sigma in sigmas
    }


def rates(data: Data, key: tuple, points: str | None, fraction: float, rates: Sequence[float]) -> dict:
    """(learning rate, seed) -> Federation: what a rate is chosen from.

    key: of the data set, before the seed. points: which of its shards, where there are several kinds.
    """
    feds = {}
    for seed, parts in data.shards.items():
        shards = data.joined((*key, seed) if key else seed, parts[points] if points else parts)
        feds |= {(lr, seed): Federation(shards, fraction=fraction, seed=seed, lr=lr) for lr in rates}
    return feds


def alone(way: Way, data: Data, sigmas: Sequence[float]) -> dict[tuple, Federation]:
    """(sigma, seed) -> one client with 110 points from everywhere, who talks to nobody."""
    return {
        (sigma, seed): Federation(data.joined((sigma, seed), parts["one"]), mixing=isolated, seed=seed, **way.common)
        for seed, parts in data.shards.items()
        for sigma in sigmas
    }


def observe_surface(clients: int, sigma: float, seeds: Sequence[int], outside: int = 10) -> Data:
    """Noisy observations of the surface, see ``plane.owners``; keys of the pool are the seeds."""
    points = torch.as_tensor(plane.surface_grid())
    pools = {seed: {"x": points, "y": torch.as_tensor(plane.observations(seed, sigma))} for seed in seeds}
    return Data({seed: plane.owners(clients, outside, seed) for seed in seeds}, *join(pools))


def on_surface(way: Way, data: Data, fraction: float) -> dict[tuple, Federation]:
    """("federated", seed) -> Federation of the clients of ``observe_surface``."""
    return {
        ("federated", seed): Federation(data.joined(seed, shards), fraction=fraction, seed=seed, **way.common)
        for seed, shards in data.shards.items()
    }


def answered(net: nn.Module, row: Tensor, constants: Mapping[str, Tensor]) -> Answers:
    """What one model [P] answers to ``experiment.probes``, as if it were one seed."""
    answers = asked(net, row, constants)
    return Answers(*(answers[name][None] for name in Answers._fields))


def learnt(history: History, name, client: int | None = 0) -> Answers:
    """A client's model of a federation after the last round, over seeds: [S, n] and [S]; None: all, [S, K, n]."""
    chosen = {"name": name} | ({} if client is None else {"client": client})
    return Answers(*(history.last(metric, **chosen).values for metric in Answers._fields))


def hundredths(rows: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, dict[str, np.ndarray]]:
    """Row -> quantity -> values over seeds, times 100: so a share is in percent."""
    return {name: {quantity: 100 * np.array(v) for quantity, v in row.items()} for name, row in rows.items()}


def judged(answers: Answers, f: np.ndarray, sigma: float) -> dict[str, np.ndarray]:
    """``quality``, the share of paths in f +- 2 sigma, and the mean square of a path against f: name -> [S]."""
    row = quality(answers.mean, answers.std, f, sigma)
    return row | {"in band": answers.inside, "a path against f": row["RMSE"] ** 2 + row["std"] ** 2}


def own_error(answers: Answers, f: np.ndarray, sigma: float) -> np.ndarray:
    """Mean square of a path against new observations [S]: the squared error on validation data."""
    return judged(answers, f, sigma)["a path against f"] + sigma**2


def gradient_errors(net: nn.Module, exact: nn.Module, row: Tensor, B: int = 64) -> dict[str, float]:
    """Relative L2 distance of the gradient of the squared error to that by autograd, in float64: part -> number.

    net, exact: the same network with both gradients. row [P]: where. B random points with one path each.
    """
    generator, params = torch_stream(0, "gradients"), as_dict(exact, row.double())
    d = params["lift.weight"].shape[1]
    x, y, w = (torch.randn(*s, generator=generator).double() for s in ((B, d), (B,), (B, *net.noise(1))))
    gradients = [grad(lambda p, n=n: squared_error(n, p, x, y, w))(params) for n in (net, exact)]
    parts = {"lift": ("lift",), "drift": ("drift",), "diffusion": ("s", "spread", "norm")}
    return {part: distance(*gradients, lambda name, k=kinds: name.split(".")[0] in k) for part, kinds in parts.items()}


def squared_error(net: nn.Module, params: Mapping[str, Tensor], x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """Mean over points, one path each."""
    if isinstance(net, Coded):
        return functional_call(net, params, (x, w, y))
    return ((functional_call(net, params, (x, w))[:, 0] - y) ** 2).mean()


def distance(a: Mapping[str, Tensor], b: Mapping[str, Tensor], chosen) -> float:
    """Of the chosen parameters' gradients, all as one vector; running statistics have none."""
    names = [name for name in a if chosen(name) and not name.endswith((".mean", ".var"))]
    one, other = (torch.cat([gradient[name].flatten() for name in names]) for gradient in (a, b))
    return float(relative_l2(one, other))


def start_of(net: nn.Module, init) -> Tensor:
    """A start [P] of seed 0."""
    return stack(net, [(0,)], init)[0]


def normalised(net: Coded, rows: Tensor, constants: Mapping[str, Tensor], running: bool) -> np.ndarray:
    """RMSE on the grid of models [K, P] by their running statistics or by those of the points asked for: [K]."""
    net = Coded(*net.widths, running=running, domain=net.domain)
    x, f, w = (constants[name].float() for name in ("x_test", "f_test", "w_test"))
    return np.array([float((predict(net, row, x, w).mean(1) - f[:, 0]).square().mean().sqrt()) for row in rows])


def normalisations(
    net: Coded, averaged: History, personal: History, key: tuple, constants: Mapping[str, Tensor]
) -> dict[str, np.ndarray]:
    """RMSE after a training whose running statistics were averaged, or stayed ("personal"), by how one normalises.

    Of the federation's model, or of all clients that have ever worked [.].
    """
    models, statistic = personal.models(*key), is_statistic(net)
    start = nn.utils.parameters_to_vector(net.parameters()).detach()
    worked = (models[:, statistic] != start[statistic]).any(1)
    return {
        "statistics of the points asked for": normalised(net, averaged.models(*key)[:1], constants, False),
        "averaged running statistics": normalised(net, averaged.models(*key)[:1], constants, True),
        "each client's own running statistics": normalised(net, models[worked], constants, True),
    }


def cost(history: History, way: Way, seconds: float) -> dict[str, float]:
    """Local steps of all models of a training, and what one of them took."""
    steps = float(np.isfinite(history.losses).sum()) * way.local.updates
    return {"local steps": steps, "seconds": seconds, "microseconds per step": 1e6 * seconds / steps}
