"""What notebook 10b trains, and what its figures and claims take (FedDRO, Section 2).

``python -m fedlib train 10b_digits --only rounds`` trains what is not stored of the long trainings.
"""

from collections.abc import Callable, Mapping, Sequence
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
from .ways import AFFINE, ATOMS, FEDAVG, MAPPED, MEANS, WAYS, class_means, mean_of_classes, moments, most_alike

NOTEBOOK = "10b_digits"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "rounds", "FedAvg"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

FOUR = (FEDAVG, MEANS, AFFINE, MAPPED)
"""Ways that are trained for many rounds."""

TWO = (FEDAVG, MAPPED)
"""Ways of Table 1."""

ASCENT = "ascent"
EPOCH, STEP = Local(1, "epochs", 10), 1.0
"""What a client does in a round, ten digits a step; eta_1 of the ascent."""

LINEAGE, EPOCHS = {"per_client": 3600, "atoms": 360}, Local(5, "epochs", 10)
"""Sizes of the code that the paper's authors started from, and what its clients do in a round."""

RULES = {
    **dict.fromkeys(
        ("per_client", "atoms", "barycenter_rounds", "rounds", "long_rounds", "test_digits"), rules.whole()
    ),
    "digits": rules.one_of(*SOURCES),
    "clients": rules.whole(2),
    **dict.fromkeys(("levels", "lr"), rules.positive()),
    "penalty": rules.number(0),
    "reading": rules.one_of(*READINGS),
    "pixels": rules.one_of("normalised", "raw"),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where the long trainings do not pass the table's round."""
    if p["long_rounds"] % p["rounds"]:
        raise ValueError(
            f"long_rounds = {p['long_rounds']}: expected a multiple of rounds = {p['rounds']}, after which the table is"
        )


def trainings(p: Mapping) -> dict[Name, Task]:
    """ "rounds": FOUR ways, for long, on all clean digits. "ways": the barycenter's atoms, for the table's rounds;
    "ascent": with a displacement theta_i, or without, tested on shifted digits, too; "readings": other shifts and
    pixels. "barycenters", "means", "pictures": what is no training.

    Of MNIST, which has digits enough: "lineage", with LINEAGE's sizes, and "lineage_rounds", on the way, at the largest
    shift and two rates; "rates": both ways of the table, for long, at four.
    """
    seeds, levels = p["seeds"], [*dict.fromkeys(map(float, p["levels"]))]
    shift = {"reading": p["reading"], "pixels": p["pixels"]}
    deal = {"source": p["digits"]} | {name: p[name] for name in ("clients", "per_client")}
    usual = deal | shift | {name: p[name] for name in ("atoms", "barycenter_rounds", "test_digits")}
    usual |= {"affine_steps": 3}
    table = {"rounds": p["rounds"], "local": EPOCH, "lr": p["lr"], "evaluations": 1}
    long = table | {"rounds": p["long_rounds"], "evaluations": p["long_rounds"] // p["rounds"]}

    def call(way: str, seeds=seeds, changes=table, **settings) -> Call:
        arguments = usual | settings | {"way": way}
        made = Call(digits, arguments, levels, seeds, ["federated"], changes=changes, models={"federated": ()})
        return made._replace(near=PLANNED) if way in (MAPPED, ATOMS) else made

    def look(made: Call, levels: Sequence[float], rates: Sequence[float], **more: int) -> Call:
        arguments = {"settings": made.arguments} | more
        return made._replace(make=looked_at, arguments=arguments, levels=levels, over={"lr": rates})

    calls: dict[Name, Task] = {("rounds", way): call(way, changes=long) for way in FOUR}
    calls["ways", ATOMS] = call(ATOMS)
    for way in TWO:
        calls["ascent", way, "none"] = call(way, shifted_digits=100)
        calls["ascent", way, ASCENT] = call(way, shifted_digits=100, ascent=[STEP, p["penalty"]])
    for reading, pixels, way in product(("shared", "client", "levels"), ("normalised", "raw"), TWO):
        if (reading, pixels) != (p["reading"], p["pixels"]):
            other = call(way, seeds[:3], reading=reading, pixels=pixels)
            calls["readings", f"{reading}, {pixels}", way] = other
    if p["digits"] == "mnist":
        epochs = table | {"local": EPOCHS}
        every = epochs | {"evaluations": p["rounds"]}
        for way in TWO:
            calls["lineage", way] = call(way, changes=epochs, **LINEAGE)
            followed = call(way, seeds[:2], every, **LINEAGE)
            calls["lineage_rounds", way] = look(followed, [5.0], [0.003, 0.01], in_parts=500)
            calls["rates", way] = look(call(way, changes=long), [2.0, 5.0], [0.003, 0.01, 0.02, 0.03], held=2000)
    sizes = deal | shift | {"atoms": p["atoms"], "rounds": p["barycenter_rounds"], "seed": seeds[0]}
    means = deal | shift | {"test_digits": p["test_digits"], "levels": levels, "seeds": seeds}
    within = dict.fromkeys(("all", "one", *TRIED), Tolerance(absolute=0.1))
    return calls | {
        "barycenters": Computed(quality, sizes | {"levels": levels}, tolerances=NEAR),
        "means": Computed(by_means, means, tolerances=within),
        "pictures": Computed(pictures, sizes | {"levels": LOOKED_AT}, tolerances=SEEN),
    }


LOOKED_AT = [0.2, 0.5, 1.0, 2.0]
"""Sizes of the shift of which there are pictures."""

PLANNED = 0.03
"""How nearly losses come out the same with transport plans, for of two plans that cost the same rounding chooses."""

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
    written = dealt(source, pixels, clients, per_client, seed)

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
        seen = shifted(dealt(source, pixels, clients, per_client, seed), level, seed, reading)
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
    written = dealt(source, pixels, clients, per_client, seed)

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

    accuracy, loss [way, round, level, seed] of FOUR on the way (loss: in each round, and of all ways).
    table [way, level, seed]: clean digits read after the table's rounds, for all of ``WAYS``. shifted [way, view,
    level, seed]: the same with and without ascent, "clean", under the clients' "own" shifts, under the worst "fresh"
    one. readings [reading, way, level, seed]; lineage [way, level, seed]. followed: lineage's sizes on the way [view,
    way, round, level, seed, lr], see FOLLOWED. rates: accuracy, validation (%) [way, round, level, seed, lr], clean
    digits and those that were held out. barycenters, means, pictures: of ``quality``, ``by_means``, ``pictures``.
    """

    accuracy: xarray.DataArray | None = None
    loss: xarray.DataArray | None = None
    table: xarray.DataArray | None = None
    shifted: xarray.DataArray | None = None
    readings: xarray.DataArray | None = None
    lineage: xarray.DataArray | None = None
    followed: xarray.DataArray | None = None
    rates: xarray.Dataset | None = None
    barycenters: xarray.Dataset | None = None
    means: xarray.Dataset | None = None
    pictures: xarray.Dataset | None = None


VIEWS = {"clean": "accuracy", "own": "own", "fresh": "fresh"}
FOLLOWED = {"clean": "accuracy", "commonest answer": "commonest", "as a client sees it": "whole"}
"""What is read (%): metric by what it is called; the commonest answer: its share."""


def results(p: Mapping, histories: Mapping[Name, History | xarray.Dataset]) -> Results:
    """The labelled arrays of what is trained."""
    files: dict[str, dict] = {}
    for name, history in histories.items():
        if isinstance(name, tuple):
            files.setdefault(name[0], {})[name[1:]] = history
    long, others = files.get("rounds", {}), files.get("ways", {})

    def of_ways(
        trained: Mapping, metric: str = "accuracy", read: Callable = measured, **words
    ) -> xarray.DataArray | None:
        return joined({way: read(history, metric) for (way,), history in trained.items()}, **words)

    last = {way: measured(history).sel(round=p["rounds"], drop=True) for (way,), history in (long | others).items()}
    moved = {way + f" + {ascent}" * (ascent != "none"): h for (way, ascent), h in files.get("ascent", {}).items()}
    readings: dict[str, dict] = {}
    for (reading, way), history in files.get("readings", {}).items():
        readings.setdefault(reading, {})[way] = final(history)
    if {*TWO} <= {*last}:
        readings[f"{p['reading']}, {p['pixels']}"] = {way: last[way] for way in TWO}
    followed, rates = files.get("lineage_rounds", {}), files.get("rates", {})
    return Results(
        of_ways(long),
        of_ways(long | others, "loss", long_name="training loss", units=None),
        joined({way: last[way] for way in WAYS if way in last}),
        joined({way: joined({v: final(h, m) for v, m in VIEWS.items()}, "view") for way, h in moved.items()}),
        joined({name: joined(ways) for name, ways in readings.items()}, "reading"),
        of_ways(files.get("lineage", {}), read=final),
        joined({view: of_ways(followed, metric) for view, metric in FOLLOWED.items()}, "view") if followed else None,
        xarray.Dataset({m: of_ways(rates, m) for m in ("accuracy", "validation")}) if rates else None,
        *map(histories.get, ("barycenters", "means", "pictures")),
    )


def at_own_rate(rates: xarray.Dataset) -> xarray.DataArray:
    """Clean digits read (%) [way, round, level, seed], each way at the rate that reads most of the digits held out, a
    mean over seeds: coordinate "lr" [way, round, level]."""
    return rates.accuracy.isel(lr=rates.validation.mean("seed", skipna=False).fillna(-1).argmax("lr"))


def measured(history: History, metric: str = "accuracy") -> xarray.DataArray:
    """A metric of federations [round, level, seed]."""
    values = sweep.errors(history, metric).isel(kind=0, drop=True)
    return values.drop_vars("distance", errors="ignore").drop_attrs().rename(None)


def final(history: History, metric: str = "accuracy") -> xarray.DataArray:
    """The same after the last round [level, seed]."""
    return measured(history, metric).isel(round=-1, drop=True)


def joined(
    parts: Mapping[str, xarray.DataArray],
    axis: str = "way",
    long_name: str = "clean digits read",
    units: str | None = "%",
) -> xarray.DataArray | None:
    """Arrays on one more axis, in order, with the names that they get in a picture; what some have not is NaN."""
    if not parts:
        return None
    values = xarray.concat(parts.values(), xarray.DataArray([*parts], dims=axis, name=axis), join="outer")
    values.level.attrs["long_name"] = "size s of the shift"
    if "round" in values.dims:
        values["round"].attrs["scale"] = "linear"
    return values.assign_attrs({"units": units} if units else {}, long_name=long_name, scale="linear")


def gain(values: xarray.DataArray, way: str = MAPPED, other: str = FEDAVG) -> xarray.DataArray:
    """How many points more one way has than another, seed by seed."""
    difference = values.sel(way=way, drop=True) - values.sel(way=other, drop=True)
    return difference.dropna("seed", how="all").assign_attrs(long_name="gain", units="points", scale="linear")
