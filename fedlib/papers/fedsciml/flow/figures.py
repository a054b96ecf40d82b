"""Figures and tables of notebook 06. Times are in thousands of rounds."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_hex
from matplotlib.figure import Figure

from ....notebook.style import CLIENTS as CLIENT_COLORS
from ....notebook.style import COLORS, MARKERS, band, log_axis, panels
from ....notebook.verdicts import paper_numbers
from ....numerics.metrics import in_percent, plus_minus
from .problem import DOMAIN, TRUTH
from .study import TOLERANCES, Results, reached, trained
from .wake import NX, NY, Wake

EXTENT = (*DOMAIN[0], *DOMAIN[1])
LETTERS = {"C1": "$C_1$", "C2": "$C_2$"}
LIMITS = {"C1": (-0.1, 1.35), "C2": (-0.045, 0.03)}
"""Of the axes: C2 swings far before it settles."""


# who measures what


def wake_map(ax: Axes, field: np.ndarray, title: str, **style):
    """One field of the wake [ny, nx] as a picture."""
    shown = ax.imshow(field, origin="lower", extent=EXTENT, aspect="equal", **({"cmap": "cividis"} | style))
    ax.set(xlabel="x (diameters)", ylabel="y", title=title)
    return shown


def slabs_figure(wake: Wake, x: np.ndarray, owners: Mapping[int, Sequence[np.ndarray]]) -> Figure:
    """Who observes the velocity where, points x [N, 2 or 3], at each number of pieces."""
    fig, axes = panels(1, len(owners), size=(max(2.9, 5.2 / len(owners)), 2.2))
    for ax, (n, shards) in zip(axes[0], owners.items(), strict=True):
        wake_map(ax, wake.u[:, 0, 0].reshape(NY, NX), f"{n} pieces", cmap="Greys_r", alpha=0.6)
        for k, shard in enumerate(shards):
            style = dict(ms=3, mew=0, color=CLIENT_COLORS[k], label=f"client {k + 1}", rasterized=True)
            ax.plot(*x[shard, :2].T, MARKERS[k], **style)
        for cut in np.linspace(*DOMAIN[0], n + 1)[1:-1]:
            ax.axvline(cut, color="0.3", lw=0.6)
        ax.label_outer()
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2, markerscale=2)
    return fig


# coefficients on their way


def blues(n: int) -> list[str]:
    """n colours from light to dark around the federation's blue."""
    tints = LinearSegmentedColormap.from_list("federated", [COLORS["light"], COLORS["federated"], "#002F52"])
    return [to_hex(tints(t)) for t in (np.linspace(0, 1, n) if n > 1 else [0.5])]


def colors(models: Sequence[str]) -> dict[str, str]:
    """Label -> colour: federations are blue, the darker the more pieces; what is centralised is green."""
    levels = [label for label in models if label.startswith("n = ")]
    return dict.fromkeys(models, COLORS["centralised"]) | dict(zip(levels, blues(len(levels)), strict=True))


def way(ax: Axes, C: xarray.DataArray, model: str, name: str, color: str, label: str, **style) -> None:
    """A coefficient of a model on its way, mean over the seeds that are trained with one st.dev.; nothing if none is.

    C: [model, seed, coefficient, round].
    """
    if model not in C.model.values or not trained(C.sel(model=model)).any():
        return
    done = trained(C.sel(model=model))
    C = C.sel(model=model, coefficient=name).isel(seed=np.flatnonzero(done > 0)).sel(round=slice(None, done.max()))
    some = np.unique(np.linspace(0, C.sizes["round"] - 1, min(1500, C.sizes["round"])).astype(int))
    values = C.isel(round=some).values
    values = values[np.isfinite(values).all(1)]  # those with the longest training
    band(ax, C["round"].values[some], values, color, label, **{"marker": None} | style)


def axis_of(ax: Axes, name: str) -> None:
    """A coefficient's own axis, with the truth."""
    ax.axhline(TRUTH[name], color=COLORS["truth"], lw=1, ls="--", label="truth")
    ax.set(ylabel=LETTERS[name], ylim=LIMITS[name])


