"""What notebook 10b trains, and what its figures and claims take (FedDRO, Section 2).

``python -m fedlib train 10b_digits --only rounds`` trains what is not stored of the long trainings.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import xarray

from ....federated import sweep
from ....federated.batches import Local
from ....federated.history import History
from ....notebook import rules
from ....numerics.tabulated import tabulated
from ....trainings.calls import Call, Computed, Task, Tolerance
from ....trainings.settings import paper
from ....trainings.store import Name
from .barycenters import clients_apart, convergence, mended
from .handwriting import SOURCES, Clients, handwriting
from .problem import dealt, digits, looked_at
from .shifts import READINGS, shifted
from .ways import (
    AFFINE,
    FEDAVG,
    MAPPED,
    MEANS,
    SAMPLES,
    WAYS,
    class_means,
    mean_of_classes,
    moments,
    most_alike,
)  # fmt: skip

NOTEBOOK = "10b_digits"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "rounds", "FedAvg"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

FOUR = (FEDAVG, MEANS, AFFINE, MAPPED)
"""Ways that are trained for many rounds."""

ASCENT, STRONG = "ascent", "strong ascent"

BATCH, STEP, SKEW = 10, 1.0, 1.0
"""Digits of a local step; eta_1 of the ascent; how unlike labels are where they are skewed: small is unlike."""

COUNTS = (
    "per_client", "atoms", "barycenter_rounds", "affine_steps", "rounds", "long_rounds", "test_digits",
    "shifted_digits", "fresh_shifts", "held", "in_parts",
)  # fmt: skip

RULES = {
    **dict.fromkeys(COUNTS, rules.whole()),
    "digits": rules.one_of(*SOURCES),
    "clients": rules.whole(2),
    **dict.fromkeys(("levels", "looked_at", "lr", "rate_levels", "followed"), rules.positive()),
    **dict.fromkeys(("penalty", "strong"), rules.number(0)),
    **dict.fromkeys(("reading", "compared"), rules.one_of(*READINGS)),
    "pixels": rules.one_of("normalised", "raw"),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where a strong ascent is no pair, or the long trainings do not pass the table's round."""
    rules.check(p, **{name: rules.whole(0) for name in ("lineage_seeds", "reading_seeds") if p[name]})
    rules.check(p, **{name: rules.positive() for name in ("rates", "followed_rates") if p[name]})
    if len(p["strong"]) != 2:
        raise ValueError(f"strong = {p['strong']}: expected two numbers, eta_1 and lambda of the strong ascent")
    if p["long_rounds"] % p["rounds"]:
        raise ValueError(
            f"long_rounds = {p['long_rounds']}: expected a multiple of rounds = {p['rounds']}, after which the table is"
        )


