"""What every federation of the paper learns: a DeepONet, from triplets (u, y, G(u)(y)) of pendulums.

Rooms say who owns which triplets, and on what is tested.
"""

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from torch import Tensor

from ...federated.batches import Local
from ...federated.experiment import Data, Experiment
from ...federated.solved import answer
from ...models.networks import DeepONet, glorot_uniform
from .physics import errors, loss, random_tests, times

WIDTH = 50
MANY = 3000


@cache
def common_tests(m: int, length_scale: float, n: int = MANY) -> dict[str, Tensor]:
    """n trajectories on which models of all seeds are tested: of 100 each, the draw is half of the seeds' scatter."""
    return random_tests(n, m, length_scale, 0, use="common test")


def measured(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``evaluate`` of ``learning``, in %, of the sets of ``physics.both_tests``.

    Returns:
        error: mean over the "GRF" trajectories; spread: their st.dev.; unseen [n]: of each of the unseen ones; the mean
        of each further set under its own name.
    """
    each = errors(predict, test)
    more = {name: values.mean() for name, values in each.items() if name not in ("GRF", "unseen")}
    return {"error": each["GRF"].mean(), "spread": each["GRF"].std(), "unseen": each["unseen"]} | more


def angles(predict: Callable, test: Mapping[str, Tensor]) -> Tensor:
    """``answer`` of ``learning``: the angle (rad) [n, m] that test["GRF u"] [n, m] causes at test["times"] [m, 1]."""
    return predict(test["GRF u"][:, None], test["times"])


def learning(
    name: str, data: Callable, *, sensors: int = 100, inputs: int = 0, width: int = WIDTH, scale_time: bool = True,
    level: str = "clients", **settings,
) -> Experiment:  # fmt: skip
    """An experiment on triplets; all that the paper prints of a training, and where it is silent our choices.

    Printed: R = 20 rounds of K = 200 steps, Adam with moments that begin anew in each, both nets m-50-50 and 1-50-50,
    ReLU. Ours: batches of 64, the rate and its fall, m = 100, Glorot's start.

    Args:
        data: (level, seed) -> ``Data``, its test of ``physics.both_tests``. sensors: m, and times at which errors are
            measured. inputs: numbers that the branch sees beside the sensors. scale_time: the trunk sees 2 y - 1.
            settings: other fields of the experiment.
    """
    net = DeepONet(
        (sensors + inputs, width, width), (1, width, width), domain=(0.0, 1.0) if scale_time else (-1.0, 1.0)
    )
    printed = {"rounds": 20, "local": Local(200, "steps", 64), "reset_moments": True}
    ours = {"lr": 0.006, "decay": 0.85, "init": glorot_uniform}
    return Experiment(
        name, net, loss=loss, data=data, evaluate=measured, answer=angles, level=level,
        constants={"times": times(sensors)}, **printed | ours | settings,
    )  # fmt: skip


def first_alone(federation: Experiment) -> Experiment:
    """Client 1 of each federation, and nobody else."""

    def data(level, seed: int) -> Data:
        everybody = federation.data(level, seed)
        return everybody._replace(owners=everybody.owners[:1], partition=False)

    return federation._replace(data=data, distance=None)


def says(experiment: Experiment, models: Mapping[str, Tensor], u: Tensor) -> dict[str, np.ndarray]:
    """What models, label -> parameters [P], say of one input of the branch u [m, ...]: label -> angle (rad) [m]."""
    points = {"GRF u": u[None], "times": experiment.constants["times"]}
    return {label: answer(experiment, theta, points)[0] for label, theta in models.items()}
