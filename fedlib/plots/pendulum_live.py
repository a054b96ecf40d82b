"""Notebooks 01 to 03 live: angles as the clients' networks predict them, and what each client owns."""

from .. import live
from ..live.stage import MIXING, OPTIMIZERS
from ..live.views import draw_models
from ..live.watched import Moment, Watched
from ..live.widgets import Control, choice, slider
from ..notebook import style
from ..notebook.style import CLIENTS, COLORS
from ..problems import pendulum
from ..problems import pendulum_live as problem

ALT = (
    "left three true angles over time with the predictions of the clients' networks and the server's, below what each "
    "client owns; right the clients' steps in the plane of weights, and the errors over the rounds"
)
LIMITS = {"targets s that a client owns (rad)": (-0.8, 0.8), "stiffness k that a client owns": (0.0, 2.0)}


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above the three test angles, true and predicted; below the owners."""
    angles, owners = axes
    shown, t = watched.more, pendulum.times(problem.SENSORS)
    clients, given = (
        watched.values(rows, lambda predict: predict(shown.u[:, None], t)).numpy() for rows in watched.now(moment)
    )
    for i, truth in enumerate(shown.x1.numpy()):
        angles.plot(t, truth, color=COLORS["truth"], lw=2.5, alpha=0.5, label="_true" if i else "true")
        draw_models(angles, t[:, 0].numpy(), clients[:, i], given[:, i], moment, label=not i)
    largest = shown.x1.abs().max().item()
    angles.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", xlim=(0, 1), ylim=(-1.2 * largest, 2.3 * largest))
    angles.legend(loc="upper left", ncols=3, frameon=True, framealpha=0.8, edgecolor="none")
    at_work = set(moment.done.clients.tolist())
    style.shards(shown.owned, owners, shown.label, ms=90 / (len(shown.owned) + 4), alpha=1)
    for k, line in enumerate(owners.get_lines()):
        line.set(color=CLIENTS[k % len(CLIENTS)], alpha=0.6 if k in at_work else 0.08)
    owners.set(xlim=LIMITS[shown.label], ylim=(len(shown.owned) - 0.4, -0.6), yticks=(), ylabel="client, one a row")


RATES = [0.001, 0.003, 0.01, 0.03, 0.1]


def show(notebook: str) -> None:
    """The live training of "01", "02" or "03"."""
    setup, controls = KINDS[notebook]
    live.show(notebook, setup, scene, ALT, panels=2, idle=idle, **controls())


def common() -> dict[str, Control]:
    return dict(K=slider([1, 5, 20, 100], 20, "local steps K"), lr=slider(RATES, 0.003, "rate"))


def idle(data: str = "", **values) -> list[str]:
    """Shards have no second field, and fields no shards."""
    return {"sorted shards": ["delta"], "two fields": ["shards_each"]}.get(data, [])


def clients() -> Control:
    return slider([2, 3, 5, 10, 20], 5, "clients C")


def optimizer() -> Control:
    return choice(list(OPTIMIZERS), "Adam", "locally")


KINDS = {
    "01": (
        problem.dealt,
        lambda: dict(
            clients=clients(),
            fraction=slider([0.2, 0.4, 0.6, 0.8, 1.0], 1.0, "share alpha"),
            **common(),
            optimizer=optimizer(),
            mixing=choice(list(MIXING)[:2], "FedAvg", "mixing"),
        ),
    ),
    "02": (
        problem.skewed,
        lambda: dict(
            data=choice(["sorted shards", "two fields"], "sorted shards", "data", "In what the clients' data differ."),
            shards_each=slider(
                [1, 2, 5, 20], 1, "shards each", "How many shards each client is dealt; more shards, more alike."
            ),
            delta=slider([0.0, 1.0, 4.0], 4.0, "Delta", "By how much the length scales of the two fields differ."),
            **common(),
            optimizer=optimizer(),
        ),
    ),
    "03": (
        problem.library,
        lambda: dict(
            spread=slider(
                [0.0, 0.25, 0.5, 1.0], 0.5, "k = 1 ±", "How far the stiffnesses of the clients' pendulums lie apart."
            ),
            told=choice(
                ["told", "hidden"], "told", "stiffness is", "Whether the network is told the stiffness of the pendulum."
            ),
            clients=clients(),
            **common(),
        ),
    ),
}
"""Of each notebook the training and its controls; made when they are shown, for ipywidgets keeps every widget."""
