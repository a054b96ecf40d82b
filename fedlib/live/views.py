"""Pictures of a training that goes on: clients drift apart in the plane of weights, the average snaps them together."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from torch import Tensor

from ..federated.partitions import private
from ..notebook.pictures import shade
from ..notebook.style import CLIENTS, COLORS, DASHES, MARKERS, OTHERS, growth, set_ticks
from .watched import Moment, Watched

LINES = {"centralised": (COLORS["centralised"], "--"), "alone": (COLORS["isolated"], ":")}
LINES |= {"on the barycenter": (OTHERS[2], "--")}
GREY = "0.65"  # clients beyond those that have a colour
ENDS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)  # rounds to which the axis goes
ERRORS = {0.5: (1, 3, 10, 30, 100), 0.005: (0.01, 0.1, 1, 10, 100), 0.00005: (0.0001, 0.01, 1, 100)}
"""The least error (%) on the axis, and its ticks; like ENDS it changes now and then only, for that is slow."""


def page(panels: int = 1) -> Figure:
    """Empty axes for ``view``: ``panels`` of a scene, or none, and those of weights and errors."""
    fig = Figure((8.2 * growth(), 4.6 * growth()), layout="constrained")
    fig.get_layout_engine().set(rect=(0, 0, 0.98, 1), wspace=0.07)  # room for ticks that come later, in the same layout
    if panels:
        rows = [[str(i // 2), "weights" if i < panels else "errors"] for i in range(2 * panels)]
        fig.subplot_mosaic(rows if panels > 2 else [rows[0], rows[-1]], width_ratios=(1.75, 1))
    else:
        fig.subplot_mosaic([["weights", "errors"]])
    return fig


def view(fig: Figure, scene: Callable, watched: Watched, moment: Moment, past: Mapping[str, list]) -> Figure:
    """Left the problem's own scene(axes, watched, moment), right the weights in this round, and the errors so far.

    The legends stand above the scene and below the errors, where no curve is; a scene that draws its own has no other.

    fig: of ``page``. What it shows from the last time goes: new axes take as long as all that is drawn in them.
    past: name -> list of (rounds, error in %), see ``remember``.
    """
    wipe(fig)
    axes = {ax.get_label(): ax for ax in fig.axes}
    if panels := [axes[name] for name in axes if name.isdigit()]:
        scene(panels, watched, moment)
        panels[0].set_title(words(moment))
        if panels[0].get_legend() is None and (shown := panels[0].get_legend_handles_labels())[0]:
            fig.legend(*shown, loc="outside upper left", ncols=len(shown[0]), columnspacing=1.2)
    else:
        axes["errors"].set_title(words(moment))
    draw_weights(axes["weights"], watched, moment)
    draw_errors(axes["errors"], {name: [] for name in ("clients", *watched.where())} | past)
    shown = axes["errors"].get_legend_handles_labels()
    fig.legend(*shown, loc="outside lower right", ncols=len(shown[0]), columnspacing=1.2)
    return fig


def wipe(fig: Figure) -> None:
    """Nothing but empty axes stays."""
    for legend in [*fig.legends]:
        legend.remove()
    for ax in fig.axes:
        for container in [*ax.containers]:  # bars: it would keep what is removed one by one
            container.remove()
        for artist in [*ax.lines, *ax.patches, *ax.collections, *ax.images, *ax.texts]:
            artist.remove()
        if (legend := ax.get_legend()) is not None:
            legend.remove()
        ax.relim()
        ax.set_prop_cycle(None)


def experiment_panels(watched: Watched) -> int:
    """How many panels ``experiment_scene`` draws: one for each field of the answer, and one for the residual of one;
    none where there is no answer, or no truth "u" at points "x" beside it."""
    shown = watched.more
    if shown.experiment.answer is None or not {"x", "u"} <= {*shown.data.test}:
        return 0
    fields = 1 if len(shown.experiment.coordinates) > 1 else as_fields(shown.data.test["u"]).shape[1]
    return fields + (fields == 1 and shown.reach is not None)


def experiment_scene(axes, watched: Watched, moment: Moment) -> None:
    """A ``watched_experiment``: on a line the networks are curves, a panel for each field, with the owners' pieces as
    shades, and a single field has its residual below; in a plane, how far the server is off at each test point."""
    experiment, data, reach = watched.more
    test, letters = data.test, experiment.coordinates
    truth = as_fields(test["u"])
    if len(letters) > 1:
        answers = watched.values(
            watched.now(moment)[1][:1], lambda predict: as_fields(experiment.answer(predict, test))
        )
        size = float(truth.abs().max())
        gap = (answers[0] - truth).norm(dim=1).clamp(size / 1e4, size)
        axes[0].scatter(*test["x"][:, :2].T.numpy(), c=gap.numpy(), norm=LogNorm(size / 1e4, size), cmap="magma", s=6)
        axes[0].set(xlabel=letters[0], ylabel=letters[1])
        return
    x, mine = test["x"][:, 0].numpy(), private(data.owners)
    points = data.pool["x"][:, 0].numpy()
    order = np.concatenate(mine)[np.argsort(points[np.concatenate(mine)], kind="stable")]
    for j, ax in enumerate(axes):
        shade(ax, points[order], [np.flatnonzero(np.isin(order, shard)) for shard in mine])
        if j < truth.shape[1]:
            what = lambda predict, j=j: as_fields(experiment.answer(predict, test))[:, j]  # noqa: E731
            low, high = float(truth[:, j].min()), float(truth[:, j].max())
            ax.plot(x, truth[:, j], color=COLORS["truth"], lw=2.5, alpha=0.5, label="truth")
            number = "" if truth.shape[1] == 1 else f" {j + 1}"
            ax.set(ylabel=f"u{number}({letters})", ylim=(low - 0.3 * (high - low), high + 0.25 * (high - low)))
        else:
            what = lambda predict: experiment.residuals(predict, test)[:, 0]  # noqa: E731
            ax.axhline(0, color="0.5", lw=0.8)
            ax.set(ylabel="residual", ylim=(-reach, reach))
        draw_models(ax, x, *(watched.values(models, what).numpy() for models in watched.now(moment)), moment)
        ax.set(xlabel=letters, xlim=(x[0], x[-1]))


def as_fields(u: Tensor) -> Tensor:
    """[n] or [n, fields] -> [n, fields]."""
    return u.reshape(len(u), -1)


def words(moment: Moment) -> str:
    """Where the training stands."""
    S = moment.walk.shape[1] - 1
    now = "averaged" if moment.averaged else f"after local step {moment.step} of {S}: clients apart"
    return f"round {moment.done.number + 1}, {now}"


def color_of(k: int, coloured: int = len(CLIENTS)) -> str:
    """A client's colour; grey for all but the first ones, or nobody could tell them apart."""
    return CLIENTS[k] if k < coloured else GREY


