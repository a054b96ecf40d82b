"""Every problem by every way: what notebook 13 computes, beside networks that other notebooks have stored."""

from collections.abc import Mapping

import numpy as np
import xarray

from ....federated.history import History
from ....federated.stack import parameter_count
from ....federated.sweep import errors
from ....trainings.settings import committed
from ....trainings.store import stored
from ...fedsciml.forward import study as forward
from ...fedsciml.operators.problem import learn
from ..ways import FLOAT32, Place, Way
from .problem import bytes_of_all

SHOWN = {"poisson": 8, "helmholtz": 4}
"""The level at which ways are compared first, that of notebook 11."""

TITLES = {
    "poisson": "Poisson, 8 pieces", "helmholtz": "Helmholtz, 4 x 4 blocks", "wave": "wave, 20 pieces",
    "schaffer": "Schaffer, 4 slabs", "beam": "beam, 2 pieces", "allen_cahn": "Allen-Cahn, 2 pieces",
    "pendulum": "pendulum's operator, 20 clients",
}  # fmt: skip
"""As notebook 14 calls them."""

TRAINED_BY = {
    ("poisson", "FedAvg, as printed"): "05", ("helmholtz", "FedAvg, as printed"): "05",
    ("helmholtz", "FedAvg, best rate"): "11", ("helmholtz", "best rule"): "11",
}  # fmt: skip
"""The other notebook that has a way at the level of SHOWN."""

PENDULUM_NETWORK = 10_251  # parameters of notebook 01's


def chosen(tried: xarray.Dataset) -> xarray.Dataset:
    """Of all features that were tried those with the least cross-validation score, the median over seeds."""
    score = tried.gcv.median("seed") if "seed" in tried.gcv.dims else tried.gcv
    return tried.isel(score.argmin(score.dims))


def by_sums(title: str, tried: xarray.Dataset) -> Place:
    """One round with the features of the least score; clients have sent those of all that were tried."""
    best, sent = chosen(tried), float(tried.bytes.mean("seed").sum())
    return Place(title, "one round of sums", best.error.values.ravel(), 1, sent, float(best.seconds.mean()))


def places(
    equations: Mapping[str, Mapping[str, Way]], histories: Mapping[str, History | xarray.Dataset]
) -> list[Place]:  # fmt: skip
    """Of equations, functions and the beam, Allen-Cahn, the pendulum and two operators."""
    rows = []
    for name, table in equations.items():
        level, once = SHOWN[name], histories[f"one_round_{name}"]
        for label, way in table.items():
            if level in way.error.level:
                last, sent = way.error.sel(level=level).isel(round=-1), way.bytes.isel(round=-1)
                seconds = float(once.seconds.sel(level=level).mean()) if label == "one round of sums" else None
                rounds, notebook = int(way.error["round"][-1]), TRAINED_BY.get((name, label), "")
                rows.append(Place(TITLES[name], label, last.values, rounds, float(sent), seconds, notebook))
    ours = {TITLES[name] for name in equations}  # whose averages are those above
    for place in (Place(**row) for row in committed("14_sums_for_networks")["metrics"]["places"]):
        if place.way == "Adam, one place":
            rows.append(place._replace(way="all data in one place", rounds=0, notebook="14"))
        elif place.way == "sums":
            rows.append(place._replace(way="sums for the network", notebook="14"))
        elif "one place" not in place.way and place.problem not in ours:
            rows.append(place._replace(notebook="14"))
    for name in ("wave", "schaffer", "beam"):
        if (once := histories.get(f"one_round_{name}")) is not None:
            last = once.isel(level=0)
            sent, seconds = bytes_of_all(name, int(last.level), once), float(last.seconds.mean())
            rows.append(Place(TITLES[name], "one round of sums", last.error.values, 1, sent, seconds))
    return rows + allen_cahn(histories) + pendulum(histories) + operators(histories)


def allen_cahn(histories: Mapping[str, xarray.Dataset]) -> list[Place]:
    title, printed = TITLES["allen_cahn"], stored(forward, "allen_cahn_2")
    last = errors(printed).isel(round=-1).sel(kind="federated", level=2)
    rounds, size = int(last["round"]), FLOAT32 * printed.distinct.shape[1]
    rows = [Place(title, "FedAvg, as printed", last.values, rounds, rounds * size, notebook="05")]
    if (tried := histories.get("allen_cahn")) is not None:
        best, sent = chosen(tried), float(tried.bytes.sum())
        error, rounds, seconds = best.error.values.ravel(), int(best.rounds), float(best.seconds)
        rows.append(Place(title, "sums, in windows of time", error, rounds, sent, seconds))
    return rows


def pendulum(histories: Mapping[str, xarray.Dataset]) -> list[Place]:
    title, network = TITLES["pendulum"], committed("01_pendulum")["metrics"]["mean_error_percent"]
    averaged, central = network["alpha=1.0"], network["centralised, same passes"]
    rows = [
        Place(title, "FedAvg, best rate", averaged, 20, 20 * FLOAT32 * PENDULUM_NETWORK, notebook="01"),
        Place(title, "all data in one place", central, 0, notebook="01"),
    ]
    return rows + ([by_sums(title, histories["pendulum"])] if "pendulum" in histories else [])


def operators(histories: Mapping[str, xarray.Dataset]) -> list[Place]:
    """At all levels that are computed, beside notebook 07's networks there, as far as they are stored."""
    rows, metrics = [], committed("07_operator_learning")["metrics"]
    for computed, name in (("kernel", "antiderivative"), ("steps_diffusion_reaction", "diffusion_reaction")):
        if computed not in histories:
            continue
        table, T = metrics["error_percent"][name], metrics["steps"][name]
        axes = {x: table[x] for x in ("kind", "level", "seed")}
        last = xarray.DataArray(np.array(table["values"], float), axes, [*axes])
        rounds, size = T // 5, FLOAT32 * parameter_count(learn(name).net())  # five steps a round
        for level in histories[computed].level.values.tolist():
            title = f"{name.replace('_', '-')}, n = {level}"
            for kind, way in (("federated", "FedAvg, as printed"), ("centralised", "all data in one place")):
                error = last.sel(kind=kind, level=level).dropna("seed").values if level in last.level else ()
                if len(error):
                    sent = rounds if kind == "federated" else 0
                    rows.append(Place(title, way, error, sent, float(sent * size), notebook="07"))
            rows.append(by_sums(title, histories[computed].sel(level=level)))
    return rows
