"""The antiderivative's operator network by sums: all functions are sampled at the same places, so sums are products.

G(v_i)(y_j) = sum_k (h_i C)_k t_jk + b: the trunk's values t at the places y, the branch's hidden features h with a 1,
and C [a, k], the branch's last layer, in which G is linear. With H and T, a row for each function and each place,

    (H^T H) C (T^T T) + ridge C = H^T (S - b) T

makes C the best one. Clients add H^T H [a, a] and H^T (S - b) T [a, k]; the server knows T. The matrix of least squares
in all of C has a k columns, but is a Kronecker product: two small eigendecompositions solve it.
"""

import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import xarray
from torch import Tensor
from torch.func import functional_call, grad_and_value

from ....federated import sums
from ....federated.experiment import Data, Experiment
from ....federated.history import History
from ....federated.stack import as_dict, home_columns, parameter_count, predict
from ....numerics.tabulated import tabulated
from ...fedsciml.operators.problem import CLIENTS, draws, federated_operator, learn, operator_error, operator_loss
from ..one_round.problem import FLOAT32
from .algorithm import Evaluation, downhill, hidden, joined
from .problem import MEMORY, at_looks, start, together

NAME = "antiderivative"

KINDS = ("like training", "all terms")
"""Test functions: new ones with a client's own terms, half of them each client's; or with all ten terms."""


def branch_last(experiment: Experiment) -> slice:
    """Which of the parameters [P] are those of the branch's last layer. The trunk's is behind a ReLU."""
    layer = len(experiment.net.branch) - 1
    columns = home_columns(experiment.net, [f"branch.{layer}.weight", f"branch.{layer}.bias"])
    return slice(int(columns[0]), int(columns[-1]) + 1)


class Message(NamedTuple):
    """The first message, or what several add up to: H^T H [a, a], H^T (S - b) T [a, k]."""

    features: Tensor
    values: Tensor


