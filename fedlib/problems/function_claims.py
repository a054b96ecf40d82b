"""What notebook 04's numbers say: errors of a result file, and the verdict on each of the paper's claims.

A record is what the notebook stores: error, weight_divergence, w1, what_if, theorem, and, in newer results, apart
(Fig. 3) and elsewhere (Figs. 4C, 5D and E). A claim whose numbers are not there has not been run.
"""

from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from ..numerics.metrics import mean_sd, relative_l2
from .function_levels import K_ALL, x_and_xy
from .function_study import correlates, in_words, ranks
from .functions import gramacy_lee

Verdict = tuple[bool | None, str]
SWEEPS = {"1D": "1D", "x": "x", "x, printed": "x"}
"""Sweeps of two clients, and under which name their W1 and weights stand."""
MOST = {"1D": 50, "x": 25}
"""Parts for each client up to which the paper goes; the authors' code has 100 on the line."""


class Errors(NamedTuple):
    """Relative L2 errors of a sweep: levels (K, p) [L], federated [S, L], alone [S, L, K], central [S]."""

    levels: list[tuple[int, int]]
    federated: np.ndarray
    alone: np.ndarray
    central: np.ndarray

    @property
    def parts(self) -> list[int]:
        """p: pieces or slabs for each client, or blocks for each axis."""
        return [p for _, p in self.levels]

    @property
    def subdomains(self) -> list[int]:
        """Of pieces or slabs: K p."""
        return [K * p for K, p in self.levels]

    def some(self, keep: Iterable[bool]) -> "Errors":
        """These levels only."""
        keep = np.array(list(keep), bool)
        levels = [level for level, k in zip(self.levels, keep, strict=True) if k]
        return Errors(levels, self.federated[:, keep], self.alone[:, keep], self.central)

    @property
    def best(self) -> np.ndarray:
        """Of the client alone that is best on average [L]."""
        return self.alone.mean(0).min(1)

    def between(self) -> tuple[int, int]:
        """At how many of all levels centralised <= federated <= every client alone, with a st.dev. of slack."""
        (mean, sd), (centre, slack) = mean_sd(self.federated), mean_sd(self.central)
        return int(((mean + sd >= centre - slack) & (mean - sd <= self.best)).sum()), len(self.levels)


def errors(record: Mapping, K: int) -> Errors:
    """Errors of the levels with K clients, of what ``Sweep.record`` keeps: level "(K, p)" -> [S], [S, K]."""
    levels = [level for level in map(literal_eval, record["federated"]) if level[0] == K]
    fed, alone = (np.stack([record[kind][str(level)] for level in levels], 1) for kind in ("federated", "isolated"))
    return Errors(levels, fed, alone, np.array(record["central"]))


def judged(record: Mapping) -> dict[str, Verdict]:
    """id without "fedsciml." -> (whether it holds, or None: not run; the numbers that say so)."""
    return partitions_said(record) | two_clients(record) | pictures(record) | more_clients(record) | theory(record)


def partitions_said(record: Mapping) -> dict[str, Verdict]:
    """Fig. 2: W1 of the partitions."""
    line, by_K = np.array(record["w1"]["1D"]), {int(K): np.array(w) for K, w in record["w1"].get("xy", {}).items()}
    falls = None if len(line) < 2 else bool((np.diff(line) < 0).all())
    found = {"fig2a": (falls, f"from {line[0]:.2f} to {line[-1]:.2f} in {len(line)} levels")}
    xy = np.stack([by_K[K] for K in K_ALL]) if by_K else None
    many = None if xy is None or xy.shape[1] < 2 else bool((np.diff(xy[1:], axis=1) < 0).all())
    words = "no blocks in this run" if xy is None else listed(xy, 2)
    found["fig2d.trend"] = many, words
    found["fig2d.clients"] = None if xy is None else bool((np.diff(xy, axis=0) > 0).all()), words
    x, both = x_and_xy().T
    gap = x - both
    found["q16"] = bool((np.diff(gap) < 0).all() and gap[-1] < 0.05), ", ".join(f"{g:.3f}" for g in gap)
    found["target.q16"] = bool((x / both)[-2] < 1.5), f"ratio {(x / both)[-2]:.2f} at 10 parts per axis"
    return found


