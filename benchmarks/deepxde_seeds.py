"""Is it our code? FedSciML's problems as the authors run them, in DeepXDE and here: the same errors over seeds?

``python -m benchmarks.deepxde_seeds`` (extra ``deepxde``) trains both sides, writes one JSON and draws the figure.
Both start every client apart where the authors do, and have the same points, rounds, E = 5 and own Adam moments.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import ks_2samp, mannwhitneyu

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.sweep import errors, sweep
from fedlib.federated.train import train
from fedlib.files import write_atomically
from fedlib.models.networks import glorot_normal
from fedlib.notebook.run import environment
from fedlib.numerics.spaces import TERMS, chebyshev_draws
from fedlib.papers.fedsciml.forward.problem import poisson
from fedlib.papers.fedsciml.operators.problem import learn_antiderivative, operator_error, operator_loss
from fedlib.papers.fedsciml.reaction.problem import reaction
from fedlib.streams import stream
from fedlib.trainings.settings import FIGURES

from .deepxde_way import THEIRS, E

FILE = FIGURES / "deepxde/seeds.json"


class Case(NamedTuple):
    """A level n of a problem, trained for R rounds; the paper's R; names of its errors."""

    n: int
    R: int
    paper_R: int
    errors: tuple[str, ...]


CASES = {
    "poisson": Case(8, 1000, 1000, ("u",)),
    "reaction": Case(8, 1000, 20_000, ("u", "k")),
    "antiderivative": Case(6, 1000, 10_000, ("G",)),
}
"""T = 5000 steps of a client, all of the paper's for Poisson; the others would take DeepXDE hours on a processor."""


def ours(name: str, n: int, R: int, seeds: Sequence[int]) -> list[dict[str, float]]:
    """Final errors (%) of the library's federations, one dict per seed, as ``deepxde_way.THEIRS`` gives them."""
    return {"poisson": _poisson, "reaction": _reaction, "antiderivative": _antiderivative}[name](n, R, seeds)


def _poisson(n, R, seeds):
    history = sweep(poisson(), [n], seeds, ["federated"], rounds=R, local=Local(E))
    last = errors(history)[-1].squeeze(("kind", "level"))
    return [{"u": float(last.sel(seed=s))} for s in seeds]


def _reaction(n, R, seeds):
    history = sweep(reaction(8, True), [n], seeds, ["federated"], rounds=R, local=Local(E), lr=1e-3, common_init=False)
    last = {e: errors(history, f"error_{e}")[-1].squeeze(("kind", "level")) for e in "uk"}
    return [{e: float(last[e].sel(seed=s)) for e in "uk"} for s in seeds]


def _antiderivative(n, R, seeds):
    operator, pool, cases, tests = learn_antiderivative(), [], {}, {}
    for i, s in enumerate(seeds):
        pool += [chebyshev_draws(kind, n, 100, stream(s, f"ours {kind}")) for kind in ("forward", "inverse")]
        shards = [np.arange(100) + 100 * (2 * i + k) for k in (0, 1)]
        cases[(s,)] = Federation(shards, seed=s, common_init=False)
        tests[(s,)] = operator.pairs(chebyshev_draws("forward", TERMS, 1000, stream(s, "ours test")))
    history = train(
        operator.net(), operator_loss, operator.pairs(np.concatenate(pool)), cases, rounds=R, local=Local(E),
        constants=operator.constants(), evaluate=operator_error, test=lambda key: tests[tuple(key)],
        evaluate_every=R, parts=("seed",), init=glorot_normal,
    )  # fmt: skip
    return [{"G": float(history.last("e", client=0).sel(seed=s))} for s in seeds]


def compared(a: Sequence[float], b: Sequence[float]) -> dict:
    """Two samples: medians, ranges, and the p-values of Kolmogorov-Smirnov and Mann-Whitney (both sides).

    a, b: final errors (%), one per seed.
    """
    both = {"DeepXDE": a, "ours": b}
    return {
        "median": {side: float(np.median(v)) for side, v in both.items()},
        "range": {side: [float(min(v)), float(max(v))] for side, v in both.items()},
        "p_kolmogorov_smirnov": float(ks_2samp(a, b).pvalue),
        "p_mann_whitney": float(mannwhitneyu(a, b, alternative="two-sided").pvalue),
    }


def result_of(theirs: Mapping, own: Mapping, cases: Mapping[str, Case], seconds: Mapping) -> dict:
    """What the JSON holds. theirs, own: name -> list of errors per seed. seconds: CPU time of each side."""
    found = {}
    for name, case in cases.items():
        samples = {e: ([x[e] for x in theirs[name]], [x[e] for x in own[name]]) for e in case.errors}
        found[name] = {
            "level": case.n, "rounds": case.R, "of_rounds": case.paper_R, "E": E, "cpu_s": seconds[name],
            "errors_percent": {e: {"DeepXDE": a, "ours": b} for e, (a, b) in samples.items()},
            "compared": {e: compared(a, b) for e, (a, b) in samples.items()},
        }  # fmt: skip
    return environment() | {"deepxde": version("deepxde"), "problems": found}


def measure(cases: Mapping[str, Case], seeds: Sequence[int]) -> dict:
    """Both sides of all cases."""
    sides, seconds = {"theirs": {}, "ours": {}}, {name: {} for name in cases}
    for name, case in cases.items():
        began = time.process_time()
        sides["theirs"][name] = [THEIRS[name](case.n, case.R, s) for s in seeds]
        between = time.process_time()
        sides["ours"][name] = ours(name, case.n, case.R, seeds)
        spent = {"theirs": between - began, "ours": time.process_time() - between}
        seconds[name] = {side: round(s, 1) for side, s in spent.items()}
        print(name, seconds[name], file=sys.stderr, flush=True)
    return result_of(sides["theirs"], sides["ours"], cases, seconds)


def differ(result: Mapping, level: float = 0.05) -> list[str]:
    """Errors whose two samples differ: the smaller p is below level over the number of tests (Bonferroni)."""
    p = {
        f"{name}, {error}": min(c["p_kolmogorov_smirnov"], c["p_mann_whitney"])
        for name, studied in result["problems"].items()
        for error, c in studied["compared"].items()
    }
    return [error for error, smaller in p.items() if smaller < level / (2 * len(p))]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("benchmarks.deepxde_seeds", description="the authors' way beside ours")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--paper", action="store_true", help="the paper's rounds (hours)")
    parser.add_argument("--to", type=Path, default=FILE)
    given = parser.parse_args(arguments)
    cases = {name: case._replace(R=case.paper_R) for name, case in CASES.items()} if given.paper else CASES
    write(measure(cases, range(given.seeds)), given.to)


def write(result: Mapping, path: Path) -> None:
    """The JSON, and the figure beside it."""
    from .deepxde_figure import draw

    write_atomically(path, json.dumps(result, indent=1, default=float) + "\n")
    draw(result, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