def draw_models(
    ax, x: np.ndarray, clients: np.ndarray, starts: np.ndarray, moment: Moment, label: bool = True,
    coloured: int = len(CLIENTS),
) -> None:  # fmt: skip
    """Curves on x [n]: of the clients [K, n], the first ones in their colours, and of what they began with or got
    [D, n]."""
    for k, fit in enumerate(clients):
        faint = dict(alpha=0.4, lw=1) if moment.averaged else dict(lw=2 if k < coloured else 1)
        name = f"client {k + 1}" if k < coloured else "other clients" if coloured else "clients"
        name = name if label and k <= coloured else f"_client {k + 1}"
        style = dict(
            ls=DASHES[k] if k < coloured else "-", color=color_of(k, coloured), zorder=2 if k < coloured else 1.5
        )
        ax.plot(x, fit, label=name, **style, **faint)
    for i, fit in enumerate(starts):
        name = ("_" if i or not label else "") + ("federated" if moment.averaged else "where the round began")
        ax.plot(x, fit, "-" if moment.averaged else "--", color=COLORS["federated"], label=name)


def remember(past: dict[str, list], watched: Watched, moment: Moment) -> dict[str, float]:
    """Append the errors (%) of a moment: of averages and of models that compare, and of clients that are apart."""
    r, now = moment.done.number + 1, {}
    first, *others = watched.where()
    for name, values in watched.errors(moment, None if moment.averaged else [first]).items():
        now[name] = float(values.mean())
    if moment.averaged:
        for name in (first, *others):
            past.setdefault(name, []).append((r, now[name]))
    else:
        past.setdefault("clients", []).append((r, now[first]))
    return now


