"""A study of operator learning: who knows which functions, what is trained as one stack, how good the models are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import torch
from torch import Tensor

from ..federated import mixing
from ..federated.federation import Federation
from ..federated.history import History
from ..federated.rounds import on
from ..federated.stack import as_dict, predict
from ..numerics.heterogeneity import weight_divergence
from ..numerics.solutions import antiderivative, burgers, staircase
from ..numerics.spaces import TERMS, chebyshev_series, support
from ..papers.fedsciml.operators.problem import CLIENTS, Operator, draws, operator_error, operator_loss


def known_terms() -> tuple[list[int], list[int]]:
    """How many terms somebody knows, and how many both of two clients know, at level 1, 2, ..., TERMS."""
    own = [[set(range(TERMS)[support(k, n)]) for k in ("forward", "inverse")] for n in range(1, TERMS + 1)]
    return [len(a | b) for a, b in own], [len(a & b) for a, b in own]


def staircase_error(c: np.ndarray) -> float:
    """How far the authors' solutions are from the antiderivative of the functions c [n, TERMS], in %."""
    x = np.linspace(0, 1, 100)
    exact = antiderivative(c, x)
    return 100 * np.linalg.norm(staircase(chebyshev_series(c, x)) - exact) / np.linalg.norm(exact)


def fading(c: np.ndarray, nu: float) -> float:
    """What Burgers leaves at t = 1 of the variation in x of functions c [n, TERMS], in % of that at t = 0."""
    u = burgers(chebyshev_series(c, np.linspace(0, 1, 101))[:, :-1], nu)[:, :-1]  # [n, x, t], without the repeated end
    spread = [np.linalg.norm(v - v.mean(1, keepdims=True)) for v in (u[..., -1], u[..., 0])]
    return float(100 * spread[0] / spread[1])


def federations(
    name: str, count: int, seeds: Sequence[int], levels: Sequence[int], union: Sequence[int] = (),
    independent: Sequence[int] = (), isolated: bool = True, **settings,
) -> tuple[dict[tuple, Federation], np.ndarray]:  # fmt: skip
    """What one stack trains: {(kind, level, seed): Federation}, and the coefficients [N, TERMS] of all functions.

    Args:
        name: of the operator, which says what its ``CLIENTS`` know. count: functions of a client. levels: n's.
        union: levels with a centralised model, too. independent: those whose clients also start apart.
        isolated: whether the clients are trained alone, too. settings: of every ``Federation``.
    """
    cases, c = {}, []
    for s, n in product(seeds, sorted({*levels, *union})):
        shards = [count * (len(c) + k) + np.arange(count) for k in range(len(CLIENTS[name]))]
        c += [draws(kind, n, count, s) for kind in CLIENTS[name]]
        together = settings | {"seed": s, "name": f"{name} {n}"}
        alone = together | {"mixing": mixing.isolated}
        cases["federated", n, s] = Federation(shards, **together)
        if isolated:
            cases["isolated", n, s] = Federation(shards, **alone)
        if n in union:
            cases["centralised", n, s] = Federation([np.concatenate(shards)], **alone)
        if n in independent:
            cases["independent", n, s] = Federation(shards, common_init=False, **together)
    return cases, np.concatenate(c)


def experiment(problem: Operator, cases: Mapping, c: np.ndarray, tests: Mapping[int, np.ndarray]) -> dict:
    """Arguments of ``train`` for ``federations``: net, loss, pool, ...

    Args:
        c: coefficients [N, TERMS] of all functions. tests: seed -> those of its test functions.
    """
    of_seed = {s: problem.pairs(values) for s, values in tests.items()}
    return {
        "net": problem.net(), "loss": operator_loss, "pool": problem.pairs(c), "federations": cases,
        "parts": ("kind", "n", "seed"), "constants": problem.constants(), "evaluate": operator_error,
        "test": lambda key: of_seed[key[-1]],
    }  # fmt: skip


