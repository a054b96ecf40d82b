"""Our own criteria for notebook 14, of what it computed; no paper claims them."""

from collections.abc import Callable

import xarray
from scipy.stats import spearmanr

from ....notebook.claims import Verdict
from ....notebook.maps import Panel
from .study import Results


def held(results: Results) -> Verdict | None:
    """After ten evaluations a step of a ten-thousandth downhill raises the loss with the last layer held, and lowers it
    with the last layer solved anew: in every seed."""
    if results.stiff is None or not (10 in results.stiff.evaluation and 1e-4 in results.stiff.length):
        return None
    one = results.stiff.sel(evaluation=10, length=1e-4)
    ratios = one.loss / one.foot
    up, down = (ratios.sel({"last layer": layer}).values for layer in ("held", "solved"))
    return Verdict(bool((up > 1).all() and (down < 1).all()), f"{up.min():.1e} times or more, {down.max():.4f} or less")


def missed(sums: str, first: int) -> Callable[[Results], xarray.DataArray]:
    """By how much the attack misses the worst point, from some evaluation on, of all seeds."""
    return lambda results: results.attack.off.sel(sums=sums).where(results.attack.evaluation >= first).max()


def score(results: Results) -> float | None:
    """Rank correlation of the errors of starts with the residual between the points."""
    if results.starts is None or results.starts.sizes["seed"] < 5:
        return None
    error = results.starts.error.isel(evaluation=-1)
    return float(spearmanr(error.values.ravel(), results.starts.score.values.ravel()).statistic)


CLAIMS = {
    "fedsciml.target.networks.held": held,
    "fedsciml.target.networks.score": (score, ">", 0.8),
    "fedsciml.target.networks.client": (missed("one client", 1), "<", 1e-4),
    "fedsciml.target.networks.total": (missed("total", 100), "<", 1e-3),
}
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""

PANELS = (
    Panel("beyond FedSciML, Figs. 7 to 9: error against rounds", "section 3, race", "notebook 05's networks, points, "
          "tests and starts; five starts"),
    Panel("every way in the end", "section 4, compared", "the same; notebook 11's rules at their rates"),
    Panel("steps on one's own", "section 5, alone", "Poisson, 8 pieces, three starts",
          ("fedsciml.target.networks.held",)),
    Panel("starts, and what the messages tell", "section 6, ends", "Poisson, 8 pieces, 20 and three starts",
          ("fedsciml.target.networks.score", "fedsciml.target.networks.client", "fedsciml.target.networks.total")),
)  # fmt: skip
"""Where each question beyond the papers stands in notebook 14."""
