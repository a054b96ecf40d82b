"""Trainings to play with in notebook 03."""

import numpy as np

from ..live.watched import Watched
from ..papers.fed_deeponet import physics as pendulum
from ..papers.fed_deeponet.live import SCALE, Angles, N, learning, tests, triplets


def library(spread: float = 0.5, told: str = "told", clients: int = 5, K: int = 20, lr: float = 0.003) -> Watched:
    """Notebook 03: every client has pendulums of its own, of stiffnesses in [1 - spread, 1 + spread] in turn."""
    (pool, k), (u, x1, k_test) = triplets(SCALE, 1 - spread, 1 + spread), tests(30, 1 - spread, 1 + spread)
    hidden = told == "hidden"
    pool = pool | {"u": pendulum.with_stiffness(pool["u"], k, hidden)}
    u = pendulum.with_stiffness(u, k_test, hidden)
    shards, most = np.array_split(np.arange(N), clients), int(x1[:3].abs().amax(1).argmax())
    some = [
        most,
        len(u) // 6 * 3 + most,
        len(u) - 3 + most,
    ]  # the strongest torque, k from least to largest
    shown = Angles(u[some], x1[some], "stiffness k that a client owns", [k[own] for own in shards])
    return learning(pool, shards, u, x1, shown, K, lr)
