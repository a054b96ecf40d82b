"""Figures of notebook 13: error against rounds, bytes and levels; every problem; error bars; what sums tell."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....federated.experiment import data_of
from ....federated.sums import gaussian_sigma
from ....notebook.pictures import plain, seeds_and_median, shade
from ....notebook.style import CLIENTS, COLORS, DASHES, panels, set_ticks
from ....numerics.metrics import in_percent, percent, two_digits
from .privacy import DELTA, attacked, told_in_or_out
from .problem import answers, made
from .study import IN_WORDS, SHOWN, SINGLE, TITLES, Place, Way, chosen

AXES = {"poisson": "pieces", "helmholtz": "blocks per axis"}
SUMS = COLORS["centralised"]  # what sums give is the centralised solution
LOOKS = {
    "FedAvg, as printed": {"color": COLORS["federated"], "marker": "o", "mfc": "w", "ms": 4, "ls": ":"},
    "FedAvg, best rate": {"color": COLORS["federated"], "marker": "o", "ms": 4},
    "best rule": {"color": COLORS["light"], "marker": "s", "ms": 4, "lw": 2.5},
    "Gauss-Newton": {"color": COLORS["other"], "lw": 2.5},
    "one round of sums": {"color": SUMS, "marker": "*", "ms": 13, "ls": ""},
}
"""How a way is drawn."""


def alone_and_added(table: xarray.Dataset, pieces: int, sines: int, points: int = 32) -> Figure:
    """What each client finds alone, what notebook 05's federated network says and what the sums give, over the pieces;
    table: of ``pieces.curves_and_errors``."""
    fig, ((ax,),) = panels(1, 1, size=(6.6, 3.0))
    shown = table.sel(pieces=pieces, sines=sines, points=points)
    shade(ax, shown.x.values, [np.flatnonzero(shown.owner == k) for k in (0, 1)])
    ax.plot(shown.x, shown.truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
    looks = {
        "client 1 alone": {"color": CLIENTS[0], "ls": DASHES[0]},
        "client 2 alone": {"color": CLIENTS[1], "ls": DASHES[1]},
        "federated": {"color": COLORS["federated"], "ls": "-."},
        "sums": {"color": SUMS},
    }
    rounds = {"federated": ", 1000 rounds", "sums": ", 1 round"}
    for model, look in looks.items():
        off = in_percent(shown.error.sel(model=model)[0].item())
        ax.plot(shown.x, shown.u.sel(model=model), lw=2, label=f"{model}{rounds.get(model, '')}: {off}", **look)
    ax.set(xlabel="x", ylabel="u(x)", xlim=(0, np.pi), ylim=(-1, 5), title=f"{pieces} pieces, and how far each is off")
    ax.legend(loc="upper left", ncols=2)
    return fig


def race(equations: Mapping[str, Mapping[str, Way]]) -> Figure:
    """Error against rounds, and against what a client sends, of each equation at the level of SHOWN; medians over
    seeds."""
    fig, axes = panels(len(equations), 2, size=(3.6, 2.4))
    for (left, right), (name, ways) in zip(axes, equations.items(), strict=True):
        for label, way in ways.items():
            error = way.error.sel(level=SHOWN[name]).median("seed")
            left.plot(error["round"], error, label=label, **LOOKS[label])
            right.plot(way.bytes.sel(level=SHOWN[name]) / 1e6, error, **LOOKS[label])
        left.set(xlabel="round", ylabel="error (%)", ylim=(SINGLE[name] / 3, 300))
        right.set(xlabel="MB sent by a client", ylim=left.get_ylim())
        for ax in (left, right):
            ax.set(xscale="log", yscale="log")
            ax.axhline(SINGLE[name], color="0.6", lw=1, ls=":")
            plain(ax.xaxis)
            plain(ax.yaxis)
        left.set_xlim(0.8, 3e3)
        right.set_xlim(1e-3, 300)
        left.text(2.5e3, 1.6 * SINGLE[name], "all digits that the test has", fontsize=7, color="0.4", ha="right")
        left.set_title(f"{TITLES[name]}, {IN_WORDS[name].format(SHOWN[name])}")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


def against_level(equations: Mapping[str, Mapping[str, Way]]) -> Figure:
    """Errors at the end against the level; dots are seeds, lines medians."""
    fig, axes = panels(1, len(equations), size=(3.7, 2.8))
    for ax, (name, ways) in zip(axes[0], equations.items(), strict=True):
        for label, way in ways.items():
            last = way.error.isel(round=-1).transpose("seed", "level")
            style = {"marker": "D"} | {k: v for k, v in LOOKS[label].items() if k in ("color", "marker", "mfc")}
            dash = ":" if "mfc" in style else "-"
            seeds_and_median(ax, last.level.values, last.values, label, ls=dash, **style)
        level_axis(ax, name, ways["one round of sums"].error.level.values)
        ax.axhline(SINGLE[name], color="0.6", lw=1, ls=":")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


def level_axis(ax: Axes, name: str, levels: np.ndarray) -> None:
    """Logarithmic axes, a tick at each level of an equation."""
    ax.set(xscale="log", yscale="log", xlabel=AXES[name], ylabel="error (%)", title=TITLES[name])
    ax.set_xticks(levels, levels)
    plain(ax.yaxis)
    ax.minorticks_off()


def tried_rows(tried: Mapping[str, xarray.Dataset]) -> list[list[str]]:
    """All features that were tried: problem, what, score by cross-validation, error (%); medians over seeds."""
    rows = []
    for name, table in tried.items():
        axes, best = [axis for axis in table.gcv.dims if axis != "seed"], chosen(table)
        for index in np.ndindex(*(table.sizes[axis] for axis in axes)):
            cell = table.isel(dict(zip(axes, index, strict=True)))
            score, error = float(cell.gcv.median()), float(cell.error.median())
            words = ", ".join(f"{axis} {cell[axis].item():g}" for axis in axes)
            words += " (chosen)" * all(bool(cell[axis] == best[axis]) for axis in axes)
            rows.append([name, words, f"{score:.1e}", f"{error:.2g}" if error > 0.1 else f"{error:.1e}"])
    return rows


LEAST = 1e-6  # (%), what is below is drawn there
SUMS_ALIKE = ("lag kernel", "learnt step")
"""What assumes that the equation is the same everywhere."""


def every_problem(places: Sequence[Place], shown: Sequence[str]) -> Figure:
    """A row for each problem of a list, such as IN_THE_PICTURE: the error of every way, seeds small, medians large."""
    problems = [problem for problem in shown if problem in {place.problem for place in places}]
    fig, ((ax,),) = panels(1, 1, size=(8.0, 0.34 * len(problems) + 1.1))
    legend = {}
    looks = {
        "FedAvg, as printed": ("v", LOOKS["FedAvg, as printed"]["color"]),
        "FedAvg, best rate": ("o", LOOKS["FedAvg, best rate"]["color"]),
        "best rule": ("s", LOOKS["best rule"]["color"]),
        "all data in one place": ("d", "0.4"),
        "sums for the network": ("P", COLORS["other"]),
    }
    for place in places:
        other = place.way.startswith(("FedAvg", "Gauss-Newton")) and place.way not in looks
        if place.problem not in problems or other:
            continue
        y, error = -problems.index(place.problem), np.maximum(place.error, LEAST)
        marker, color = looks.get(place.way, ("*", SUMS))
        look = {"color": color, "ms": 12 if marker == "*" else 6}
        look |= {"mfc": "w"} if place.way in SUMS_ALIKE else {}
        label = place.way if place.way in looks else "sums, the same everywhere" if "mfc" in look else "sums"
        ax.plot(error, np.full(len(error), y), "|", ms=6, color=color, alpha=0.5)
        (line,) = ax.plot(np.median(error), y, marker, **look)
        legend[label] = line
    fig.legend(legend.values(), legend, loc="outside upper center", ncols=4, columnspacing=1)
    ax.set_yticks([-i for i in range(len(problems))], problems)
    ax.grid(axis="y", color="0.9", lw=0.8)
    ax.set(
        xscale="log",
        xlabel="error (%); of letters and digits: wrong pixels, wrong digits",
        ylim=(-len(problems) + 0.4, 0.6),
    )
    ax.set_xlim(LEAST / 2, 300)
    plain(ax.xaxis)
    return fig


PLACES = (
    "problem", "how", "notebook", "error (%), median", "smallest to largest", "seeds", "rounds", "MB a client sends",
    "CPU s",
)  # fmt: skip


def place_rows(places: Sequence[Place]) -> list[list[str]]:
    """Rows of PLACES; notebook: of this one, or of another one, which has it stored."""
    return [
        [
            place.problem, place.way, place.notebook or "13",
            two_digits(np.median(place.error)), f"{two_digits(place.error.min())} to {two_digits(place.error.max())}",
            str(len(place.error)), str(place.rounds or "-"),
            f"{place.bytes / 1e6:.3g}" if place.bytes else "-", f"{place.seconds:.2g}" if place.seconds else "-",
        ]
        for place in places
    ]  # fmt: skip


COMPARED = ("FedAvg, as printed", "FedAvg, own rate", "best rule", "Adam, one place", "sums", "one round")
COMPARED_HEADER = ("problem", *COMPARED[:4], "sums for the network", "one round of sums", "seeds")


def compared_rows(compared: Mapping[str, Mapping[str, np.ndarray]]) -> list[list[str]]:
    """Rows of COMPARED_HEADER: median errors (%)."""
    return [
        [name, *(two_digits(np.median(ways[way])) if way in ways else "-" for way in COMPARED), str(len(ways["sums"]))]
        for name, ways in compared.items()
    ]


NEWTON = ("network", "level", "rounds", "error (%), median", "smallest", "largest", "MB a client sends")


def newton_rows(newton: Mapping[str, xarray.Dataset]) -> list[list[str]]:
    """Rows of NEWTON, of ``networks.by_gauss_newton`` at the end."""
    rows = []
    for name, table in newton.items():
        for level in table.level.values:
            last = table.sel(level=level).isel(round=-1)
            numbers = [two_digits(float(v)) for v in (last.error.median(), last.error.min(), last.error.max())]
            sent = float(last.bytes.mean()) / 1e6
            rows.append([name, str(level), str(table.sizes["round"]), *numbers, f"{sent:.3g}"])
    return rows


COEFFICIENT = ("points of the equation", "how", "error of k (%), median", "smallest", "largest", "kB a client sends")


def coefficient_rows(table: xarray.Dataset, networks: xarray.Dataset) -> list[list[str]]:
    """Rows of COEFFICIENT: one message, at the first level (all are the same), and notebook 06b's networks. kB: with
    the messages for the scales of u that were not chosen."""
    of_networks = networks.error.sel(level=24)
    rows = [
        ("10 inner", f"{kind}, 24 pieces, 06b", of_networks.sel(kind=kind), None) for kind in of_networks.kind.values
    ]
    for points in table.points.values:
        one = table.sel(points=points).isel(level=0)
        rows.append((points, "one message", one.error_k, table.sizes["scale"] * float(one.bytes.mean()) / 1000))
    return [
        [points, way, *(two_digits(float(v)) for v in (error.median(), error.min(), error.max())),
         f"{size:.1f}" if size else "-"]
        for points, way, error, size in rows
    ]  # fmt: skip


MESSAGES = ("on NVIDIA FLARE", "rounds", "messages", "kB down", "kB up", "error")


def message_rows(messages: Mapping[str, Mapping]) -> list[list[str]]:
    """Rows of MESSAGES, as counted in commit 0e7840b1: all sites, of Poisson in four pieces."""
    return [
        [
            way, f"{counts['rounds']:,}", f"{counts['messages']:,}", f"{counts['down'] / 1000:,.1f}",
            f"{counts['up'] / 1000:,.1f}", in_percent(counts["error"]),
        ]
        for way, counts in messages.items()
    ]  # fmt: skip


def gap_rows(gap: xarray.DataArray) -> list[list[str]]:
    """Problem, largest difference [problem, partition] of answers."""
    return [[str(row.problem.values), f"{float(row.max()):.0e}"] for row in gap]


# error bars; the last layer


def bars(table: xarray.Dataset) -> Figure:
    """The noisy curve with its band, magnified, and how much of the curve lies in its band, for each data set."""
    fig, ((left, right),) = panels(1, 2, size=(3.6, 2.6))
    first = table.isel(seed=0)
    off, band = first["mean"] - np.sin(first.x), 2 * first.spread
    left.fill_between(first.x, off - band, off + band, color=SUMS, alpha=0.25, lw=0, label="mean ± 2 st.dev.")
    left.plot(first.x, off, color=SUMS, label="mean of the sums")
    left.axhline(0, color=COLORS["truth"], lw=1, label="the curve")
    left.set(xlabel="x", ylabel="difference from the curve")
    left.legend(fontsize=7)
    inside, sets = 100 * table.inside, np.arange(1, table.sizes["seed"] + 1)
    right.plot(sets, inside, "o", color=SUMS, label=f"a data set; their mean is {inside.mean():.1f}")
    right.axhline(95.4, color="0.5", ls=":", label="95.4, as it should be")
    right.set(xlabel="data set", ylabel="of the curve, in its band (%)", ylim=(0, 105), xlim=(0, sets[-1] + 1))
    right.legend(fontsize=7, loc="lower left")
    return fig


def leak(table: xarray.Dataset) -> Figure:
    """Error of the solution, and how far the attack on its sums is off, against the number of sines; see
    ``attack.points_of_sums``. Dots are seeds, lines medians; hollow: fewer independent products than points."""
    fig, ((left, right),) = panels(1, 2, size=(3.7, 2.7))
    seeds_and_median(left, table.m.values, table.error.values.T, "", color=SUMS, marker="D")
    left.set(ylabel="error (%)", title="what few sines cost")
    looks = {"one client": (0.96, CLIENTS[0], "o", "one client's sums"), "total": (1, SUMS, "D", "the total of both"),
             "total, random": (1.04, COLORS["other"], "s", "a total of random points")}  # fmt: skip
    for n, (sums, (aside, color, marker, words)) in zip(table.points, looks.items(), strict=True):
        m, off = aside * table.m, table.off.sel(sums=sums)
        right.plot(m, off.median("seed"), color=color, lw=1)
        right.plot(m, off.where(table.products >= n), marker, ms=4, color=color)
        right.plot(m, off.where(table.products < n), marker, ms=4, color=color, mfc="w")
        right.plot([], [], marker, ms=4, color=color, label=f"{words}: {n} points")
    right.plot([], [], "o", ms=4, color="0.4", mfc="w", label="fewer products than points")
    right.set(ylabel="worst point off by", title="what the server makes of it", ylim=(1e-15, 1e9))
    right.legend(fontsize=7, loc="upper right")
    for ax in (left, right):
        ax.set(xscale="log", yscale="log", xlabel="sines")
        ax.set_xticks(table.m.values, table.m.values, fontsize=8)
        ax.minorticks_off()
    plain(left.yaxis)
    right.set_yticks([1e-15, 1e-10, 1e-5, 1])
    return fig


ATTACK = CLIENTS[0]
"""Colour of the attack by non-negative weights."""

ATTACK_COLORS = COLORS["other"], ATTACK
"""Of ``ATTACKS``."""


def attack(points: int, sines: int, noise: float, apart: float, seed: int) -> Figure:
    """One message is attacked: where its points are and where the attacks take them to be; beside it the solution that
    the same message gives. noise, apart: as ``privacy.attacked`` takes them."""
    message, test = attacked(sines, points, seed, noise, apart=apart), data_of(made("poisson"), 2).test
    fig, ((left, right),) = panels(1, 2, size=(3.9, 2.5), width_ratios=(1.5, 1))
    left.vlines(message.x, 0, 3, color="0.8", lw=1)
    rows = {"the points": (message.x, COLORS["truth"])}
    rows |= {name: (guess, color) for (name, guess), color in zip(message.guesses.items(), ATTACK_COLORS, strict=True)}
    for y, (x, color) in zip((2.5, 0.5, 1.5), rows.values(), strict=True):
        left.plot(x, np.full(len(x), y), "o", ms=4, color=color)
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in message.share.items())
    if apart:  # one line: a live picture has room for no other
        fit, guesses = message.share["non-negative fit"], message.guesses["non-negative fit"]
        shares = f"{100 * fit:.0f} %, the one apart off by {abs(message.x[-1] - guesses[-1]):.0e}"
    left.set(xlabel="x", xlim=(-0.05, np.pi + 0.05), ylim=(0, 3), title=f"found: {shares}")
    set_ticks(left.yaxis, (2.5, 0.5, 1.5), [*rows])
    x, truth, u = test["x"][:, 0], test["u"].double().numpy(), answers(message.experiment, message.c, test)
    right.plot(x, truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
    right.plot(x, u, color=SUMS, label="sums")
    off = in_percent(percent(u, truth))
    right.set(xlabel="x", ylabel="u(x)", xlim=(0, np.pi), ylim=(-1, 5), title=f"solution off by {off}")
    right.legend(loc="upper left")
    return fig


def hiding(crowd: xarray.Dataset, noise: xarray.Dataset, private: xarray.Dataset) -> Figure:
    """What hides points: others, or noise, and what that costs; see ``privacy``. Dots are seeds, lines means (left),
    means against medians (middle), medians (right)."""
    fig, ((left, middle, right),) = panels(1, 3, size=(3.1, 2.9))
    n, fit, null = crowd.points.values, *crowd.attack.values[::-1]
    shares = 100 * crowd.found.mean("seed")
    for m, dash in zip((4, 12, 60), ("-", "--", ":"), strict=True):
        if m in crowd.m:
            left.plot(n, shares.sel(m=m, attack=fit), dash, marker="o", ms=4, color=ATTACK, label=f"{m} sines")
    most = crowd.m.values[-1]
    look = {"color": COLORS["other"], "marker": "s", "ms": 4, "lw": 2.5}
    left.plot(n, shares.sel(m=most, attack=null), label=f"{most} sines, {null}", **look)
    left.set(
        xscale="log",
        xlabel="points in the sums",
        ylabel="points found (%)",
        title="no noise: equal parts, a point in each",
    )
    left.set_xticks(n, n)
    left.minorticks_off()

    looks = zip(noise.message.values, ("s", "o", "D"), (COLORS["federated"], ATTACK, SUMS), strict=False)
    for message, marker, color in looks:
        error = noise.error.sel(message=message).median("seed")
        share = 100 * noise.found.sel(message=message).mean("seed")
        middle.plot(error, share.sel(attack=fit), marker=marker, ms=4, color=color, label=message)
        middle.plot(error, share.sel(attack=null), marker=marker, ms=3, color=color, mfc="w", lw=0.8, ls=":")
    middle.plot([], [], "o:", color="0.4", mfc="w", lw=0.8, ms=3, label=null)
    nothing = float(noise.nothing.median())
    middle.axvline(nothing, color="0.6", lw=1)
    middle.text(1.1 * nothing, 97, "no data", fontsize=7, color="0.4", rotation=90, va="top")
    middle.set(xscale="log", xlabel="error (%)", title="32 points: what noise hides, and costs", xlim=(1e-3, 90))
    plain(middle.xaxis)
    for ax in (left, middle):
        ax.axhline(20, color="0.6", lw=1, ls="--")
        ax.set_ylim(0, 105)
    left.text(n[0], 21.5, "a guess", fontsize=7, color="0.4")

    for epsilon, marker in zip(private.epsilon.values, "osD", strict=False):
        label = f"ε = {epsilon}: {100 * told_in_or_out(gaussian_sigma(epsilon, DELTA)):.0f} %"
        errors = private.error.sel(epsilon=epsilon).transpose("seed", "points").values
        seeds_and_median(right, private.points.values, errors, label, color=COLORS["federated"], marker=marker)
    right.axhline(float(private.nothing.median()), color="0.6", lw=1)
    right.text(private.points.values[-1], 1.15 * nothing, "no data", fontsize=7, color="0.4", ha="right")
    right.set(xscale="log", yscale="log", xlabel="points in the sums", ylabel="error (%)", ylim=(None, 100))
    right.set_title("noise that hides each point")
    plain(right.yaxis)
    left.legend(fontsize=7, loc=(0.02, 0.26), handlelength=3.5)
    middle.legend(fontsize=7, loc=(0.02, 0.42))
    right.legend(fontsize=7, title="who knows all the others\ntells if one is in, right in", title_fontsize=7)
    return fig


def torques(table: xarray.Dataset, readings: xarray.DataArray) -> Figure:
    """How far torques are off that are read off sums, and off notebook 12's models, against the triplets of a client;
    and one of them; see ``torques.torques_of_sums``."""
    fig, ((left, right),) = panels(1, 2, size=(3.7, 2.7))
    seeds_and_median(left, table.points.values, table.off.transpose("seed", "points").values, "sums", color=SUMS)
    for name, dash in (("SGD", "-"), ("Adam", ":")):
        off = readings.sel(optimizer=name, E=1).median("client").clip(min=0.006)  # one is read exactly
        left.plot(off.points, off, dash, marker="o", ms=4, color=COLORS["federated"], label=f"FedAvg's model, {name}")
    left.set(xscale="log", yscale="log", xlabel="triplets of the client", ylabel="middle torque off by (%)")
    left.set_ylim(0.005, 200)
    plain(left.xaxis)
    plain(left.yaxis)
    left.legend(fontsize=7, loc=(0.02, 0.22))
    share, points = table.share.mean("seed").values, table.points.values
    most = max(points[share > 0.5], default=points[0])
    shown, t = table.sel(points=most), np.linspace(0, 1, table.sizes["t"])
    right.plot(t, shown.truth, color=COLORS["truth"], lw=4, alpha=0.25, label="a client's torque")
    right.plot(t, shown.u, "--", color=SUMS, label=f"read off the sums of {most}")
    right.set(xlabel="time (s)", ylabel="torque")
    right.legend(fontsize=7)
    return fig


def coefficient(table: xarray.Dataset, networks: xarray.Dataset) -> Figure:
    """k(x): true, by one message at each choice of the equation's points, by notebook 06b's network; and errors."""
    fig, ((left, right),) = panels(1, 2, size=(3.7, 2.7))
    left.plot(networks.x, networks.truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
    left.plot(networks.x, networks.k, "-.", color=COLORS["federated"], label="federated network, 8 pieces")
    shown = table.isel(level=0)
    for points, dash in zip(table.points.values, ("-", ":"), strict=False):
        label = f"one message, {points} points"
        left.plot(table.x, shown.k.sel(points=points).isel(seed=0), dash, color=SUMS, label=label)
        errors = table.error_k.sel(points=points).transpose("seed", "level").values
        seeds_and_median(right, table.level.values, errors, "", ls=dash, color=SUMS, marker="*")
    for kind, marker in (("federated", "o"), ("centralised", "d")):
        error = networks.error.sel(kind=kind).transpose("seed", "level")
        color = COLORS["federated"] if kind == "federated" else "0.4"
        seeds_and_median(right, error.level.values, error.values, f"{kind} network", color=color, marker=marker)
    left.set(xlabel="x", ylabel="k(x)", ylim=(0, 1.9))
    left.legend(fontsize=7, loc="upper left")
    right.set(xscale="log", yscale="log", xlabel="pieces", ylabel="error of k (%)")
    right.set_xticks(networks.level.values, networks.level.values)
    right.minorticks_off()
    plain(right.yaxis)
    right.legend(fontsize=7)
    return fig


def pictures(table: xarray.Dataset) -> Figure:
    """Share of a client's pictures that are read off its sums, against how many it has; and some of them."""
    fig, ((left, right),) = panels(1, 2, size=(3.7, 2.3))
    points = table.points.values
    shares = 100 * table.share.transpose("seed", "points").values
    seeds_and_median(left, points, shares, "", color=ATTACK, marker="o")
    left.set(xscale="log", xlabel="pictures in the sums", ylabel="read to the last pixel (%)", ylim=(-3, 103))
    plain(left.xaxis)
    most = max(points[table.share.mean("seed") > 0.5], default=points[0])
    tiles = table.shown.sel(points=most).values.reshape(2, -1, 28, 28)
    right.imshow(np.vstack([np.hstack(row) for row in tiles]), cmap="gray_r")
    right.set_title(f"read off the sums of {most}")
    right.axis("off")
    return fig
