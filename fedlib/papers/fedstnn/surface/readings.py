"""What an "MSE" of 2.13 of a noisy surface's samples could mean."""

import numpy as np

from ....streams import stream
from ..plane import on_grid, on_slice


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
    p, z, f = path.astype(float), observed, on_grid()
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
        "all pairs of any good model, whole grid": np.array([expected_of_pairs(len(f), f, sigma)]),
        "all pairs of any good model, 50 points": np.array([expected_of_pairs(50, f, sigma)]),
    }


def expected_of_pairs(m: int, f: np.ndarray, sigma: float) -> float:
    """What ``all_pairs`` of m random points is expected to be for p = f + noise and z = f + noise of st.dev. sigma.

    2 sigma^2, and for the share 1 - 1/m of pairs that are not aligned also 2 Var f, which is drawn without repetition.
    """
    return 2 * sigma**2 + (1 - 1 / m) * 2 * f.var() * len(f) / (len(f) - 1)
