"""Pictures of what a server reads off a client's message, and of a federation of machines."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ....notebook.style import CLIENTS, COLORS, log_axis, panels
from ....numerics.metrics import mean_sd
from .attack import scaled

MADE = {"SGD": "gradient descent", "Adam": "Adam"}
ATTACKS = {"span": "by the span", "fit": "by the fit"}
STEPS = {1: "-", 5: "--", 20: "-.", 100: ":"}


def steps(E: int) -> str:
    return f"{E} local step{'s' * (E != 1)}"


def curve(ax: Axes, u: np.ndarray, torques: np.ndarray, title: str) -> None:
    """What was read [m], and the client's torques [n, m], all with r.m.s. 1."""
    t, many = np.linspace(0, 1, len(u)), len(torques) > 1
    look = {"color": "0.6", "lw": 1} if many else {"color": COLORS["truth"], "lw": 3.5}
    for i, torque in enumerate(scaled(torques)[:20]):
        ax.plot(t, torque, label="_" if i else f"the client's torque{'s' * many}", **look)
    ax.plot(t, scaled(u), color=COLORS["isolated"], lw=1.8, label="read by the server")
    ax.set(xlabel="t (s)", ylabel="torque, r.m.s. 1", ylim=(-3.8, 3.8), xlim=(0, 1), title=title)
    ax.legend(loc="lower left")


def guessing(ax: Axes) -> None:
    ax.axhline(50, color="0.6", lw=1, ls="--")
    ax.text(0.3, 49, "guessing", va="top", fontsize=8, color="0.4", transform=ax.get_yaxis_transform())
    ax.set(ylabel="pairs of points told apart (%)", ylim=(40, 103))


def sizes(ax: Axes, points: Sequence[int]) -> None:
    """The axis of the number of points, with a tick where each is."""
    ax.set_xscale("log")
    ax.set_xticks(points, [f"{n:g}" for n in points])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("points of a client")


def pairs(ax: Axes, messages: xarray.Dataset, attack: str, E: Sequence[int]) -> None:
    """Mean over the clients of the pairs that an attack tells apart, against the points; bars: st.dev. of the mean."""
    for optimizer, color, marker in (("SGD", COLORS["isolated"], "o"), ("Adam", COLORS["federated"], "s")):
        for n in E:
            values = messages[attack].sel(optimizer=optimizer, E=n)
            mean, sd = mean_sd(values, "client")
            ax.errorbar(
                values.points, mean, sd / np.sqrt(values.sizes["client"]), color=color, marker=marker, ms=4,
                ls=STEPS.get(n, "-"), label=f"{MADE[optimizer]}, {steps(n)}",
            )  # fmt: skip
    sizes(ax, messages.points.values)
    guessing(ax)
    ax.set_title(ATTACKS[attack])


def answer(messages: xarray.Dataset, torques: Mapping[int, np.ndarray]) -> Figure:
    """The first client's torques and what is read of its message, with the fewest and the most points and the most
    steps of gradient descent; right what two other attacks tell after five steps of Adam. torques: points -> [n, m]."""
    fig, (axes,) = panels(1, 3, size=(3.1, 2.8))
    points, E = messages.points.values.tolist(), int(messages.E.max())
    for ax, n in zip(axes, (points[0], points[-1]), strict=False):
        u = messages.u.sel(optimizer="SGD", E=E, points=n).values
        curve(ax, u, torques[n], f"{n} point{'s' * (n > 1)}\n{steps(E)} of gradient descent")
    for attack, color, marker in (("span", COLORS["federated"], "s"), ("fit", COLORS["paper"], "^")):
        values = messages[attack].sel(optimizer="Adam", E=5).mean("client")
        axes[2].plot(points, values, color=color, marker=marker, label=ATTACKS[attack])
    sizes(axes[2], points)
    guessing(axes[2])
    axes[2].set_title("other attacks\n5 local steps of Adam")
    axes[2].legend(loc="upper right")
    return fig