def two_clients(record: Mapping) -> dict[str, Verdict]:
    """Figs. 4A, B and 5A, B, at the paper's levels."""
    of, w1 = {}, {}
    for name, at in SWEEPS.items():
        every = errors(record["error"][name], 2)
        printed = [p <= MOST[at] for p in every.parts]
        keep = printed if any(printed) else [True] * len(printed)
        of[name], w1[at] = every.some(keep), np.array(record["w1"][at])[keep]
        layers = enumerate(record["weight_divergence"].get(at, {}).values(), 1)
        of[f"drift {at}"] = {f"{at} layer {i}": (w1[at], np.array(v)[:, keep]) for i, v in layers}
    where, found = {"line": ["1D"], "square": ["x", "x, printed"]}, {}
    for place, names in where.items():
        inside = {name: of[name].between() for name in names}
        falls = ranks({name: (w1[SWEEPS[name]], of[name].federated) for name in names})
        grows = ranks(of[f"drift {SWEEPS[names[0]]}"])
        said = "; ".join(f"{name}: {a} of {b} levels" for name, (a, b) in inside.items())
        found[f"q1.{place}"] = all(a == b for a, b in inside.values()), said
        found[f"q2.{place}"] = correlates(falls), in_words(falls)
        found[f"q4.{place}"] = correlates(grows), in_words(grows)
    fed, best, central = of["1D"].federated.mean(0), of["1D"].best, of["1D"].central.mean()
    worse = of["1D"].alone[:, -1].mean(0).max()
    n, coarse = of["1D"].subdomains[-1], of["1D"].parts[0] == 1
    wave = polynomial_error()
    fall = {
        name: e.federated[:, 0].mean() / e.federated[:, -1].mean()
        for name, e in of.items()
        if name in ("x", "x, printed")
    }
    ends = [(name, e.federated.mean(0)[i], e.best[i]) for name, e in of.items() if name in fall for i in (0, -1)]
    return found | {
        "q3.function": (bool(fed[-1] < 2 * central), f"{fed[-1] / central:.2f} x at {n} subdomains"),
        "q3.function.alone": (bool(worse < 2 * central), f"worse client {worse / central:.2f} x at {n} subdomains"),
        "fig4c.better": (bool(fed[0] < best[0]) if coarse else None, f"{fed[0]:.3f}, better client {best[0]:.3f}"),
        "fig4c.wave": (bool(np.median(of["1D"].federated[:, 0]) < wave / 2) if coarse else None,
                       f"median {np.median(of['1D'].federated[:, 0]):.3f}, the polynomial alone {wave:.3f}"),
        "target.function.coarsest": (bool(best[0] > 10 * fed[0]) if coarse else None, f"ratio {best[0] / fed[0]:.1f}"),
        "fig5.fall": (all(f > 10 for f in fall.values()), ", ".join(f"{name} {f:.1f}" for name, f in fall.items())),
        "fig5.better": (all(bool(fed < best) for _, fed, best in ends),
                        "; ".join(f"{name} {fed:.4f}, better client {best:.4f}" for name, fed, best in ends)),
    }  # fmt: skip


def polynomial_error(n: int = 1000) -> float:
    """Relative L2 error of Gramacy & Lee's function without its wave, (z + 1/2)^4 alone."""
    z = torch.linspace(-1, 1, n, dtype=torch.float64)
    return float(relative_l2((z + 0.5) ** 4, gramacy_lee(z)))


