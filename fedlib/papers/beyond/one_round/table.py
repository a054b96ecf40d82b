"""Every problem by every way: errors, rounds, bytes; of networks what other notebooks have stored."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.history import History
from ....federated.stack import parameter_count
from ....trainings.settings import committed
from ....trainings.store import stored
from ...fedsciml.flow.problem import flow
from ...fedsciml.operators.problem import TITLES, learn
from ...fedstnn.letters.problem import drawing
from ..projection import study as projection
from .digits import one_class_digits, wrong
from .problem import EQUATIONS, FLOAT32, bytes_of_all, made


class Place(NamedTuple):
    """An error (%) of a problem [seeds], by whom, and in how many rounds."""

    problem: str
    way: str
    error: np.ndarray
    rounds: int
    bytes: float  # that a client sends up, in all; of sums also for the features that were not chosen
    seconds: float | None = None
    notebook: str = ""  # the other one that has trained it


def chosen(tried: xarray.Dataset) -> xarray.Dataset:
    """Of all features that were tried those with the least cross-validation score, the median over seeds."""
    score = tried.gcv.median("seed") if "seed" in tried.gcv.dims else tried.gcv
    return tried.isel(score.argmin(score.dims))


def by_sums(title: str, way: str, tried: xarray.Dataset) -> Place:
    """One round with the features of the least score; clients have sent those of all that were tried."""
    best, sent = chosen(tried), float(tried.bytes.mean("seed").sum())
    return Place(title, way, best.error.values.ravel(), 1, sent, float(best.seconds.mean()))


AVERAGED = {"FedAvg, as printed": "FedAvg, as printed", "FedAvg, own rate": "FedAvg, best rate"}
AVERAGED |= {"best rule": "best rule"}
"""Ways of notebook 14 -> what they are called here."""

COPIES = {"wave": 4, "schaffer": 2}
"""How many numbers for each parameter notebook 11's best rule sends."""


def networks(name: str, title: str, ways: Mapping[str, np.ndarray]) -> Iterator[Place]:
    """What notebook 14 has stored of a problem's network."""
    experiment = made(name)
    rounds, size = experiment.rounds, FLOAT32 * parameter_count(experiment.net)
    for label, way in AVERAGED.items():
        if label in ways and name not in EQUATIONS:  # whose averages this notebook has
            sent = rounds * size * (COPIES[name] if way == "best rule" else 1)
            yield Place(title, way, ways[label], rounds, sent, notebook="14")
    yield Place(title, "all data in one place", ways["Adam, one place"], 0, 0.0, notebook="14")
    table = stored(projection, f"sums_{name}").sel(level=projection.SHOWN[name].level)
    last = int(table.evaluation[-1])
    sent = float(table.bytes.isel(evaluation=-1).mean())
    yield Place(title, "sums for the network", ways["sums"], last, sent, notebook="14")


def letters(tried: xarray.Dataset | None) -> Iterator[Place]:
    """Wrong pixels (%); a client takes part in one round of six."""
    title, result = "letters, 30 clients", committed("09_stochastic_image")
    right, p = result["metrics"]["right"], result["parameters"]
    wrong = {kind: 100 * (1 - np.array(right[kind])) for kind in ("federated", "centralised")}
    sent = p["rounds"] * p["fraction"] * FLOAT32 * parameter_count(drawing().net)
    yield Place(title, "FedAvg, best rate", wrong["federated"], p["rounds"], sent, notebook="09")
    yield Place(title, "all data in one place", wrong["centralised"], 0, 0.0, notebook="09")
    if tried is not None:
        yield by_sums(title, "one round of sums", tried)


