"""What was stored, made again: the first rounds of a training, or all of what was computed."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module

import numpy as np
import torch
import xarray
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.sweep import Row, sweep
from fedlib.trainings.as_json import MOVED
from fedlib.trainings.calls import NEAR, Call, Tolerance
from fedlib.trainings.files import Stored

ROUNDING = 10  # so many times what a start moves that differs by rounding
JUMP = 1000  # how much further than the others one client may be
LOCAL = 300  # steps, or passes, of a client
EPS = torch.finfo(torch.float32).eps
OURS = "fedlib.", "tests.", "torch.nn."


def call_of(settings: Mapping) -> Call:
    """The call whose rows have these settings: no rows yet, and without axes, whose values are among its changes.

    It calls what a file names: here the files are those of this repository. Nothing in fedlib does.
    """
    arguments, changes = restored(settings["arguments"]), restored(settings["changes"])
    if "local" in changes:
        changes["local"] = Local(*changes["local"])
    if isinstance(changes.get("fraction"), list):
        changes["fraction"] = tuple(changes["fraction"])
    return Call(restored(settings["experiment"]), arguments, (), (), changes=changes)


def restored(value):
    """What ``as_json.plain`` was given; a tuple is a list. ValueError: a function that is not OURS."""
    if isinstance(value, str) and "." in value:
        module, _, name = MOVED.get(value, value).rpartition(".")
        if not f"{module}.".startswith(OURS):
            raise ValueError(f"{value} is none of {', '.join(OURS)}")
        return getattr(import_module(module), name)
    if isinstance(value, list):
        return [restored(part) for part in value]
    if isinstance(value, Mapping) and "text" in value:
        return value["text"]
    if isinstance(value, Mapping):
        parts = {name: restored(part) for name, part in value.items()}
        return parts["function"](**parts["arguments"]) if "function" in value else parts
    return value


def replay(stack: Stored, rows: Sequence[Row] | None = None, near: float = NEAR) -> float:
    """Train the first rounds of a stored stack again: the relative difference of losses, in near; see ``difference``.

    Where it is beyond that, in near and ROUNDING times what two starts do that differ by rounding: hundreds of steps of
    Adam let rounding grow, on one machine too (other rows, other order of sums), and some of it jumps. What has grown
    in a round may stay so in the next ones. Three rounds, but no more than LOCAL steps in all, where one has fewer.

    rows: some of its rows (kind, level, seed); all by default.
    """
    call, stored = call_of(stack.settings), {Row(*key[:3]): key for key in stack.history.rows}  # of one setting
    rows = rows or [*stored]
    levels, seeds = ([*dict.fromkeys(labels)] for labels in ([row.level for row in rows], [row.seed for row in rows]))
    rounds = 3 if call.experiment().local.updates * 3 <= LOCAL else 1
    changes = {name: value for name, value in call.changes.items() if name != "evaluations"} | {"rounds": rounds}
    experiment = call.make(**call.arguments)._replace(distance=None)

    def first_rounds(**more) -> dict[Row, np.ndarray]:
        again = sweep(experiment, levels, seeds, rows=rows, may_all_diverge=True, **changes | more)
        return {Row(*key): again.losses[:, where] for key, where in again.rows.items() if Row(*key) in stored}

    old = {row: stack.history.losses[:rounds, stack.history.rows[key]] for row, key in stored.items()}
    new = first_rounds()
    moved = {row: difference(losses, old[row]) for row, losses in new.items()}
    if max(map(np.max, moved.values())) < near:
        return float(max(map(np.max, moved.values())) / near)
    init, twins = changes.get("init", experiment.init), []
    for factor in (1 + EPS, 1 - EPS, 1 + 2 * EPS, 1 - 2 * EPS):
        twin = first_rounds(init=partial(scaled, init, factor))
        twins.append({row: difference(twin[row], losses) for row, losses in new.items()})
    grown = {row: np.maximum.accumulate(np.max([twin[row] for twin in twins], axis=0)) for row in new}
    return float(max(np.max(moved[row] / (near + ROUNDING * grown[row])) for row in moved))


def difference(now: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Relative difference of losses [round, client] in each round: that of the median client, or of the worst one over
    JUMP. A setting that is another one moves all clients; rounding can make a single one jump, by a sign of a ReLU."""
    relative = np.abs(now - then) / np.abs(then)
    return np.maximum(np.nanmedian(relative, axis=1), np.nanmax(relative, axis=1) / JUMP)


def scaled(init: Callable, factor: float, layer: nn.Module, generator: torch.Generator) -> None:
    """The start of a layer, times a factor."""
    init(layer, generator)
    with torch.no_grad():
        for parameter in layer.parameters(recurse=False):
            parameter.mul_(factor)


def deviations(
    stored: xarray.Dataset, again: xarray.Dataset, tolerances: Mapping[str, Tolerance] = {}
) -> dict[str, float]:
    """What was stored beside what was computed again: the largest deviation of each variable, in its tolerances.

    Raises:
        ValueError: other coordinates or attributes, such as what was chosen.
    """
    attrs = {name: value for name, value in stored.attrs.items() if name not in ("settings", "about")}
    if not xarray.Dataset(attrs=attrs).identical(xarray.Dataset(attrs=again.attrs)):
        raise ValueError(f"attributes were {attrs} and are {again.attrs}")
    try:  # a power or a logarithm has another last digit on another CPU
        xarray.testing.assert_allclose(stored.coords.to_dataset(), again.coords.to_dataset(), rtol=1e-12, atol=0)
    except AssertionError:
        raise ValueError(f"coordinates were {dict(stored.coords)} and are {dict(again.coords)}") from None
    shares = {}
    for name, values in stored.data_vars.items():
        tolerance = tolerances.get(name, Tolerance())
        before, now = (v.head(tolerance.first).values for v in (values, again[name]))
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.abs(now - before) / (tolerance.absolute + tolerance.relative * np.abs(before))
        same = (now == before) | (np.isnan(now) & np.isnan(before))
        shares[name] = float(np.where(same, 0, np.where(np.isfinite(now), share, np.inf)).max(initial=0))
    return shares
