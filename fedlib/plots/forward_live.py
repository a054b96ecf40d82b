"""Notebook 05 live: Poisson's equation, the clients' solutions and their residuals."""

from ..notebook import live
from ..notebook.live_views import draw_models
from ..notebook.style import COLORS
from ..notebook.watching import Moment, Training
from ..notebook.widgets import slider
from ..problems import forward_live as problem
from .functions import shade

ALT = (
    "left the exact solution and those of the clients and the server, below their residuals, with the owners of the "
    "pieces as shades; right the clients' steps in the plane of weights, and the errors over the rounds"
)


def scene(axes, training: Training, moment: Moment) -> None:
    """Above u, below the residual -u'' - f: small where a client has points, free elsewhere."""
    at, exact = problem.on_a_fine_grid()
    x = at["x"][:, 0].numpy()
    above, below = axes
    for ax, what in ((above, problem.solution), (below, problem.residual)):
        shade(ax, training.more, training.federations["federated"].shards)
        if ax is above:
            ax.plot(x, exact, color=COLORS["truth"], lw=2.5, alpha=0.5, label="exact")
        draw_models(ax, x, *(training.of(rows, what).numpy() for rows in training.now(moment)), moment)
    above.set(ylabel="u(x)", ylim=(-1, 6.5), xlim=(0, x[-1]))
    below.axhline(0, color="0.5", lw=0.8)
    below.set(xlabel="x", ylabel="residual", ylim=(-25, 25), xlim=(0, x[-1]))
    above.legend(loc="upper left", ncols=2)


def show() -> None:
    """The live training of notebook 05."""
    live.show(
        "05", problem.training, scene, ALT, panels=2,
        subdomains=slider([2, 4, 8, 16, 32], 2, "subdomains n"),
        E=slider([1, 5, 20, 50], 20, "local steps E"),
        lr=slider([0.0003, 0.001, 0.003, 0.01], 0.003, "rate"),
    )  # fmt: skip
