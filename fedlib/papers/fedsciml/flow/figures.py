"""Figures and tables of notebook 06. Times are in thousands of rounds."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from ....notebook.pictures import curves
from ....notebook.style import CLIENTS as CLIENT_COLORS
from ....notebook.style import COLORS, MARKERS, OTHERS, band, panels
from ....notebook.verdicts import paper_numbers
from ....numerics.metrics import in_percent, plus_minus
from .claims import printed
from .problem import DOMAIN, TRUTH, slabs
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


# coefficients on their way


def colors(models: Sequence[str]) -> dict[str, str]:
    """Label -> colour: federations are blue, the darker the more pieces; what is centralised is green."""
    levels = [label for label in models if label.startswith("n = ")]
    tints = LinearSegmentedColormap.from_list("federated", [OTHERS[1], COLORS["federated"], "#002F52"])
    blues = tints(np.linspace(0, 1, len(levels)) if len(levels) > 1 else [0.5])
    return dict.fromkeys(models, COLORS["centralised"]) | dict(zip(levels, map(to_hex, blues), strict=True))


def way(ax: Axes, C: xarray.DataArray, model: str, name: str, color: str, label: str, **style) -> None:
    """A coefficient of a model on its way, mean over the seeds that are trained with one st.dev.; nothing if none is.

    C: [model, seed, coefficient, round].
    """
    if model not in C.model.values:
        return
    C = C.sel(model=model, coefficient=name).dropna("seed", how="all")
    if C.sizes["seed"]:
        some = np.unique(np.linspace(0, C.sizes["round"] - 1, min(1500, C.sizes["round"])).astype(int))
        band(ax, C["round"].values[some], C.isel(round=some).values, color, label, **{"marker": None} | style)


def axis_of(ax: Axes, name: str) -> None:
    """A coefficient's own axis, with the truth."""
    ax.axhline(TRUTH[name], color=COLORS["truth"], lw=1, ls="--", label="truth")
    ax.set(ylabel=LETTERS[name], ylim=LIMITS[name])


def answer(wake: Wake, x: np.ndarray, C: xarray.DataArray, levels: Sequence[int]) -> Figure:
    """A row for each number of pieces: who observes the velocity where, points x [N, 2 or 3], and both coefficients on
    their way. The cylinder has diameter 1, and its middle is the origin."""
    fig, axes = panels(len(levels), 3, size=(2.75, 1.9), width_ratios=(2.3, 1, 1), sharex="col")
    for (flow, *ways), n in zip(axes, levels, strict=True):
        wake_map(flow, wake.u[:, 0, 0].reshape(NY, NX), f"{n} pieces", cmap="Greys_r", alpha=0.6)
        flow.add_patch(Circle((0, 0), 0.5, color="0.4"))
        flow.annotate("", (0.6, 1.5), (-0.7, 1.5), arrowprops={"arrowstyle": "-|>", "color": "0.3"})
        for k, shard in enumerate(slabs(x, n)):
            style = dict(ms=2, mew=0, color=CLIENT_COLORS[k], label=f"laboratory {k + 1}", rasterized=True)
            flow.plot(*x[shard, :2].T, MARKERS[k], **style)
        for cut in np.linspace(*DOMAIN[0], n + 1)[1:-1]:
            flow.axvline(cut, color="0.3", lw=0.6)
        flow.set_xlim(-0.8, DOMAIN[0][1])
        for ax, name in zip(ways, TRUTH, strict=True):
            way(ax, C, f"n = {n}", name, COLORS["federated"], "both together, federated")
            axis_of(ax, name)
    for ax, label in zip(axes[-1], ("x (diameters)", "round", "round"), strict=True):
        ax.set_xlabel(label)
    for ax in axes[:-1].ravel():
        ax.set_xlabel("")
    handles = [h for ax in axes[0, :2] for h in zip(*ax.get_legend_handles_labels(), strict=True)]
    fig.legend(*zip(*handles, strict=True), loc="outside upper center", ncols=4)
    return fig


def training_view(C: xarray.DataArray, columns: Mapping[str, str]) -> Figure:
    """Above C1, below C2 on their way (FedSciML, Fig. 10); columns: title -> label of the model in that panel."""
    fig, axes = panels(2, len(columns), size=(8.6 / max(3, len(columns)), 1.9), sharex="col", sharey="row")
    tints = colors([*columns.values()])
    for column, (title, label) in zip(axes.T, columns.items(), strict=True):
        for ax, name in zip(column, TRUTH, strict=True):
            way(ax, C, label, name, tints[label], "_mean")
            axis_of(ax, name)
            ax.label_outer()
        column[0].set_title(title)
        column[1].set_xlabel("round")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center")
    return fig


