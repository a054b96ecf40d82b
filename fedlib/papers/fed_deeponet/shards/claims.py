"""What Fed-DeepONet says in words of Experiment 3 (Figs. 5 and 6), as pure functions of ``Results``."""

from collections.abc import Callable

import xarray
from scipy.stats import spearmanr

from ....notebook.claims import LEARNT, Seeded, Verdict, fewest, where_labelled
from ....notebook.maps import Panel
from ....numerics.metrics import mean_sd
from .study import ADAM, CURVES, SGD, Results

FALLING, CONSTANT = CURVES[:2]

IID, WORSE = 1.5, 1.25
"""Within so many times the error of a random deal a federation is close to it; beyond so many times that at the
smallest difference it gets worse."""


def more_alike(results: Results) -> Verdict:
    """The more shards, the nearer are the clients' targets: rank correlation at most -0.9."""
    distance = results.distances.by_shards.sel(what="s").mean("seed")
    if distance.size < 2:
        return Verdict(None, "one number of shards")
    rho = spearmanr(distance.shards, distance).statistic
    return Verdict(bool(rho <= -0.9), f"rank correlation {rho:.2f}")


def one_shard(test: str) -> Callable[[Results], Verdict]:
    """At one shard SGD beats Adam, whose rate falls as in every room of the paper, by more than the seeds' st.dev."""

    def claim(results: Results) -> Verdict:
        errors = results.shards.sel(test=test, level=1)
        plain, falling, adam = (errors.sel(curve=curve).dropna("seed") for curve in (SGD, FALLING, CONSTANT))
        mean, sd = mean_sd(plain.values)
        numbers = f"{mean:.1f} % against {falling.mean():.1f} %; with a rate of Adam that stays {adam.mean():.1f} %"
        return Verdict(bool(mean + sd < falling.mean()), numbers)

    return claim


def best_rates(results: Results) -> Verdict:
    """The same where each has the rate that is best on validation data."""
    errors = results.rates.sel(level=1)
    reached = {}
    for algorithm in (ADAM, SGD):
        rates = errors.sel(algorithm=algorithm).stack(rate=("lr", "decay"))
        best = rates.sel(test="validation").mean("seed", skipna=False).argmin("rate")
        reached[algorithm] = mean_sd(rates.sel(test="GRF").isel(rate=best).values)
    (mean, sd), (adam, _) = reached[SGD], reached[ADAM]
    return Verdict(bool(mean + sd < adam), f"{mean:.1f} % against {adam:.1f} %")


def close_to_iid(shards: int | None, test: str = "GRF") -> Callable[[Results], Verdict]:
    """At so many shards (the most, where None is given) Adam's error is close to that of a random deal."""

    def claim(results: Results) -> Verdict:
        errors = results.shards.sel(curve=FALLING, test=test)
        dealt = results.fields.sel(curve=FALLING, test=test, level=0.0).mean()
        level = shards or errors.level.max()
        error = errors.sel(level=level).mean()
        return Verdict(bool(error < min(IID * dealt, LEARNT)), f"{(error / dealt).item():.1f} x")

    return claim


def different(results: Results, curve: str, test: str) -> xarray.DataArray:
    """Mean error over the seeds at the differences of Fig. 6, which has none that is 0."""
    errors = results.fields.sel(curve=curve, test=test).mean("seed").sortby("level")
    return errors.sel(level=errors.level > 0)


def not_worse(test: str) -> Callable[[Results], Verdict]:
    """Adam's error at no difference of the fields is much above that at the smallest one."""

    def claim(results: Results) -> Verdict:
        errors = different(results, FALLING, test)
        if errors.size < 2:
            return Verdict(None, "fewer than two differences")
        worst, least = errors.max().item(), errors[0].item()
        return Verdict(worst < min(WORSE * least, LEARNT), f"{worst / least:.1f} x")

    return claim


def flat_and_poor(test: str) -> Callable[[Results], Verdict]:
    """SGD's largest error is within 1.5 times its smallest, which is above 3 times Adam's largest."""

    def claim(results: Results) -> Verdict:
        plain, adam = (results.fields.sel(curve=curve, test=test).mean("seed") for curve in (SGD, FALLING))
        flat, poor = (plain.max() / plain.min()).item(), (plain.min() / adam.max()).item()
        return Verdict(flat < 1.5 and poor > 3, f"{flat:.1f} x, {poor:.1f} x")

    return claim


def seeds(results: Results) -> int:
    """Of Figs. 5 and 6, and of how far clients are apart."""
    apart = None if results.distances is None else results.distances.by_shards
    return fewest(*(e for e in (results.shards, results.fields, apart) if e is not None))


CLAIMS = {
    f"fed-deeponet.{id}": Seeded(where_labelled(claim), seeds)
    for id, claim in {
        "shards.iid": more_alike,
        "shards.extreme": one_shard("GRF"),
        "shards.extreme.unseen": one_shard("unseen"),
        "target.shards.rates": best_rates,
        "shards.two": close_to_iid(2),
        "shards.most": close_to_iid(None),
        "shards.most.unseen": close_to_iid(None, "unseen"),
        "fields.adam": not_worse("GRF"),
        "fields.adam.second": not_worse("second"),
        "fields.adam.mixture": not_worse("mixture"),
        "fields.adam.unseen": not_worse("unseen"),
        "fields.sgd": flat_and_poor("GRF"),
        "fields.sgd.unseen": flat_and_poor("unseen"),
    }.items()
}
"""Id of data/claims.yaml -> claim."""

FULL = "N, R, K, C as printed, share drawn from [0.1, 1]; rates and batch are ours"

PANELS = (
    Panel("Fig. 5, left", "section 4, B2, fig5", f"{FULL}; twelve levels, three seeds",
          ("fed-deeponet.shards.iid", "fed-deeponet.shards.extreme", "fed-deeponet.shards.two",
           "fed-deeponet.shards.most", "fed-deeponet.target.shards.rates")),
    Panel("Fig. 5, right", "section 4, B2, fig5", "the same models on the three unseen torques",
          ("fed-deeponet.shards.extreme.unseen", "fed-deeponet.shards.most.unseen")),
    Panel("Fig. 6, left", "section 5, B3, fig6", f"{FULL}; nine levels, three seeds; on which field is not said",
          ("fed-deeponet.fields.adam", "fed-deeponet.fields.adam.second", "fed-deeponet.fields.adam.mixture",
           "fed-deeponet.fields.sgd")),
    Panel("Fig. 6, right", "section 5, B3, fig6", "the same models on the three unseen torques",
          ("fed-deeponet.fields.adam.unseen", "fed-deeponet.fields.sgd.unseen")),
    Panel("not in the paper", "B1, w1", "how far apart the clients are"),
)  # fmt: skip
"""Where Figs. 5 and 6 are in notebook 02."""
