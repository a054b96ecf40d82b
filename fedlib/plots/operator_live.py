"""Notebook 07 live: antiderivatives of a function of each client's own kind, as all networks see them."""

from .. import live
from ..live.views import draw_models
from ..live.watched import Moment, Watched
from ..live.widgets import slider
from ..notebook.style import CLIENTS, COLORS
from ..problems import operator_live as problem

ALT = (
    "left the antiderivative of a function that client 1 might own, below of one of client 2's, true and as all "
    "networks predict it; right the clients' steps in the plane of weights, and the errors over the rounds"
)


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above a function of the kind that client 1 knows, below one of client 2's: thin the input, thick the output."""
    shown = watched.more
    y = shown.y[:, 0].numpy()
    clients, given = (watched.values(rows, lambda predict: predict(shown.v, shown.y)) for rows in watched.now(moment))
    for k, ax in enumerate(axes):
        scale = shown.s[k].abs().max().item()
        ax.plot(y, 0.5 * shown.v[k] / shown.v[k].abs().max(), lw=0.8, color=CLIENTS[k], label="input v (scaled)")
        ax.plot(y, shown.s[k] / scale, color=COLORS["truth"], lw=2.5, alpha=0.5, label="true u (scaled)")
        draw_models(ax, y, (clients[:, k] / scale).numpy(), (given[:, k] / scale).numpy(), moment)
        ax.set(xlim=(0, 1), ylim=(-2.4, 2.4), ylabel=f"of client {k + 1}'s kind")
    axes[1].set_xlabel("x")
    axes[0].legend(loc="upper left", ncols=3)


def show() -> None:
    """The live training of notebook 07."""
    live.show(
        "07", problem.training, scene, ALT, panels=2,
        level=slider(range(1, 11), 3, "level n", "Client 1 knows the first n terms, client 2 the last n."),
        E=slider([1, 5, 20, 100], 20, "local steps E"),
        lr=slider([0.001, 0.003, 0.01], 0.003, "rate"),
    )  # fmt: skip