def aliasing_view(C: xarray.DataArray, n: int) -> Figure:
    """Both coefficients with the mean and with the sum of the clients' steps, at n pieces."""
    fig, axes = panels(1, 2, size=(3.6, 2.3))
    for ax, name in zip(axes[0], TRUTH, strict=True):
        way(ax, C, f"n = {n}", name, COLORS["federated"], "federated, mean of the steps")
        way(ax, C, f"aliased, n = {n}", name, OTHERS[0], "sum of the steps (aliased)", lw=2.5, zorder=1.9)
        axis_of(ax, name)
        ax.set_xlabel("round")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


# the pressure that nobody sees


def error_maps(results: Results) -> Figure:
    """The true pressure, and how far each model's is off, of the middle one of the seeds, named with its error."""
    models, shape = [*results.fields.model.values], (NY, NX)
    columns = min(3, 1 + len(models))
    fig, axes = panels(-(-(1 + len(models)) // columns), columns, size=(2.7, 1.9), sharex=True, sharey=True)
    truth, first = results.truth[:, 2], axes.ravel()[0]
    top = np.abs(truth).max()
    wake_map(first, truth.reshape(shape), f"true p, from {truth.min():.2g} to {truth.max():.2g}", cmap="RdBu_r",
             vmin=-top, vmax=top)  # fmt: skip
    for ax, label in zip(axes.ravel()[1:], models, strict=False):
        fields, errors = results.fields.sel(model=label), results.errors.sel(model=label, quantity="pressure")
        errors = errors.dropna("seed")
        seed = errors.seed[np.argsort(errors.values)[(errors.size - 1) // 2]]
        gap = np.abs(fields.sel(seed=seed)[:, 2].values - truth).clip(top / 1000, top)
        title = f"{in_words(label)}: off by {in_percent(errors.sel(seed=seed).item())}"
        shown = wake_map(ax, gap.reshape(shape), title, cmap="magma", norm=LogNorm(top / 1000, top))
    for ax in axes.ravel():
        ax.label_outer()
    for ax in axes.ravel()[1 + len(models) :]:
        ax.remove()
    fig.colorbar(shown, ax=fig.axes, label="|p - true p|", shrink=0.8)
    return fig


def ends_table(results: Results) -> tuple[list, list]:
    """Header and rows of where the trainings end: errors (%) of C1, C2, velocity and pressure, over seeds."""
    rows = []
    for label in results.errors.model.values:
        errors = results.errors.sel(model=label).dropna("seed")
        cells = [plus_minus(errors.sel(quantity=name).values, 2) for name in errors.quantity.values]
        rows.append([str(label), f"{errors.sizes['seed']}", *cells])
    return ["error (%) at the end", "seeds", "C1", "C2", "velocity", "pressure"], rows


def passages(results: Results) -> Figure:
    """Thousand rounds until each coefficient first comes within each tolerance, printed and ours, where all seeds came;
    a panel for each coefficient and model of the paper's table."""
    times, arrays = reached(results.C, results.whole) / 1000, {}
    times = times.where((np.isfinite(times) | (trained(results.C) == 0)).all("seed"))
    models = [label for label in times.model.values if printed(label)] or times.model.values[:1]
    for name in TRUTH:
        for label in models:
            ids = printed(label)
            of_paper = [paper_numbers()[ids[name, t]].value if (name, t) in ids else np.nan for t in TOLERANCES]
            ours = times.sel(model=label, coefficient=name, drop=True)
            theirs = xarray.DataArray([of_paper], {"seed": ours.seed[:1], "within": [*TOLERANCES]})
            both = xarray.concat([theirs, ours], xarray.Variable("whose", ["printed", "ours"]), join="outer")
            both["within"].attrs = {"long_name": "within", "units": "%"}
            both = both.where(np.isfinite(both)).assign_attrs(long_name="thousand rounds")
            arrays[f"{LETTERS[name]}, {in_words(label).partition(',')[0]}"] = both
    looks = {"printed": {"color": COLORS["paper"], "marker": "s", "ls": "--"}, "ours": {"color": OTHERS[4]}}
    return curves(arrays, "within", "whose", looks=looks.get, size=(2.15, 2.2), most=len(models), share=True)


def in_words(label: str) -> str:
    """A model as readers call it: "2 pieces", "one place, 700"."""
    return label.replace("n = ", "").replace("centralised", "one place") + " pieces" * label.startswith("n = ")
