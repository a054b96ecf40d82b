"""Fig. 3 of FedSciML: the paths of server, clients and centralised model in the plane of two principal components."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import ipywidgets
import numpy as np
from matplotlib.figure import Figure

from ..notebook.style import CLIENTS, COLORS, around, log_axis, panels
from ..notebook.widgets import explore
from ..problems.function_paths import Paths, plane

SERVER = {"color": COLORS["federated"], "lw": 2}
CENTRAL = {"color": COLORS["centralised"], "ls": "--", "lw": 1.5}


class Flat(NamedTuple):
    """Paths in planes: the whole training in one plane, every round in one of its own.

    server, central [R, 2]: after each round. start [2]. shares [2]: of the variance. near: for each round (clients
    [1, K, E + 1, 2], server [2, 2], central or None, the plane's shares) with the server's model in the origin. first:
    the same for rounds 1 and 2 in one plane, server [3, 2], with the centralised steps [2 E + 1, 2].
    """

    rounds: np.ndarray
    server: np.ndarray
    central: np.ndarray
    start: np.ndarray
    shares: np.ndarray
    near: Sequence[tuple]
    first: tuple
    apart: np.ndarray


def flat(paths: Paths) -> Flat:
    """All projections at once, so that a slider only draws."""
    ends = np.concatenate([paths.server[:, 1], paths.central[:, -1], paths.server[:1, 0]])
    middle, axes, shares = plane(ends)
    server, central, start = np.split((ends - middle) @ axes.T, np.cumsum([len(paths.rounds)] * 2))
    each = [near(paths.clients[i : i + 1], paths.server[i]) for i in range(len(paths.rounds))]
    two = int(len(paths.rounds) > 1 and paths.rounds[1] == 2) + 1  # rounds that follow each other
    ahead = np.concatenate([paths.central[0], *paths.central[1:two, 1:]])
    both = near(paths.clients[:two], np.concatenate([paths.server[0], *paths.server[1:two, 1:]]), ahead)
    return Flat(paths.rounds, server, central, start[0], shares, each, both, paths.apart())


def near(clients: np.ndarray, server: np.ndarray, central: np.ndarray | None = None) -> tuple:
    """Local steps [n, K, E + 1, P] of rounds that follow each other in the plane of their own: see ``Flat``."""
    shown = [clients.reshape(-1, clients.shape[-1]), server, *([] if central is None else [central])]
    _, axes, shares = plane(np.concatenate(shown) - server[0])
    turn = axes * np.where((server[-1] - server[0]) @ axes.T < 0, -1, 1)[:, None]  # ahead is to the right, and up
    parts = (None if part is None else (part - server[0]) @ turn.T for part in (clients, server, central))
    return *parts, shares


def draw_near(ax, clients: np.ndarray, server: np.ndarray, central: np.ndarray | None, shares: np.ndarray) -> None:
    """The local steps of rounds from the server's model on, their mean, and as many centralised steps."""
    for r, steps_of in enumerate(clients):
        for k, steps in enumerate(steps_of):
            name = f"_{k}" if r else f"client {k + 1}, each step"
            ax.plot(*steps.T, marker=".", color=CLIENTS[k % len(CLIENTS)], label=name)
            ax.plot(*np.stack([steps[-1], server[r + 1]]).T, ":", lw=1, color="0.5", label="_mean")
    if central is not None:
        ax.plot(*central.T, marker=".", **CENTRAL, label="centralised")
    ax.plot(*server.T, marker="o", ms=5, **SERVER, label="server")
    ax.set(xlabel=f"PC 1 ({shares[0]:.0%})", ylabel=f"PC 2 ({shares[1]:.0%})")


def draw_far(ax, of: Flat, i: int | None = None) -> None:
    """The whole training; i: up to this entry of its rounds, the rest faint."""
    now = slice(None if i is None else i + 1)
    for path, style, name in ((of.central, CENTRAL, "centralised"), (of.server, SERVER, "server")):
        whole = np.concatenate([of.start[None], path])
        ax.plot(*whole.T, **style | {"alpha": 0.2, "label": f"_{name}"})
        ax.plot(*np.concatenate([of.start[None], path[now]]).T, **style, label=name)
        ax.plot(*path[now][-1], "o", ms=6, color=style["color"], label="_now")
    ax.plot(*of.start, "k*", ms=9, label="start")
    ax.set(xlabel=f"PC 1 ({of.shares[0]:.0%})", ylabel=f"PC 2 ({of.shares[1]:.0%})")


def draw_apart(ax, paths: Mapping[int, Flat], i: int | None = None) -> None:
    """Distance of server and centralised model over the rounds; subdomains -> paths."""
    for (n, of), ls, marker in zip(paths.items(), ("-", "--", ":", "-."), "os^D", strict=False):
        ax.plot(of.rounds, of.apart, ls=ls, marker=marker, ms=3, color=COLORS["federated"], label=f"{n} subdomains")
    ax.set(xlabel="round $l$", ylabel=r"$|\theta_{fed} - \theta_{central}|$")
    log_axis(ax.xaxis)
    ax.legend(loc="upper left")


def figure_3(paths: Mapping[int, Flat]) -> Figure:
    """The first two rounds at the coarsest partition, the whole training at every one, and the distance."""
    first = next(iter(paths.values()))
    fig, axes = panels(1, len(paths) + 2, size=(2.7, 2.7))
    draw_near(axes[0, 0], *first.first)
    axes[0, 0].set_title(f"the first rounds, {next(iter(paths))} subdomains")
    for ax, (n, of) in zip(axes[0, 1:], paths.items(), strict=False):
        draw_far(ax, of)
        ax.set_title(f"{of.rounds[-1]} rounds, {n} subdomains")
    draw_apart(axes[0, -1], paths)
    axes[0, -1].set_title("how far apart")
    near_by, far = (ax.get_legend_handles_labels() for ax in axes[0, :2])
    fig.legend(*(near_by[i] + far[i][-1:] for i in (0, 1)), loc="outside upper center", ncols=5)  # and the start
    return fig


def draw_paths(paths: Mapping[int, Flat], subdomains: int, round: int) -> Figure:
    """One step of the slider: left the training so far, right this round magnified."""
    of = paths[subdomains]
    i = int(np.searchsorted(of.rounds, round))
    fig, ((far, close),) = panels(1, 2, size=(3.7, 3.1))
    draw_far(far, of, i)
    draw_near(close, *of.near[i])
    b = around(*of.near[i][:2])
    close.set(xlim=b, ylim=b)
    far.set_title(f"up to round {round}: {of.apart[i]:.3g} apart")
    close.set_title(f"round {round}, magnified")
    steps, whole = (ax.get_legend_handles_labels() for ax in (close, far))
    fig.legend(*(steps[i][:-1] + whole[i] for i in (0, 1)), loc="outside upper center", ncols=3)
    return fig


def paths_explorer(paths: Mapping[int, Flat]) -> ipywidgets.VBox:
    """Fig. 3 with a slider for the round."""
    rounds = next(iter(paths.values())).rounds.tolist()
    return explore(
        lambda **chosen: draw_paths(paths, **chosen),
        "left the paths of server and centralised model up to a round, right the clients' local steps in it",
        subdomains=ipywidgets.SelectionSlider(options=list(paths)),
        round=ipywidgets.SelectionSlider(options=rounds, value=rounds[len(rounds) // 2]),
    )