def pictures(record: Mapping) -> dict[str, Verdict]:
    """Figs. 3, 4C, 5D and E: paths of the models, and errors where clients have data and where they have none.

    apart: subdomains -> distance of the server's and the centralised model after rounds that grow. elsewhere: "1D" or
    "<sweep>, <n> slabs" -> [K][own, other], relative errors.
    """
    apart, elsewhere = record.get("apart", {}), record.get("elsewhere", {})
    grow = ranks({f"{n} subdomains": (np.arange(len(d)), np.array(d)[None]) for n, d in apart.items()})
    none = None, "not recorded"
    found = {"fig3.apart": (correlates(grow), in_words(grow)) if apart else none, "fig4c.alone": none}
    if "1D" in elsewhere:
        home, other = np.transpose(elsewhere["1D"])
        found["fig4c.alone"] = bool((home < 0.1).all() and (other > 0.5).all()), each(elsewhere["1D"])
    slabs = {title: int(title.split()[-2]) for title in elsewhere if title.endswith("slabs")}
    ends = {"coarse": min(slabs.values(), default=0), "fine": max(slabs.values(), default=0)}
    for end, n in ends.items():
        mine = {title: elsewhere[title] for title in slabs if slabs[title] == n}
        there = mine and (end == "coarse" or n > ends["coarse"])
        more = all(other > home for e in mine.values() for home, other in e)
        said = "; ".join(f"{title}: {each(e)}" for title, e in mine.items())
        found[f"fig5.missing.{end}"] = (more, said) if there else none
    return found


def each(halves: Sequence[Sequence[float]]) -> str:
    """[K][own, other] in words."""
    return ", ".join(
        f"client {k + 1} {own:.2g} at home, {other:.2g} elsewhere" for k, (own, other) in enumerate(halves)
    )


def more_clients(record: Mapping) -> dict[str, Verdict]:
    """Fig. 6: the same blocks for 2 to 5 clients."""
    ids = ("q6.two-five", "target.q6.order", "q6.alone", "q6.gap", "target.q6.ratio", "q6.trend")
    if "xy" not in record["error"]:
        return dict.fromkeys(ids, (None, "no blocks in this run"))
    of = {K: errors(record["error"]["xy"], K) for K in K_ALL}
    fed, best = np.stack([of[K].federated.mean(0) for K in K_ALL]), np.stack([of[K].best for K in K_ALL])
    trend = ranks({f"K = {K}": (np.array(record["w1"]["xy"][str(K)]), of[K].federated) for K in K_ALL[1:]})
    rises = {"target.q6.order": fed, "q6.alone": best, "q6.gap": best - fed, "target.q6.ratio": best / fed}
    return {
        "q6.two-five": (bool((fed[0] < fed[-1]).all()), listed(fed, 3)),
        **{id: (bool((np.diff(v, axis=0) > 0).all()), listed(v, 3)) for id, v in rises.items()},
        "q6.trend": (correlates(trend), in_words(trend)),
    }


def theory(record: Mapping) -> dict[str, Verdict]:
    """Adam against SGD (Sec. 2.1.2), and Theorem 3.1."""
    what_if = {name: np.mean(e, 0).min() for name, e in record["what_if"].items()}
    adam, descent = what_if.get("as above"), [e for name, e in what_if.items() if name.startswith("SGD")]
    measured = np.array(record["theorem"])
    below = measured[..., :-1] <= measured[..., -1:]
    faster = (bool(adam < min(descent)), f"{adam:.4f} against {min(descent):.4f}") if descent else (None, "no SGD here")
    return {"q17": faster, "q18": (bool(below.all()), f"{below.sum()} of {below.size}")}


def listed(values: np.ndarray | Sequence, digits: int) -> str:
    """values [K, blocks] as a line of text."""
    rows = (", ".join(f"{v:.{digits}f}" for v in row) for row in values)
    return "; ".join(f"K = {K}: {row}" for K, row in zip(K_ALL, rows, strict=True))


def in_percent(record: Mapping, level: tuple[int, int]) -> dict[str, np.ndarray]:
    """Relative errors (%) over seeds at a level of a ``Sweep.record``; of the clients alone that of the best one."""
    fed, alone, central = (
        100 * np.array(values)
        for values in (record["federated"][str(level)], record["isolated"][str(level)], record["central"])
    )
    return {"federated": fed, "best client alone": alone[:, alone.mean(0).argmin()], "centralised": central}
