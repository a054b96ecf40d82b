"""What FedSciML says of the unknown reaction rate (Section 5.6, Fig. 11), as pure functions of ``Results``.

Where clients differ most, seeds fall into two groups, found or lost by a factor of a thousand. So all is read of
medians: a st.dev. over both groups would let anything pass.
"""

from collections.abc import Callable

import numpy as np
import xarray

from ....notebook.claims import LEARNT, Verdict, fewest, on_seeds
from ....notebook.maps import Panel
from ....numerics.metrics import in_percent, percent
from .. import yardsticks
from .problem import weak
from .study import Points, Results

Claim = Callable[[Results], Verdict | None]
KINDS = ("federated", "isolated", "centralised")
TEN, CODE = str(Points(10, False)), str(Points(8, True))
"""Ten inner points of the equation, and the authors' ten."""


def on(what: str, choice: str | None, yardstick: Callable[[xarray.DataArray], Verdict], **labels) -> Claim:
    """A yardstick as a claim on one of ``Results``; choice: of points, by default the judged one."""

    def claim(results: Results) -> Verdict | None:
        values = getattr(results, what).get(choice or results.judged)
        return None if values is None else yardstick(values.sel(labels))

    return claim


def grows(errors: xarray.DataArray) -> Verdict:
    """Q9: the federated error, its median over seeds, grows with the clients' distance; [kind, level, seed]."""
    return yardsticks.grows(errors.sel(kind="federated").median("seed"))


def between(errors: xarray.DataArray) -> Verdict:
    """Q1: at every level the federated error, its median over seeds, is below that of who is alone, and not below the
    centralised one by more than RATIO; [kind, level, seed]."""
    together, alone, centre = (errors.sel(kind=kind).median("seed").values for kind in KINDS)
    inside = (together < alone) & (centre <= yardsticks.RATIO * together) & (centre < LEARNT)
    return Verdict(bool(inside.all()), f"{inside.sum()} of {inside.size} levels")


def diverges(divergences: xarray.DataArray) -> Verdict:
    """Q9: the divergence of every matrix, its median, goes with the clients' distance; [seed, level, matrix]."""
    return yardsticks.grows(divergences.median("seed"), yardsticks.POSITIVE)


def no_trend(divergences: xarray.DataArray) -> Verdict:
    """Q9: that of no matrix does; [seed, level, matrix]."""
    median = divergences.median("seed")
    each = [yardsticks.grows(matrix).holds for _, matrix in median.groupby("matrix")]
    return Verdict(None if None in each else not any(each), yardsticks.grows(median).why)


def below_five(kind: str) -> Callable[[xarray.DataArray], Verdict]:
    """Target: at the finest level the median error of k is below 5 %; errors [kind, level, seed]."""

    def yardstick(errors: xarray.DataArray) -> Verdict:
        median = errors.sel(kind=kind, level=errors.level.max()).median().item()
        return Verdict(median < 5, in_percent(median))

    return yardstick


def by_strength(answers: xarray.DataArray) -> dict[str, np.ndarray]:
    """Errors of the centralised k (%) [seed] where u is strong, and where it is weak; answers: of ``study.answers``."""
    k, u = (answers.sel(model="centralised", field=field).isel(level=0) for field in "ku")
    places = {"strong": ~weak(u.truth.values), "weak": weak(u.truth.values)}
    return {
        name: np.array([percent(one[mask], k.truth.values[mask]) for one in k.values]) for name, mask in places.items()
    }


def identifiable(answers: xarray.DataArray) -> Verdict:
    """Target: k is known less well where u is weak, as it would be for lack of data."""
    strong, weak = map(np.median, by_strength(answers).values())
    return Verdict(bool(weak > strong), f"{in_percent(weak)} where u is weak, {in_percent(strong)} where it is strong")


def share_of_ends(squares: xarray.DataArray) -> xarray.DataArray:
    """Share of the first and the last point in the squared residual [seed, x]: [seed]."""
    return squares.isel(x=[0, -1]).sum("x") / squares.sum("x")


def at_the_ends(squares: xarray.DataArray) -> Verdict:
    """Target: the two ends have more than half of the squared residual."""
    share = share_of_ends(squares).mean().item()
    return Verdict(share > 0.5, f"{100 * share:.4g} %")


CLAIMS: dict[str, Claim] = on_seeds(lambda results: fewest(results.last[results.judged]), {
    "fedsciml.q9.error.u": on("last", None, grows, field="u"),
    "fedsciml.q9.between.u": on("last", None, between, field="u"),
    "fedsciml.q9.divergence.u": on("divergences", None, diverges, field="u"),
    "fedsciml.q9.error.k": on("last", None, grows, field="k"),
    "fedsciml.q9.between.k": on("last", None, between, field="k"),
    "fedsciml.q9.divergence.k": on("divergences", None, no_trend, field="k"),
}) | {
    "fedsciml.target.k.finest": on("last", None, below_five("federated"), field="k"),
    "fedsciml.target.k.points/10": on("last", TEN, below_five("centralised"), field="k"),
    "fedsciml.target.k.identifiable": on("answers", None, identifiable),
    "fedsciml.target.k.ends": on("squares", CODE, at_the_ends),
}  # fmt: skip
"""Id of data/claims.yaml -> claim."""

ALL = "six levels, five seeds, T = 100 000"
PANELS = (
    Panel("Fig. 11, first column", "B2, errors", ALL,
          ("fedsciml.q9.error.k", "fedsciml.q9.between.k", "fedsciml.q9.error.u", "fedsciml.q9.between.u")),
    Panel("Fig. 11, second column", "B2, divergence", ALL, ("fedsciml.q9.divergence.k", "fedsciml.q9.divergence.u")),
    Panel("Fig. 11, third and fourth column", "B2, seeds", "2 and 24 pieces, five seeds"),
    Panel("not in the paper", "section 4, points and residual, and B2", "ten inner points, and the authors' ten",
          ("fedsciml.target.k.finest", "fedsciml.target.k.points/10", "fedsciml.target.k.ends",
           "fedsciml.target.k.identifiable")),
)  # fmt: skip
"""Where the panels of Fig. 11 are in notebook 06b."""
