"""Our own criteria for notebook 14, as pure functions of what it computed; no paper claims them."""

from collections.abc import Callable

from scipy.stats import spearmanr

from ....notebook.claims import Verdict
from ....notebook.maps import Panel
from ..points import every_point
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


CLAIMS = {
    "fedsciml.target.networks.held": held,
    "fedsciml.target.networks.score": score,
    "fedsciml.target.networks.client": points("one client", 1, 1e-4),
    "fedsciml.target.networks.total": points("total", 100, 1e-3),
}
"""Id of data/claims.yaml -> claim."""

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
