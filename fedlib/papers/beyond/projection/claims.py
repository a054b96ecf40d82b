"""Our own criteria for notebook 14, as pure functions of what it computed; no paper claims them."""

from collections.abc import Callable

import numpy as np
from scipy.stats import spearmanr

from ....notebook.claims import Verdict
from ..points import every_point
from .problem import TOGETHER
from .study import Results, at_own_rate


def whoever_owns_what(results: Results) -> Verdict | None:
    """At no level is the error more than three times that of all points in one place, or less than a third of it: in
    geometric means over seeds."""
    ratios = {}
    for name, table in results.sums.items():
        if TOGETHER in table.level and table.sizes["level"] > 1:
            logs = np.log(table.error.isel(evaluation=-1))
            gaps = (logs - logs.sel(level=TOGETHER)).drop_sel(level=TOGETHER).mean("seed")
            ratios[name] = float(np.exp(abs(gaps).max()))
    if not ratios:
        return None
    return Verdict(max(ratios.values()) < 3, ", ".join(f"{name} {ratio:.1f} times" for name, ratio in ratios.items()))


def better(other: str, times: float) -> Callable[[Results], Verdict | None]:
    """On every problem sums have so many times less than another way, in medians over seeds."""

    def claim(results: Results) -> Verdict | None:
        ratios = {
            name: float(np.median(table[other]) / np.median(table["sums"]))
            for name, table in results.final.items()
            if {other, "sums"} <= {*table}
        }
        if not ratios:
            return None
        why = ", ".join(f"{name} {ratio:.2g} times" for name, ratio in ratios.items())
        return Verdict(min(ratios.values()) > times, why)

    return claim


def one_step(results: Results) -> Verdict | None:
    """With two steps between two sums, and with more, the error is ten times that of one corrected step."""
    if results.steps is None or not {1, 2} <= {*results.steps.E.values.tolist()}:
        return None
    median = at_own_rate(results.steps).median("seed")
    one, more = float(median.sel(corrected=True, E=1)), median.sel(E=median.E > 1)
    return Verdict(bool((more > 10 * one).all()), f"{one:.2g} %, and {float(more.min()):.2g} % or more")


def held(results: Results) -> Verdict | None:
    """After ten evaluations a step of a ten-thousandth downhill raises the loss with the last layer held, and lowers it
    with the last layer solved anew: in every seed."""
    if results.stiff is None or not (10 in results.stiff.evaluation and 1e-4 in results.stiff.length):
        return None
    one = results.stiff.sel(evaluation=10, length=1e-4)
    ratios = one.loss / one.foot
    up, down = (ratios.sel({"last layer": layer}).values for layer in ("held", "solved"))
    return Verdict(bool((up > 1).all() and (down < 1).all()), f"{up.min():.1e} times or more, {down.max():.4f} or less")


def points(sums: str, first: int, within: float) -> Callable[[Results], Verdict | None]:
    """From some evaluation on the attack finds every point, in every seed."""

    def claim(results: Results) -> Verdict | None:
        if results.attack is None:
            return None
        late = results.attack.evaluation >= first
        return every_point(results.attack.off.sel(sums=sums, evaluation=late), within)

    return claim


def score(results: Results) -> Verdict | None:
    """The residual between the points tells good starts from bad ones: a rank correlation of .8 with the error."""
    if results.starts is None or results.starts.sizes["seed"] < 5:
        return None
    error, seen = results.starts.error.isel(evaluation=-1).values.ravel(), results.starts.score.values.ravel()
    rank = float(spearmanr(error, seen).statistic)
    return Verdict(rank > 0.8, f"{rank:.2f}, {len(error)} starts")


def operator(functions: str, holds: Callable[[float], bool]) -> Callable[[Results], Verdict | None]:
    """How many times less than Adam in one place sums err on functions of one kind, at every level (medians)."""

    def claim(results: Results) -> Verdict | None:
        if results.operators is None:
            return None
        ours = results.operators.error.isel(evaluation=-1).sel(place="apart")
        theirs = results.averaged.error.sel(way="Adam, one place")
        ratios = (theirs.median("seed") / ours.median("seed")).sel(functions=functions).dropna("level")
        if not ratios.size:
            return None
        why = ", ".join(f"n = {n}: {float(ratios.sel(level=n)):.2g} times" for n in ratios.level.values.tolist())
        return Verdict(all(map(holds, ratios.values.tolist())), why)

    return claim


CLAIMS = {
    "fedsciml.target.networks.same": whoever_owns_what,
    "fedsciml.target.networks.adam": better("Adam, one place", 3),
    "fedsciml.target.networks.rules": better("best rule", 3),
    "fedsciml.target.networks.operator": operator("like training", lambda times: times > 3),
    "fedsciml.target.networks.unseen": operator("all terms", lambda times: times < 2),
    "fedsciml.target.networks.step": one_step,
    "fedsciml.target.networks.held": held,
    "fedsciml.target.networks.score": score,
    "fedsciml.target.networks.client": points("one client", 1, 1e-4),
    "fedsciml.target.networks.total": points("total", 100, 1e-3),
}
"""Id of data/claims.yaml -> claim."""
