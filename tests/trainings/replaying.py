"""What was stored, made again: the first rounds of a training, or all of what was computed."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray

from fedlib.federated.sweep import Row, sweep
from fedlib.trainings.calls import Tolerance, call_of
from fedlib.trainings.files import Stored


def replay(stack: Stored, rows: Sequence[Row] | None = None, rounds: int = 3) -> float:
    """Train the first rounds of a stored stack again: the largest relative difference of any loss.

    rows: some of its rows (kind, level, seed); all by default.
    """
    call = call_of(stack.settings)._replace(levels=stack.about["levels"], seeds=stack.about["seeds"])
    changes = {name: value for name, value in call.changes.items() if name != "evaluations"} | {"rounds": rounds}
    stored = {Row(*key[:3]): key for key in stack.history.rows}  # one setting: the labels of all its rows are the same
    experiment = call.make(**call.arguments)._replace(distance=None)
    again = sweep(experiment, call.levels, call.seeds, rows=rows or [*stored], may_all_diverge=True, **changes)
    pairs = [(again.rows[key], stack.history.rows[stored[Row(*key)]]) for key in again.rows if Row(*key) in stored]
    new, old = again.losses, stack.history.losses[:rounds]
    return float(max(np.nanmax(np.abs(new[:, i] - old[:, j]) / np.abs(old[:, j])) for i, j in pairs))


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
    if not stored.coords.equals(again.coords):
        raise ValueError(f"coordinates were {dict(stored.coords)} and are {dict(again.coords)}")
    shares = {}
    for name, values in stored.data_vars.items():
        tolerance = tolerances.get(name, Tolerance())
        before, now = (v.head(tolerance.first).values for v in (values, again[name]))
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.abs(now - before) / (tolerance.absolute + tolerance.relative * np.abs(before))
        same = (now == before) | (np.isnan(now) & np.isnan(before))
        shares[name] = float(np.where(same, 0, np.where(np.isfinite(now), share, np.inf)).max(initial=0))
    return shares
