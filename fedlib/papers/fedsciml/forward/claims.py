"""What FedSciML says of the forward problems (Sections 5.2 to 5.4, Figs. 7 to 9), as pure functions of ``Results``.

A claim rests on the levels that the paper speaks of, and says nothing (None) of an equation that was not trained.
"""

from collections.abc import Callable

import numpy as np
import xarray

from ....notebook.claims import Seeded, Verdict, fewest
from ....notebook.maps import Panel
from .. import yardsticks
from .study import STUDIES, Results

Claim = Callable[[Results], Verdict | None]


def helps(errors: xarray.DataArray) -> Verdict:
    """Q7: the federation errs less than isolated clients at every level; errors after training [kind, level, seed]."""
    mean = errors.mean("seed")
    below = (mean.sel(kind="federated") < mean.sel(kind="isolated")).values
    return Verdict(bool(below.all()), f"{below.sum()} of {below.size} levels")


def diverges(divergences: xarray.DataArray, *matrices: int) -> Verdict:
    """Q4, Q5: the divergence [seed, level, matrix] of these weight matrices grows with the distance; all by default."""
    mean = divergences.mean("seed")
    return yardsticks.grows(mean.sel(matrix=[*matrices]) if matrices else mean)


def second_diverges_faster(divergences: xarray.DataArray) -> Verdict:
    """Q5: the second matrix's divergence has a larger slope over the distance than the third one's."""
    if divergences.sizes["level"] < 2:
        return Verdict(None, "one level has no slope")
    slopes = np.polyfit(
        divergences.distance, divergences.mean("seed").sel(matrix=[2, 3]).transpose("level", "matrix"), 1
    )
    return Verdict(bool(slopes[0, 0] > slopes[0, 1]), f"slopes {slopes[0, 0]:.2f}, {slopes[0, 1]:.2f}")


def printed(name: str, levels: list[int]) -> list[int]:
    """Those of an equation's levels that the paper speaks of."""
    return [level for level in levels if level not in STUDIES[name].code_only]


def on(what: str, name: str, yardstick: Callable[..., Verdict], *arguments) -> Claim:
    """A yardstick as a claim on an equation's results; what: "last", its errors after training, or "divergences"."""

    def claim(results: Results) -> Verdict | None:
        values = getattr(results, what).get(name)
        levels = [] if values is None else printed(name, values.level.values.tolist())
        return yardstick(values.sel(level=levels), *arguments) if levels else None

    return Seeded(claim, lambda results: fewest(getattr(results, what)[name]))


PAPER = ("poisson", "helmholtz", "allen_cahn_2", "allen_cahn_3")


def claims_on(name: str) -> dict[str, Claim]:
    """Id -> claim, of the four that the paper makes of every equation."""
    return {
        f"fedsciml.q1.{name}": on("last", name, yardsticks.between),
        f"fedsciml.q2.{name}": on("last", name, yardsticks.falls),
        f"fedsciml.q3.{name}.federated": on("last", name, yardsticks.agrees, "federated"),
        f"fedsciml.q3.{name}.isolated": on("last", name, yardsticks.agrees, "isolated"),
    }


CLAIMS = {id: claim for name in PAPER for id, claim in claims_on(name).items()} | {
    "fedsciml.q7.allen_cahn_2": on("last", "allen_cahn_2", helps),
    "fedsciml.q7.allen_cahn_3": on("last", "allen_cahn_3", helps),
    "fedsciml.q4.poisson": on("divergences", "poisson", diverges),
    "fedsciml.q5.layers": on("divergences", "helmholtz", diverges, 2, 3),
    "fedsciml.q5.slope": on("divergences", "helmholtz", second_diverges_faster),
}
"""Id of data/claims.yaml -> claim."""


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
