"""Trainings to play with in all rooms: a few clients learn the pendulum's operator; angles, and who owns what."""

from collections.abc import Callable, Collection
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ... import live
from ...federated.batches import Local
from ...federated.federation import Federation, centralised
from ...federated.mixing import fedavg
from ...federated.optimizers import adam, sgd
from ...live.views import color_of, draw_models
from ...live.watched import Moment, Watched
from ...live.widgets import Control, choice, slider
from ...models.networks import DeepONet, glorot_uniform
from ...notebook import style
from ...notebook.style import CLIENTS, COLORS
from ...numerics.metrics import relative_l2
from ...numerics.spaces import grf
from ...streams import stream
from .physics import half_steps, loss, pendulum_trajectories, pendulum_triplets, times

N, SENSORS, WIDTH, SCALE = 1000, 50, 40, 0.2
OPTIMIZERS = {"Adam": adam(), "SGD": sgd()}


class Angles(NamedTuple):
    """Test inputs u [n, m] that are shown and their angles x1 [n, m]; what each client owns, in words and numbers."""

    u: Tensor
    x1: Tensor
    label: str
    owned: list[np.ndarray]


@cache
def triplets(scale: float = SCALE, low: float = 1.0, high: float = 1.0) -> tuple[dict[str, Tensor], np.ndarray]:
    """N float32 triplets in the order of their stiffnesses k, which are evenly spread; and k [N]."""
    k = np.linspace(low, high, N)
    data = pendulum_triplets(N, SENSORS, scale, stream(0, "live"), k)
    return {name: value.float() for name, value in data.items()}, k


@cache
def tests(n: int = 30, low: float = 1.0, high: float = 1.0) -> tuple[Tensor, Tensor, np.ndarray]:
    """Torques [n, m], angles [n, m], stiffnesses [n]; low < high: three torques, each with n / 3 stiffnesses."""
    u = grf(half_steps(SENSORS), n if low == high else 3, SCALE, stream(1, "live"))
    u = u if low == high else np.tile(u, (n // 3, 1))
    k = np.repeat(np.linspace(low, high, n // 3), 3)
    data = pendulum_trajectories(u, k)
    return data["u"].float(), data["x1"].float(), k


def widest(u: Tensor, x1: Tensor) -> tuple[Tensor, Tensor]:
    """The torque that swings the pendulum furthest, and its angle: [1, m] each."""
    most = x1.abs().amax(1).argmax()
    return u[most, None], x1[most, None]


def learning(pool, shards, u: Tensor, x1: Tensor, shown: Angles, K: int, lr: float, optimizer: str = "Adam",
             mixing: Callable = fedavg, fraction: float = 1.0) -> Watched:  # fmt: skip
    """A small DeepONet on a pool and its shards. u [n, branch], x1 [n, m]: what errors are measured on."""
    feds = {
        "federated": Federation(shards, mixing=mixing, lr=lr, fraction=fraction),
        "centralised": centralised(shards, lr=lr),
    }
    net = DeepONet((u.shape[1], WIDTH, WIDTH), (1, WIDTH, WIDTH), domain=(0.0, 1.0))
    train_args = dict(local=Local(K, batch_size=50), optimizer=OPTIMIZERS[optimizer], init=glorot_uniform)
    sensors = times(SENSORS)

    def error(predict):
        return 100 * relative_l2(predict(u[:, None], sensors), x1).mean()

    return Watched(net, loss, pool, feds, train_args | {"dtype": torch.float32}, error, shown)


# what one sees

ALT = (
    "left true angles over time with the predictions of the clients' networks and the federated one, below what each "
    "client owns; right the clients' steps in the plane of weights, and the errors over the rounds"
)
LIMITS = {"targets s that a client owns (rad)": (-0.8, 0.8), "stiffness k that a client owns": (0.0, 2.0)}


def scene(axes, watched: Watched, moment: Moment) -> None:
    """Above the test angles, true and predicted: of several, all clients are grey; below the owners."""
    angles, owners = axes
    shown, t = watched.more, times(SENSORS)
    clients, began = (
        watched.values(rows, lambda predict: predict(shown.u[:, None], t)).numpy() for rows in watched.now(moment)
    )
    coloured = len(CLIENTS) if len(shown.x1) == 1 else 0
    for i, truth in enumerate(shown.x1.numpy()):
        angles.plot(t, truth, color=COLORS["truth"], lw=2.5, alpha=0.5, label="_truth" if i else "truth")
        draw_models(angles, t[:, 0].numpy(), clients[:, i], began[:, i], moment, not i, coloured)
    largest = shown.x1.abs().max().item()
    angles.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", xlim=(0, 1), ylim=(-1.2 * largest, 1.2 * largest))
    at_work = set(moment.done.clients.tolist())
    style.shards(shown.owned, owners, shown.label, ms=90 / (len(shown.owned) + 4), alpha=1)
    for k, line in enumerate(owners.get_lines()):
        line.set(color=color_of(k), alpha=0.6 if k in at_work else 0.08)
    owners.set(xlim=LIMITS[shown.label], ylim=(len(shown.owned) - 0.4, -0.6), yticks=(), ylabel="client, one a row")


def show(
    name: str, training: Callable[..., Watched], idle: Callable[..., Collection[str]] = lambda **values: (),
    **controls: Control,
) -> None:  # fmt: skip
    """A notebook's live training, with controls named as the training's arguments."""
    live.show(name, training, scene, ALT, 2, idle, **controls)


def steps_and_rate() -> dict[str, Control]:
    """Controls that all three have; made when they are shown, for ipywidgets keeps every widget."""
    rates = [0.001, 0.003, 0.01, 0.03, 0.1]
    return dict(K=slider([1, 5, 20, 100], 20, "local steps K"), lr=slider(rates, 0.003, "rate"))


def clients() -> Control:
    return slider([2, 3, 5, 10, 20], 5, "clients C")


def optimizer() -> Control:
    return choice(list(OPTIMIZERS), "Adam", "locally")
