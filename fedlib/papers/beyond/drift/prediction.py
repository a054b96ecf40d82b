"""Which levels fail, said beforehand: how far the clients' gradients disagree while a linearised network learns.

A network that moves little has the residuals r(t) = exp(-t K W) r(0) at its points, K = J J' with J the Jacobian of
its residuals by its parameters, W their weights. So everything on the way is known at the start, from data and K.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
import xarray
from scipy.spatial.distance import cdist
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from ....federated.batches import Local
from ....federated.experiment import Experiment, data_of
from ....federated.federation import Federation
from ....federated.history import History
from ....federated.partitions import index_rule, per_client
from ....federated.stack import as_dict, stack
from ....federated.sweep import errors, whole_levels
from ....models.jets import VALUE_ONLY
from ....models.networks import mlp
from ....trainings.calls import Call, Computed, Task, Tolerance
from ....trainings.store import stored
from ...fedsciml.forward import problem as forward
from ...fedsciml.forward import study as forward_study
from ...fedsciml.functions import study as functions_study
from ...fedsciml.functions.problem import approximation, gramacy_lee, schaffer
from ...fedsciml.reaction import problem as reaction
from ...fedsciml.reaction import study as reaction_study

LEFT = 10.0 ** -np.linspace(0, 3, 61)
"""Stages: what is left of the residual's norm, in equal parts of its logarithm."""

ENOUGH = 1e-2
"""Down to one per cent, the size of the errors that the notebooks have; chosen before anything was computed here."""

WIDTH = 0.3
"""Of the Gaussian kernel, in units of the domain."""


def square_wave(n: int = 200, width: int = 64) -> Experiment:
    """Ten half waves of height 1 on [-1, 1], sign(sin 5 pi x), with the network and the points of Gramacy-Lee's."""
    return approximation(
        "Square wave", mlp((1, width, width, width, 1), nn.Tanh), lambda x: (5 * torch.pi * x[:, 0]).sin().sign(),
        np.linspace(-1, 1, n)[:, None], test=np.linspace(-1, 1, 1000)[:, None], coordinates="x",
        owners=lambda pieces: index_rule(n, 2, per_client(pieces, 2)),
    )  # fmt: skip


class Predicted(NamedTuple):
    """A problem whose levels are put in order.

    study, training: who has its errors, called metric; no study: this notebook. held_out: no choice was
    made on it. residuals: see ``linear``; None: the experiment's own.
    """

    title: str
    make: Callable[[], Experiment]
    training: Hashable
    study: ModuleType | None = None
    metric: str = "error"
    held_out: bool = False
    residuals: Callable | None = None


