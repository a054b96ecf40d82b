"""Figures of notebook 13 that no other room has: clients alone and added, error bars, k(x), and what sums tell."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.figure import Figure

from ....federated.experiment import data_of
from ....federated.sums import gaussian_sigma
from ....notebook.pictures import curves, plain, shade
from ....notebook.style import CLIENTS, COLORS, DASHES, OTHERS, ordered, panels, set_ticks
from ....numerics.metrics import in_percent, percent
from ..figures import LOOKS, every_problem, race
from ..points import DELTA, attacked
from ..ways import Place, Way, by_problem, joined
from .privacy import told_in_or_out
from .problem import answers, made
from .table import SHOWN, TITLES


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
        "sums": {"color": COLORS["sums"]},
    }
    rounds = {"federated": ", 1000 rounds", "sums": ", 1 round"}
    for model, look in looks.items():
        off = in_percent(shown.error.sel(model=model)[0].item())
        ax.plot(shown.x, shown.u.sel(model=model), lw=2, label=f"{model}{rounds.get(model, '')}: {off}", **look)
    ax.set(xlabel="x", ylabel="u(x)", xlim=(0, np.pi), ylim=(-1, 5), title=f"{pieces} pieces, and how far each is off")
    ax.legend(loc="upper left", ncols=2)
    return fig


def at_shown_levels(equations: Mapping[str, Mapping[str, Way]]) -> Figure:
    """Error against rounds of each equation, at the level of SHOWN."""
    tables = {}
    for name, ways in equations.items():
        both = {label: way._replace(error=way.error.sel(level=SHOWN[name])) for label, way in ways.items()
                if SHOWN[name] in way.error.level}  # fmt: skip
        tables[TITLES[name]] = both
    return race(tables, (3.7, 2.8))


AXES = {"poisson": "pieces", "helmholtz": "blocks per axis"}


def against_level(equations: Mapping[str, Mapping[str, Way]]) -> Figure:
    """Errors in the end against the level, a panel for each equation."""
    tables = {name: joined(ways, "level") for name, ways in equations.items()}
    titled = {TITLES[name].split(",")[0]: tables[name].assign_attrs(tables[name].attrs | {"level": AXES[name]})
              for name in tables}  # fmt: skip
    return curves(titled, hue="way", looks=LOOKS.get, size=(3.7, 2.8))


AVERAGED, TOGETHER = "networks, averaged", "one network, all data in one place"
THREE = {
    AVERAGED: LOOKS["FedAvg, best rate"],
    TOGETHER: LOOKS["Adam, one place"],
    "sums": LOOKS["one round of sums"],
}
"""How the ways of ``all_problems`` are drawn."""

IN_SHORT = {
    **dict.fromkeys(("FedAvg, as printed", "FedAvg, best rate", "best rule"), AVERAGED),
    "all data in one place": TOGETHER,
    **dict.fromkeys(("one round of sums", "sums, in windows of time"), "sums"),
}
"""Way -> what it is called there."""


def in_short(places: Sequence[Place]) -> dict[str, dict[str, np.ndarray]]:
    """Of each problem, of operators at n = 10, the ways of THREE; of averages that with the least median, in favour of
    averaging."""
    table: dict[str, dict[str, np.ndarray]] = {}
    for problem, ways in by_problem(places).items():
        if problem.endswith("n = 10") or ", n = " not in problem:
            row = table.setdefault(problem, {})
            for way in sorted((way for way in ways if way in IN_SHORT), key=lambda way: -np.median(ways[way])):
                row[IN_SHORT[way]] = ways[way]  # the least comes last
    return table


def all_problems(places: Sequence[Place]) -> Figure:
    """A row for each problem, three marks."""
    return every_problem(in_short(places), THREE)


def bars(table: xarray.Dataset) -> Figure:
    """The noisy curve with its band, magnified, and how much of the curve lies in its band, for each data set."""
    fig, ((left, right),) = panels(1, 2, size=(3.6, 2.6))
    first = table.isel(seed=0)
    off, band = first["mean"] - np.sin(first.x), 2 * first.spread
    look = {"color": COLORS["sums"], "alpha": 0.25, "lw": 0}
    left.fill_between(first.x, off - band, off + band, label="mean of the sums ± 2 st.dev.", **look)
    left.plot(first.x, off, color=COLORS["sums"], label="mean of the sums")
    left.axhline(0, color=COLORS["truth"], lw=1, label="the true curve")
    left.set(xlabel="x", ylabel="difference from the curve")
    left.legend(fontsize=7)
    inside, sets = 100 * table.inside, np.arange(1, table.sizes["seed"] + 1)
    right.plot(sets, inside, "o", color=COLORS["sums"], label=f"sums of a data set; the mean is {inside.mean():.1f}")
    right.axhline(95.4, color="0.5", ls=":", label="95.4, as it should be")
    right.set(xlabel="data set", ylabel="of the curve, in its band (%)", ylim=(0, 105), xlim=(0, sets[-1] + 1))
    right.legend(fontsize=7, loc="lower left")
    return fig


def missed_points(table: xarray.Dataset) -> Figure:
    """How far the point that the attack misses most is off, against the number of sines; see
    ``attack.points_of_sums``."""
    labels = {"one client": "one client's sums", "total": "sums of both", "total, random": "random points"}
    sums = [f"{labels[name]}: {n} points" for name, n in zip(table.sums.values, table.points, strict=True)]
    off = table.off.assign_coords(sums=sums, m=table.m.assign_attrs(long_name="sines"))
    looks = {"marker": "o", "ls": ":"}, {"marker": "D"}, {"marker": "s", "color": OTHERS[0]}
    looks = {label: {"color": COLORS["sums"]} | look for label, look in zip(sums, looks, strict=True)}
    off = off.rename(None).assign_attrs(long_name="worst point off by")
    return curves({"what the server makes of sums": off}, "m", "sums", looks=looks.get, size=(6, 3))


ATTACK = OTHERS[2]
"""Colour of the attack by non-negative weights."""


def attack(points: int, sines: int, noise: float, apart: float, seed: int) -> Figure:
    """One message is attacked: where its points are and where the fit takes them to be; beside it the solution that
    the same message gives. noise, apart: as ``points.attacked`` takes them."""
    message, test = attacked(sines, points, seed, noise, apart=apart), data_of(made("poisson"), 2).test
    fig, ((left, right),) = panels(1, 2, size=(3.9, 2.5), width_ratios=(1.5, 1))
    fit = message.guesses["non-negative fit"]
    for y, x, color in ((1, message.x, COLORS["truth"]), (0, fit, ATTACK)):
        left.plot(x, np.full(len(x), y), "o", ms=4, color=color)
    left.vlines(message.x, -0.5, 1.5, color="0.8", lw=1, zorder=0)
    title = f"found: {100 * message.share['non-negative fit']:.0f} %"
    if apart:
        title += f", the one apart off by {abs(message.x[-1] - fit[-1]):.0e}".replace("e-0", "e-")
    left.set(xlabel="x", xlim=(-0.05, np.pi + 0.05), ylim=(-0.5, 1.5), title=title)
    set_ticks(left.yaxis, (1, 0), ("the points", "the fit"))
    x, truth, u = test["x"][:, 0], test["u"].double().numpy(), answers(message.experiment, message.c, test)
    right.plot(x, truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
    right.plot(x, u, color=COLORS["sums"], label="sums")
    off = in_percent(percent(u, truth))
    right.set(xlabel="x", ylabel="u(x)", xlim=(0, np.pi), ylim=(-1, 5), title=f"solution off by {off}")
    right.legend(loc="upper left")
    return fig


def price_of_noise(noise: xarray.Dataset) -> Figure:
    """Points that the fit finds under noise against what the noise costs, a line for each message; means over draws
    against medians. See ``privacy.under_noise``."""
    fig, ((ax,),) = panels(1, 1, size=(6, 3))
    for message, marker, color in zip(noise.message.values, "soD", (OTHERS[3], ATTACK, OTHERS[0]), strict=False):
        one = noise.sel(message=message)
        share = 100 * one.found.sel(attack="non-negative fit").mean("seed")
        ax.plot(one.error.median("seed"), share, marker=marker, ms=5, color=color, label=message)
    nothing = float(noise.nothing.median())
    ax.axvline(nothing, color="0.6", lw=1)
    ax.text(1.2 * nothing, 100, "no data", fontsize=8, color="0.4", rotation=90, va="top")
    ax.axhline(20, color="0.6", lw=1, ls="--")
    ax.text(1.2e-3, 22, "a blind guess", fontsize=8, color="0.4")
    ax.set(xscale="log", xlabel="error of the solution (%)", ylabel="points found (%)", ylim=(0, 105), xlim=(1e-3, 90))
    ax.legend(loc=(0.02, 0.4))
    plain(ax.xaxis)
    return fig


def hiding(crowd: xarray.Dataset, private: xarray.Dataset) -> Figure:
    """Points that the fit finds in crowds, without noise; and the error where noise hides each point."""
    shares = 100 * crowd.found.sel(attack="non-negative fit", m=[m for m in (4, 12, 60) if m in crowd.m])
    shares = shares.assign_coords(m=[f"{m} sines" for m in shares.m.values]).rename(m="line")
    right = [100 * told_in_or_out(gaussian_sigma(epsilon, DELTA)) for epsilon in private.epsilon.values]
    words = [
        f"ε = {epsilon}, right {share:.0f} of 100" for epsilon, share in zip(private.epsilon.values, right, strict=True)
    ]
    error = private.error.assign_coords(epsilon=words).rename(epsilon="line")
    shares = shares.rename(None).assign_attrs(long_name="points found", units="%", scale="linear")
    error = error.rename(None).assign_attrs(long_name="error", units="%")
    for table in (shares, error):
        table.points.attrs["long_name"] = "points in the sums"
    colors = {m: color for m, color in zip(shares.line.values, ("0.75", OTHERS[3], ATTACK), strict=False)}
    colors |= {word: look["color"] for word, look in zip(words, ordered(len(words)), strict=True)}
    panels = {"no noise": shares, "noise that hides each point": error}
    return curves(panels, "points", "line", looks=lambda line: {"color": colors[line]}, size=(3.9, 2.9))


def coefficient(table: xarray.Dataset, networks: xarray.Dataset) -> Figure:
    """k(x): true, by one message at each choice of the equation's points, by notebook 06b's network."""
    fig, ((ax,),) = panels(1, 1, size=(5.5, 2.8))
    ax.plot(networks.x, networks.truth, color=COLORS["truth"], lw=4, alpha=0.25, label="truth")
    ax.plot(networks.x, networks.k, "-.", color=COLORS["federated"], label="federated network, 8 pieces")
    for points, dash in zip(table.points.values, ("-", ":"), strict=False):
        k = table.k.isel(level=0, seed=0).sel(points=points)
        ax.plot(table.x, k, dash, color=COLORS["sums"], label=f"one message, {points} points")
    ax.set(xlabel="x", ylabel="k(x)", ylim=(0, 1.9))
    ax.legend(fontsize=8, loc="upper left")
    return fig
