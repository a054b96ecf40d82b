"""A piece to explore: the curves that models give at a level, and beside them the error of all seeds against it."""

import re
from base64 import b64encode
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import anywidget
import numpy as np
import traitlets
import xarray

from ..federated.solved import Solved
from ..notebook.style import CLIENTS, COLORS
from ..numerics.metrics import in_percent
from .modules import module

POINTS = 200  # of a curve, at most: what a screen shows, and some tens of kB
LEAVE = 0.6  # of the truth's range: how far below and above it curves are drawn


class Explorer(anywidget.AnyWidget):
    """Sliders, curves, errors and a sentence, drawn where they are seen; ``explore`` makes it.

    data: as of ``packed``. anchor: the name before the state in the page's address, "#anchor?pieces=8"; "": a notebook,
    whose address is not ours.
    """

    _esm = module(Path(__file__).parent / "levels.js")
    data = traitlets.Dict().tag(sync=True)
    anchor = traitlets.Unicode().tag(sync=True)


def explore(curves: xarray.DataArray, errors: xarray.DataArray, start: Mapping[str, float] | None = None) -> Explorer:
    """A slider for each leading dimension of curves, the level first; curves at it, and errors against the level.

    Args:
        curves: [level, *others, model, x], finite. Coordinates beside these: truth [x], or [level, *others, x] where
            each state has its own; owner [level, x], the number of the client, from 0, who owns a place, if one does;
            color [model], for what ``style`` has none. attrs: xlabel, ylabel.
        errors: (%) [level, *others, model, seed], of the models with a curve and of others; the first seed is the one
            whose curves are shown. NaN: not trained.
        start: name of a slider -> where it begins; the first value where it is not named.

    Raises:
        ValueError: the two do not fit each other, a curve has a gap, a level is not positive, there is no such start.
    """
    names = list(curves.dims[:-2])
    check(curves, errors, names)
    return Explorer(data=packed(curves, errors, names, start or {}))


def check(curves: xarray.DataArray, errors: xarray.DataArray, names: list[str]) -> None:
    """ValueError where curves and errors cannot stand side by side."""
    if curves.dims[-2:] != ("model", "x") or not names or errors.dims != (*names, "model", "seed"):
        raise ValueError(
            f"curves {curves.dims}, errors {errors.dims}: expected (level, *others, 'model', 'x') and "
            "(level, *others, 'model', 'seed'); transpose them"
        )
    for name in names:
        if not np.array_equal(curves[name], errors[name]):
            raise ValueError(
                f"{name}: curves have {curves[name].values}, errors {errors[name].values}; select the same"
            )
    if missing := {*curves.model.values} - {*errors.model.values}:
        raise ValueError(f"errors lack the models {', '.join(sorted(missing))}, which have a curve")
    if not np.isfinite(curves).all():
        raise ValueError("curves have gaps (NaN); leave out the levels at which a model diverged")
    if not (curves[names[0]] > 0).all():
        raise ValueError(f"{names[0]} = {curves[names[0]].values}: expected positive numbers, for a logarithmic axis")


def packed(curves: xarray.DataArray, errors: xarray.DataArray, names: list[str], start: Mapping[str, float]) -> dict:
    """What levels.js takes: curves as int16 in base64, other arrays as float32, a sentence for each state.

    Models with a curve come first. A curve is zero + step * int16, and cut off where it is far outside of the limits.
    """
    order = [*dict.fromkeys([*curves.model.values.tolist(), *errors.model.values.tolist()])]
    errors = errors.sel(model=order)
    truth = curves.truth.transpose(..., "x").values
    (low, high), span = limits(curves.values, truth), float(np.ptp(truth))
    step = (high - low + 2 * span) / 65534
    cut = np.clip(curves.values, low - span, high + span)
    zero = float(low + high) / 2
    return {
        "controls": [control(curves[name].values.tolist(), name, start) for name in names],
        "models": [appearance(model, curves) for model in order],
        "curves": in_base64(np.rint((cut - zero) / step), "<i2"),
        "zero": zero,
        "step": step,
        "errors": in_base64(errors.values, "<f4"),
        "seeds": errors.sizes["seed"],
        "x": in_base64(curves.x.values, "<f4"),
        "truth": in_base64(truth, "<f4"),
        "owners": ["".join(map(str, row)) for row in curves.owner.values.tolist()] if "owner" in curves.coords else [],
        "limits": [low, high],
        "xlabel": curves.attrs["xlabel"],
        "ylabel": curves.attrs["ylabel"],
        "sentences": sentences(errors.sel(model=curves.model).isel(seed=0, drop=True), names),
    }