def halves(experiment: Experiment, theta: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """H [n, a] of functions u [n, sensors], and T [P, k], each place times the root of its weight in the loss."""
    y, q = (experiment.constants[name].to(theta.dtype) for name in ("y", "q"))
    weights = as_dict(experiment.net, theta)
    layer, width = f"branch.{len(experiment.net.branch) - 1}", experiment.net.branch[-1].in_features
    weights |= {f"{layer}.weight": torch.eye(width, dtype=theta.dtype), f"{layer}.bias": theta.new_zeros(width)}
    with torch.no_grad():
        h, t = (
            functional_call(half, {n.partition(".")[2]: v for n, v in weights.items() if n.startswith(part)}, x)
            for part, half, x in (("branch", experiment.net.branch, u), ("trunk", experiment.net.trunk, y))
        )
    return torch.cat([h, h.new_ones(len(h), 1)], 1), q.sqrt()[:, None] * t


def message(experiment: Experiment, theta: Tensor, functions: Mapping[str, Tensor]) -> Message:
    """What a client sends at theta [P], whose last layer does not matter."""
    u, s = (functions[name].to(theta.dtype) for name in ("u", "s"))
    H, T = halves(experiment, theta, u)
    bias = as_dict(experiment.net, theta)["bias"]
    return Message(H.T @ H, H.T @ ((s - bias) * experiment.constants["q"].to(theta.dtype).sqrt()) @ T)


def solved(total: Message, trunk: Tensor, ridge: float) -> Tensor:
    """The best C [a, k], by the eigenvectors of H^T H and of trunk = T^T T [k, k]."""
    (a, U), (b, V) = torch.linalg.eigh(total.features), torch.linalg.eigh(trunk)
    return U @ ((U.T @ total.values @ V) / (a[:, None] * b + ridge)) @ V.T


def evaluate(
    experiment: Experiment, clients: Sequence[Mapping[str, Tensor]], w: Tensor, last: slice, ridge: float
) -> Evaluation:
    """As ``algorithm.evaluate``, of an operator: both exchanges at hidden weights w [P - m]."""
    theta = joined(w, w.new_zeros(last.stop - last.start), last)
    messages = [message(experiment, theta, functions) for functions in clients]
    T = halves(experiment, theta, clients[0]["u"][:0].to(w.dtype))[1]
    C = solved(Message(*map(sum, zip(*messages, strict=True))), T.T @ T, ridge)
    theta = joined(w, torch.cat([C[:-1].T.flatten(), C[-1]]), last)  # as nn.Linear keeps its weight and its bias
    gradients, losses = zip(*(descent(experiment, theta, functions) for functions in clients), strict=True)
    a, k = C.shape
    numbers = a * (a + 1) // 2 + a * k + len(w) + 1
    loss = sum(losses)
    reduced = loss + ridge * float(C.square().sum())
    return Evaluation(theta, loss, reduced, hidden(sum(gradients), last), len(clients) * numbers * w.element_size())


def descent(experiment: Experiment, theta: Tensor, functions: Mapping[str, Tensor]) -> tuple[Tensor, float]:
    """The second message, with what the server drops: the gradient [P] of a client's sum of squares, and this sum."""
    batch = {name: functions[name].to(theta.dtype) for name in ("u", "s")}
    batch |= {name: value.to(theta.dtype) for name, value in experiment.constants.items()}
    batch["w"] = theta.new_ones(len(batch["u"]))
    gradient, loss = grad_and_value(lambda theta: operator_loss(sums.predicting(experiment, theta), batch))(theta)
    return gradient, float(loss)


def projected_operator(
    experiment: Experiment, data: Data, theta: Tensor, evaluations: int, ridge: float, memory: int = MEMORY
) -> sums.Iterates:
    """As ``algorithm.projected``; ridge: of the mean square of the a k columns at the start."""
    last = branch_last(experiment)
    clients, w = sums.parts(data), hidden(theta.double(), last)
    H, T = halves(experiment, theta.double(), data.pool["u"].double())
    ridge *= float(H.square().sum() * T.square().sum()) / (H.shape[1] * T.shape[1])
    n = len(data.pool["u"])
    return downhill(lambda w: evaluate(experiment, clients, w, last, ridge), w, n, evaluations, memory)


# what notebook 14 computes


def like_training(level: int, seed: int, use: str, each: int = 500) -> dict[str, Tensor]:
    """New functions of the kinds that the clients have at a level, so many of each kind."""
    return learn(NAME).pairs(np.concatenate([draws(kind, level, each, seed, use) for kind in CLIENTS[NAME]]))


def tests_of(experiment: Experiment, level: int, seed: int) -> tuple[dict[str, Tensor], Mapping[str, Tensor]]:
    """Functions of KINDS, for a test."""
    return like_training(level, seed, "like training"), experiment.data(level, seed).test


def error(experiment: Experiment, theta: Tensor, functions: Mapping[str, Tensor]) -> float:
    """Relative L2 error (%) of a model [P] over all functions and places, in float64."""
    test = {name: value.double() for name, value in {**functions, **experiment.constants}.items()}
    return operator_error(lambda *inputs: predict(experiment.net, theta.double(), *inputs), test)["e"].item()


def operator_by_sums(
    levels: Sequence[int], seeds: Sequence[int], looks: Sequence[int], ridges: Sequence[float], tuning: Sequence[int],
    tuned: int,
) -> xarray.Dataset:  # fmt: skip
    """The antiderivative by sums, with the ridge of the least median score over levels and seeds that only choose.

    A score is the error (%) on new functions of the clients' own kinds, for such a client could hold out.

    Returns:
        tried [ridge, level, tuning]: scores after ``tuned`` evaluations. error (%) [evaluation, place, level, seed,
        functions], functions one of KINDS; place: "apart", two clients, or "one place"; train: error (%) on the
        training's functions, bytes that a client has sent [evaluation, place, level, seed], the CPU's seconds [place,
        level, seed]. Attribute chosen_ridge; of equal ones the largest.
    """
    experiment = federated_operator(NAME)

    def scored(ridge: float, level: int, tuning: int) -> dict:
        data = together(experiment.data(level, tuning))
        theta = projected_operator(experiment, data, start(experiment, tuning), tuned, ridge).theta[-1]
        return {"tried": error(experiment, theta, like_training(level, tuning, "validation"))}

    tried = tabulated(scored, ridge=sorted(ridges, reverse=True), level=levels, tuning=tuning)
    ridge = tried.tried.median(["level", "tuning"]).idxmin("ridge").item()

    def trained(place: str, level: int, seed: int) -> dict:
        data = experiment.data(level, seed)
        data, began = data if place == "apart" else together(data), time.process_time()
        iterates = projected_operator(experiment, data, start(experiment, seed), max(looks), ridge)
        seconds, models = time.process_time() - began, at_looks(iterates.theta, looks)
        tests = tests_of(experiment, level, seed)
        errors = [[error(experiment, theta, test) for test in tests] for theta in models]
        return {
            "error": (("evaluation", "functions"), errors),
            "train": ("evaluation", [error(experiment, theta, data.pool) for theta in models]),
            "bytes": ("evaluation", np.array(at_looks(iterates.bytes, looks)) / len(data.owners)),
            "seconds": seconds,
        }

    table = tabulated(trained, place=["apart", "one place"], level=levels, seed=seeds)
    table = table.assign_coords(evaluation=[*looks], functions=[*KINDS])
    return tried.merge(table).assign_attrs(chosen_ridge=ridge)


def averaged(histories: Mapping[str, History], table: xarray.Dataset) -> xarray.Dataset:
    """What notebook 07 keeps at the levels and seeds of a table: errors (%) on KINDS [way, level, seed, functions] of
    FedAvg and of Adam with all functions in one place, NaN where it keeps none, and bytes that a client has sent [way,
    level, seed]."""
    experiment = federated_operator(NAME)
    tests = cache(lambda level, seed: tests_of(experiment, level, seed))

    def judged(way: str, level: int, seed: int) -> dict:
        kind, sent = {"FedAvg": ("federated", FLOAT32), "Adam, one place": ("centralised", 0)}[way]
        history, errors = histories[way], [np.nan] * len(KINDS)
        if (kind, level, seed) in history.rows:
            theta = history.model(kind, level, seed)
            errors = [error(experiment, theta, test) for test in tests(level, seed)]
        return {"error": ("functions", errors), "bytes": sent * parameter_count(experiment.net) * history.rounds[-1]}

    axes = {name: table[name].values.tolist() for name in ("level", "seed")}
    return tabulated(judged, way=[*histories], **axes).assign_coords(functions=[*KINDS])