def digits(histories: Mapping) -> Iterator[Place]:
    """Wrong digits (%). "FedAvg, best rate" is that with the steps a round that read most validation digits right, of
    all seeds together."""
    title, trained = "digits, one class each", histories.get(("digits_trained", "federated", "rows"))
    if trained is not None:
        size = FLOAT32 * parameter_count(one_class_digits("small", 1, 1, 1).net)
        score = {row: float(error[-1].mean()) for row, error in wrong(trained, "validation ").items()}
        for (E, lr), error in wrong(trained).items():
            rounds, best = int(error["round"][-1]), (E, lr) == min(score, key=score.get)
            way = "FedAvg, best rate" if best else f"FedAvg, {E} steps a round"
            yield Place(title, way, error[-1].values, rounds, rounds * size)
    if (central := histories.get(("digits_trained", "centralised", "rows"))) is not None:
        (error,) = wrong(central).values()
        yield Place(title, "all data in one place", error[-1].values, 0, 0.0)
    if "digits" in histories:
        yield by_sums(title, "one round of sums", histories["digits"])


def flow_places(tried: xarray.Dataset | None) -> Iterator[Place]:
    """C1, C2, velocity and pressure, each beside what notebook 06 has at as many observations."""
    result = committed("06_flow")
    by_model, rounds = result["metrics"]["errors_percent_C1_C2_velocity_pressure"], result["parameters"]["rounds"]
    sent = rounds * FLOAT32 * parameter_count(flow().net)
    for i, quantity in enumerate(("C1", "C2", "velocity", "pressure")):
        title = f"flow, 2 pieces: {quantity}"
        averaged, central = (np.array(by_model[model])[:, i] for model in ("n = 2", "centralised, 700"))
        yield Place(title, "FedAvg, as printed", averaged, rounds, sent, notebook="06")
        yield Place(title, "all data in one place", central, 0, 0.0, notebook="06")
        if tried is not None:
            error, size = tried.error.sel(quantity=quantity).values, float(tried.bytes.sum())
            yield Place(title, "one round of sums", error, 1, size, float(tried.seconds.mean()))


def networks_of(name: str) -> tuple[xarray.DataArray, int]:
    """Errors (%) [kind, level, seed] in the end of what notebook 07 has stored of an operator, of the local steps that
    have most rows, and how many these are."""
    metrics = committed("07_operator_learning")["metrics"]
    table = metrics["error_percent"][name]
    axes = {axis: table[axis] for axis in ("kind", "level", "seed")}
    return xarray.DataArray(np.array(table["values"], float), axes, [*axes]), metrics["steps"][name]


def operator_places(name: str, computed: Mapping[str, xarray.Dataset]) -> Iterator[Place]:
    """An operator at all levels that are computed, beside notebook 07's networks there, as far as they are stored."""
    last, T = networks_of(name)
    size = FLOAT32 * parameter_count(learn(name).net())
    for level in next(iter(computed.values())).level.values.tolist():
        title = f"{TITLES[name]}, n = {level}"
        for kind, way in (("federated", "FedAvg, as printed"), ("centralised", "all data in one place")):
            error = last.sel(kind=kind, level=level).dropna("seed").values if level in last.level else ()
            if len(error):
                rounds = T // 5 if kind == "federated" else 0  # five steps a round
                yield Place(title, way, error, rounds, float(rounds * size), notebook="07")
        for kind, table in computed.items():
            shown = table.sel(level=level)
            if kind == "maps":
                for way in shown.way.values.tolist():
                    yield by_sums(title, way, shown.sel(way=[way]))
            else:
                yield by_sums(title, "learnt step", shown)


def other_places(histories: Mapping[str, History | xarray.Dataset], compared: Mapping[str, Mapping]) -> list[Place]:
    """Of functions and the beam, letters and operators; and what notebook 14 has of equations."""
    rows = []
    for name, ways in compared.items():
        title = projection.SHOWN[name].title
        rows += networks(name, title, ways)
        if name not in EQUATIONS:
            once = histories[f"one_round_{name}"]
            last = once.isel(level=0)
            sent, seconds = bytes_of_all(name, int(last.level), once), float(last.seconds.mean())
            rows.append(Place(title, "one round of sums", last.error.values, 1, sent, seconds))
    rows += letters(histories.get("letters"))
    rows += digits(histories)
    rows += flow_places(histories.get("flow"))
    for name in TITLES:
        kinds = {kind: histories[f"{kind}_{name}"] for kind in ("maps", "steps") if f"{kind}_{name}" in histories}
        if kinds:
            rows += operator_places(name, kinds)
    return rows
