"""Figures and tables of notebook 03, functions of labelled arrays."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.figure import Figure
from torch import Tensor, nn

from ....federated.stack import predict
from ....notebook.style import COLORS, around, log_axis, panels, set_ticks, shards
from ....notebook.verdicts import interval, paper_numbers
from ....numerics.metrics import in_percent, percent, plus_minus
from ..physics import times
from ..trainings import last
from .study import CASES, TOLD, Results, of_torques


def blind(x: np.ndarray) -> np.ndarray:
    """One answer [..., m] for all pendulums [..., K, m] of a family: their mean."""
    return x.mean(-2)


def blind_error(x: np.ndarray) -> np.ndarray:
    """Mean error (%) of that answer over the pendulums [..., K, m] -> [...]."""
    off = np.linalg.norm(x - blind(x)[..., None, :], axis=-1) / np.linalg.norm(x, axis=-1)
    return 100 * off.mean(-1)


def families(x: Mapping[float, np.ndarray]) -> Figure:
    """Seconds T -> angles [K, m] of one torque and K pendulums, the last one the stiffest; and the one curve for all
    that whoever is not told the stiffness has to draw."""
    fig, (axes,) = panels(1, len(x), size=(3.4, 2.5))
    for ax, (T, angles) in zip(axes, x.items(), strict=True):
        t = np.linspace(0, T, angles.shape[-1])
        for i, angle in enumerate(angles):
            label = {0: "softest", len(angles) - 1: "stiffest"}.get(i, "_family")
            ax.plot(t, angle, color=str(0.75 * (1 - i / (len(angles) - 1))), lw=1, label=label)
        ax.plot(t, blind(angles), "--", color=COLORS["other"], lw=3, label="one curve for all")
        ax.set(xlabel="t (s)", title=f"{T:g} s: one curve is off by {in_percent(blind_error(angles))}")
    axes[0].set_ylabel("angle $x_1$ (rad)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def stiffness(dealt: Mapping[str, tuple[np.ndarray, Sequence[np.ndarray]]]) -> Figure:
    """Stiffnesses of ten clients; dealt: "mixed" or "own" -> k of each triplet, and the triplets of each client."""
    fig, (axes,) = panels(1, len(dealt), size=(3.2, 2.2), sharex=True, sharey=True)
    for ax, (name, (k, owners)) in zip(axes, dealt.items(), strict=True):
        some = np.linspace(0, len(owners) - 1, min(len(owners), 10)).round().astype(int)
        shards([k[owners[c]] for c in some], ax, "stiffness k (1/s$^2$)", ms=8)
        title = "every example has its k" if name == "mixed" else "every client has its k"
        ax.set(title=f"{name}: {title}", ylabel="", yticks=range(len(some)), yticklabels=some + 1)
    axes[0].set_ylabel("client")
    return fig


def told_or_not(results: Results) -> Figure:
    """Error (%) of every case, of client 1 alone and of one model with all triplets, a panel for each number of
    seconds: all seeds, their median, and the floor of whoever is not told k."""
    seconds = results.cases.level.values
    fig, (axes,) = panels(1, len(seconds), size=(3.5, 2.9), sharey=True)
    for ax, T in zip(axes, seconds, strict=True):
        columns = {case: last(results.cases).sel(case=case, level=T) for case in results.cases.case.values}
        if results.alone:
            columns["one\nalone"] = last(results.alone).sel(level=T)
        if results.centralised and T in results.centralised.level:
            columns["one\nplace"] = last(results.centralised).sel(level=T, work="same passes")
        for x, (label, error) in enumerate(columns.items()):
            color = COLORS[{"one\nalone": "isolated", "one\nplace": "centralised"}.get(label, "federated")]
            fill = "none" if "hidden" in label else color
            ax.plot(np.full(error.size, x), error.values.ravel(), ".", ms=4, alpha=0.5, color=color, label="_seeds")
            ax.plot(x, error.median(), "s" if "own" in label else "o", ms=7, mfc=fill, color=color, label="_median")
        floor = results.floor.sel(level=T).item()
        ax.axhline(floor, color="k", ls="--", lw=1)
        ax.text(len(columns) - 0.6, 1.04 * floor, "floor, k hidden", fontsize=7, ha="right", va="bottom")
        log_axis(ax.yaxis)
        names = [label.replace(", ", "\n") for label in columns]
        ax.set(title=f"pendulums swing for {T:g} s", xlim=(-0.5, len(columns) - 0.4))
        set_ticks(ax.xaxis, range(len(columns)), names)
        ax.tick_params(axis="x", labelsize=7)
    axes[0].set_ylabel("error (%)")
    return fig


TOLD_HEADER = ("seconds", "told", "hidden", "times worse", "floor (%)")


def told_rows(results: Results, dealt: str = "mixed") -> list[list[str]]:
    """Rows of TOLD_HEADER: median errors (%), and the effect of hiding k, seed by seed: median and its range."""
    errors, rows = last(results.cases), []
    for T in errors.level.values:
        with_k, without = (errors.sel(case=f"{dealt}, {what}", level=T).dropna("seed") for what in ("told", "hidden"))
        ratio = (without / with_k).dropna("seed")
        cells = (f"{values.median().item():.2f}" for values in (with_k, without))
        worse = f"{ratio.median().item():.2f} ({ratio.min().item():.2f} to {ratio.max().item():.2f})"
        rows.append([f"{T:g}", *cells, worse, f"{results.floor.sel(level=T).item():.2f}"])
    return rows


FIG_8 = ("fig8.t", "fig8.sin", "fig8.tsin")
FIG_8_HEADER = ("u", "printed", "ours, all k", "one more run with one more k", "draws below the printed one")


def one_draw(data: xarray.Dataset) -> xarray.DataArray:
    """Error (%) [torque, seed] with the first k that each seed has drawn: theirs is one draw, too."""
    return of_torques(data).isel(draw=0)


def fig_8_rows(data: xarray.Dataset) -> list[list[str]]:
    """Rows of FIG_8_HEADER, errors (%). The interval is nested: its values are one seed with one draw each, so that it
    has the scatter of both; data: of the paper's federation, all seeds."""
    errors, rows = of_torques(data), []
    for torque, id in zip(errors.torque.values, FIG_8, strict=True):
        printed, every = paper_numbers()[f"fed-deeponet.{id}"].value, errors.sel(torque=torque)
        values = one_draw(data).sel(torque=torque).values
        words = "[{:.2f}, {:.2f}]".format(*interval(values)) if len(values) > 1 else "one seed"
        below = 100 * float((every < printed).mean())
        rows.append([str(torque), f"{printed:.2f}", f"{every.mean().item():.2f}", words, f"{below:.1f} %"])
    return rows


