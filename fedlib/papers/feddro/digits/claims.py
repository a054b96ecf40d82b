"""What FedDRO's readings say: what the maps and the ascent change, and how far Table 1 is."""

from collections.abc import Mapping

import numpy as np
import xarray

from ..numerics.metrics import mean_sd, plus_minus
from .readings import more


def gains(of: Mapping[str, xarray.DataArray], early: int) -> dict[str, xarray.DataArray]:
    """One partition's changes, in points of accuracy, seed by seed.

    Returns:
        [level, seed] after the last round on all clean digits: "maps", mapped less FedAvg; "transport", mapped less the
        class means; "moments", affine maps less mapped; "ascent", what it changes on mapped digits; "fresh", the same
        of the worst fresh shift. "loss": of training on Q less that of FedAvg.
        "early", "late" [level, seed]: "maps" after round early and the last one, on the digits of the curves.
    """
    clean, worst = of["clean"], of["fresh"].min("shift")
    curve = more(of["accuracy"], "mapped", "FedAvg")
    found = {
        "maps": more(clean, "mapped", "FedAvg"),
        "transport": more(clean, "mapped", "class means"),
        "moments": more(clean, "affine maps", "mapped"),
        "ascent": more(clean, "mapped + ascent", "mapped"),
        "fresh": more(worst, "mapped + ascent", "mapped"),
        "early": curve.sel(round=early, drop=True),
        "late": curve.isel(round=-1, drop=True),
        "loss": more(of["loss"].isel(round=-1, drop=True), "barycenter Q", "FedAvg"),
    }
    return {name: values.transpose("level", "seed").dropna("seed", how="all") for name, values in found.items()}


def beyond(change: xarray.DataArray) -> bool | None:
    """Whether a change [level, seed] is above the seeds' st.dev. at every level; None where one seed has no spread."""
    if change.sizes["seed"] < 2:
        return None
    mean, sd = mean_sd(change, "seed")
    return bool((mean > sd).all())


def within(change: xarray.DataArray) -> bool | None:
    """Whether no level loses more than the seeds' st.dev.: ``beyond`` holds nowhere for the opposite."""
    if change.sizes["seed"] < 2:
        return None
    mean, sd = mean_sd(change, "seed")
    return bool((mean > -sd).all())


def words(change: xarray.DataArray) -> str:
    """A change [level, seed] as text, with its st.dev. over seeds."""
    return ", ".join(plus_minus(one.values, 1) for _, one in change.groupby("level"))


def distance(clean: xarray.DataArray, printed: Mapping[str, Mapping[float, float]], ours: str) -> float:
    """Mean absolute distance (points) to Table 1 of the means over seeds, where both have a number; else NaN.

    clean [way, level, seed]; printed: "FedAvg" and "theirs" -> |Lambda| -> %. ours: the way that is beside "theirs".
    """
    mean = clean.mean("seed")
    pairs = [
        float(mean.sel(way=way, level=level)) - value
        for way, who in (("FedAvg", "FedAvg"), (ours, "theirs"))
        for level, value in printed[who].items()
        if level in mean.level.values and way in mean.way.values
    ]
    return float(np.mean(np.abs(pairs))) if pairs else np.nan


def table_of_readings(every: xarray.DataArray, printed: Mapping[str, Mapping[float, float]]) -> list[list[str]]:
    """Rows: a reading and its pixels, FedAvg and mapped at each level, distance to Table 1; the nearest first.

    every [partition, way, level, seed], where partition is the reading's name.
    """
    found = {}
    for name in every.partition.values:
        clean = every.sel(partition=name, drop=True)
        cells = [
            " / ".join(f"{float(clean.sel(way=way, level=level).mean()):.1f}" for way in ("FedAvg", "mapped"))
            for level in clean.level.values
        ]
        found[name] = distance(clean, printed, "mapped"), cells
    return [[name, *cells, f"{far:.1f}"] for name, (far, cells) in sorted(found.items(), key=lambda row: row[1][0])]


def nearest(every: xarray.DataArray, printed: Mapping[str, Mapping[float, float]]) -> str:
    """The reading with the smallest distance to Table 1."""
    return table_of_readings(every, printed)[0][0]


def findings(even: Mapping[str, xarray.DataArray], clean: xarray.DataArray) -> dict[str, xarray.DataArray]:
    """What verdicts rest on, as words -> accuracy (%) or its change (points) [level], or [level, seed].

    even: readings with iid labels. clean [partition, ...]: accuracies in the end, Dirichlet labels among them.
    """
    changes = {
        "gain of the maps on FedAvg": ("mapped", "FedAvg"),
        "of it: class means, without any transport": ("class means", "FedAvg"),
        "maps less class means": ("mapped", "class means"),
        "affine maps less maps": ("affine maps", "mapped"),
        "barycenter Q less maps": ("barycenter Q", "mapped"),
        "ascent: change of FedAvg": ("FedAvg + ascent", "FedAvg"),
        "ascent: change of maps": ("mapped + ascent", "mapped"),
        "strong ascent: change of maps (one seed)": ("mapped + strong ascent", "mapped"),
        "Q from client 1's samples: change of maps (one seed)": ("mapped, Q from client 1's samples", "mapped"),
    }
    found = {text: more(even["clean"], *ways) for text, ways in changes.items()}
    worst, own = even["fresh"].min("shift"), even["own"].mean("client")
    found["ascent: change of the worst fresh shift, maps"] = more(worst, "mapped + ascent", "mapped")
    found |= {f"{way}, own shifts": own.sel(way=way) for way in ("FedAvg", "mapped")}
    found |= {f"{way}, worst fresh shift": worst.sel(way=way) for way in ("FedAvg", "mapped")}
    if "dirichlet" in clean.partition.values:
        found["gain of the maps, Dirichlet labels (one seed)"] = more(
            clean.sel(partition="dirichlet"), "mapped", "FedAvg"
        )
    if "long" in even:
        late = even["long"].isel(round=-1)
        words = f"gain of the maps after {even['long']['round'].values[-1]} rounds (one seed, part of the digits)"
        found[words] = more(late, "mapped", "FedAvg")
    return found
