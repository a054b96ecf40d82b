"""A piece to explore: the curves that models give at a level, and beside them the error of all seeds against it."""

import re
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import xarray

from ..federated import sweep
from ..federated.experiment import Experiment
from ..federated.history import History
from ..federated.solved import owners, stored_solutions
from ..notebook.pictures import in_legend
from ..notebook.style import CLIENTS, COLORS
from ..numerics.metrics import in_percent
from .modules import Piece, array

POINTS = 200  # of a curve, at most: what a screen shows, and some tens of kB
LEAVE = 0.6  # of the truth's range: how far below and above it curves are drawn


def explore(curves: xarray.DataArray, errors: xarray.DataArray, start: Mapping[str, float] | None = None) -> Piece:
    """A slider for each leading dimension of curves, the level first; curves at it, and errors against the level.

    Args:
        curves: [level, *others, model, x]. Coordinates beside these: truth [x], or one for each state [level, *others,
            x]; half [level, *others, model, x] and truth_half [level, *others, x], half the widths of bands around the
            curves and around the truth; owner [level, x], the number of the client, from 0, who owns a place, if x is
            one; color [model], for what ``style`` has none. attrs: xlabel, ylabel; limits of what is drawn, if they do
            not follow from the truth.
        errors: (%) [level, *others, model, seed], of the models with a curve and of others; the first seed is the one
            whose curves are shown. NaN: not trained, and no curve. attrs: verb and ylabel, if they are no errors
            ("finds", "points found (%)").
        start: name of a slider -> where it begins; the first value where it is not named.

    Raises:
        ValueError: what ``complaints`` finds.
    """
    names, start = list(curves.dims[:-2]), start or {}
    for words in complaints(curves, errors, names, start):
        raise ValueError(words)
    return Piece("levels", packed(curves, errors, names, start))


def complaints(
    curves: xarray.DataArray, errors: xarray.DataArray, names: list[str], start: Mapping[str, float]
) -> Iterator[str]:  # fmt: skip
    """Why these cannot be explored, and what to do; the first one counts, for later ones build on it."""
    if curves.dims[-2:] != ("model", "x") or not names or errors.dims != (*names, "model", "seed"):
        yield (
            f"curves {curves.dims}, errors {errors.dims}: expected (level, *others, 'model', 'x') and "
            "(level, *others, 'model', 'seed'); transpose them"
        )
    if empty := [name for name, size in {**curves.sizes, **errors.sizes}.items() if not size]:
        yield f"nothing along {', '.join(empty)}: expected at least one value (is a selection empty?)"
    for name in names:
        if not np.array_equal(curves[name], errors[name]):
            yield f"{name}: curves have {curves[name].values}, errors {errors[name].values}; select the same"
    for values, name in product((curves, errors), (*names, "model")):
        if len({*values[name].values}) < values.sizes[name]:
            yield f"{name} = {values[name].values}: expected each once; leave out what is there twice"
    if missing := {*curves.model.values} - {*errors.model.values}:
        yield f"errors lack the models {', '.join(sorted(missing))}, which have a curve"
    level = curves[names[0]].values
    if level.dtype.kind not in "iuf" or not (level > 0).all() or (np.diff(level) < 0).any():
        yield f"{names[0]} = {level}: expected positive numbers, for a logarithmic axis, in order; sortby({names[0]!r})"
    if not ((errors >= 0) & (errors < np.inf) | errors.isnull()).all() or not (errors > 0).any():
        yield "errors: expected numbers in % from 0 up, one of them above 0; NaN, not infinity, where one diverged"
    if (~np.isfinite(curves) & errors.isel(seed=0, drop=True).notnull()).any():
        yield "curves have gaps (NaN) where errors have numbers; make both NaN, or leave out the levels that diverged"
    truths = ("x",), (*names, "x")
    if "truth" not in curves.coords or curves.truth.dims not in truths or not np.isfinite(curves.truth).all():
        yield f"curves: expected a coordinate truth [x], or {[*truths[1]]}, without gaps; assign_coords(truth=('x', u))"
    for name, dims in (("half", curves.dims), ("truth_half", (*names, "x"))):
        if name in curves.coords and curves[name].dims != dims:
            yield f"{name} {curves[name].dims}: expected {dims}; transpose it"
    if "owner" in curves.coords and curves.owner.dims != (names[0], "x"):
        yield f"owner {curves.owner.dims}: expected {(names[0], 'x')}; transpose it"
    if not {"xlabel", "ylabel"} <= {*curves.attrs}:
        yield f"attrs of curves are {[*curves.attrs]}: expected xlabel and ylabel; assign_attrs(xlabel='x', ...)"
    for model in errors.model.values.tolist():
        if not color(model, curves):
            yield f"model {model!r} has no colour: expected 'client 1 alone', one of {[*COLORS]}, or a coordinate color"
    for name, value in start.items():
        if name not in names or value not in curves[name].values:
            options = curves[name].values.tolist() if name in names else names
            yield f"start = {dict(start)}: expected {name} to be one of {options}"