def trainings(p: Mapping) -> dict[Name, Task]:
    """ "rounds": FOUR ways, for long, on all clean digits. "ways": the others, for the table's rounds; "ascent": with
    a displacement theta_i, or without, tested on shifted digits, too; "readings": other shifts and pixels; "skew":
    label skew; "lineage": the sizes of the code that the paper's authors started from, and "lineage_rounds", on the
    way, at one size of the shift. "rates": two ways, for long, at every rate. "barycenters", "means", "pictures": what
    is no training.
    """
    seeds, first, levels = p["seeds"], p["seeds"][:1], [*dict.fromkeys(map(float, p["levels"]))]
    names = "clients", "per_client", "atoms", "barycenter_rounds", "affine_steps", "test_digits"
    shared = {"source": p["digits"]} | {name: p[name] for name in names}
    usual = shared | {"reading": p["reading"], "pixels": p["pixels"]}
    local = Local(1, "epochs", BATCH)
    table = {"rounds": p["rounds"], "local": local, "lr": p["lr"], "evaluations": 1}
    long = table | {"rounds": p["long_rounds"], "evaluations": p["long_rounds"] // p["rounds"]}

    def call(way, seeds=seeds, arguments=usual, changes=table, models=()) -> Call:
        arguments = arguments | {"way": way}
        made = Call(digits, arguments, levels, seeds, ["federated"], changes=changes, models={"federated": models})
        return made if way in UNPLANNED else made._replace(near=PLANNED)

    calls: dict[Name, Task] = {("rounds", way): call(way, changes=long) for way in FOUR}
    calls |= {("ways", way): call(way) for way in WAYS if way not in (*FOUR, SAMPLES)}
    calls["ways", SAMPLES] = call(SAMPLES, first)
    moved = {"shifted_digits": p["shifted_digits"], "fresh_shifts": p["fresh_shifts"]}
    weak = {"ascent": [STEP, p["penalty"]]}
    for way in (FEDAVG, MAPPED):
        calls["ascent", way, "none"] = call(way, arguments=usual | moved)
        calls["ascent", way, ASCENT] = call(way, arguments=usual | moved | weak, models=first)
    calls["ascent", MAPPED, STRONG] = call(MAPPED, first, usual | moved | {"ascent": [*p["strong"]]}, models=first)
    for reading, pixels in product(p["compared"], ("normalised", "raw")):
        if (reading, pixels) != (p["reading"], p["pixels"]):
            other = shared | {"reading": reading, "pixels": pixels}
            calls |= {("readings", f"{reading}, {pixels}", way): call(way, p["reading_seeds"], other)
                      for way in (FEDAVG, MAPPED)}  # fmt: skip
    skew = usual | {"partition": "dirichlet", "alpha": SKEW}
    calls |= {("skew", way): call(way, first, skew) for way in (FEDAVG, MAPPED)}
    sizes = usual | {"per_client": 3600, "atoms": 360}
    epochs = table | {"local": Local(5, "epochs", BATCH)}
    if p["lineage_seeds"]:
        calls |= {("lineage", way): call(way, p["lineage_seeds"], sizes, epochs) for way in (FEDAVG, MAPPED)}

    def look(way: str, seeds, settings: Mapping, level: Sequence[float], changes: Mapping, over=(), **more) -> Call:
        arguments = {"settings": settings | {"way": way}} | more
        made = call(way, seeds, changes=changes)._replace(levels=level, over=dict(over))
        return made._replace(make=looked_at, arguments=arguments)

    for way in (FEDAVG, MAPPED):
        if p["followed_rates"]:
            every, over = epochs | {"evaluations": p["rounds"]}, {"lr": p["followed_rates"]}
            calls["lineage_rounds", way] = look(
                way, p["lineage_seeds"][:2], sizes, [p["followed"]], every, over, in_parts=p["in_parts"]
            )
        if p["rates"]:
            both = [*map(float, p["rate_levels"])]
            calls["rates", way] = look(way, seeds, usual, both, long, {"lr": p["rates"]}, held=p["held"])
    sizes = {name: shared[name] for name in ("source", "clients", "per_client", "atoms")}
    sizes |= {"rounds": p["barycenter_rounds"], "reading": p["reading"], "pixels": p["pixels"]}
    calls["barycenters"] = Computed(quality, sizes | {"levels": levels, "seed": seeds[0]}, tolerances=NEAR)
    deals = {name: shared[name] for name in ("source", "clients", "per_client", "test_digits")}
    deals |= {"reading": p["reading"], "pixels": p["pixels"], "levels": levels, "seeds": seeds}
    within = Tolerance(absolute=0.1)
    calls["means"] = Computed(by_means, deals, tolerances=dict.fromkeys(("all", "one", *TRIED), within))
    looks = sizes | {"levels": [*dict.fromkeys(map(float, p["looked_at"]))], "seed": seeds[0]}
    calls["pictures"] = Computed(pictures, looks, tolerances=SEEN)
    return calls


UNPLANNED, PLANNED = (FEDAVG, MEANS, AFFINE), 0.03
"""Ways without transport plans; and how nearly losses come out the same with them, for of two plans that cost the same
rounding chooses."""

RATIOS = "as printed / POT, same start", "ours / POT, same start", "ours / POT, from samples"
NEAR = dict.fromkeys((*RATIOS, "after"), Tolerance(1e-2))
SEEN = {name: Tolerance(absolute=1.0) for name in ("carried", "mean in Q")}
"""What rests on optimal plans between few points in many dimensions, of which several cost nearly the same."""


def quality(
    source: str, clients: int, per_client: int, atoms: int, rounds: int, reading: str, pixels: str,
    levels: Sequence[float], seed: int,
) -> xarray.Dataset:  # fmt: skip
    """How good barycenters are [level].

    RATIOS: class 3's objective, see ``convergence``. W_2 between two clients' clouds of a class "before" and "after"
    the maps.
    """
    written = dealt(source, pixels, clients, per_client, "iid", 1.0, seed)

    def measured(level: float) -> dict[str, float]:
        seen = shifted(written, level, seed, reading)
        carried = mended(seen, atoms, rounds, seed)
        ratios = convergence(seen, carried.Q, 3, seed, rounds)
        return ratios | {"before": clients_apart(seen), "after": clients_apart(carried.mapped)}

    return tabulated(measured, level=levels)


TRIED = "all, less the test digits' mean", "all, less each mean's brightness"


def by_means(
    source: str, clients: int, per_client: int, test_digits: int, reading: str, pixels: str, levels: Sequence[float],
    seeds: Sequence[int],
) -> xarray.Dataset:  # fmt: skip
    """Clean digits (%) [level, seed] that are read without any network, by their likeness to ten mean pictures: of
    "all" clients, and of "one", the first. TRIED: other likenesses, with the means of all.
    """
    x, y = (values[:test_digits].numpy() for values in handwriting(source, pixels)["test"])

    def read(level: float, seed: int) -> dict[str, float]:
        seen = shifted(dealt(source, pixels, clients, per_client, "iid", 1.0, seed), level, seed, reading)
        sent = moments(seen)
        ten, first = mean_of_classes(sent), sent[0].mean
        tried = (ten, x), (first, x), (ten, x - x.mean(0)), (ten - ten.mean(1, keepdims=True), x)
        return {
            name: 100 * (most_alike(means, digits) == y).mean()
            for name, (means, digits) in zip(("all", "one", *TRIED), tried, strict=True)
        }

    return tabulated(read, level=levels, seed=seeds)


SHOWN = range(5)
"""Digits of which there are pictures."""


def pictures(
    source: str, clients: int, per_client: int, atoms: int, rounds: int, reading: str, pixels: str,
    levels: Sequence[float], seed: int,
) -> xarray.Dataset:  # fmt: skip
    """Pictures of the first of each digit at every client.

    written, seen, carried [level, client, digit, pixel]: as it is, as its client sees it, and at T_i(x'); "mean"
    [level, digit, pixel]: the class mean over all clients, and "mean in Q", that of the barycenter's atoms.
    """
    written = dealt(source, pixels, clients, per_client, "iid", 1.0, seed)

    def looked_at(level: float) -> dict:
        seen = shifted(written, level, seed, reading)
        carried = mended(seen, atoms, rounds, seed)
        first = {"written": written, "seen": seen, "carried": carried.mapped}
        means = {"mean": class_means(seen, 1), "mean in Q": carried.Q}
        averages = {name: [some.x[some.y == v].mean(0) for v in SHOWN] for name, some in means.items()}
        rows = {name: (("client", "digit", "pixel"), first_of(some)) for name, some in first.items()}
        return rows | {name: (("digit", "pixel"), np.array(rows)) for name, rows in averages.items()}

    return tabulated(looked_at, level=levels).astype("float32")


def first_of(clients: Clients) -> np.ndarray:
    """The first picture [784] of SHOWN at every client [K, C, 784]; NaN where a client has none."""
    x, y, shards = clients
    empty = np.full(x.shape[1], np.nan)
    return np.array([[next(iter(x[shard[y[shard] == v]]), empty) for v in SHOWN] for shard in shards])


class Results(NamedTuple):
    """What figures and claims take; None where nothing of it is trained. Accuracies in %.

    accuracy, commonest, loss [way, round, level, seed] of FOUR on the way (loss: in each round, and of all ways).
    table [way, level, seed]: clean digits read after the table's rounds, for all of ``WAYS``. shifted [way, view,
    level, seed]: the same with and without ascent, "clean", under the clients' "own" shifts, under the worst "fresh"
    one; theta [way, level, client]: how far the ascent went. readings [reading, way, level, seed]; skew, lineage
    [way, level, seed]. followed: lineage's sizes on the way [view, way, round, level, seed, lr], see VIEWS. rates: see
    ``tried``. barycenters, means, pictures: of ``quality``, ``by_means``, ``pictures``.
    """

    accuracy: xarray.DataArray | None = None
    commonest: xarray.DataArray | None = None
    loss: xarray.DataArray | None = None
    table: xarray.DataArray | None = None
    shifted: xarray.DataArray | None = None
    theta: xarray.DataArray | None = None
    readings: xarray.DataArray | None = None
    skew: xarray.DataArray | None = None
    lineage: xarray.DataArray | None = None
    followed: xarray.DataArray | None = None
    rates: xarray.Dataset | None = None
    barycenters: xarray.Dataset | None = None
    means: xarray.Dataset | None = None
    pictures: xarray.Dataset | None = None


def results(p: Mapping, histories: Mapping[Name, History | xarray.Dataset]) -> Results:
    """The labelled arrays of what is trained."""
    files: dict[str, dict] = {}
    for name, history in histories.items():
        if isinstance(history, History):
            file, *labels = name
            files.setdefault(file, {})[tuple(labels)] = history
    long, others = files.get("rounds", {}), files.get("ways", {})
    accuracy = joined({way: measured(history) for (way,), history in long.items()})
    last = {way: measured(history).sel(round=p["rounds"], drop=True) for (way,), history in (long | others).items()}
    moved = {way + f" + {ascent}" * (ascent != "none"): h for (way, ascent), h in files.get("ascent", {}).items()}
    readings: dict[str, dict] = {}
    for (reading, way), history in files.get("readings", {}).items():
        readings.setdefault(reading, {})[way] = final(history)
    if FEDAVG in last and MAPPED in last:
        readings[f"{p['reading']}, {p['pixels']}"] = {way: last[way] for way in (FEDAVG, MAPPED)}
    lineage = files.get("lineage_rounds", {})
    followed = {
        v: {way: measured(h, metric) for (way,), h in lineage.items()} for v, metric in VIEWS.items() if lineage
    }
    return Results(
        accuracy,
        joined({way: measured(history, "commonest") for (way,), history in long.items()}),
        joined({way: measured(history, "loss") for (way,), history in (long | others).items()}),
        joined({way: last[way] for way in WAYS if way in last}),
        joined({way: joined(views(history), "view") for way, history in moved.items()}),
        joined({way: lengths(history) for way, history in moved.items() if "+" in way}),
        joined({name: joined(ways) for name, ways in readings.items()}, "reading"),
        *(joined({way: final(h) for (way,), h in files.get(file, {}).items()}) for file in ("skew", "lineage")),
        joined({view: joined(ways) for view, ways in followed.items()}, "view"),
        tried({way: history for (way,), history in files["rates"].items()}) if "rates" in files else None,
        *map(histories.get, ("barycenters", "means", "pictures")),
    )


VIEWS = {
    "clean": "accuracy", "commonest answer": "commonest", "with its own pattern": "pattern",
    "through the matrix": "matrix", "as a client sees it": "whole", "training loss": "loss",
}  # fmt: skip
"""What is followed of the lineage's sizes: digits that are read (%), clean, or with a part of the shift; the share of
the commonest answer to clean ones; the loss."""


def tried(histories: Mapping[str, History]) -> xarray.Dataset:
    """Clean digits that are read, and of those that were held out: accuracy, validation (%) [way, round, level, seed,
    lr]."""
    return xarray.Dataset(
        {metric: joined({way: measured(history, metric) for way, history in histories.items()})
         for metric in ("accuracy", "validation")}
    )  # fmt: skip


def at_own_rate(rates: xarray.Dataset) -> xarray.DataArray:
    """Clean digits read (%) [way, round, level, seed], each way at the rate that reads most of the digits held out, a
    mean over seeds: coordinate "lr" [way, round, level]."""
    return rates.accuracy.isel(lr=rates.validation.mean("seed", skipna=False).fillna(-1).argmax("lr"))


def measured(history: History, metric: str = "accuracy") -> xarray.DataArray:
    """A metric of federations [round, level, seed]."""
    values = sweep.errors(history, metric).isel(kind=0, drop=True)
    return values.drop_vars("distance", errors="ignore").drop_attrs().rename(None)


def final(history: History) -> xarray.DataArray:
    """Accuracy after the last round [level, seed]."""
    return measured(history).isel(round=-1, drop=True)


def views(history: History) -> dict[str, xarray.DataArray]:
    """What is read after the last round, of clean digits and under shifts."""
    metrics = {"clean": "accuracy", "own": "own", "fresh": "fresh"}
    return {view: measured(history, metric).isel(round=-1, drop=True) for view, metric in metrics.items()}


def lengths(history: History) -> xarray.DataArray:
    """|theta_i| [level, client] of the models that are kept: theta is the first 784 of a row."""
    seed, levels = min(history.labels("seed")), history.labels("level")
    values = [history.models("federated", level, seed)[:, :784].norm(dim=1).numpy() for level in levels]
    return xarray.DataArray(values, {"level": levels}, ("level", "client"))


def joined(parts: Mapping[str, xarray.DataArray], axis: str = "way") -> xarray.DataArray | None:
    """Arrays on one more axis, in order; what some have not is NaN."""
    if not parts:
        return None
    return xarray.concat(parts.values(), xarray.DataArray([*parts], dims=axis, name=axis), join="outer")


def gain(values: xarray.DataArray, way: str = MAPPED, other: str = FEDAVG) -> xarray.DataArray:
    """How many points more one way has than another, seed by seed."""
    difference = values.sel(way=way, drop=True) - values.sel(way=other, drop=True)
    return difference.dropna("seed", how="all")


def metrics(results: Results) -> dict:
    """What result.json keeps, for the lesson: accuracies (%) of the seeds by way and |Lambda|, in the table's round and
    after the last one; and those of ten means."""

    def rows(values: xarray.DataArray | None) -> dict:
        if values is None:
            return {}
        return {
            way: {f"{level:g}": values.sel(way=way, level=level).dropna("seed").values for level in values.level.values}
            for way in values.way.values.tolist()
        }

    late = None if results.accuracy is None else results.accuracy.isel(round=-1, drop=True)
    means = None if results.means is None else results.means.to_dataarray("way")
    return {"clean_percent": rows(results.table), "late_percent": rows(late), "means_percent": rows(means)}
