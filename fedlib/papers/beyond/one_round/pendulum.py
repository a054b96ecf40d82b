"""The pendulum's operator, from a torque to an angle, as a linear map: one round of sums."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated import sums
from ....federated.experiment import Data, Experiment, data_of
from ....federated.partitions import deal
from ....models.features import LinearOperator
from ....numerics.metrics import relative_l2
from ....numerics.solutions import pendulum
from ....numerics.solvers import hermite
from ....numerics.spaces import gaussian_kernel, grf
from ....numerics.tabulated import tabulated
from ....streams import stream
from .problem import timed_round

GRID = np.linspace(0, 1, 397)  # half steps of the solver, four between two of the 100 sensors, as in notebook 01


def trajectories(u: np.ndarray) -> dict[str, Tensor]:
    """Torques on GRID -> u, x1 [n, 100], both at the sensors."""
    return {"u": torch.as_tensor(u[:, ::4].copy()), "x1": torch.as_tensor(pendulum(u)[:, ::2, 0].copy())}


def linear_pendulum(inputs: int, degree: int, triplets: int) -> Experiment:
    """The operator torque -> angle as a linear map of principal inputs: the public kernel's eigenvectors.

    The data of notebook 01; as there, 100 test trajectories of the same kernel, and three inputs unlike them. A level
    is the number of clients.
    """
    t = GRID[::4]
    lam, V = np.linalg.eigh(gaussian_kernel(t, t, 0.2))
    basis = (V / np.sqrt(np.maximum(lam, 1e-14)))[:, ::-1][:, :inputs]

    def residuals(predict, batch):
        return (predict(batch["u"], batch["y"]) - batch["s"])[:, None]

    def data(level, seed: int) -> Data:
        rng = stream(seed, "train")
        u, y = grf(GRID, triplets, 0.2, rng), rng.uniform(size=triplets)
        x = pendulum(u)
        s = hermite(GRID[::2], x[..., 0], x[..., 1], y)
        pool = {name: torch.as_tensor(v) for name, v in (("u", u[:, ::4].copy()), ("y", y[:, None]), ("s", s))}
        like = trajectories(grf(GRID, 100, 0.2, stream(seed, "test")))
        unlike = trajectories(np.stack([GRID, np.sin(np.pi * GRID), GRID * np.sin(2 * np.pi * GRID)]))
        tests = like | {f"unseen {name}": value for name, value in unlike.items()}
        owners = deal(triplets, level, stream(seed, "deal", level))
        return Data(pool, owners, tests | {"times": torch.as_tensor(t[:, None])})

    def evaluate(predict, test):
        """Means over the trajectories (%)."""
        both = {"error": "", "unseen": "unseen "}
        answers = {name: predict(test[f"{prefix}u"][:, None], test["times"]) for name, prefix in both.items()}
        return {name: 100 * relative_l2(answers[name], test[f"{prefix}x1"]).mean() for name, prefix in both.items()}

    net = LinearOperator(basis.copy(), degree)
    return Experiment("pendulum", net, residuals, data=data, evaluate=evaluate, level="clients")


def pendulum_in_one_round(
    seeds: Sequence[int], triplets: int, inputs: Sequence[int], degrees: Sequence[int], clients: int = 20
) -> xarray.Dataset:
    """The pendulum's operator; gcv, error, unseen (%), bytes, seconds [inputs, degree, seed] of all that were tried."""

    def once(inputs: int, degree: int, seed: int) -> dict:
        experiment = linear_pendulum(inputs, degree, triplets)
        solution, costs = timed_round(experiment, data := data_of(experiment, clients, seed))
        with torch.no_grad():
            errors = experiment.evaluate(sums.predicting(experiment, solution.step), data.test)
        return {"gcv": solution.gcv, **{name: float(e) for name, e in errors.items()}, **costs}

    return tabulated(once, inputs=inputs, degree=degrees, seed=seeds)