def packed(curves: xarray.DataArray, errors: xarray.DataArray, names: list[str], start: Mapping[str, float]) -> dict:
    """What levels.js takes: curves as int16, other arrays as float32, a sentence for each state.

    Models with a curve come first. A curve is zero + step * int16, and cut off where it is far outside of the limits.
    """
    order = [*dict.fromkeys([*curves.model.values.tolist(), *errors.model.values.tolist()])]
    errors = errors.sel(model=order)
    truth = curves.truth.values
    (low, high), span = curves.attrs.get("limits") or limits(curves.values, truth), float(np.ptp(truth))
    step = (high - low + 2 * span) / 65534
    cut = np.clip(curves.values, low - span, high + span)
    zero = float(low + high) / 2
    return {
        "controls": [control(curves[name].values.tolist(), name, start) for name in names],
        "models": [appearance(model, curves) for model in order],
        "curves": array(np.nan_to_num(np.rint((cut - zero) / step)), "<i2"),
        "zero": zero,
        "step": step,
        "errors": array(errors.values, "<f4"),
        "measure": errors.attrs.get("ylabel", "error (%)"),
        "seeds": errors.sizes["seed"],
        "x": array(curves.x.values, "<f4"),
        "truth": array(truth, "<f4"),
        **{name: array(curves[name].values, "<f4") for name in ("half", "truth_half") if name in curves.coords},
        "owners": curves.owner.values.tolist() if "owner" in curves.coords else [],
        "limits": [low, high],
        "xlabel": curves.attrs["xlabel"],
        "ylabel": curves.attrs["ylabel"],
        "sentences": sentences(errors.sel(model=curves.model).isel(seed=0, drop=True), names),
    }


def limits(curves: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Of what is drawn, the same for all levels: all curves, but not what is far from the truth."""
    span = np.ptp(truth)
    every = np.append(curves, truth)
    low = max(np.nanmin(every), truth.min() - LEAVE * span)
    high = min(np.nanmax(every), truth.max() + LEAVE * span)
    return float(low - 0.04 * span), float(high + 0.04 * span)


def control(options: list, name: str, start: Mapping[str, float]) -> dict:
    """A slider's name, its values, and the number of the first one."""
    return {"name": name, "options": options, "start": options.index(start.get(name, options[0]))}


def appearance(model: str, curves: xarray.DataArray) -> dict:
    """How a model is drawn; client: the number of one that is alone, from 0, or -1."""
    return {
        "name": model,
        "color": color(model, curves),
        "client": client(model),
        "curve": model in curves.model,
    }


def client(model: str) -> int:
    """The number of a client who is alone, from 0; -1 for others."""
    match = re.fullmatch(r"client ([1-9]\d*) alone", model)
    return int(match[1]) - 1 if match else -1


def color(model: str, curves: xarray.DataArray) -> str | None:
    """That of the coordinate, or of the style; None where neither has one."""
    if "color" in curves.coords and model in curves.model and curves.color.sel(model=model):
        return curves.color.sel(model=model).item()
    if client(model) >= 0:
        return CLIENTS[client(model) % len(CLIENTS)]
    return COLORS.get("isolated" if model == "alone" else model)


def sentences(errors: xarray.DataArray, names: list[str]) -> list[str]:
    """What is seen at each combination of the sliders' values; errors (%) [*names, model] of models with a curve."""
    head, preposition = errors.attrs.get("verb", "is off by").rpartition(" ")[::2]
    texts = []
    for values in product(*(errors[name].values.tolist() for name in names)):
        every = errors.sel(dict(zip(names, values, strict=True))).to_series()
        error = every.dropna().to_dict()
        state = ", ".join(counted(value, name) for name, value in zip(names, values, strict=True))
        by = [f"{preposition} {in_percent(e)}".replace(" below", " less than") for e in error.values()]
        off = ", ".join(f"{model}{'' if i or not head else f' {head}'} {by[i]}" for i, model in enumerate(error))
        text = f"{state}: {off}.{better_alone(error)}" if error else f"{state}."
        untrained = ", ".join(every.index[every.isna()])
        texts.append(text + (f" Not trained: {untrained}." if untrained else ""))
    return texts


def counted(value: object, name: str) -> str:
    """A slider's value with its name: "8 pieces", "1 piece"."""
    return f"{value} {name.removesuffix('s') if value == 1 else name}"


def better_alone(error: Mapping[str, float]) -> str:
    """A sentence on clients who alone are nearer than what several found together; nothing where there are none."""
    alone = [model for model in error if model.endswith("alone")]
    text = ""
    for together in [model for model in error if model not in alone]:
        differ = [model for model in alone if in_percent(error[model]) != in_percent(error[together])]  # for a reader
        better = [model for model in differ if error[model] < error[together]]
        whole = "federation" if together == "federated" else together
        text += f" Here {' and '.join(better)} {'beat' if better[1:] else 'beats'} the {whole}." if better else ""
    return text


def explored(history: History, experiment: Experiment) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) as ``explore`` takes them, of a federation on a line at its numbers of pieces: curves of the
    first seed, errors of all, with each client who is alone."""
    solutions = stored_solutions(history, experiment)
    x, pieces = solutions.x[:, 0], [*solutions.models]
    kept = np.unique(np.linspace(0, len(x) - 1, min(POINTS, len(x))).round().astype(int))
    labels = [label for label in solutions.models[pieces[0]] if label != "centralised"]
    values = np.array([[solutions.models[n][label][kept] for label in labels] for n in pieces])
    owner = np.array([owners(x[kept], solutions.clouds[n]) for n in pieces])
    curves = xarray.DataArray(
        values,
        {
            "pieces": pieces,
            "model": [in_legend(label) for label in labels],
            "x": x[kept],
            "truth": ("x", solutions.truth[kept]),
            "owner": (("pieces", "x"), owner),
        },
        ("pieces", "model", "x"),
        attrs={"xlabel": "x", "ylabel": "u(x)"},
    )
    last = sweep.errors(history, alone="each").isel(round=-1, drop=True).sel(level=pieces).reset_coords(drop=True)
    return curves, last.rename(level="pieces", kind="model").transpose("pieces", "model", "seed")
