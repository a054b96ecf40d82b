"""Pictures and tables of what a server reads off a client's message, and of a federation of machines."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....files import packed
from ....machines.messages import Heard, size
from ....notebook.pictures import curves
from ....notebook.style import CLIENTS, COLORS, panels
from .attack import scaled

MADE = {"SGD": "gradient descent", "Adam": "Adam"}
ATTACKS = {"span": "by the span", "fit": "by the fit"}
DASHES = {"1 local step": "-", "5 local steps": "--", "20 local steps": "-.", "100 local steps": ":"}
COLOR = {"gradient descent": COLORS["isolated"], "Adam": COLORS["federated"]}
GUESSING = 50  # % of pairs


def steps(E: int) -> str:
    return f"{E} local step{'s' * (E != 1)}"


def named(values: xarray.DataArray, words: str) -> xarray.DataArray:
    """Shares in % [..., points], with what their axes say."""
    values = values.rename(None).assign_attrs(long_name=words, units="%", scale="linear")
    values.points.attrs["long_name"] = "points of a client"
    return values


def off(messages: xarray.Dataset) -> Figure:
    """How far what is read is from the client's nearest torque, against its points: median over the clients; grey from
    the nearest torque of another client, with one step."""
    median = messages.off.median("client")
    other = messages.off_other.isel(E=[0]).median("client").assign_coords(E=["to another client's torque"])
    lines = xarray.concat([median.assign_coords(E=[steps(E) for E in median.E.values.tolist()]), other], "E")
    lines = named(lines, "off the nearest torque")
    shades = dict(zip(lines.E.values[:-1].tolist(), np.linspace(0.35, 1, median.sizes["E"] + 1)[1:], strict=True))

    def look(line: str) -> dict:
        if line not in shades:
            return {"color": "0.5", "lw": 1, "marker": "x"}
        return {"color": COLORS["isolated"], "alpha": shades[line], "ls": DASHES.get(line, "-")}

    by_optimizer = {MADE[name]: lines.sel(optimizer=name) for name in lines.optimizer.values.tolist()}
    return curves(by_optimizer, "points", "E", looks=look, size=(3.9, 2.6), share=True)


def attacks(messages: xarray.Dataset) -> Figure:
    """Left by the span, right by the fit: pairs told apart, a mean over the clients, after few and many steps."""
    E = messages.E.values.tolist()
    shown, shares = sorted({E[min(1, len(E) - 1)], E[-1]}), {}
    for attack, words in ATTACKS.items():
        mean = messages[attack].mean("client")
        lines = {
            f"{MADE[optimizer]}, {steps(n)}": mean.sel(optimizer=optimizer, E=n, drop=True)
            for optimizer in mean.optimizer.values.tolist()
            for n in shown
        }
        shares[words] = named(
            xarray.concat(lines.values(), xarray.Variable("way", [*lines])), "pairs of points told apart"
        )

    def look(way: str) -> dict:
        made, _, words = way.partition(", ")
        return {"color": COLOR[made], "marker": "os"[made == "Adam"], "ls": DASHES.get(words, "-")}

    fig = curves(shares, "points", "way", looks=look, size=(3.9, 2.6), share=True)
    for ax in fig.axes:
        guessing(ax)
    return fig


def guessing(ax: Axes) -> None:
    ax.axhline(GUESSING, color="0.6", lw=1, ls="--")
    ax.text(0.3, GUESSING - 1, "guessing", va="top", fontsize=8, color="0.4", transform=ax.get_yaxis_transform())


def answer(messages: xarray.Dataset, torques: Mapping[int, np.ndarray]) -> Figure:
    """The first client's torques and what is read of its message, with the fewest and the most points and the most
    steps of gradient descent; right what two other attacks tell after five steps of Adam. torques: points -> [n, m]."""
    fig, (axes,) = panels(1, 3, size=(3.1, 2.8))
    points, E = messages.points.values.tolist(), int(messages.E.max())
    for ax, n in zip(axes, (points[0], points[-1]), strict=False):
        u, many = messages.u.sel(optimizer="SGD", E=E, points=n).values, n > 1
        t, look = (
            np.linspace(0, 1, len(u)),
            {"color": "0.6", "lw": 1} if many else {"color": COLORS["truth"], "lw": 3.5},
        )
        for i, torque in enumerate(scaled(torques[n])[:20]):
            ax.plot(t, torque, label="_" if i else f"the client's torque{'s' * many}", **look)
        ax.plot(t, scaled(u), color=COLORS["isolated"], lw=1.8, label="read by the server")
        ax.set(xlabel="t (s)", ylabel="torque, r.m.s. 1", ylim=(-3.8, 3.8), xlim=(0, 1))
        ax.set_title(f"{n} point{'s' * many}\n{steps(E)} of gradient descent")
        ax.legend(loc="lower left")
    right = axes[2]
    for attack, color, marker in (("span", COLORS["federated"], "s"), ("fit", COLORS["paper"], "^")):
        values = messages[attack].sel(optimizer="Adam", E=5).mean("client")
        right.plot(points, values, color=color, marker=marker, label=ATTACKS[attack])
    guessing(right)
    right.set(xscale="log", xlabel="points of a client", ylabel="pairs of points told apart (%)", ylim=(40, 103))
    right.set_xticks(points, [f"{n:g}" for n in points])
    right.set_xticks([], minor=True)
    right.set_title("other attacks\n5 local steps of Adam")
    right.legend(loc="upper right")
    return fig


def who_sees(points: Mapping[str, Sequence[int]], models: Mapping[str, Sequence[int]]) -> Figure:
    """Machine -> clients whose points it has in its memory (squares), and whose own models it gets (rings)."""
    machines = list(points)
    K = 1 + max(k for clients in points.values() for k in clients)
    fig, ((ax,),) = panels(size=(7.4, 0.42 * len(machines) + 0.9))
    for i, name in enumerate(machines):
        clients, received = points[name], models.get(name, ())
        ax.plot(clients, [i] * len(clients), "s", ms=9, color=CLIENTS[i % len(CLIENTS)])
        ax.plot(received, [i] * len(received), "o", ms=9, mfc="none", mew=1.5, color=COLORS["federated"])
    ax.set(xticks=range(K), yticks=range(len(machines)), yticklabels=machines, xlabel="client")
    ax.set(xlim=(-0.7, K - 0.3), ylim=(len(machines) - 0.5, -0.5))
    ax.tick_params(length=0)
    square, ring = (Line2D([], [], ls="", marker=m, ms=8, mew=1.5, color=c, mfc=f) for m, c, f in (
        ("s", "0.4", "0.4"), ("o", COLORS["federated"], "none"),
    ))  # fmt: skip
    words = ["has the client's points", "receives the client's own model"]
    fig.legend([square, ring], words, loc="outside upper center", ncols=2)
    return fig


# tables


def rows(messages: xarray.Dataset, attack: str) -> list[list[str]]:
    """Means over the clients, a row for each optimiser and number of local steps."""
    mean = messages[attack].mean("client")
    return [
        [f"{MADE[optimizer]}, E = {E}", *(f"{x:.1f}" for x in mean.sel(optimizer=optimizer, E=E).values)]
        for optimizer in messages.optimizer.values.tolist()
        for E in messages.E.values.tolist()
    ]


RECORD_HEADER = ["message", "from", "to", "what is in it", "bytes of numbers", "packed"]


def record(heard: Sequence[Heard]) -> list[list[str]]:
    """Rows of RECORD_HEADER: what is in a message, "rows 7 x 5681", and its bytes, without and with its packing."""
    return [
        [
            {"round": f"round {h.number + 1}", "mixed": f"in round {h.number + 1}"}.get(h.what, h.what),
            *((h.site, "server") if h.up else ("server", h.site)),
            ", ".join(f"{name} {' x '.join(map(str, np.shape(v)))}".strip() for name, v in h.content.items()),
            f"{size(h.content):,}",
            f"{len(packed(h.content)):,}",
        ]
        for h in heard
    ]


def price_rows(price: Mapping[str, Mapping | Sequence]) -> list[list[str]]:
    """Against clients per site, of ``study.prices``: megabytes of a round, and CPU time over that of one process."""
    words = {"down": "down, all sites", "up": "up, all sites", "data": "of all points, once"}
    lines = [[f"MB {text}", *(f"{b / 1e6:.2f}" for b in price[name])] for name, text in words.items()]
    (_, alone), *others = price["seconds"].items()
    for name, seconds in others:
        ratios = (f"{x:.1f}" for x in np.array(seconds) / alone)
        lines.append([f"CPU time over one process's, {name}", *ratios])
    return lines
