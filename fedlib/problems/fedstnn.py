"""A curve and a surface that are observed with noise, and how well a model knows both (FedStNN, 5.1 and 5.2)."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor

from ..federated.history import History
from ..federated.train import train
from ..models.scores import local_loss
from ..models.stochastic import SNN, init_snn
from ..streams import torch_stream


def curve(x: np.ndarray) -> np.ndarray:
    """f(x) = sin x on [0, 2 pi] (FedStNN, Section 5.1)."""
    return np.sin(x)


def curve_grid(n: int = 10_000) -> np.ndarray:
    """The n points 2 pi i / n, i = 0..n-1, of [0, 2 pi); the paper's 2e-4 pi i. None of its groups owns 2 pi."""
    return 2 * np.pi * np.arange(n) / n


def surface(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """f(x, y) = a(x) + b(y) on [-1, 1]^2 (FedStNN, Eq. 40, whose four cases are this sum).

    a = x^2, b = y^2 where x, y >= 0; a = sin(2 pi x), b = cos(2 pi y) - 1 where they are below. Continuous, from -3 to
    2; at x = 0 the slope of a falls from 2 pi to 0.
    """
    a = np.where(x >= 0, x**2, np.sin(2 * np.pi * x))
    return a + np.where(y >= 0, y**2, np.cos(2 * np.pi * y) - 1)


def surface_grid(n: int = 101) -> np.ndarray:
    """n x n points [n^2, 2] of [-1, 1]^2, the axes included (n odd); the second coordinate runs faster."""
    axis = np.linspace(-1, 1, n)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)


def quadrants(points: np.ndarray) -> list[np.ndarray]:
    """Indices of the points [N, 2] in the closed quadrants I, II, III, IV; points of the axes belong to two or four.

    Eq. 40 prints closed squares; the authors' code gives the axes to the side with x >= 0 or y >= 0.
    """
    (x, y), signs = points.T, [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    return [np.flatnonzero((a * x >= 0) & (b * y >= 0)) for a, b in signs]


class Learnt(NamedTuple):
    """What a model answers at n points: mean, std and one path [..., n], and the share of paths in the band [...]."""

    mean: np.ndarray
    std: np.ndarray
    path: np.ndarray
    inside: np.ndarray

    def at(self, where) -> "Learnt":
        """The same at some of the points."""
        mean, std, path = (values[..., where] for values in self[:3])
        return Learnt(mean, std, path, self.inside)


def test_points(net: SNN, x: np.ndarray, f: np.ndarray, sigma: float, paths: int, key: str) -> dict[str, Tensor]:
    """Constants for ``evaluate``: points x [n, d], true f [n], the data's sigma, noise of as many paths at each."""
    w = torch.randn(len(x), *net.noise(paths), generator=torch_stream(0, key))
    known = {"x_test": x, "f_test": f[:, None], "sigma": sigma}
    return {name: torch.as_tensor(value) for name, value in known.items()} | {"w_test": w}


def evaluate(predict, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``Learnt`` of ONE model: mean, spread and one path at the test points, and the share within f +- 2 sigma."""
    out = predict(test["x_test"], test["w_test"])
    std, mean = torch.std_mean(out, -1)
    inside = ((out - test["f_test"]).abs() < 2 * test["sigma"]).float().mean()
    return {"mean": mean, "std": std, "path": out[:, 0], "inside": inside}


def fit(
    net: SNN,
    score: Callable,
    paths: int,
    federations: Mapping,
    rounds: int,
    known: Mapping,
    evaluate: Callable = evaluate,
    **how,
) -> History:
    """Train a stack of networks by a score of so many paths per point, and let the last ones answer.

    federations: (name, seed) -> Federation. known: ``test_points``. how: pool, local, device, ..., see ``train``.
    """
    return train(
        net,
        local_loss(score),
        federations=federations,
        parts=("name", "seed"),
        rounds=rounds,
        reset_moments=True,
        init=init_snn,
        noise=net.noise(paths),
        constants=known,
        evaluate=evaluate,
        evaluate_every=rounds,
        progress=True,
        **how,
    )


def learnt(history: History, name, client: int | None = 0) -> Learnt:
    """A client's model of a federation after the last round, over seeds: [S, n] and [S]; None: all, [S, K, n]."""
    chosen = {"name": name} | ({} if client is None else {"client": client})
    return Learnt(*(history.last(metric, **chosen).values for metric in Learnt._fields))


def rms(values: np.ndarray) -> np.ndarray:
    """Root of the mean square over points: [..., n] -> [...]."""
    return np.sqrt((values**2).mean(-1))


def quality(mean: np.ndarray, std: np.ndarray, f: np.ndarray, sigma: float) -> dict[str, np.ndarray]:
    """How good a mean and a spread [S, n] are where f [n] is the truth: name -> [S].

    RMSE of the mean; std: RMS of the spread over points; coverage: the probability that a new observation f + sigma e
    lies within mean +- 2 std (nominal 0.954).
    """
    cover = norm.cdf((mean + 2 * std - f) / sigma) - norm.cdf((mean - 2 * std - f) / sigma)
    return {"RMSE": rms(mean - f), "std": rms(std), "coverage": cover.mean(1)}


def hundredths(rows: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, dict[str, np.ndarray]]:
    """Row -> quantity -> values over seeds, times 100: so a share is in percent."""
    return {name: {quantity: 100 * np.array(v) for quantity, v in row.items()} for name, row in rows.items()}
