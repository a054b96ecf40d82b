"""What we ask of transport in a federation, of which the paper itself claims little."""

from ....notebook.maps import Panel
from .problem import PANELS as PLACES
from .problem import PRINTED
from .study import Results


def above_centralised(results: Results):
    """How far the worst seed's barycenter, as printed, is above a centralised one's objective (%)."""
    ratio = results.barycenters.ratio.sel(variant=PRINTED).max("seed")
    return (100 * (ratio - 1)).assign_attrs(units="%")


def after_four(results: Results):
    """How far FedWaD's way is above the distance after four rounds (%), in the plane, for every p."""
    return results.bounds.gap.sel(case=[*PLACES["two clouds in the plane"]], round=4).assign_attrs(units="%")


CLAIMS = {
    "feddro.target.fedwad": (after_four, "<", 1.0),
    "feddro.target.barycenter": (above_centralised, "<", 0.1),
}
"""Id of data/claims.yaml -> claim, see ``notebook.relations``."""

PANELS = (
    Panel("Eq. 1, agnostic FL", "B3", "its solution in words"),
    Panel("Eq. 3, the chain", "sections 2 to 4", "FedWaD in the plane, in R^10 and in R^50", ("feddro.target.fedwad",)),
    Panel("Eq. 4, Algorithm 1, lines 1 to 7", "section 5, B2", "three Gaussian clouds; digits in notebook 10b",
          ("feddro.target.barycenter",)),
    Panel("\"only η and γ are shared\"", "section 6, B2", "as many atoms as samples, a tight start"),
)  # fmt: skip
"""Where the paper's transport is in notebook 10; it has no figure of it."""
