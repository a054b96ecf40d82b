"""What Fed-DeepONet says of Experiment 3 (Figs. 5 and 6)."""

from collections.abc import Callable

import xarray
from scipy.stats import spearmanr

from ....notebook.claims import LEARNT
from ....notebook.maps import Panel
from .study import CURVES, SGD, Results

FALLING = CURVES[0]
"""Adam at the rate of Table 1, on which claims rest."""

IID, WORSE, FLAT, POOR = 1.5, 1.25, 1.5, 3
"""Within so many times the error of a random deal a federation is close to it; beyond so many times that at the
smallest difference it gets worse; SGD is flat within so many times its least, and of no use above so many times Adam's
largest."""

LEAST = 0.5
"""The smallest difference of Fig. 6 (s)."""


def error(curve: str, level: int, test: str = "GRF") -> Callable[[Results], xarray.DataArray]:
    """Error (%) [seed] of a curve of Fig. 5 at so many shards for each client."""
    return lambda results: results.shards.sel(curve=curve, level=level, test=test, drop=True)


def close_to_iid(results: Results, test: str = "GRF") -> float:
    """IID times Adam's mean error (%) at a random deal, if that has learnt something."""
    return min(IID * results.fields.sel(curve=FALLING, level=0.0, test=test).mean().item(), LEARNT)


def not_worse(test: str) -> tuple:
    """Adam's error at no difference of the fields is much above that at the smallest one of Fig. 6."""

    def errors(results: Results) -> xarray.DataArray:
        return results.fields.sel(curve=FALLING, test=test, drop=True)

    def worst(results: Results) -> xarray.DataArray:
        larger = errors(results).where(errors(results).level > LEAST, drop=True)
        return larger.isel(level=larger.mean("seed").argmax("level")) if larger.size else larger

    return worst, "<", lambda results: min(WORSE * errors(results).sel(level=LEAST).mean().item(), LEARNT)


def flat_and_poor(test: str) -> tuple:
    """SGD's errors are within FLAT times the least of them, and above POOR times Adam's largest."""

    def means(results: Results, curve: str) -> xarray.DataArray:
        return results.fields.sel(curve=curve, test=test).mean("seed")

    poor, flat = lambda r: POOR * means(r, FALLING).max().item(), lambda r: FLAT * means(r, SGD).min().item()
    return lambda r: r.fields.sel(curve=SGD, test=test, drop=True), "within", (poor, flat)


def alike(results: Results) -> xarray.DataArray:
    """Rank correlation [seed] of the clients' distance, in targets, with the number of shards."""
    distance = results.distances.by_shards.sel(what="s", drop=True).transpose("seed", "shards")
    rho = [spearmanr(distance.shards, row).statistic for row in distance]
    return xarray.DataArray(rho, {"seed": distance.seed.values}, "seed")


CLAIMS = {
    f"fed-deeponet.{id}": claim
    for id, claim in {
        "shards.iid": (alike, "<", -0.9),
        "shards.extreme": (error(SGD, 1), "surely <", error(FALLING, 1)),
        "shards.extreme.unseen": (error(SGD, 1, "unseen"), "surely <", error(FALLING, 1, "unseen")),
        "shards.two": (error(FALLING, 2), "<", close_to_iid),
        "shards.most": (error(FALLING, 20), "<", close_to_iid),
        "shards.most.unseen": (error(FALLING, 20, "unseen"), "<", lambda r: close_to_iid(r, "unseen")),
        "fields.adam": not_worse("GRF"),
        "fields.adam.second": not_worse("second"),
        "fields.adam.mixture": not_worse("mixture"),
        "fields.adam.unseen": not_worse("unseen"),
        "fields.sgd": flat_and_poor("GRF"),
        "fields.sgd.unseen": flat_and_poor("unseen"),
    }.items()
}
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""

FULL = "N, R, K, C as printed, share drawn from [0.1, 1]; rates and batch are ours"

PANELS = (
    Panel("Fig. 5, left", "section 4, fig5", f"{FULL}; twelve levels, five seeds",
          ("fed-deeponet.shards.iid", "fed-deeponet.shards.extreme", "fed-deeponet.shards.two",
           "fed-deeponet.shards.most")),
    Panel("Fig. 5, right", "section 4, fig5", "the same models on the three unseen torques",
          ("fed-deeponet.shards.extreme.unseen", "fed-deeponet.shards.most.unseen")),
    Panel("Fig. 6, left", "section 5, fig6", f"{FULL}; nine levels, five seeds; on which field is not said",
          ("fed-deeponet.fields.adam", "fed-deeponet.fields.adam.second", "fed-deeponet.fields.adam.mixture",
           "fed-deeponet.fields.sgd")),
    Panel("Fig. 6, right", "section 5, fig6", "the same models on the three unseen torques",
          ("fed-deeponet.fields.adam.unseen", "fed-deeponet.fields.sgd.unseen")),
    Panel("not in the paper", "B2, w1", "how far apart the clients are"),
)  # fmt: skip
"""Where Figs. 5 and 6 are in notebook 02."""