def training_view(C: xarray.DataArray, columns: Mapping[str, Sequence[str]]) -> Figure:
    """Above C1, below C2 on their way (FedSciML, Fig. 10); columns: title -> labels of the models in that panel."""
    fig, axes = panels(2, len(columns), size=(8.6 / max(3, len(columns)), 1.9), sharex="col", sharey="row")
    tints = colors([label for labels in columns.values() for label in labels])
    for column, (title, labels) in zip(axes.T, columns.items(), strict=True):
        for ax, name in zip(column, TRUTH, strict=True):
            for label, dash in zip(labels, ("-", ":"), strict=False):
                way(ax, C, label, name, tints[label], label if len(labels) > 1 else "_one", ls=dash)
            axis_of(ax, name)
            ax.label_outer()
        column[0].set_title(title)
        column[1].set_xlabel("round")
    handles = {label: handle for ax in axes[0] for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(handles.values(), handles, loc="outside upper center", ncols=len(handles))
    return fig


def aliasing_view(C: xarray.DataArray, n: int) -> Figure:
    """Both coefficients with the mean and with the sum of the clients' steps, at n pieces."""
    fig, axes = panels(1, 2, size=(3.6, 2.3))
    for ax, name in zip(axes[0], TRUTH, strict=True):
        way(ax, C, f"n = {n}", name, COLORS["federated"], "mean of the steps")
        way(ax, C, f"aliased, n = {n}", name, COLORS["other"], "sum of the steps (aliased)", lw=2.5, zorder=1.9)
        axis_of(ax, name)
        ax.set_xlabel("round")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


# the pressure that nobody sees


def error_maps(results: Results, quantity: int = 2) -> Figure:
    """The true pressure, and how far each model's is off, of the first seed that is trained, named with its error."""
    models, shape = [*results.fields.model.values], grid_shape(results.truth)
    columns = min(3, 1 + len(models))
    fig, axes = panels(-(-(1 + len(models)) // columns), columns, size=(2.7, 1.9), sharex=True, sharey=True)
    truth, first = results.truth[:, quantity], axes.ravel()[0]
    top = np.abs(truth).max()
    wake_map(first, truth.reshape(shape), f"true p, from {truth.min():.2g} to {truth.max():.2g}", cmap="RdBu_r",
             vmin=-top, vmax=top)  # fmt: skip
    for ax, label in zip(axes.ravel()[1:], models, strict=False):
        fields, errors = results.fields.sel(model=label), results.errors.sel(model=label, quantity="pressure")
        seed = errors.seed[errors.notnull().values][0]
        gap = np.abs(fields.sel(seed=seed)[:, quantity].values - truth).clip(top / 1000, top)
        title = f"{in_words(label)}: off by {in_percent(errors.sel(seed=seed).item())}"
        shown = wake_map(ax, gap.reshape(shape), title, cmap="magma", norm=LogNorm(top / 1000, top))
    for ax in axes.ravel():
        ax.label_outer()
    for ax in axes.ravel()[1 + len(models) :]:
        ax.remove()
    fig.colorbar(shown, ax=fig.axes, label="|p - true p|", shrink=0.8)
    return fig


def grid_shape(truth: np.ndarray) -> tuple[int, int]:
    """Of a flattened map of the wake's grid."""
    stride = next(s for s in range(1, NX) if -(-NX // s) * -(-NY // s) == len(truth))
    return -(-NY // stride), -(-NX // stride)


def ends_table(results: Results) -> tuple[list, list]:
    """Header and rows of where the trainings end: errors (%) of C1, C2, velocity and pressure, over seeds."""
    rows = []
    for label in results.errors.model.values:
        errors = results.errors.sel(model=label).dropna("seed")
        rounds = trained(results.C.sel(model=label)).max().item()
        cells = [plus_minus(errors.sel(quantity=name).values, 2) for name in errors.quantity.values]
        rows.append([str(label), f"{errors.sizes['seed']}", f"{rounds:.0f}", *cells])
    return ["error (%) at the end", "seeds", "rounds", "C1", "C2", "velocity", "pressure"], rows


# Table 2


def row_of(label: str, many: int) -> str:
    """What a model's row is called in data/paper_numbers.yaml; "" where the paper has none."""
    if label.startswith("n = "):
        return label.replace("n = ", "n")
    return "central" if label == f"centralised, {many}" else ""


def ids(label: str, many: int) -> dict[tuple, str]:
    """(coefficient, tolerance) -> id of the printed number, of a model that the paper has.

    many: observations of the centralised model that the printed one is compared with (the code has 7000).
    """
    row, numbers = row_of(label, many), paper_numbers()
    named = {(name, t): f"fedsciml.table2.{row}.{name}.{t}" for name in TRUTH for t in TOLERANCES}
    return {key: id for key, id in named.items() if id in numbers}


def measured(results: Results, many: int) -> dict[str, dict]:
    """Id -> arguments of ``run.measure``: our first passage by seed, infinite for never, and where a seed has not come
    yet the bound, of how many rounds it was trained."""
    times, rows = reached(results.C, results.whole) / 1000, {}
    for label in times.model.values:
        rounds = trained(results.C.sel(model=label)).values / 1000
        for (name, t), id in ids(label, many).items():
            values = times.sel(model=label, coefficient=name, within=t).values[rounds > 0]
            late = np.isnan(values)
            rows[id] = {"values": values, "bound": rounds[rounds > 0][late].min().item() if late.any() else None}
    return rows


def in_words(label: str) -> str:
    """A model as readers call it: "2 pieces"."""
    return label.replace("n = ", "") + " pieces" * label.startswith("n = ")


def passages(results: Results, many: int) -> Figure:
    """When each coefficient comes within each tolerance, printed and ours: a panel for each model of the paper's table.

    Every seed is a dot, a line goes through the medians. Who never comes stands at the upper edge; who does not come in
    the rounds that are trained is a triangle there.
    """
    models = [label for label in results.errors.model.values if row_of(label, many)]
    fig, axes = panels(2, len(models), size=(8.6 / max(3, len(models)), 2.0), sharex=True, sharey=True)
    tints, places = colors(models), range(len(TOLERANCES))
    times, never = reached(results.C, results.whole) / 1000, 1.6 * results.whole / 1000
    for column, label in zip(axes.T, models, strict=True):
        numbers, done = ids(label, many), trained(results.C.sel(model=label))
        for ax, name in zip(column, TRUTH, strict=True):
            ours = times.sel(model=label, coefficient=name).transpose("within", "seed").values[:, done.values > 0]
            rounds = done.values[done.values > 0] / 1000
            printed = [paper_numbers()[numbers[name, t]].value if (name, t) in numbers else np.nan for t in TOLERANCES]
            shown = np.minimum(printed, never)
            ax.plot(places, shown, "s--", ms=6, lw=0.8, mfc="none", color=COLORS["paper"],
                    label="printed; at the top: never")  # fmt: skip
            for place, seeds in zip(places, ours, strict=True):
                draw_seeds(ax, place, seeds, rounds, never, tints[label])
            medians = np.median(np.where(np.isnan(ours), np.inf, ours), 1)
            ax.plot(places, np.where(np.isfinite(medians), medians, np.nan), "-", color=tints[label], label="_median")
            ax.set(ylabel=f"{LETTERS[name]}: thousand rounds", xticks=places, xticklabels=TOLERANCES)
            ax.set_xlim(-0.4, len(TOLERANCES) - 0.6)
            ax.label_outer()
        column[0].set_title(in_words(label))
        column[1].set_xlabel("within (%)")
    for ax in axes[:, 0]:
        log_axis(ax.yaxis)
    axes[0, 0].plot([], [], "o-", ms=4, color=COLORS["federated"], label="ours, every seed; line: median")
    axes[0, 0].plot([], [], "^", mfc="none", color=COLORS["federated"], label="not yet, at the end of ours")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def draw_seeds(ax: Axes, place: float, times: np.ndarray, rounds: np.ndarray, never: float, color: str) -> None:
    """A dot for each seed's time, in thousands of rounds, at ``never`` if it never comes; a triangle after the rounds
    that are trained, where it has not come yet (NaN)."""
    late = np.isnan(times)
    ax.plot([place] * int((~late).sum()), np.minimum(times[~late], never), "o", ms=3.5, mew=0, alpha=0.5, color=color,
            label="_seeds")  # fmt: skip
    ax.plot([place] * int(late.sum()), rounds[late], "^", ms=5, mfc="none", color=color)


def readings_figure(results: Results, n: int, readings: Sequence[str], many: int) -> Figure:
    """When each coefficient comes within 10 % in each reading of what the paper leaves open, beside the printed time.

    At n pieces; the first column is the reading that all other figures take.
    """
    models = {"as elsewhere": f"n = {n}"} | {name: name for name in readings}
    times, never = reached(results.C, results.whole).sel(within=10) / 1000, 1.6 * results.whole / 1000
    numbers = ids(f"n = {n}", many)
    fig, (axes,) = panels(1, 2, size=(4.3, 2.6), sharey=True)
    for ax, name in zip(axes, TRUTH, strict=True):
        if (name, 10) in numbers:
            ax.axhline(paper_numbers()[numbers[name, 10]].value, color=COLORS["paper"], ls="--", lw=1, label="printed")
        for place, label in enumerate(models.values()):
            rounds = trained(results.C.sel(model=label)).values / 1000
            ours = times.sel(model=label, coefficient=name).values[rounds > 0]
            color = COLORS["other" if place else "federated"]
            draw_seeds(ax, place, ours, rounds[rounds > 0], never, color)
            median = np.median(np.where(np.isnan(ours), np.inf, ours))
            ax.plot(place, median if np.isfinite(median) else np.nan, "_", ms=16, color=color, label="_median")
        ax.set(xticks=range(len(models)), title=f"{LETTERS[name]} within 10 %")
        ax.set_xticklabels([label.replace(" ", "\n") for label in models])
        ax.set_xlim(-0.5, len(models) - 0.5)
    axes[0].set_ylabel("thousand rounds")
    log_axis(axes[0].yaxis)
    axes[0].plot([], [], "o", ms=4, color=COLORS["federated"], label="ours, every seed; bar: median")
    axes[0].plot([], [], "^", mfc="none", color=COLORS["federated"], label="not yet, at the end of ours")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig
