"""Figures and tables of notebook 05 that no other room has; the others are ``notebook.pictures``."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib import colormaps
from matplotlib.figure import Figure
from torch import Tensor

from ....federated.experiment import KINDS, Experiment, data_of, models_of
from ....federated.heterogeneity import weight_divergence
from ....federated.history import History
from ....federated.stack import as_dict
from ....notebook.pictures import clouds_of, own_points
from ....notebook.style import COLORS, log_axis, panels
from ....numerics.metrics import plus_minus


def first_look(line: Experiment, plane: Experiment, level: int = 2) -> Figure:
    """What is asked for and who knows what, on a line and in the plane."""
    fig, ((left, middle, right),) = panels(1, 3, size=(2.7, 2.5))
    of_line, of_plane = (data_of(experiment, level).test for experiment in (line, plane))
    left.plot(of_line["x"][:, 0], of_line["u"], color=COLORS["truth"])
    own_points(left, clouds_of(line, level), line.coordinates)
    left.set(xlabel="x", ylabel="u(x)", title=f"{line.name}: solution, points of two clients")
    x, u = of_plane["x"].numpy(), of_plane["u"].numpy()
    n = len(np.unique(x[:, 0]))
    extent = (*x[[0, -1], 0], *x[[0, -1], 1])
    middle.imshow(u.reshape(n, -1).T, cmap="cividis", origin="lower", extent=extent, aspect="auto")
    middle.set(xlabel=plane.coordinates[0], ylabel=plane.coordinates[1], title=f"{plane.name}: solution u(x, y)")
    own_points(right, clouds_of(plane, level), plane.coordinates)
    right.set(xlabel=plane.coordinates[0], title="points of two clients")
    return fig


def labelled(history: History, level: int, seed: int) -> dict[str, Tensor]:
    """Label -> parameters [P] of all models of a level and a seed, as pictures name them."""
    alone = {f"isolated client {k + 1}": row for k, row in enumerate(models_of(history, "isolated", level, seed))}
    return alone | {kind: models_of(history, kind, level, seed)[0] for kind in ("federated", "centralised")}


def divergence(experiment: Experiment, history: History, levels: Sequence[int]) -> xarray.DataArray:
    """Relative divergence of the federated weights from the centralised ones [seed, level, matrix]."""
    seeds = history.labels("seed")

    def of(level, seed) -> list[float]:
        pair = (models_of(history, kind, level, seed)[0] for kind in ("federated", "centralised"))
        return [float(v) for v in weight_divergence(*(as_dict(experiment.net, theta) for theta in pair)).values()]

    values = np.array([[of(level, seed) for level in levels] for seed in seeds])
    coords = {"seed": seeds, "level": list(levels), "matrix": 1 + np.arange(values.shape[-1])}
    return xarray.DataArray(values, coords, ("seed", "level", "matrix"))


HEADER = ("e (%)", "n", "federated", "isolated", "centralised", "federated / centralised")


def metrics_of(final: Mapping[str, xarray.DataArray], divergences: Mapping[str, xarray.DataArray]) -> dict:
    """The numbers of a run, each by name of the problem: errors (%) [kind, level, seed], divergences, levels, w1."""
    return {
        "levels": {name: e.level.values.tolist() for name, e in final.items()},
        "w1": {name: e.w1.values.tolist() for name, e in final.items()},
        "error_percent": {
            name: {kind: e.sel(kind=kind).transpose("seed", "level").values for kind in KINDS}
            for name, e in final.items()
        },
        "weight_divergence": {name: values.values for name, values in divergences.items()},
    }


def error_rows(metrics: Mapping, digits: int = 2) -> list[list[str]]:
    """A row of HEADER for each problem and level: mean ± st.dev. over seeds, and the ratio of the means."""
    rows = []
    for name, error in metrics["error_percent"].items():
        for j, n in enumerate(metrics["levels"][name]):
            federated, isolated, central = (np.array(error[kind])[:, j] for kind in KINDS)
            cells = [plus_minus(e, digits) for e in (federated, isolated, central)]
            rows.append([name, str(n), *cells, f"{federated.mean() / central.mean():.1f}"])
    return rows


GAP_HEADER = ("rule", "E", "relative error / 1e-5, median", "smallest to largest", "MB sent up")


def gap_rows(gap: Mapping[str, Mapping], centralised: Sequence[float]) -> list[list[str]]:
    """Rows of GAP_HEADER by median, the centralised model last; gap: of ``problem.gap``, centralised [S] (%)."""

    def cells(e):
        return [f"{1000 * np.median(e):.0f}", f"{1000 * np.min(e):.0f} to {1000 * np.max(e):.0f}"]

    ranked = sorted(gap.values(), key=lambda of: -np.median(of["error_percent"]))
    table = [[of["rule"], str(of["E"]), *cells(of["error_percent"]), f"{of['megabytes']:.0f}"] for of in ranked]
    return [*table, ["centralised", "-", *cells(centralised), "0"]]


def gap_view(gap: Mapping[str, Mapping], centralised: np.ndarray) -> Figure:
    """Error (%) against MB that all clients send up in all, a colour for each rule, a shape for each E.

    gap: of ``problem.gap``; centralised [S] (%), a line at the median and a band over the seeds.
    """
    fig, ((ax,),) = panels(1, 1, size=(6.6, 3.4))
    rules, Es = ([*dict.fromkeys(of[key] for of in gap.values())] for key in ("rule", "E"))
    colors = colormaps["viridis"](np.linspace(0, 0.85, len(rules)))
    for of in gap.values():
        style = {"color": colors[rules.index(of["rule"])], "marker": "osD^v"[Es.index(of["E"]) % 5], "ls": ""}
        e, x = np.asarray(of["error_percent"]), of["megabytes"] * 1.12 ** (rules.index(of["rule"]) - len(rules) / 2)
        ax.plot(np.full(len(e), x), e, ms=4, mew=0, alpha=0.4, label="_seeds", **style)
        ax.plot(x, np.median(e), ms=9, mec="k", label=f"{of['rule']}, E = {of['E']}", **style)
    ax.axhspan(np.min(centralised), np.max(centralised), color=COLORS["centralised"], alpha=0.15, lw=0)
    ax.axhline(np.median(centralised), color=COLORS["centralised"], label="centralised")
    ax.set(xlabel="MB that all clients send up in all (rules a little apart)", ylabel="error (%)")
    for axis in (ax.xaxis, ax.yaxis):
        log_axis(axis)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside right upper", fontsize=7)
    return fig
