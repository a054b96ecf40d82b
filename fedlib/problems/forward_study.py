"""The study of a forward problem: its levels, from clients that differ most to clients that hardly differ."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
import xarray
from scipy.stats import spearmanr
from torch import Tensor

from ..federated.federation import Federation, centralised
from ..federated.heterogeneity import mean_pairwise_w1, weight_divergence
from ..federated.history import History
from ..federated.mixing import isolated
from ..federated.stack import as_dict
from ..federated.train import train
from ..models.jets import VALUE_ONLY, Sine
from ..models.networks import glorot_uniform
from ..numerics.metrics import relative_l2
from . import forward
from .forward import Problem

KINDS = ("isolated", "federated", "centralised")
NAMES = ("poisson", "helmholtz", "allen_cahn_2", "allen_cahn_3", "beam")

ONLY_CODE = {"poisson": (2, 4)}
"""Levels that the authors' code has and the paper does not: no verdict on the paper rests on them."""


class Case(NamedTuple):
    """One federation of a study: who talks to whom, the number n of subdomains (blocks per axis), the seed."""

    kind: str
    n: int
    seed: int


def named(name: str, parameters: Mapping) -> Problem:
    """A problem of NAMES; its settings are the parameters that begin with its name, helmholtz_k0 in units of pi."""

    def own(family: str, *settings: str) -> dict:
        return {setting: parameters[f"{family}_{setting}"] for setting in settings}

    if name == "helmholtz":
        return forward.helmholtz(np.pi * parameters["helmholtz_k0"], **own(name, "side", "boundary"))
    if name.startswith("allen_cahn"):
        activation = {"tanh": torch.nn.Tanh, "sine": Sine}[parameters["allen_cahn_activation"]]
        settings = own("allen_cahn", "lines", "times", "boundary", "initial", "d", "k")
        return forward.allen_cahn(int(name[-1]), **settings, activation=activation)
    return {"poisson": forward.poisson, "beam": forward.euler_beam}[name]()


def levels_of(problem: Problem, levels: Sequence[int]) -> list[int]:
    """Levels in order, the coarsest partition first.

    Raises:
        ValueError: the problem's points do not allow one of them.
    """
    for n in levels:
        try:
            problem.points(n)
        except ValueError as error:
            raise ValueError(f"{problem.name}: levels = {levels} has {n}: {error}") from None
    return sorted(set(levels))


def level_word(problem: Problem) -> str:
    """What a level of this problem is."""
    return "blocks per axis" if problem.cut == 2 else "subdomains n"


def heterogeneity(problem: Problem, level: int) -> float:
    """Mean pairwise W1 of the clients' private points.

    Clients that differ only along the cut axes have the same W1 in those alone: the projection is a lower bound,
    and moving along the axes is a plan that reaches it.
    """
    x, own = problem.points(level)
    return mean_pairwise_w1([x[s, : problem.cut] for s in own])


def one_union(problem: Problem, levels: Sequence[int]) -> bool:
    """Whether all levels have the same points, so that one centralised model does for all."""
    first, *others = (problem.points(n)[0] for n in levels)
    return all(np.array_equal(first, other) for other in others)


def federations(
    problem: Problem, shards: Mapping[int, Sequence[np.ndarray]], seeds: Sequence[int], kinds=KINDS, **settings
) -> dict[Case, Federation]:
    """The federation, its clients isolated, and one model on the union of their points, for each level and seed.

    shards: level -> the clients' points. settings: of every ``Federation``.
    """
    cases, one = {}, one_union(problem, list(shards))
    for seed, (n, own) in product(seeds, shards.items()):
        common = settings | dict(seed=seed, name=f"{problem.name} {n}")
        cases[Case("federated", n, seed)] = Federation(own, **common)
        cases[Case("isolated", n, seed)] = Federation(own, mixing=isolated, **common)
        if not one or n == next(iter(shards)):
            cases[Case("centralised", n, seed)] = centralised(own, **common)
    return {case: fed for case, fed in cases.items() if case.kind in kinds}


def test_set(problem: Problem, copies: int) -> dict[str, Tensor]:
    """Test fields for the engine's ``evaluate``, the same for each of ``copies`` federations: x, g, b, u."""
    x = torch.as_tensor(problem.test)
    known = {"x": x, "g": problem.g(x), "b": problem.b(x), "u": problem.solution(x)}
    return {name: value.float().expand(copies, *value.shape) for name, value in known.items()}


