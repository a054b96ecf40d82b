"""Notebook 13 live: Poisson's equation, solved in one round for any pieces, points and features; ways by level."""

from collections.abc import Sequence
from functools import cache

import ipywidgets
import numpy as np
import torch
import xarray
from matplotlib.figure import Figure
from torch import Tensor

from ....federated import sums
from ....federated.experiment import Data, Experiment
from ....federated.solved import clouds_of
from ....live import widgets
from ....live.levels import Explorer, explore, owners
from ....live.widgets import slider
from ....notebook.pictures import shade
from ....notebook.style import CLIENTS, COLORS, panels
from ....numerics.metrics import percent
from ....trainings.store import stored
from ...fedsciml.forward import problem as forward
from . import study
from .figures import AXES, SUMS, race
from .problem import answers, start, with_sines

ALT = (
    "the exact solution over the pieces that two clients own, what each finds alone, and what one round of sums gives, "
    "with their errors"
)


@cache
def dealt(pieces: int, points: int) -> Data:
    """Who owns which points."""
    return forward.poisson(points).data(pieces, 0)


@cache
def rows(points: int, features: int) -> tuple[Experiment, Tensor]:
    """The rows of all points, of which each client computes its own."""
    experiment = with_sines("poisson", features, 6.0, 0)
    return experiment, sums.rows(experiment, dealt(2, points).pool, start(experiment))


def draw(pieces: int, points: int, features: int, away: bool) -> Figure:
    """Both clients own every other piece of the interval; away: client 2 sends nothing."""
    (experiment, A), data = rows(points, features), dealt(pieces, points)
    messages = [sums.Sums(torch.linalg.qr(A[k], mode="r").R, float(len(k)), True) for k in data.owners]
    alone = [sums.solve(message) for message in messages]
    together = alone[0] if away else sums.solve(sums.added(messages))
    fig, ((ax,),) = panels(1, 1, size=(6.6, 3.0))
    shade(ax, data.pool["x"][:, 0].numpy(), data.owners)
    x, truth = data.test["x"][:, 0].numpy(), data.test["u"].double().numpy()
    ax.plot(x, truth, color=COLORS["truth"], lw=4, alpha=0.25, label="the solution")
    for k, solution in enumerate(alone):
        u = answers(experiment, solution.step, data.test)
        words = f"client {k + 1} alone: off by {percent(u, truth):.3g} %"
        ax.plot(x, np.clip(u, -30, 30), color=CLIENTS[k], ls=("--", ":")[k], lw=2.5, label=words)
    u = answers(experiment, together.step, data.test)
    ax.plot(x, u, color=SUMS, lw=2, label=f"the sums: off by {percent(u, truth):.2g} %")
    ax.set(xlabel="x", ylabel="u(x)", xlim=(0, np.pi), ylim=(-2, 6))
    size = [message.bytes / 1000 for message in messages]
    ax.set_title(f"one message of each client: {size[0]:.1f} and {0 if away else size[1]:.1f} kB")
    ax.legend(loc="upper left", ncols=2, fontsize=7)
    return fig


PIECES, SINES, SEEDS = (2, 4, 8, 16, 32), (5, 10, 20, 40, 60, 120), range(5)


def explorer() -> Explorer:
    """What each client finds alone, and what one round of sums gives, for any pieces and sines: small solves."""
    data = {n: dealt(n, 32) for n in PIECES}
    test = data[2].test

    def curves_of(sines: int, seed: int) -> np.ndarray:
        """What both clients and their sums say, [pieces, model, x]."""
        experiment = with_sines("poisson", sines, 6.0, seed)
        A = sums.rows(experiment, data[2].pool, start(experiment))

        def all_three(shards: Sequence[np.ndarray]) -> list[np.ndarray]:
            messages = [sums.Sums(torch.linalg.qr(A[k], mode="r").R, float(len(k)), True) for k in shards]
            steps = [sums.solve(message).step for message in (*messages, sums.added(messages))]
            return [answers(experiment, step, test) for step in steps]

        return np.array([all_three(data[n].owners) for n in PIECES])

    x, truth = test["x"][:, 0].numpy(), test["u"].double().numpy()
    coords = {
        "pieces": [*PIECES], "sines": [*SINES], "model": ["client 1 alone", "client 2 alone", "sums"], "x": x,
        "color": ("model", ["", "", SUMS]), "truth": ("x", truth),
        "owner": (("pieces", "x"), [owners(x, clouds_of(data[n])) for n in PIECES]),
    }  # fmt: skip
    values = np.array([[curves_of(m, seed) for seed in SEEDS] for m in SINES])
    curves = xarray.DataArray(values, dims=("sines", "seed", "pieces", "model", "x"), coords=coords)
    errors = 100 * ((curves - curves.truth) ** 2).sum("x") ** 0.5 / np.linalg.norm(truth)
    first = curves.isel(seed=0).transpose("pieces", "sines", "model", "x").assign_attrs(xlabel="x", ylabel="u(x)")
    return explore(first, errors.transpose("pieces", "sines", "model", "seed"), {"pieces": 2, "sines": 60})


def stored_ways(name: str) -> dict[str, study.Way]:
    """All ways of an equation, as the paper profile has them."""
    names = (f"{prefix}_{name}" for prefix in ("rules", "newton", "one_round"))
    return study.ways(name, {each: stored(study, each) for each in names})


def race_slider() -> ipywidgets.VBox:
    """A slider over the levels of each equation, before what is stored."""
    equations = {name: stored_ways(name) for name in study.TITLES}
    controls = {
        name: slider(
            ways["one round of sums"].error.level.values.tolist(),
            study.SHOWN[name],
            f"{AXES[name].split()[0]} of {study.TITLES[name]}",
        )
        for name, ways in equations.items()
    }
    alt = "error against rounds and against megabytes: FedAvg, the best rule, Gauss-Newton, and one round of sums"
    return widgets.explore(lambda **levels: race(equations, levels), alt, **controls)
