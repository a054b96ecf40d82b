"""What is said of transport in a federation, as pure functions of ``Results``; the paper itself claims little of it."""

from ....notebook.claims import Verdict
from ....notebook.maps import Panel
from .problem import PRINTED
from .study import Results

NEAR, AS_GOOD = 1.0, 1.001
"""% above the distance; times the objective of a centralised barycenter."""


def near_after_four(results: Results) -> Verdict | None:
    """FedWaD's bound is within 1 % after four rounds, for every p in the plane."""
    if results.bounds is None or results.bounds.sizes["round"] < 4:
        return None
    gaps = results.bounds.gap.sel(case=["p = 1", "p = 2", "p = 3"], round=4).values
    return Verdict(bool((gaps < NEAR).all()), ", ".join(f"{gap:.2f} %" for gap in gaps))


def as_good_as_central(results: Results) -> Verdict | None:
    """Algorithm 1 as printed finds barycenters as good as a method that sees all samples, for every seed."""
    if results.barycenters is None:
        return None
    ratios = results.barycenters.ratio.sel(variant=PRINTED).values
    return Verdict(bool((ratios < AS_GOOD).all()), f"at most {ratios.max():.4f} x")


def withstands(results: Results) -> Verdict | None:
    """The messages withstand one attack: the first gamma, extrapolated by 4, is farther than 1e-6 from a sample."""
    if results.barycenters is None:
        return None
    guessed = results.barycenters.guessed.sel(variant=PRINTED).values
    return Verdict(bool((guessed > 1e-6).all()), f"a guess is off by {guessed.max():.0e} at most")


CLAIMS = {
    "feddro.target.fedwad": near_after_four,
    "feddro.target.barycenter": as_good_as_central,
    "feddro.target.private": withstands,
}
"""Id of data/claims.yaml -> claim."""

PANELS = (
    Panel("Eq. 1, agnostic FL", "B3", "evaluated"),
    Panel("Eq. 3, the chain", "B3; sections 2 to 4", "evaluated; FedWaD in the plane, in R^10 and in R^50",
          ("feddro.target.fedwad",)),
    Panel("Eq. 4, Algorithm 1, lines 1 to 7", "section 5, B1", "three Gaussian clouds; digits in notebook 10b",
          ("feddro.target.barycenter",)),
    Panel("\"only η and γ are shared\"", "section 5, B2", "as many atoms as samples, a tight start",
          ("feddro.target.private",)),
)  # fmt: skip
"""Where the paper's transport is in notebook 10; it has no figure of it."""
