"""What FedSciML says of the forward problems (Sections 5.2 to 5.4, Figs. 7 to 9).

A claim rests on the levels that the paper speaks of, and says nothing of an equation that was not trained.
"""

from collections.abc import Callable

import numpy as np
import xarray

from ....notebook.claims import Seeded, Verdict, fewest
from ....notebook.maps import Panel
from .study import STUDIES, Results

PAPER = ("poisson", "helmholtz", "allen_cahn_2", "allen_cahn_3")


def printed(name: str, levels: list[int]) -> list[int]:
    """Those of an equation's levels that the paper speaks of."""
    return [level for level in levels if level not in STUDIES[name].code_only]


def on_paper(name: str, values: xarray.DataArray) -> xarray.DataArray:
    """Values [level, ...] of an equation at these levels, the coarsest first."""
    return values.sel(level=printed(name, sorted(values.level.values.tolist())))


def error(name: str, kind: str, finest: bool = False) -> Callable[[Results], xarray.DataArray]:
    """Errors (%) after training of a kind of models [level, seed]; finest: at the finest level alone."""

    def quantity(results: Results) -> xarray.DataArray:
        values = on_paper(name, results.last[name].sel(kind=kind, drop=True))
        return values.isel(level=slice(-1, None)) if finest else values

    return quantity


def divergence(name: str, *matrices: int) -> Callable[[Results], xarray.DataArray]:
    """Divergences [seed, level, matrix] of these weight matrices; of all by default."""

    def quantity(results: Results) -> xarray.DataArray:
        values = on_paper(name, results.divergences[name])
        return values.sel(matrix=[*matrices]) if matrices else values

    return quantity


def second_diverges_faster(results: Results) -> Verdict | None:
    """Q5: the second matrix's divergence has a larger slope over the distance than the third one's."""
    if "helmholtz" not in results.divergences:
        return None
    values = divergence("helmholtz", 2, 3)(results).mean("seed").transpose("level", "matrix")
    if values.sizes["level"] < 2:
        return Verdict(None, "one level has no slope")
    slopes = np.polyfit(values.distance, values, 1)[0]
    return Verdict(bool(slopes[0] > slopes[1]), f"slopes {slopes[0]:.2f}, {slopes[1]:.2f}")


def claims_on(name: str) -> dict[str, tuple]:
    """Id -> claim, of the four that the paper makes of every equation."""
    federated, alone, centre = (error(name, kind) for kind in ("federated", "isolated", "centralised"))
    finest = error(name, "centralised", finest=True)
    return {
        f"fedsciml.q1.{name}": (federated, "between", (centre, alone)),
        f"fedsciml.q2.{name}": (federated, "grows with", "distance"),
        f"fedsciml.q3.{name}.federated": (error(name, "federated", finest=True), "agrees with", finest),
        f"fedsciml.q3.{name}.isolated": (error(name, "isolated", finest=True), "agrees with", finest),
    }


CLAIMS = {id: claim for name in PAPER for id, claim in claims_on(name).items()} | {
    "fedsciml.q7.allen_cahn_2": (error("allen_cahn_2", "federated"), "<", error("allen_cahn_2", "isolated")),
    "fedsciml.q7.allen_cahn_3": (error("allen_cahn_3", "federated"), "<", error("allen_cahn_3", "isolated")),
    "fedsciml.q4.poisson": (divergence("poisson"), "grows with", "distance"),
    "fedsciml.q5.layers": (divergence("helmholtz", 2, 3), "grows with", "distance"),
    "fedsciml.q5.slope": Seeded(second_diverges_faster, lambda results: fewest(results.divergences["helmholtz"])),
}
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""

ALLEN_CAHN = "three of eight levels, one seed, T = 50 000, tanh as coded"

PANELS = (
    Panel("Fig. 7A", "section 4, error_level", "Poisson, n = 6 to 32 of the paper and 2, 4 of the code, twenty seeds",
          ("fedsciml.q1.poisson", "fedsciml.q2.poisson", "fedsciml.q3.poisson.federated",
           "fedsciml.q3.poisson.isolated")),
    Panel("Fig. 7B", "B2, divergence", "the same", ("fedsciml.q4.poisson",)),
    Panel("Fig. 7C, D", "B2, poisson_coarse and poisson_fine", "n = 6 and 32, first seed"),
    Panel("Fig. 8A", "section 4, error_level", "Helmholtz, 2 to 24 blocks per axis, five seeds",
          ("fedsciml.q1.helmholtz", "fedsciml.q2.helmholtz", "fedsciml.q3.helmholtz.federated",
           "fedsciml.q3.helmholtz.isolated")),
    Panel("Fig. 8B", "B2, divergence", "the same", ("fedsciml.q5.layers", "fedsciml.q5.slope")),
    Panel("Fig. 8C, D, E", "B2, helmholtz_coarse and helmholtz_fine", "2 x 2 and 24 x 24 blocks, first seed"),
    Panel("Fig. 9A", "section 4, error_level", f"Allen-Cahn, two clients: {ALLEN_CAHN}",
          ("fedsciml.q1.allen_cahn_2", "fedsciml.q3.allen_cahn_2.federated", "fedsciml.q3.allen_cahn_2.isolated",
           "fedsciml.q7.allen_cahn_2")),
    Panel("Fig. 9B", "section 4, error_level", f"three clients: {ALLEN_CAHN}",
          ("fedsciml.q1.allen_cahn_3", "fedsciml.q3.allen_cahn_3.federated", "fedsciml.q3.allen_cahn_3.isolated",
           "fedsciml.q7.allen_cahn_3")),
    Panel("Fig. 9C, D, E", "B2, allen_cahn_2_coarse and _fine", "n = 2 and 40"),
    Panel("Fig. 9F, G", "B2, allen_cahn_3_coarse and _fine", "n = 3 and 60"),
)  # fmt: skip
"""Where the panels of Figs. 7 to 9 are in notebook 05."""
