"""Figures and tables of notebook 01, functions of the arrays of ``study.Results``."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from torch import Tensor

from ....federated.experiment import Data
from ....notebook.pictures import against_level
from ....notebook.style import CLIENTS, COLORS, around, band, log_axis, panels, paper_and_ours, set_ticks, shards
from ....notebook.verdicts import interval, paper_numbers
from ....numerics.metrics import in_percent, mean_sd, percent
from ..figures import trajectories
from ..physics import OUT_OF_DISTRIBUTION
from ..trainings import last
from .problem import angles
from .study import PRINTED, VARIES, Results

# the problem


def torques_and_angles(data: Data) -> Figure:
    """What an operator does: torques (rad/s^2) of the tests and their angles (rad) over t (s), each pair in one colour;
    right the targets s (rad) that each client owns."""
    fig, ((left, middle, right),) = panels(1, 3, size=(2.7, 2.4))
    u, x = data.test["GRF u"].numpy(), data.test["GRF x1"].numpy()
    t, targets = np.linspace(0, 1, u.shape[1]), [data.pool["s"][owner].numpy() for owner in data.owners]
    for torque, angle, color in zip(u, x, cycle(CLIENTS)):
        left.plot(t, torque, color=color)
        middle.plot(t, angle, color=color)
    left.set(xlabel="t (s)", ylabel="torque u (rad/s$^2$)", title="what the network is given")
    middle.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", title="what it has to say")
    shards(targets, right, "angle s at a random time (rad)", color="0.4")
    right.set(title=f"what {len(targets)} clients own", ylabel="client, one a row", yticks=())
    return fig


def angle_figure(t, u, truth, guesses: Mapping[str, np.ndarray]) -> Figure:
    """Left a torque u [m], right the angle that it causes and what models say, label -> [m], with their errors."""
    fig, ((left, right),) = panels(1, 2, size=(3.6, 2.7))
    left.plot(t, u, color=COLORS["other"], lw=2.5)
    left.set(xlabel="t (s)", ylabel="torque u (rad/s$^2$)", title="a torque", ylim=around(u))
    right.plot(t, truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
    for label, x in guesses.items():
        color = CLIENTS[0] if label.startswith("client") else COLORS[label]
        dash = "--" if label.startswith("client") else "-"
        right.plot(t, x, dash, color=color, label=f"{label}: off by {in_percent(percent(x, truth))}")
    right.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", title="the angle that it causes")
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def predicted(theta: Tensor, u: Tensor, x1: Tensor, kinds: Sequence[str]) -> Figure:
    """Angles [n, m] of torques [n, m], true and as a federation with parameters theta [P] says them (Figs. 3, 4)."""
    guess = np.array([angles({"federated": theta}, torque)["federated"] for torque in u])
    off = [percent(x, truth) for x, truth in zip(guess, x1.numpy(), strict=True)]
    titles = [f"{kind}: e = {e:.2f} %" for kind, e in zip(kinds, off, strict=True)]
    return trajectories(np.linspace(0, 1, u.shape[1]), x1.numpy(), {"federated": guess}, titles)


# schematics


def box(ax: Axes, x: float, y: float, words: str, color: str, wide: float = 1.6) -> None:
    """A box with words around (x, y)."""
    patch = FancyBboxPatch((x - wide / 2, y - 0.35), wide, 0.7, "round,pad=0.05", fc="white", ec=color, lw=1.5)
    ax.add_patch(patch)
    ax.text(x, y, words, ha="center", va="center", fontsize=8)


def arrow(ax: Axes, start: tuple, end: tuple, color: str = "0.3", dash: str = "-") -> None:
    """From one place to another."""
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=10, color=color, ls=dash, lw=1.2))


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of boxes: axes without ticks whose unit is 0.55 inches."""
    fig, ((ax,),) = panels(1, 1, size=(0.55 * width, 0.55 * height))
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    return fig, ax


def deeponet_schematic() -> Figure:
    """Two networks and a product (Fed-DeepONet, Fig. 1)."""
    fig, ax = blank(12, 3)
    box(ax, 1.5, 2.2, "torque at m times\n$u(t_1), \\ldots, u(t_m)$", COLORS["other"], 2.6)
    box(ax, 1.5, 0.8, "a time $y$", COLORS["other"], 2.6)
    box(ax, 5, 2.2, "branch network\n50 numbers", COLORS["federated"], 2.4)
    box(ax, 5, 0.8, "trunk network\n50 numbers", COLORS["federated"], 2.4)
    box(ax, 8, 1.5, "product,\nsum, + b", "0.3", 1.7)
    box(ax, 10.8, 1.5, "angle\n$G_\\theta(u)(y)$", COLORS["truth"], 1.9)
    for start, end in (
        ((2.9, 2.2), (3.7, 2.2)), ((2.9, 0.8), (3.7, 0.8)), ((6.3, 2.2), (7.1, 1.7)), ((6.3, 0.8), (7.1, 1.3)),
        ((8.95, 1.5), (9.75, 1.5)),
    ):  # fmt: skip
        arrow(ax, start, end)
    return fig