def solution_error(predict, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Relative L2 error (%) of u = g + b N on the test set, of ONE model."""
    u = test["g"] + test["b"] * predict(test["x"], VALUE_ONLY)[:, 0]
    return {"error": 100 * relative_l2(u, test["u"])}


def study(
    problem: Problem, levels: Sequence[int], seeds: Sequence[int], kinds: Sequence[str] = KINDS,
    *, rounds: int, lr: float = 1e-3, share: bool = True, evaluations: int = 1, **how,
) -> History:  # fmt: skip
    """Train all levels of a problem for some seeds as one stack. share: of ``layout``. how: of ``train``."""
    pool, _, shards = forward.layout(problem, levels, share)
    cases = federations(problem, shards, seeds, kinds, lr=lr)
    return train(
        problem.net(),
        forward.residual_loss(problem),
        pool,
        cases,
        rounds=rounds,
        constants=forward.constants(problem),
        init=glorot_uniform,
        evaluate=solution_error,
        test=test_set(problem, len(cases)),
        evaluate_every=max(1, rounds // evaluations),
        **how,
    )


def errors(problem: Problem, history: History, w1: Mapping[int, float]) -> xarray.DataArray:
    """Relative L2 error (%) with axes round, kind, n, seed.

    Of a federation, whose clients all hold the same model, the first one counts; of isolated clients the mean. A
    centralised model that all levels share stands at all of them.

    w1: level -> distance of the clients, a coordinate along n.
    """
    found = history.of("error")
    error = found.mean("client").where(found.kind == "isolated", found.sel(client=0, drop=True))
    w1_of = {"w1": ("n", [w1[n] for n in error.n.values])}
    return (
        error.fillna(error.isel(n=0)).assign_coords(w1_of).rename(problem.name).assign_attrs(level=level_word(problem))
    )


def trained(history: History) -> dict[Case, Tensor]:
    """Case -> parameters [K, P] of its models: of each isolated client, else the one that all hold (K = 1)."""
    models = {case: history.models(*case) for case in history.rows}
    models = {case: theta if case.kind == "isolated" else theta[:1] for case, theta in models.items()}
    coarsest = min(case.n for case in models)
    for case in [case for case in models if case.kind == "federated"]:
        models.setdefault(case._replace(kind="centralised"), models["centralised", coarsest, case.seed])
    return models


def labelled(models: Mapping[Case, Tensor], n: int, seed: int) -> dict[str, Tensor]:
    """Label -> parameters [P] of all models of a level and a seed, as pictures name them."""
    alone = {f"isolated client {k + 1}": row for k, row in enumerate(models["isolated", n, seed])}
    return alone | {kind: models[kind, n, seed][0] for kind in KINDS[1:]}


def divergence(problem: Problem, models: Mapping[Case, Tensor], w1: Mapping[int, float]) -> xarray.DataArray:
    """Relative divergence of the federated weights from the centralised ones, with axes seed, n, matrix.

    w1: level -> distance of the clients, a coordinate along n.
    """
    net, seeds = problem.net(), sorted({case.seed for case in models})

    def of(*at):
        pair = (as_dict(net, models[kind, *at][0]) for kind in ("federated", "centralised"))
        return [float(v) for v in weight_divergence(*pair).values()]

    values = np.array([[of(n, seed) for n in w1] for seed in seeds])
    coords = {"seed": seeds, "n": list(w1), "matrix": 1 + np.arange(values.shape[-1]), "w1": ("n", list(w1.values()))}
    return xarray.DataArray(values, coords, ("seed", "n", "matrix"), problem.name, {"level": level_word(problem)})


def printed(name: str, levels: Sequence[int]) -> list[int]:
    """Those of a problem's levels that the paper speaks of."""
    return [n for n in levels if n not in ONLY_CODE.get(name, ())]


def grows(values: xarray.DataArray) -> bool | None:
    """Whether values [n] grow with the distance w1 of the clients: Spearman's rank correlation above 0.7.

    None with fewer than two levels.
    """
    return bool(spearmanr(values.w1.values, values.values).statistic > 0.7) if values.sizes["n"] > 1 else None