TRIED_HEADER = ("rate", "its factor from round to round", "validation error (%)")


def tried_rows(tried: xarray.DataArray) -> list[list[str]]:
    """Rows of TRIED_HEADER, the best first: mean and st.dev. over seeds."""
    error = tried.squeeze("level", drop=True).stack(pair=("lr", "decay")).dropna("pair", how="all")
    order = error.mean("seed").argsort().values
    best_first = zip(error.pair.values[order], error.transpose("pair", "seed").values[order], strict=True)
    return [[f"{lr:g}", f"{decay:g}", plus_minus(values, 2)] for (lr, decay), values in best_first]


def angle_figure(t, u, truth, guesses: Mapping[str, np.ndarray], k: float) -> Figure:
    """Left a torque u [m] over t [m], right the angle of the pendulum of stiffness k, and what networks say,
    label -> [m]: "told", who are told k, and "hidden"."""
    fig, ((left, right),) = panels(1, 2, size=(3.6, 2.7))
    left.plot(t, u, color=COLORS["other"], lw=2.5)
    left.set(xlabel="t (s)", ylabel="torque u (rad/s$^2$)", title="a torque", ylim=around(u))
    right.plot(t, truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
    for label, x in guesses.items():
        words = f"{label}: off by {in_percent(percent(x, truth))}"
        right.plot(t, x, "-" if label == "told" else "--", color=COLORS["federated"], label=words)
    right.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", title=f"the angle of the pendulum with k = {k:.2f}")
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def mean_errors(results: Results) -> dict[str, xarray.DataArray]:
    """Name -> error (%) [seed] of every model after the last round, at all seconds."""
    arrays = {case: last(results.cases).sel(case=case) for case in CASES if case in results.cases.get("case", [])}
    if results.alone:
        arrays["one client alone"] = last(results.alone)
    every = {f"{name}, {T:g} s": values.sel(level=T) for name, values in arrays.items() for T in values.level.values}
    if results.centralised:
        central = last(results.centralised).isel(level=0)
        every |= {f"centralised, {work}": central.sel(work=work) for work in central.work.values}
    if results.paper:
        every[f"{TOLD}, all seeds"] = last(results.paper).isel(level=0)
    return {name: values.dropna("seed").reset_coords(drop=True) for name, values in every.items()}


def titles(net: nn.Module, theta: Tensor, u: Tensor, x1: Tensor, k: np.ndarray) -> list[str]:
    """Of panels: the stiffness and how far the network with parameters theta [P] is off; u [n, ...], x1 [n, m]."""
    guess = predict(net, theta, u[:, None].float(), times(x1.shape[1])).numpy()
    return [f"k = {k:.2f}, e = {percent(x, truth):.2f} %" for x, truth, k in zip(guess, x1.numpy(), k, strict=True)]