def round_schematic() -> Figure:
    """A round of Algorithm 2: weights go to who is available, K steps of Adam at home, and the mean comes back."""
    fig, ax = blank(12, 4)
    box(ax, 1.4, 2, "server\n$\\theta$", COLORS["federated"], 1.5)
    box(ax, 10.4, 2, "server\n$\\theta \\leftarrow \\sum_c p_c\\, \\gamma^c$", COLORS["federated"], 2.2)
    for y, words, color in zip((3.4, 2.45, 0.6), ("client 1", "client 2", "client C"), CLIENTS, strict=False):
        silent = words == "client 2"
        steps = "silent in this round" if silent else "K steps of Adam, moments from 0"
        box(ax, 5.7, y, f"{words}: {steps}", "0.7" if silent else color, 4.6)
        if not silent:
            arrow(ax, (2.3, 2), (3.2, y), color)
            arrow(ax, (8.2, y), (9.1, 2), color)
    ax.text(5.7, 1.5, r"$\vdots$", ha="center", va="center")
    return fig


# results


def error_against_clients(results: Results) -> Figure:
    """Error (%) of all seeds and its median against C: client 1 alone, the federation, printed values; a line: one
    model with all triplets and everybody's work. At C = 1 one client has all triplets."""
    fig, ((ax,),) = panels(1, 1, size=(6.0, 3.0))
    rows = {"alone": ("isolated", results.alone, "s"), "federated": ("federated", results.clients, "o")}
    for label, (color, data, marker) in rows.items():
        error = data.error.isel(round=-1).transpose("seed", "level")
        ax.plot(error.level, error.values.T, ".", ms=3, alpha=0.4, color=COLORS[color], label="_seeds")
        ax.plot(error.level, error.median("seed"), marker=marker, ms=5, color=COLORS[color], label=label)
    printed = [C for C in results.clients.level.values if C in PRINTED]
    values = [paper_numbers()[f"fed-deeponet.table1.C{C}"].value for C in printed]
    ax.plot(printed, values, "s", mfc="none", ms=8, color=COLORS["paper"], label="printed")
    error = last(results.centralised).sel(work="same passes").median()
    ax.axhline(error, color=COLORS["centralised"], label="one place, everybody's work")
    log_axis(ax.yaxis)
    ax.set_ylabel("error (%)")
    against_level(ax, results.clients.error.assign_attrs(level="clients C, who share the same 10 000 examples"))
    fig.legend(loc="outside upper center", ncols=4)
    return fig


WORK = {"a client's steps": "same steps", "everybody's work": "same passes"}
"""What is kept equal of one model that has all triplets."""


def training(results: Results) -> Figure:
    """Left the training loss (rad^2), right the test error (%), both over the rounds (Fig. 2): Algorithm 1 at each of
    its rates, and Algorithm 2."""
    plain = results.algorithm_1.squeeze("level")
    curves = {f"Algorithm 1, SGD, rate {lr:g}": plain.sel(lr=lr) for lr in plain.lr.values}
    curves |= {"Algorithm 2, Adam": results.clients.sel(level=results.algorithm_1.level.item())}
    fig, ((left, right),) = panels(1, 2)
    *others, ours = curves
    colors = dict(zip(others, cycle(("other", "isolated", "light", "paper")))) | {ours: "federated"}
    for label, data in curves.items():
        loss, error = (values.transpose("seed", ...).values for values in (data.loss, data.error))
        band(left, data.loss_round, loss, COLORS[colors[label]], label)
        band(right, data["round"], error, COLORS[colors[label]], label)
    left.set(xlabel="round", ylabel="training loss (rad$^2$)", yscale="log")
    right.set(xlabel="round", ylabel="test error e (%)")
    log_axis(right.yaxis)
    fig.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def tables(results: Results, passes: int) -> Figure:
    """Tables 1 and 2: printed values beside ours, mean and st.dev. over seeds; lines: one model with all triplets."""
    fig, (axes,) = panels(1, 2, sharey=True)
    steps = last(results.clients)
    steps = steps.sel(level=[C for C in steps.level.values if C in PRINTED] or steps.level.values)
    by_share = last(results.shares).drop_sel(share=VARIES).squeeze("level")
    for ax, x, values, ids in (
        (axes[0], steps.level.values, steps, [f"table1.C{C}" for C in steps.level.values]),
        (
            axes[1],
            by_share.share.values.astype(float),
            by_share,
            [f"table2.a{100 * a:g}" for a in by_share.share.values],
        ),
    ):
        paper_and_ours(ax, x, printed_of(ids), values.transpose("seed", ...).values, "ours, steps")
    if results.passes:
        error = last(results.passes)
        label = f"ours, {passes} passes, one seed"
        axes[0].errorbar(error.level, *mean_sd(error, "seed"), fmt="D--", ms=4, color=COLORS["other"], label=label)
    for ax in axes:
        for (label, work), dash in zip(WORK.items(), ("--", "-"), strict=True):
            error = last(results.centralised).sel(work=work).mean()
            ax.axhline(error, color=COLORS["centralised"], ls=dash, lw=1, label=f"one place, {label}")
        ax.set_ylim(bottom=0)
    axes[0].set(xlabel="clients C", ylabel="mean error e (%)", title=r"Table 1, $\alpha$ = 0.75")
    axes[1].set(xlabel=r"participating share $\alpha$", title="Table 2, C = 20")
    set_ticks(axes[0].xaxis, steps.level.values, [str(C) for C in steps.level.values])
    set_ticks(axes[1].xaxis, by_share.share.values.astype(float), [f"{a:g}" for a in by_share.share.values])
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def printed_of(ids: Sequence[str]) -> list[float]:
    """The paper's values; NaN where it has none."""
    numbers = paper_numbers()
    return [numbers[f"fed-deeponet.{id}"].value if f"fed-deeponet.{id}" in numbers else np.nan for id in ids]