def limits(curves: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Of what is drawn, the same for all levels: all curves, but not what is far from the truth."""
    span = np.ptp(truth)
    low = max(curves.min(), truth.min() - LEAVE * span)
    high = min(curves.max(), truth.max() + LEAVE * span)
    return float(min(low, truth.min()) - 0.04 * span), float(max(high, truth.max()) + 0.04 * span)


def control(options: list, name: str, start: Mapping[str, float]) -> dict:
    """A slider's name, its values, and the number of the first one."""
    value = start.get(name, options[0])
    if value not in options:
        raise ValueError(f"start = {dict(start)}: {name} is one of {options}")
    return {"name": name, "options": options, "start": options.index(value)}


def appearance(model: str, curves: xarray.DataArray) -> dict:
    """How a model is drawn; client: the number of one that is alone, from 0, or -1."""
    client = int(model.split()[1]) - 1 if model.startswith("client ") else -1
    curve = model in curves.model
    if curve and "color" in curves.coords and curves.color.sel(model=model).item():
        color = curves.color.sel(model=model).item()
    else:
        color = CLIENTS[client] if client >= 0 else COLORS["isolated" if model == "alone" else model]
    return {"name": model, "color": color, "client": client, "curve": curve}


def in_base64(values: np.ndarray, dtype: str) -> str:
    """The bytes of an array, in order."""
    return b64encode(np.ascontiguousarray(values, dtype).tobytes()).decode()


def sentences(errors: xarray.DataArray, names: list[str]) -> list[str]:
    """What is seen at each combination of the sliders' values; errors (%) [*names, model] of models with a curve."""
    texts = []
    for values in product(*(errors[name].values.tolist() for name in names)):
        error = errors.sel(dict(zip(names, values, strict=True))).to_series().dropna().to_dict()
        state = ", ".join(f"{value} {name}" for name, value in zip(names, values, strict=True))
        off = ", ".join(f"{model} by {in_percent(e)}" for model, e in error.items()).replace("by below", "by less than")
        texts.append(f"{state}: {off.replace(' by', ' is off by', 1)}.{better_alone(error)}")
    return texts


def better_alone(error: Mapping[str, float]) -> str:
    """A sentence on clients who alone are nearer than all together, who come last; nothing where there are none."""
    *alone, together = error
    differ = [model for model in alone if in_percent(error[model]) != in_percent(error[together])]  # for a reader
    better = [model for model in differ if error[model] < error[together]]
    whole = "federation" if together == "federated" else together
    return f" Here {' and '.join(better)} {'beat' if better[1:] else 'beats'} the {whole}." if better else ""


def explored(solutions: Solved, errors: xarray.DataArray) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) as ``explore`` takes them, of a federation on a line at its numbers of pieces.

    Args:
        solutions: of the first seed. errors: (%) [round, kind, level, seed], with each client who is alone.
    """
    x, pieces = solutions.x[:, 0], [*solutions.models]
    kept = np.unique(np.linspace(0, len(x) - 1, min(POINTS, len(x))).round().astype(int))
    labels = [label for label in solutions.models[pieces[0]] if label != "centralised"]
    values = np.array([[solutions.models[n][label][kept] for label in labels] for n in pieces])
    owner = np.array([owners(x[kept], solutions.clouds[n]) for n in pieces])
    curves = xarray.DataArray(
        values,
        {
            "pieces": pieces,
            "model": [re.sub("isolated (.*)", r"\1 alone", label) for label in labels],
            "x": x[kept],
            "truth": ("x", solutions.truth[kept]),
            "owner": (("pieces", "x"), owner),
        },
        ("pieces", "model", "x"),
        attrs={"xlabel": "x", "ylabel": "u(x)"},
    )
    last = errors.isel(round=-1, drop=True).sel(level=pieces).reset_coords(drop=True)
    return curves, last.rename(level="pieces", kind="model").transpose("pieces", "model", "seed")


def owners(x: np.ndarray, clouds: list[np.ndarray]) -> np.ndarray:
    """The number of the client who has the nearest point, at each place x [n]; clouds: their points [m, 1]."""
    return np.argmin([np.abs(x[:, None] - cloud[:, 0]).min(1) for cloud in clouds], 0)