def tested(history: History, problem: Operator, tests: Mapping[int, np.ndarray]) -> History:
    """The history with the metric "whole": errors (%) on all points of the problem after the last round, NaN before.

    tests: seed -> coefficients [n, TERMS] of the test functions.
    """
    of_seed, net = {s: problem.pairs(c) | on(problem.constants()) for s, c in tests.items()}, problem.net()
    e = np.full((len(history.rounds), len(history.theta)), np.nan)
    for key, rows in history.rows.items():
        theta = history.models(*key)[: None if key[0] == "isolated" else 1]  # a federation's clients hold the same
        guess = [lambda *z, row=row: predict(net, row, *z) for row in theta]
        e[-1, rows] = [operator_error(predicted, of_seed[key[-1]])["e"] for predicted in guess]
    return replace(history, metrics=history.metrics | {"whole": e})


def errors(history: History, levels: Sequence[int], union: Sequence[int]) -> dict:
    """At the end, on the whole grid (%): "levels" as given, "isolated" [S, levels, K], "federated" [S, levels],
    "centralised" {n of union: [S]}.

    history: ``tested``.
    """
    e = history.last("whole").transpose("kind", "seed", "n", "client")
    return {
        "levels": levels,
        "isolated": e.sel(kind="isolated", n=levels).values,
        "federated": e.sel(kind="federated", n=levels, client=0).values,
        "centralised": {n: e.sel(kind="centralised", n=n, client=0).values for n in union},
    }


def metrics(errors: Mapping[str, Mapping]) -> dict[str, dict]:
    """What a result file keeps of the ``errors`` of some operators: name -> errors."""
    return {
        "levels": {name: e["levels"] for name, e in errors.items()},
        "error_percent": {name: {kind: e[kind] for kind in ("isolated", "federated")} for name, e in errors.items()},
        "centralised_percent": {
            name: np.stack([*e["centralised"].values()], 1) for name, e in errors.items() if e["centralised"]
        },
    }


def federated_errors(history: History, levels: Sequence[int]) -> np.ndarray:
    """Errors (%) of the federations at the end, on the whole grid [S, levels]."""
    return history.last("whole", kind="federated", client=0).sel(n=levels).transpose("seed", "n").values


def curves(history: History, levels: Sequence[int]) -> dict[int, np.ndarray]:
    """Federated errors (%) during training on the points of the loss, mean over seeds: {n: [V]}."""
    e = history.metric("e", kind="federated", client=0).mean("seed")
    return {n: e.sel(n=n).values for n in levels}


def divergence(problem: Operator, history: History, kind: str, levels: Sequence[int]) -> dict:
    """Relative weight divergence of a kind of model from the centralised one: "branch, matrix 1" -> [S, levels]."""
    net, found = problem.net(), {}
    for s, n in product(history.labels("seed"), levels):
        pair = (as_dict(net, history.model(k, n, s)) for k in (kind, "centralised"))
        for key, value in weight_divergence(*pair).items():
            part, i, _ = key.split(".")
            found.setdefault(f"{part}, matrix {int(i) // 2 + 1}", []).append(float(value))
    return {matrix: np.reshape(values, (-1, len(levels))) for matrix, values in found.items()}


def changes(divergence: Mapping[str, Sequence]) -> dict[str, float]:
    """Divergence, matrix -> [S, levels], at the first level over that at the last, means over seeds."""
    mean = {matrix: np.mean(values, 0) for matrix, values in divergence.items()}
    return {matrix: float(of_level[0] / of_level[-1]) for matrix, of_level in mean.items()}


def models(history: History, n: int, seed: int) -> dict[str, Tensor]:
    """Parameters [P] by label: "federated", "isolated 1", "isolated 2", ..."""
    alone = {f"isolated {k + 1}": row for k, row in enumerate(history.models("isolated", n, seed))}
    return {"federated": history.model("federated", n, seed)} | alone


def maps(problem: Operator, c: np.ndarray, models: Mapping[str, Tensor]) -> tuple[np.ndarray, np.ndarray, dict]:
    """One function c [1, TERMS], its solution and what the models say: v [101], u [101, 101], label -> [101, 101]."""
    one, y = problem.pairs(c), torch.as_tensor(problem.points).float()
    guess = {label: predict(problem.net(), row, one["u"], y).reshape(101, 101).numpy() for label, row in models.items()}
    return one["u"][0].numpy(), one["s"].reshape(101, 101).numpy(), guess
