"""What the sums of the pendulum's linear map tell of the torques that they were taken over."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray

from ....federated import sums
from ....numerics.tabulated import tabulated
from ..points import inputs_behind, nearest
from .pendulum import linear_pendulum
from .problem import start

GRID = np.linspace(0, 1, 4001)
READ = 5.0  # per cent off a torque's direction


def torques_of_sums(points: Sequence[int], seeds: Sequence[int], inputs: int, degree: int) -> xarray.Dataset:
    """Torques that a server reads off the sums of a client with so many triplets (torque, time, angle).

    off (%) [points, seed]: of the middle one, from the reading whose time is nearest, as in notebook 12. share
    [points, seed]: of the torques, those read to ``READ`` %. u, truth [points, t]: the first torque, seed 0.
    """
    experiment = linear_pendulum(inputs, degree, max(points))
    basis = experiment.net.basis.numpy()

    def curve(y: np.ndarray) -> np.ndarray:
        return experiment.net.in_time(torch.as_tensor(y), 0).numpy()

    def attacked(points: int, seed: int) -> dict:
        shard = {name: value[:points] for name, value in experiment.data(1, seed).pool.items()}
        root = sums.statistics(experiment, shard, start(experiment)).matrix[:, :-1].numpy()
        x, y = inputs_behind(root.T @ root, points, curve, GRID)
        readings = x[:, 1:] @ np.linalg.pinv(basis)
        read = readings[np.abs(y - shard["y"].numpy()).argmin(1)]
        torques = shard["u"].numpy()
        off = np.array([nearest(u, torque[None])[1] for u, torque in zip(read, torques, strict=True)])
        return {
            "off": np.median(off), "share": np.mean(off < READ),
            "u": ("t", read[0]), "truth": ("t", torques[0]),
        }  # fmt: skip

    table = tabulated(attacked, points=points, seed=seeds)
    return table.assign({name: table[name].isel(seed=0) for name in ("u", "truth")})