EFFECTS = {
    "C = 10": ("table1.C10", 10, None), "C = 20": ("table1.C20", 20, None), "C = 40": ("table1.C40", 40, None),
    "C = 50": ("table1.C50", 50, None), "50 over 10 clients": ("table1.growth", 50, 10),
}  # fmt: skip
EFFECTS_HEADER = ("Table 1", "printed", "own 100 trajectories", "one more run", "common ones", "one more run")


def effect_rows(results: Results) -> list[list[str]]:
    """Rows of EFFECTS_HEADER: levels (%) and their ratio, seed by seed, with the interval of one more run."""
    rows = []
    for label, (id, C, base) in EFFECTS.items():
        cells = []
        for metric in ("error", "common"):
            error = last(results.clients, metric)
            if not {C, base} - {None} <= {*error.level.values.tolist()}:
                break
            values = (error.sel(level=C) / (1 if base is None else error.sel(level=base).drop_vars("level"))).values
            cells += ["{:.2f} ± {:.2f}".format(*mean_sd(values)), "[{:.2f}, {:.2f}]".format(*interval(values))]
        if cells and len(values) > 1:
            rows.append([label, f"{printed_of([id])[0]:.2f}", *cells])
    return rows


CONVENTIONS_HEADER = ("times seen", "start", "u = t", "sin(pi t)", "t sin(2 pi t)")


def convention_rows(results: Results) -> list[list[str]]:
    """Rows of CONVENTIONS_HEADER: errors (%) of the unseen torques, and whether one more run reaches the print."""
    rows = [["printed", "", *(f"{value:.2f}" for value in printed_of(FIG_4))]]
    unseen = last(results.conventions, "unseen").squeeze("level", drop=True)
    for time in unseen.time.values:
        for start in unseen.init.values:
            values = unseen.sel(time=time, init=start).transpose("i", "seed").values
            rows.append([str(time), str(start), *map(with_verdict, values, printed_of(FIG_4))])
    return rows


FIG_4 = ("fig4.t", "fig4.sin", "fig4.tsin")


def with_verdict(values: np.ndarray, printed: float) -> str:
    """Median and interval of one more run; marked where the printed value is outside."""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    low, high = interval(values)
    outside = "" if low <= printed <= high else ", out"
    return f"{np.median(values):.2f} [{low:.2f}, {high:.2f}]{outside}"


def conventions(results: Results) -> Figure:
    """Error (%) of each unseen torque under each convention: all seeds, their median, the printed value as a line."""
    fig, (axes,) = panels(1, 3, size=(2.6, 2.6))
    unseen = last(results.conventions, "unseen").squeeze("level", drop=True)
    columns = [(time, start) for time in unseen.time.values for start in unseen.init.values]
    for i, (ax, torque, printed) in enumerate(zip(axes, OUT_OF_DISTRIBUTION, printed_of(FIG_4), strict=True)):
        for x, (time, start) in enumerate(columns):
            values = unseen.sel(time=time, init=start).isel(i=i).values
            ax.plot(np.full(len(values), x), values, ".", ms=4, alpha=0.4, color=COLORS["federated"], label="_seeds")
            ax.plot(x, np.median(values), "o", color=COLORS["federated"], label="_" if x else "ours, median")
        ax.axhline(printed, color=COLORS["paper"], label="printed")
        log_axis(ax.yaxis)
        ax.set(title=f"u = {torque}", xlim=(-0.5, len(columns) - 0.5))
        set_ticks(ax.xaxis, range(len(columns)), [f"{time}\n{start}" for time, start in columns])
        ax.tick_params(axis="x", labelsize=6)
    axes[0].set_ylabel("error (%)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig
