"""Two measures of heterogeneity against the errors of all levels: W1 of what clients own, B of their gradients."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr
from torch import Tensor

from ..federated.experiment import Experiment, halved
from ..numerics.heterogeneity import debiased_w1
from ..papers.fedsciml.forward import problem as forward
from . import drift, drift_study, operator_study


class Ladder(NamedTuple):
    """A problem at all levels of heterogeneity that its own notebook has.

    make: makes the experiment. results: notebook whose committed result has the errors. read: its metrics -> levels,
    W1 [L] of the clients (None: not there) and errors of the federated model [L] (%), means over seeds.
    """

    make: Callable[[], Experiment]
    results: str
    read: Callable[[Mapping], tuple]


def of_equation(name: str) -> Callable:
    """What notebook 04 or 05 says of a problem."""
    return lambda metrics: (
        metrics["levels"][name], metrics["w1"][name], np.mean(metrics["error_percent"][name]["federated"], 0)
    )  # fmt: skip


def of_operator(metrics: Mapping) -> tuple:
    """What notebook 07 says of the antiderivative."""
    return (
        metrics["levels"]["antiderivative"],
        None,
        np.mean(metrics["error_percent"]["antiderivative"]["federated"], 0),
    )


def of_pendulum(kind: str, distance: str) -> Callable:
    """What notebook 02 says of Algorithm 2; distance: a key of its W1."""

    def read(metrics):
        of = {key: e for key, e in metrics["error_percent"]["Algorithm 2"].items() if key.split()[0] == kind}
        found = dict(sorted((float(key.split()[1]), np.mean(e)) for key, e in of.items()))
        return list(found), np.mean(metrics["w1"][distance], 0), list(found.values())

    return read


LADDERS = {
    "Gramacy-Lee": Ladder(drift.gramacy_lee, "04_function_approximation", of_equation("line")),
    "Schaffer": Ladder(lambda: drift.schaffer(1600), "04_function_approximation", of_equation("earlier, slabs, coded")),
    "Poisson": Ladder(lambda: halved(forward.poisson()), "05_pinn_forward", of_equation("poisson")),
    "Helmholtz": Ladder(lambda: halved(forward.helmholtz()), "05_pinn_forward", of_equation("helmholtz")),
    "Euler beam": Ladder(lambda: halved(forward.euler_beam()), "05_pinn_forward", of_equation("beam")),
    "antiderivative": Ladder(drift.antiderivative, "07_operator_learning", of_operator),
    "pendulum, shards": Ladder(lambda: drift.skewed("shards"), "02_heterogeneity", of_pendulum("shards", "shards s")),
    "pendulum, two fields": Ladder(
        lambda: drift.skewed("fields"), "02_heterogeneity", of_pendulum("fields", "fields (u, y, s)")
    ),
}
"""Name -> its ladder; the rates and the numbers of steps are those of its notebook."""


def own_functions(level: int, functions_each: int = 100, seed: int = 0) -> float:
    """W1 between the coefficients of the functions that two clients of the antiderivative own, without its bias."""
    cases, c = operator_study.federations("antiderivative", functions_each, [seed], [level], isolated=False)
    return debiased_w1([c[own] for own in cases["federated", level, seed].shards])


def measured(ladder: Ladder, metrics: Mapping, early: float, seed: int = 0, **how) -> dict[str, list[float]]:
    """Levels, W1, B at the common start and on the way, and federated errors (%) of one ladder.

    On the way: at a model that was trained on all points of the finest level for a share ``early`` of the steps, at
    the problem's own rate. metrics: of the committed result of its notebook. how: of ``train``.
    """
    levels, w1, error = ladder.read(metrics)
    experiment = ladder.make()
    theta = on_the_way(experiment, levels[-1], early, seed, **how)
    return {
        "level": list(map(float, levels)),
        "W1": list(map(float, w1 if w1 is not None else [own_functions(n) for n in levels])),
        "B at the start": [drift.dissimilarity(experiment, n, seed) for n in levels],
        "B on the way": [drift.dissimilarity(experiment, n, theta=theta) for n in levels],
        "error": list(map(float, error)),
    }


def on_the_way(experiment: Experiment, level, early: float, seed: int, **train_args) -> Tensor:
    """A centralised model [P] after a share of the experiment's steps."""
    (stack,) = drift_study.run(
        experiment, level, [seed], drift_study.CENTRAL, [experiment.lr], share=early, **train_args
    )
    return stack.history.model(*next(iter(stack.history.rows)))


MEASURES = ("W1", "B at the start", "B on the way")


def correlations(ladders: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, dict[str, float]]:
    """Spearman's rank correlation of each measure with the error, of every ladder and of all together.

    Together: W1 has a unit of its own for every problem, so each ladder's errors and distances are divided by their
    largest; B has none and stays as it is.
    """
    found = {
        name: {m: float(spearmanr(of[m], of["error"]).statistic) for m in MEASURES} for name, of in ladders.items()
    }
    error = np.concatenate([relative(of["error"]) for of in ladders.values()])
    pooled = {m: np.concatenate([relative(of[m]) if m == "W1" else of[m] for of in ladders.values()]) for m in MEASURES}
    return found | {"all together": {m: float(spearmanr(x, error).statistic) for m, x in pooled.items()}}


def relative(values: Sequence[float]) -> np.ndarray:
    """Values over their largest."""
    return np.asarray(values) / np.max(values)
