"""What trained models say at an experiment's test points, by level and label: what pictures and claims take."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .experiment import Data, Experiment, data_of
from .history import History
from .partitions import private
from .stack import predict
from .sweep import models_of, whole_levels


class Solved(NamedTuple):
    """An experiment and what models of several levels say at its test points, ready to be drawn.

    x [T, d], truth [T]: where and what it is. limits: of absolute errors, the same for all levels. clouds: level ->
    each client's points [n, d]. distances: level -> that of the clients. models: level -> label -> answer [T].
    """

    experiment: Experiment
    x: np.ndarray
    truth: np.ndarray
    limits: tuple[float, float]
    clouds: Mapping[int, Sequence[np.ndarray]]
    distances: Mapping[int, float]
    models: Mapping[int, Mapping[str, np.ndarray]]


def answer(experiment: Experiment, theta: Tensor, points: Mapping[str, Tensor]) -> np.ndarray:
    """What the network with parameters theta [P] says at some points, see ``Experiment.answer``."""
    with torch.no_grad():
        points = {name: value.to(theta.dtype) for name, value in points.items()}
        return experiment.answer(partial(predict, experiment.net, theta), points).numpy()


def solved(
    experiment: Experiment, rows: Mapping[int, Mapping[str, Tensor]], distances: Mapping[int, float]
) -> Solved:  # fmt: skip
    """Evaluate models, level -> label -> parameters [P], at the experiment's test points; distances: of each level."""
    data = {level: data_of(experiment, level) for level in rows}
    test = next(iter(data.values())).test
    truth, x = test["u"].numpy(), test["x"].numpy()
    models = {n: {label: answer(experiment, row, test) for label, row in named.items()} for n, named in rows.items()}
    gaps = [np.abs(u - truth) for named in models.values() for u in named.values()]
    top = max(gap.max() for gap in gaps)
    limits = (max(top / 1e6, min(np.median(gap) for gap in gaps) / 3), top)
    clouds = {level: clouds_of(dealt) for level, dealt in data.items()}
    return Solved(experiment, x, truth, limits, clouds, distances, models)


def stored_solutions(history: History, experiment: Experiment) -> Solved:
    """What the models of the first seed say, at all levels."""
    seed = history.labels("seed")[0]
    rows = {level: labelled(history, level, seed) for level in whole_levels(history)}
    return solved(experiment, rows, history.distance)


def labelled(history: History, level: int, seed: int) -> dict[str, Tensor]:
    """Label -> parameters [P] of all models of a level and a seed, as pictures name them."""
    alone = {f"isolated client {k + 1}": row for k, row in enumerate(models_of(history, "isolated", level, seed))}
    return alone | {kind: models_of(history, kind, level, seed)[0] for kind in ("federated", "centralised")}


def clouds_of(data: Data) -> list[np.ndarray]:
    """Each client's own points [n, d], without those that all share."""
    return [data.pool["x"][shard].numpy() for shard in private(data.owners)]


def owners(x: np.ndarray, clouds: list[np.ndarray]) -> np.ndarray:
    """The number of the client who has the nearest point, at each place x [n]; clouds: their points [m, 1]."""
    return np.argmin([np.abs(x[:, None] - cloud[:, 0]).min(1) for cloud in clouds], 0)