def off(messages: xarray.Dataset) -> Figure:
    """How far what is read is from the client's nearest torque, against its points: median over the clients; grey from
    the nearest torque of another client, with one step."""
    fig, (axes,) = panels(1, messages.sizes["optimizer"], size=(3.9, 2.8), sharey=True)
    for ax, optimizer in zip(axes, messages.optimizer.values.tolist(), strict=True):
        table = messages.sel(optimizer=optimizer)
        for i, E in enumerate(table.E.values.tolist()):
            shade = 0.35 + 0.65 * (i + 1) / table.sizes["E"]
            middle = table.off.sel(E=E).median("client")
            look = {"color": COLORS["isolated"], "alpha": shade, "ls": STEPS.get(E, "-"), "marker": "o", "ms": 4}
            ax.plot(middle.points, middle, label=steps(E), **look)
        nobody = table.off_other.isel(E=0).median("client")
        ax.plot(nobody.points, nobody, color="0.5", lw=1, marker="x", ms=4, label="to another client's torque")
        sizes(ax, table.points.values)
        ax.set(title=MADE[optimizer], ylim=(-3, 103))
    axes[0].set_ylabel("off the nearest torque (%), 100 sin φ")
    axes[-1].legend(loc="lower center", ncols=2)
    return fig


def attacks(messages: xarray.Dataset, wire: tuple[int, xarray.Dataset] | None = None) -> Figure:
    """Left by the span, right by the fit: pairs told apart, after few and many steps. wire: points, and what recorded
    messages tell."""
    fig, (axes,) = panels(1, len(ATTACKS), size=(3.9, 2.8), sharey=True)
    E = messages.E.values.tolist()
    for ax, attack in zip(axes, ATTACKS, strict=True):
        pairs(ax, messages, attack, sorted({E[min(1, len(E) - 1)], E[-1]}))
        if wire:
            mean = wire[1][attack].mean()
            ax.plot(wire[0], mean, "*", ms=12, mfc="none", color=COLORS["truth"], label="recorded messages", zorder=5)
    axes[1].set_ylabel("")
    axes[1].legend(loc="upper right")
    return fig


def rows(messages: xarray.Dataset, attack: str) -> list[list[str]]:
    """For a table: means over the clients, a row for each optimiser and number of local steps."""
    mean = messages[attack].mean("client")
    return [
        [f"{MADE[optimizer]}, E = {E}", *(f"{x:.1f}" for x in mean.sel(optimizer=optimizer, E=E).values)]
        for optimizer in messages.optimizer.values.tolist()
        for E in messages.E.values.tolist()
    ]


# a federation of machines: who sees what, how it learns, what a round costs

LOOKS = {
    "in one process": {"color": COLORS["truth"], "marker": "o"},
    "a loop over the sites": {"color": COLORS["federated"], "marker": "s"},
}


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


def training(losses: Mapping[str, np.ndarray], together: np.ndarray) -> Figure:
    """The mean loss of each site's clients by round [R], and of all clients in one process [R]."""
    fig, ((ax,),) = panels(size=(5.4, 2.8))
    rounds = np.arange(1, len(together) + 1)
    for i, (name, values) in enumerate(losses.items()):
        ax.plot(rounds, values, color=CLIENTS[i % len(CLIENTS)], label=f"clients of {name}")
    some = np.unique(np.linspace(0, len(rounds) - 1, 12).astype(int))
    ax.plot(rounds[some], together[some], "o", ms=5, mfc="none", color=COLORS["truth"], label="all, in one process")
    ax.set(xlabel="round", ylabel="training loss (rad²)")
    log_axis(ax.yaxis)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend()
    return fig


def price(
    clients: Sequence[int], seconds: Mapping[str, Sequence[float]], down: Sequence[int], up: Sequence[int],
    data: Sequence[int],
) -> Figure:  # fmt: skip
    """Of a round, against clients per site [n]: seconds in one process and over messages, megabytes each way.

    data: bytes of all points, which would be sent once instead.
    """
    fig, (axes,) = panels(1, 2, size=(3.6, 2.8))
    left, right = axes
    for name, values in seconds.items():
        left.plot(clients, 1000 * np.asarray(values), label=name, ms=5, **LOOKS[name])
    left.set(ylabel="ms a round", ylim=(0, 1.3 * max(1000 * np.max(v) for v in seconds.values())))
    for words, values, look in (
        ("from sites to server", up, {"color": COLORS["federated"], "marker": "s"}),
        ("from server to sites", down, {"color": COLORS["light"], "marker": "v", "lw": 2.5}),
        ("the points, sent once", data, {"color": COLORS["centralised"], "ls": "--"}),
    ):
        right.plot(clients, np.asarray(values) / 1e6, label=words, ms=5, **look)
    right.set(ylabel="MB a round, all sites")
    log_axis(right.yaxis)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_xticks(clients, [f"{n}" for n in clients])
        ax.set_xticks([], minor=True)
        ax.set(xlabel="clients per site")
        ax.legend()
    return fig