def draw_errors(ax, past: Mapping[str, list]) -> None:
    """Errors (%) over the rounds, both logarithmic; what has none yet stands in the legend."""
    for name, values in past.items():
        values = np.reshape(values, (-1, 2)).T
        if name == "clients":
            ax.plot(*values, ".", ms=4, color="0.45", label="clients apart")
        else:
            color, ls = LINES.get(name, (COLORS["federated"], "-"))
            ax.plot(*values, ls=ls, marker=".", ms=3, color=color, label=name)
    smallest = min((e for values in past.values() for _, e in values if e > 0), default=1)
    least = next((least for least in ERRORS if least <= smallest), min(ERRORS))
    ax.set(yscale="log", ylim=(least, 500), title="error (%)")
    set_ticks(ax.yaxis, ERRORS[least], [f"{tick:.4f}".rstrip("0").rstrip(".") for tick in ERRORS[least]])
    rounds_axis(ax, max((values[-1][0] for values in past.values() if values), default=1))


def rounds_axis(ax, last: int) -> None:
    """Rounds 1 to ``last``, logarithmic; the axis grows now and then only, for that is slow."""
    end = next(end for end in ENDS if end >= min(last, ENDS[-1]))
    ax.set(xscale="log", xlim=(0.9, 1.05 * end), xlabel="round")
    ticks = [10**i for i in range(6) if 10**i <= end]
    set_ticks(ax.xaxis, ticks, [f"{tick:,}".replace(",", " ") for tick in ticks])
    ax.minorticks_off()


def plane(walk: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The walks [K, S + 1, P] from the origin in a plane [K, S + 1, 2], its axes [2, P], the lengths of the ends [K].

    First axis: the way of the clients' mean. Second: the direction across it in which their ends differ most. For two
    clients of equal weight this is the plane of both ends.
    """
    way = walk - walk[:, :1]
    ends = way[:, -1]
    ahead = ends.mean(0)
    ahead = ahead / ahead.norm().clamp_min(1e-30)
    across = ends - (ends @ ahead)[:, None] * ahead
    across = across - across.mean(0)
    most = torch.linalg.eigh(across @ across.T).eigenvectors[:, -1] @ across
    most = most * (1 if most @ ends[0] >= 0 else -1) / most.norm().clamp_min(1e-30)
    axes = torch.stack([ahead, most])
    return way @ axes.T, axes, ends.norm(dim=-1)


def draw_weights(ax, watched: Watched, moment: Moment) -> None:
    """The clients' local steps of this round, from where they began, in the plane of ``plane``; dots are steps."""
    rows = next(iter(watched.where().values()))
    K = rows.stop - rows.start
    at_work = [k for k in range(K) if rows.start + k in set(moment.done.clients.tolist())]
    walk = moment.walk[rows][at_work]
    way, axes, lengths = (part.numpy() for part in plane(walk))
    unit = max(np.abs(way).max(), 1e-30)
    for k, path in zip(at_work, way / unit, strict=True):
        color = color_of(k)
        ax.plot(*path[: moment.step + 1].T, "-", lw=1.5, marker=".", ms=4, color=color)
        marker = MARKERS[k % len(MARKERS)]
        ax.plot(*path[moment.step], marker, ms=7, color=color, alpha=0.35 if moment.averaged else 1)
        if moment.averaged:
            after = (moment.done.after[rows][k] - moment.walk[rows][k, 0]).numpy() @ axes.T / unit
            ax.plot(*np.stack([path[-1], after]).T, ":", lw=1, color="0.4")
            ax.plot(*after, "o", ms=8, color=COLORS["federated"])
    ax.plot(0, 0, "s", ms=6, color="black" if moment.averaged else COLORS["federated"])
    ax.set(xlim=(-0.35, 1.15), ylim=(-1.15, 1.15), xticks=(), yticks=())
    ax.set_xlabel("where the average goes")
    ax.set_ylabel("where clients differ")
    ax.set_title(f"weights: clients moved by {lengths.mean():.2g}")