def observed_and_equation(predict: Callable, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Of the reaction: what its observations [N, 1] are off by, and the equation [m], which all clients ask for."""
    u = reaction.vanishing(batch["x"]) * predict(batch["x"], VALUE_ONLY)[0][:, 0]
    return (u - batch["u"])[:, None], reaction.residual(predict, batch)


PROBLEMS = {
    "wave": Predicted("Gramacy-Lee", gramacy_lee, "line", functions_study),
    "poisson": Predicted("Poisson", forward.poisson, "poisson", forward_study),
    "helmholtz": Predicted("Helmholtz", forward.helmholtz, "helmholtz", forward_study),
    "beam": Predicted("Euler beam", forward.euler_beam, "beam", forward_study),
    "schaffer": Predicted("Schaffer", lambda: schaffer(printed=True), ("slabs", "printed"), functions_study),
    "square_wave": Predicted("square wave", square_wave, "square_wave", held_out=True),
    "reaction": Predicted(
        "reaction k(x)",
        reaction.reaction,
        ("inside_10", "levels"),
        reaction_study,
        "error_u",
        held_out=True,
        residuals=observed_and_equation,
    ),
}


# the linearised network


class Linear(NamedTuple):
    """What a network does while it moves little: residuals r [n] and their Jacobian J [n, P] at some parameters.

    N points of the pool with c residuals each come first, then the others: n = N c + others.
    """

    r: np.ndarray
    J: np.ndarray
    N: int
    c: int


def linear(
    experiment: Experiment, pool: Mapping[str, Tensor], theta: Tensor, residuals: Callable | None = None
) -> Linear:  # fmt: skip
    """An experiment at all points of its pool, around the parameters theta [P], in float64.

    residuals: (predict, pool and constants) -> those of the points [N, c], one by one, and others that every client has
    [m]; by default the experiment's own, and no others.
    """
    points, constants = (
        {name: value.double() for name, value in tensors.items()} for tensors in (pool, experiment.constants)
    )
    one = {"w": theta.new_ones(1, dtype=torch.float64)}  # asked for its length only

    def both(theta: Tensor, point: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        def predict(*inputs):
            return functional_call(experiment.net, as_dict(experiment.net, theta), inputs)

        batch = {name: value[None] for name, value in point.items()} | constants | one
        return residuals(predict, batch) if residuals else (experiment.residuals(predict, batch), theta.new_zeros(0))

    def twice(values: Tensor) -> tuple[Tensor, Tensor]:
        return values, values

    theta, first = theta.double(), {name: value[0] for name, value in points.items()}
    # point by point: all at once, each derivative would go through all of them
    of_point = jacrev(lambda theta, point: twice(both(theta, point)[0][0]), has_aux=True)
    J, r = vmap(of_point, (None, 0), chunk_size=256)(theta, points)
    J_common, r_common = jacrev(lambda theta: twice(both(theta, first)[1]), has_aux=True)(theta)
    N, c, P = J.shape
    return Linear(torch.cat([r.ravel(), r_common]).numpy(), torch.cat([J.reshape(-1, P), J_common]).numpy(), N, c)


def weights_of(owners: Sequence[np.ndarray], around: Linear) -> np.ndarray:
    """Weights [K, n] of the clients' losses sum_i w_i r_i^2: a mean over their own points, and one over the others."""
    points = around.N * around.c
    weights = np.zeros((len(owners), len(around.r)))
    for client, shard in enumerate(owners):
        weights[client, :points].reshape(around.N, around.c)[shard] = 1 / len(shard)
        weights[client, points:] = 1 / max(1, len(around.r) - points)
    return weights


def gaussian(x: np.ndarray, width: float = WIDTH) -> np.ndarray:
    """exp(-|x_i - x_j|^2 / (2 width^2)) [n, n] of points [n, d], each coordinate in units of what they span."""
    x = x / np.ptp(x, axis=0)
    return np.exp(-cdist(x, x, "sqeuclidean") / (2 * width**2))


# what is left on the way, and how far the clients disagree about it


class Descent(NamedTuple):
    """Gradient flow of a kernel: W^(1/2) r(t) = Q exp(-t rates) a, with W the weights of all clients together [n].

    slowest: the rate below which rounding decides; no stage takes longer than its inverse.
    """

    rates: np.ndarray
    Q: np.ndarray
    a: np.ndarray
    W: np.ndarray
    slowest: float


def descent(K: np.ndarray, W: np.ndarray, r: np.ndarray) -> Descent:
    """Of r' = -K W r, K [n, n] symmetric without negative eigenvalues, but for rounding: rates are right to 1e-16 of
    the fastest."""
    root = np.sqrt(W)
    rates, Q = np.linalg.eigh(root[:, None] * K * root)
    return Descent(rates.clip(0), Q, Q.T @ (root * r), W, 1e-12 * rates.max())


def descent_of_network(J: np.ndarray, W: np.ndarray, r: np.ndarray) -> Descent:
    """The same of K = J J', J [n, P], by singular values: these are right to 1e-16 of the largest, and rates are their
    squares. The network's last stages are slower than K itself can say."""
    root, (n, P) = np.sqrt(W), J.shape
    Q, values, _ = np.linalg.svd(root[:, None] * J, full_matrices=n > P)
    rates = np.pad(values**2, (0, Q.shape[1] - len(values)))
    return Descent(rates, Q, Q.T @ (root * r), W, 1e-22 * rates.max())


def residuals_left(flow: Descent, left: np.ndarray = LEFT) -> np.ndarray:
    """W^(1/2) r [T, n] in the basis Q, when shares ``left`` of its norm are left; NaN where that takes for ever."""
    norm = np.linalg.norm(flow.a)
    low, high = (np.full(len(left), np.log(t)) for t in (1e-9 / flow.rates.max(), 1 / flow.slowest))
    never = np.linalg.norm(np.exp(-flow.rates / flow.slowest) * flow.a) > left * norm
    for _ in range(60):
        middle = (low + high) / 2
        more = np.linalg.norm(np.exp(-np.exp(middle)[:, None] * flow.rates) * flow.a, axis=1) > left * norm
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    t = np.where(left < 1, np.exp(high), 0.0)
    return np.where(never[:, None], np.nan, np.exp(-t[:, None] * flow.rates) * flow.a)


def disagreement(flow: Descent, weights: np.ndarray, p: np.ndarray, left: np.ndarray = LEFT) -> np.ndarray:
    """B [T] of the clients' gradients g_c = J' W_c r on the way: B^2 = sum_c p_c |g_c|^2 / |sum_c p_c g_c|^2.

    With W = sum_c p_c W_c and s_c = W_c / W - 1: B^2 = 1 + sum_c p_c (s_c r)' W K W (s_c r) / r' W K W r. For two
    clients with as many points, s_1 = -s_2 = s, the sign that tells whose a point is, and W is a number:
    B^2 = 1 + (s r)' K (s r) / r' K r.
    """
    left_over = residuals_left(flow, left)
    at_points = left_over @ flow.Q.T
    apart = np.zeros(len(left))
    for share, mask in zip(p, weights / flow.W - 1, strict=True):
        apart += share * ((at_points * mask) @ flow.Q) ** 2 @ flow.rates
    return np.sqrt(1 + apart / (left_over**2 @ flow.rates))


SLOW = dict.fromkeys(("network", "gaussian"), Tolerance(relative=1e-3))
"""Its slowest modes are the last digits of a kernel: 2e-4 on another CPU, where they are cut off."""


def trainings(levels: Mapping[str, list[int]], seeds: Mapping[str, list[int]], rounds: int) -> dict[str, Task]:
    """What is computed of each problem that both tables name, and "square_wave", whose errors no other notebook has.

    levels, seeds: by name of the problem. rounds: of the square wave.
    """
    calls: dict[str, Task] = {}
    for name in levels:
        arguments = {"name": name, "levels": [*levels[name]], "seeds": [*seeds[name]]}
        calls[f"disagreement_{name}"] = Computed(disagreements, arguments, tolerances=SLOW)
    if "square_wave" in levels:
        changes, kinds = {"rounds": rounds, "local": Local(5), "lr": 1e-3}, ["federated", "centralised"]
        calls["square_wave"] = Call(
            square_wave, {}, levels["square_wave"], seeds["square_wave"], kinds, changes=changes, models={}
        )
    return calls


def disagreements(name: str, levels: Sequence[int], seeds: Sequence[int]) -> xarray.Dataset:
    """B of a problem [..., level, left] while it is learnt, left the share of the residuals that is left.

    network [seed]: of the network linearised at the start of a seed's training. gaussian: of a kernel that no network
    has, from u = 0. W1 [level]: of the clients' points.
    """
    problem, experiment = PROBLEMS[name], PROBLEMS[name].make()
    data = {level: data_of(experiment, level) for level in levels}
    starts = stack(experiment.net, [(seed,) for seed in seeds], experiment.init)

    def along(theta: Tensor, flow_of: Callable[[Linear, np.ndarray, np.ndarray], Descent]) -> np.ndarray:
        """B [level, left]; levels with the same points share a flow, which is what takes long."""
        flows, rows = {}, []
        for one in data.values():
            key = id(one.pool), Federation(one.owners).sizes.sum()
            around = flows[key][0] if key in flows else linear(experiment, one.pool, theta, problem.residuals)
            weights, p = weights_of(one.owners, around), Federation(one.owners).p
            if key not in flows:
                flows[key] = around, flow_of(around, p @ weights, one.pool["x"].double().numpy())
            rows.append(disagreement(flows[key][1], weights, p))
        return np.array(rows)

    network = [along(theta, lambda around, W, _: descent_of_network(around.J, W, around.r)) for theta in starts]
    distances = [experiment.distance(one) for one in data.values()]
    coords = {"seed": [*seeds], "level": [*levels], "left": LEFT}
    return xarray.Dataset(
        {
            "network": (("seed", "level", "left"), np.array(network)),
            "gaussian": (("level", "left"), along(torch.zeros_like(starts[0]), descent_of_points)),
            "W1": ("level", distances),
        },
        coords,
    )


def descent_of_points(around: Linear, W: np.ndarray, x: np.ndarray) -> Descent:
    """Of the Gaussian kernel at the points x [N, d], each component of the residuals for itself; those that every
    client has are left out, for they are nowhere."""
    K, r, points = np.zeros((len(W), len(W))), np.zeros(len(W)), around.N * around.c
    K[:points, :points] = np.kron(gaussian(x), np.eye(around.c))
    r[:points] = around.r[:points]
    return descent(K, W, r)


# against the errors


MEASURES = {
    "W1": "W1",
    "start": "B at the start",
    "tenth": "staged B to 10 %",
    "network": "staged B to 1 %",
    "gaussian": "staged B to 1 %, Gaussian",
}
"""What puts levels in order. W1 and the Gaussian kernel need the data alone, the others a network's Jacobian, too."""


def staged(B: xarray.DataArray, enough: float = ENOUGH) -> xarray.DataArray:
    """The geometric mean of B [..., left] over the stages, each weighed by the logarithm of what it takes off, until
    ``enough`` is left; over those that are reached at all."""
    return np.exp(np.log(B.sel(left=slice(None, enough * 0.999))).mean("left"))


def measures(dataset: xarray.Dataset) -> xarray.DataArray:
    """The numbers of MEASURES [measure, seed, level] from ``disagreements``; without a network all seeds have one."""
    network, start = dataset.network, dataset.network.isel(left=0, drop=True)
    parts = [dataset.W1, start, staged(network, 0.1), staged(network), staged(dataset.gaussian)]
    parts = [part.broadcast_like(start).transpose("seed", "level") for part in parts]
    return xarray.concat(parts, xarray.Variable("measure", [*MEASURES]), coords="minimal", compat="override")


def with_errors(histories: Mapping[Hashable, History | xarray.Dataset]) -> dict[str, xarray.Dataset]:
    """Problem -> its table, as ``ranks`` takes it, at the levels and seeds that both its errors and what is computed of
    it have; numbers as logarithms, so that their mean over seeds is a geometric one."""
    tables = {}
    for name in [name for name in PROBLEMS if f"disagreement_{name}" in histories]:
        error, numbers = errors_of(name, histories), measures(histories[f"disagreement_{name}"])
        error, numbers = xarray.align(error, numbers, join="inner")
        tables[name] = xarray.Dataset({"error": error, "number": np.log(numbers)})
    return tables


def errors_of(name: str, histories: Mapping[Hashable, History | xarray.Dataset]) -> xarray.DataArray:
    """Errors (%) [seed, level] of the federation after training, at the levels that have all seeds."""
    problem = PROBLEMS[name]
    history = stored(problem.study, problem.training) if problem.study else histories[problem.training]
    last = errors(history, problem.metric).isel(round=-1).sel(kind="federated", level=whole_levels(history))
    return last.reset_coords(drop=True).transpose("seed", "level")
