"""What FedSciML says of the unknown reaction rate (Section 5.6, Fig. 11).

Where clients differ most, seeds fall into two groups, found or lost by a factor of a thousand. So all is read of
medians: a st.dev. over both groups would let anything pass.
"""

from collections.abc import Callable

import xarray

from ....notebook.claims import LEARNT, Seeded, Verdict, fewest
from ....notebook.maps import Panel
from ....notebook.relations import RATIO, middle
from ....numerics.metrics import percent
from .problem import weak
from .study import CHOICES, Results

CODE, TEN = map(str, CHOICES)

Quantity = Callable[[Results], xarray.DataArray]


def error(field: str, kind: str, choice: str | None = None) -> Quantity:
    """Errors (%) after training [level, seed]; choice: of points, by default the judged one."""
    return lambda results: results.last[choice or results.judged].sel(field=field, kind=kind, drop=True)


def divergence(field: str) -> Quantity:
    """Divergence of the weights of a network [seed, level, matrix]."""
    return lambda results: results.divergences[results.judged].sel(field=field, drop=True)


def between(field: str) -> Seeded:
    """Q1: at every level the federated error is below that of who is alone, and not below the centralised one by more
    than RATIO."""

    def claim(results: Results) -> Verdict | None:
        if results.judged not in results.last:
            return None
        kinds = ("federated", "isolated", "centralised")
        together, alone, centre = (middle(error(field, kind)(results)).values for kind in kinds)
        inside = (together < alone) & (centre <= RATIO * together) & (centre < LEARNT)
        return Verdict(bool(inside.all()), f"{inside.sum()} of {inside.size} levels")

    return Seeded(claim, lambda results: fewest(results.last[results.judged]))


def by_strength(answers: xarray.DataArray) -> dict[str, xarray.DataArray]:
    """Errors of the centralised k (%) [seed] where u is strong, and where it is weak; answers: of ``study.answers``."""
    k, u = (answers.sel(model="centralised", field=field).isel(level=0) for field in "ku")
    places = {"strong": ~weak(u.truth.values), "weak": weak(u.truth.values)}
    return {
        name: xarray.DataArray(
            [percent(one[mask], k.truth.values[mask]) for one in k.values], dims="seed",
            attrs={"middle": "median", "units": "%"},
        )
        for name, mask in places.items()
    }  # fmt: skip


def share_of_ends(squares: xarray.DataArray) -> xarray.DataArray:
    """Share of the first and the last point in the squared residual [seed, x]: [seed]."""
    return squares.isel(x=[0, -1]).sum("x") / squares.sum("x")


CLAIMS = {
    id: claim
    for field, moves in (("u", "goes with"), ("k", "has no trend with"))
    for id, claim in {
        f"fedsciml.q9.error.{field}": (error(field, "federated"), "grows with", "distance"),
        f"fedsciml.q9.between.{field}": between(field),
        f"fedsciml.q9.divergence.{field}": (divergence(field), moves, "distance"),
    }.items()
} | {
    "fedsciml.target.k.finest": (lambda r: error("k", "federated")(r).sel(level=24), "<", 5),
    "fedsciml.target.k.points/10": (lambda r: error("k", "centralised", TEN)(r).sel(level=24), "<", 5),
    "fedsciml.target.k.identifiable": (
        lambda r: by_strength(r.answers[r.judged])["weak"], ">", lambda r: by_strength(r.answers[r.judged])["strong"],
    ),
    "fedsciml.target.k.ends": (lambda r: share_of_ends(r.squares[CODE]), ">", 0.5),
}  # fmt: skip
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""

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
