"""Our own criteria for notebook 13, as pure functions of what it computed; no paper claims them."""

from collections.abc import Mapping

import numpy as np
import xarray

from ....federated.history import History
from .figures import places, ways

Verdict = tuple[bool | None, str]


def equal(results: Mapping[str, History | xarray.Dataset]) -> Verdict:
    """The answers of one round are the centralised ones, whoever owns what."""
    gap = results["partitions"].gap
    largest = float(gap.max())
    return largest < 1e-8, f"largest difference {largest:.0e} in {gap.sizes['partition']} partitions of each problem"


def same_at_all_levels(results: Mapping[str, History | xarray.Dataset]) -> Verdict:
    """The error of one round does not know the level: within 1 %, each seed."""
    names = [name for name in ("poisson", "helmholtz") if f"one_round_{name}" in results]
    ratio = [results[f"one_round_{name}"].error for name in names]
    spread = max(float((e.max("level") / e.min("level")).max()) for e in ratio)
    return spread < 1.01, f"largest ratio {spread:.4f}"


def better(name: str):
    """A hundred times below the best rule of notebook 11, in medians, at every level where both are."""

    def claim(results: Mapping[str, History | xarray.Dataset]) -> Verdict:
        last = {way.label: way.error.isel(round=-1).median("seed") for way in ways(name, results)}
        if "best rule" not in last:
            return None, ""
        ratio = last["best rule"] / last["one round of sums"]  # at the levels that both have
        if not ratio.size:
            return None, ""
        return bool((ratio > 100).all()), f"{float(ratio.min()):.0f} times, {ratio.sizes['level']} levels"

    return claim


def linear_map(results: Mapping[str, History | xarray.Dataset]) -> Verdict:
    """The pendulum's linear map errs less than every network of notebook 01, federated or not."""
    error = {place.way: place.error for place in places(results) if place.problem.startswith("pendulum")}
    ours = error.pop("one round of sums")
    least = min(map(np.min, error.values()))
    return bool(ours.max() < least), f"at most {ours.max():.3f} %, the best network {least:.3f} %"


def points(sums: str, within: float):
    """With twelve sines and with more, the attack finds every point of these sums, in every seed."""

    def claim(results: Mapping[str, History | xarray.Dataset]) -> Verdict:
        leak = results["leak"]
        off = leak.off.sel(sums=sums, m=leak.m >= 12)
        if not off.size:
            return None, ""
        worst = float(off.max())
        return worst < within, f"off by at most {worst:.0e}, {leak.sizes['seed']} seeds"

    return claim


CLAIMS = {
    "fedsciml.target.sums.equal": (equal, ["partitions"]),
    "fedsciml.target.sums.levels": (same_at_all_levels, ["one_round_poisson"]),
    "fedsciml.target.sums.poisson": (better("poisson"), ["one_round_poisson"]),
    "fedsciml.target.sums.helmholtz": (better("helmholtz"), ["one_round_helmholtz"]),
    "fed-deeponet.target.sums.linear": (linear_map, ["pendulum"]),
    "fedsciml.target.sums.client": (points("one client", 1e-6), ["leak"]),
    "fedsciml.target.sums.total": (points("total", 1e-3), ["leak"]),
}
"""Id of data/claims.yaml -> (claim, what it needs)."""


def judged(results: Mapping[str, History | xarray.Dataset]) -> dict[str, Verdict]:
    """Id -> (holds, why) of all claims on what there is."""
    return {id: claim(results) for id, (claim, needed) in CLAIMS.items() if {*needed} <= {*results}}
