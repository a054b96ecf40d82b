"""Notebook 06 live: the unknown coefficients of all clients and of the server, on their way to the truth."""

import numpy as np

from .. import live
from ..live.views import LINES, rounds_axis
from ..live.watched import Moment, Watched
from ..live.widgets import choice, slider
from ..notebook.style import CLIENTS, COLORS
from ..problems import flow_live as problem
from ..problems.flow import TRUTH

ALT = (
    "left the way of the coefficients C1 and C2 in their plane towards the true point, of clients and of the server, "
    "below C1 over the rounds; right the clients' steps in the plane of weights, and the velocity's errors"
)


def remember(watched: Watched, moment: Moment) -> dict[str, dict[int, np.ndarray]]:
    """Append C of this moment to the training's past: of averages, of the centralised model, of clients apart [K, 2].

    A moment that is drawn twice is there once.
    """
    past, r = watched.more.past, moment.done.number + 1
    C = problem.coefficients(watched, moment.models).numpy()
    for name, own in watched.where().items():
        if moment.averaged:
            past.setdefault(name, {0: np.zeros(2)})[r] = C[own][0]
        elif name == "federated":
            past.setdefault("clients", {})[r] = C[own]
    return past


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above the plane of C1 and C2, below C1 over the rounds."""
    past, now = remember(watched, moment), moment.done.number + 1
    plane, over = axes
    for name, values in past.items():
        rounds, C = np.array([*values]), np.stack([*values.values()], -2)  # [R], [..., R, 2]
        if name == "clients":
            for k, ends in enumerate(C):
                plane.plot(*ends.T, ".", ms=3, alpha=0.4, color=CLIENTS[k])
                over.plot(rounds, ends[:, 0], ".", ms=3, alpha=0.4, color=CLIENTS[k])
            continue
        color, ls = LINES.get(name, (COLORS["federated"], "-"))
        plane.plot(*C.T, ls=ls, color=color, label=f"{name}: {C[-1, 0]:.2f}, {C[-1, 1]:.3f}")
        over.plot(rounds[1:], C[1:, 0], ls=ls, marker=".", ms=3, color=color)
    steps = problem.coefficients(watched, moment.walk[:, : moment.step + 1]).numpy()
    for k, way in enumerate(steps[watched.where()["federated"]]):
        faint = dict(alpha=0.35 if moment.averaged else 1)
        plane.plot(*way.T, "-", lw=1.5, marker=".", ms=4, color=CLIENTS[k])
        plane.plot(*way[-1], "o", ms=7, color=CLIENTS[k], label=f"client {k + 1}", **faint)
        over.plot(now, way[-1, 0], "o", ms=7, color=CLIENTS[k], **faint)
    if moment.averaged:
        C = past["federated"][now]
        plane.plot(*C, "o", ms=7, color=COLORS["federated"])
        over.plot(now, C[0], "o", ms=7, color=COLORS["federated"])
    plane.plot(*TRUTH, "*", ms=12, color=COLORS["truth"], label=f"true: {TRUTH[0]:.2f}, {TRUTH[1]:.3f}")
    plane.set(xlim=(-0.2, 1.3), ylim=(-0.12, 0.1), xlabel="$C_1$", ylabel="$C_2$")
    plane.legend(loc="lower right", ncols=2)
    over.axhline(TRUTH[0], color=COLORS["truth"], lw=0.8)
    rounds_axis(over, now)
    over.set(ylim=(-0.2, 1.3), ylabel="$C_1$")


def show() -> None:
    """The live training of notebook 06."""
    live.show(
        "06", problem.training, scene, ALT, panels=2,
        subdomains=slider([2, 4, 6, 10, 20], 2, "subdomains n", "Slabs of the flow, which the clients own in turn."),
        E=slider([1, 2, 5, 10], 5, "local steps E"),
        lr=slider([0.003, 0.01, 0.03], 0.01, "rate"),
        aliased=choice([("no", False), ("yes", True)], False, "aliased C", "Whether C moves by the sum of all steps."),
    )  # fmt: skip
