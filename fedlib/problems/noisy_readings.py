"""What an "MSE" of a noisy surface's samples could mean, and whether samples are like new observations."""

import numpy as np
import torch
from scipy.stats import wasserstein_distance
from torch import Tensor

from ..federated.history import History
from ..federated.stack import predict
from ..models.stochastic import SNN
from ..streams import stream, torch_stream
from .fedstnn import curve_grid, surface, surface_grid
from .noisy_curve import Data, Setting, inputs
from .noisy_surface import on_slice


def sample(net: SNN, theta: Tensor, inputs: Tensor, key: str = "one path per point") -> np.ndarray:
    """One path of a model [P] at each of the inputs [n, d]: [n]."""
    w = torch.randn(len(inputs), *net.noise(1), generator=torch_stream(0, key))
    return predict(net, theta, inputs.float(), w)[:, 0].numpy()


def all_pairs(p: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Mean of (p_i - z_j)^2 over all i and j: [..., n], [..., n] -> [...]. What (n, 1) - (n,) is averaged over."""
    return (p**2).mean(-1) + (z**2).mean(-1) - 2 * p.mean(-1) * z.mean(-1)


def aligned(p: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Mean of (p_i - z_i)^2 over i: [..., n], [..., n] -> [...]; other pairs of shapes would broadcast."""
    if p.shape != z.shape:
        raise ValueError(f"predictions of shape {p.shape}, observations {z.shape}: (n, 1) - (n,) would broadcast")
    return ((p - z) ** 2).mean(-1)


def some(n: int, points: int = 50, draws: int = 200) -> np.ndarray:
    """Indices [draws, points] of 0..n-1, without repetition in a draw."""
    random = stream(0, "points of the paper's figure 9")
    return np.stack([random.choice(n, points, replace=False) for _ in range(draws)])


def readings(path: np.ndarray, observed: np.ndarray, sigma: float) -> dict[str, np.ndarray]:
    """What an "MSE" of paths against observations, both [S, N] on the grid, could mean: reading -> values.

    Of the whole grid one value for each seed [S]; of 50 points one for each seed and draw of them [S * 200].
    """
    p, z, f = path.astype(float), observed, surface(*surface_grid().T)
    where, line = some(len(f)), on_slice("x = -0.64")
    p50, z50 = p[:, where], z[:, where]
    return {
        "zero everywhere, whole grid": (z**2).mean(-1),
        "zero everywhere, 50 points": (z50**2).mean(-1).ravel(),
        "aligned, whole grid": aligned(p, z),
        "aligned, 50 points": aligned(p50, z50).ravel(),
        "aligned, whole grid, in percent (x 100)": 100 * aligned(p, z),
        "aligned, summed over one slice of 101 points": 101 * aligned(p[:, line], z[:, line]),
        "(n, 1) - (n,) broadcast to all pairs, whole grid": all_pairs(p, z),
        "(n, 1) - (n,) broadcast to all pairs, 50 points": all_pairs(p50, z50).ravel(),
        "all pairs of any good model, whole grid": np.array([pairs_of(len(f), f, sigma)]),
        "all pairs of any good model, 50 points": np.array([pairs_of(50, f, sigma)]),
    }


def pairs_of(m: int, f: np.ndarray, sigma: float) -> float:
    """What ``all_pairs`` of m random points is expected to be for p = f + noise and z = f + noise of st.dev. sigma.

    2 sigma^2, and for the share 1 - 1/m of pairs that are not aligned also 2 Var f, which is drawn without repetition.
    """
    return 2 * sigma**2 + (1 - 1 / m) * 2 * f.var() * len(f) / (len(f) - 1)


def likeness(path: np.ndarray, observed: np.ndarray, f: np.ndarray) -> dict[str, np.ndarray]:
    """Sampled against observed residuals, path - f and y - f, each [S, N]: name -> [S].

    W1: the distance of Wasserstein between both sets, in the units of y.
    """
    ours, theirs = path - f, observed - f
    w1 = [wasserstein_distance(a, b) for a, b in zip(ours, theirs, strict=True)]
    spreads = {"st.dev. of sampled": ours.std(-1), "st.dev. of observed": theirs.std(-1)}
    return spreads | {"W1": np.array(w1), "W1 of a model without noise": np.abs(theirs).mean(-1)}


def on_curve(net: SNN, history: History, name: str, setting: Setting, data: Data, client: int = 0) -> np.ndarray:
    """A sample of a model of the curve at all its n points, and their observations: [2, S, n]."""
    x, pairs = curve_grid(), []
    for seed in data.shards:
        (at,) = data.at((setting.sigma, seed), [np.arange(len(x))])
        path = sample(net, history.model(name, seed, client=client), inputs(x))
        pairs.append((path, data.pool["y"][at].numpy()))
    return np.stack(pairs, 1)
