"""Allen-Cahn's equation, which is not linear: Gauss-Newton by sums, in windows of time."""

import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated import sums
from ....federated.experiment import Data, Experiment, data_of
from ....federated.pinn import Equation, pinn
from ....models.features import Products, polynomials, sines
from ....numerics.metrics import percent
from ....numerics.tabulated import tabulated
from ...fedsciml.forward import problem as forward
from .problem import answers, start


def window(
    lines: int, times: int, level: int, a: float, b: float, waves: int, degree: int, before: Tensor
) -> tuple[Experiment, Data]:  # fmt: skip
    """Allen-Cahn's equation for a <= t < b, from what is known at t = a: (experiment, data).

    u = g + (t - a) N with N = sum c_jk sin(j pi (x + 1) / 2) T_k(t), so that u = -1 at both ends; g = x^2 cos(pi x) +
    before . sin.
    """
    whole = forward.allen_cahn(2, lines, times, 5 * lines, 10 * lines)
    data = data_of(whole, level)
    end = 1.0 if b < 1 else 2.0  # the last window has its end, too
    inside = lambda x: ((x[:, 1] > a - 1e-9) & (x[:, 1] < end * b - 1e-9)).numpy()  # noqa: E731
    in_pool, in_test = inside(data.pool["x"]), inside(data.test["x"].double())
    place = np.cumsum(in_pool) - 1
    owners = [place[shard[in_pool[shard]]] for shard in data.owners]
    _, of_x = sines(waves, -1.0, 1.0)
    equation = Equation(
        operator=lambda u: u["t"] - 1e-3 * u["xx"] + 5.0 * (u[""] ** 3 - u[""]),
        f=lambda x: 0 * x[:, 0],
        g=lambda x: x[:, 0] ** 2 * (torch.pi * x[:, 0]).cos() + of_x(x[:, 0], 0) @ before,
        b=lambda x: x[:, 1] - a,
        solution=lambda x: torch.zeros_like(x[:, 0]),
        derivatives=["t", "xx"],
    )
    experiment = pinn(
        "Allen-Cahn", equation, (2, 1, 1), "xt",
        points=lambda level: (data.pool["x"][in_pool], owners), test=data.test["x"][in_test].double().numpy(), rounds=1,
    )  # fmt: skip
    net = Products({"x": sines(waves, -1.0, 1.0), "t": polynomials(degree, a, b)}, ("t", "xx"))
    truth = {"u": data.test["u"][in_test]}
    dealt = experiment.data(level, 0)
    return experiment._replace(net=net), dealt._replace(test=dict(dealt.test) | truth, partition=False)


def allen_cahn_in_windows(
    lines: int, times: int, windows: int, waves: Sequence[int], degrees: Sequence[int], level: int = 2, most: int = 20
) -> xarray.Dataset:
    """Allen-Cahn's equation by Gauss-Newton in windows of time, each from where the last one ended.

    error (%), gcv, rounds in all, bytes that a client sends, seconds [waves, degree]: of all features that were tried.
    gcv: n r^T r / (n - P)^2 at the end, its mean over windows; infinite where there are as many features as points.
    """

    def marched(waves: int, degree: int) -> dict:
        before, began = torch.zeros(waves, dtype=torch.float64), time.process_time()
        score, rounds, size, answer, truth = [], 0.0, 0.0, [], []
        for a, b in pairwise(np.linspace(0, 1, windows + 1).tolist()):
            experiment, data = window(lines, times, level, a, b, waves, degree, before)
            iterates = sums.gauss_newton(experiment, data, start(experiment), most, damping=1e-8, least=1e-3)
            theta, n = iterates.theta[-1], len(data.pool["x"])
            score.append(n * iterates.loss[-1] / (n - len(theta)) ** 2 if n > len(theta) else np.inf)
            rounds, size = rounds + len(iterates.loss), size + iterates.bytes[-1] / len(data.owners)
            answer.append(answers(experiment, theta, data.test))
            truth.append(data.test["u"].double().numpy())
            before = before + (b - a) * theta.reshape(waves, degree).sum(1)  # T_k(b) = 1
        e = percent(np.concatenate(answer), np.concatenate(truth))
        seconds = time.process_time() - began
        return {"error": e, "gcv": np.mean(score), "rounds": rounds, "bytes": size, "seconds": seconds}

    return tabulated(marched, waves=waves, degree=degrees)
