"""Numbers for heterogeneity: how far apart the clients' data are."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import torch
from scipy.spatial.distance import cdist
from torch import Tensor


def w1(x: np.ndarray, y: np.ndarray) -> float:
    """Exact 1-Wasserstein distance between two point clouds with uniform weights, W1 = min_P sum P_ij |x_i - y_j|.

    Args:
        x [n, d], y [m, d]; d = 1 (or 1D arrays) uses the sorted formula, else the network simplex of POT.

    Returns:
        W1 in the units of x.
    """
    import ot  # with scikit-learn a second: not before it is needed, the first picture of a notebook waits for it

    x, y = (a[:, None] if a.ndim == 1 else a for a in (np.asarray(x, float), np.asarray(y, float)))
    if x.shape[1] != y.shape[1] or not len(x) or not len(y):
        raise ValueError(f"clouds of shapes {x.shape} and {y.shape}: expected two non-empty ones of one dimension")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError(f"clouds of {len(x)} and {len(y)} points, of which some are not finite; leave them out")
    if x.shape[1] == 1:
        return float(ot.wasserstein_1d(x[:, 0], y[:, 0], p=1))
    return float(ot.emd2([], [], cdist(x, y), numItermax=1_000_000))


def hidden_parameter_floor(x: np.ndarray) -> np.ndarray:
    """Lower bound of the mean relative error of any prediction that does not know a hidden parameter k.

    For one input with equally likely true outputs x_1, ..., x_K and any prediction p, the triangle inequality
    |x_i - p| + |x_j - p| >= |x_i - x_j| gives mean_i |x_i - p| / |x_i| >= mean_ij |x_i - x_j| / (2 max(|x_i|, |x_j|)).

    Args:
        x: outputs [n, K, m] of n inputs for K values of k.

    Returns:
        The bound for each input [n], dimensionless.
    """
    x = np.asarray(x, float)  # differences of small integers wrap around
    size = np.linalg.norm(x, axis=2)
    gap = np.linalg.norm(x[:, :, None] - x[:, None], axis=3)
    return (gap / (2 * np.maximum(size[:, :, None], size[:, None]))).mean((1, 2))


def mean_pairwise_w1(clouds: Sequence[np.ndarray], printed: bool = False) -> float:
    """Mean W1 over the K (K - 1) / 2 pairs of clients, i.e. with the factor 2 / (K (K - 1)).

    printed: with the factor 1 / ((K - 2) (K - 1)) of FedSciML's Eq. 4, which is the mean only for K = 4 and
    infinite for K = 2.
    """
    K = len(clouds)
    if K < 2:
        raise ValueError(f"{K} client has no pair; W1 between clients needs at least 2")
    mean = float(np.mean([w1(a, b) for a, b in combinations(clouds, 2)]))
    if not printed:
        return mean
    return mean * K / (2 * (K - 2)) if K > 2 else float("inf")


def debiased_w1(clouds: Sequence[np.ndarray]) -> float:
    """Mean pairwise W1 without what finite clouds add: zero in the mean if all clients draw from one distribution.

    Two clouds of n points from one distribution are apart, in many dimensions far apart. So every cloud is halved
    (every second point, their order must be random), and from W1(a_1, b_2), halves of two clients, the mean of
    W1(a_1, a_2) and W1(b_1, b_2) is taken off: all of them compare as many points. May be slightly negative.
    """
    if small := [len(c) for c in clouds if len(c) < 2]:
        raise ValueError(f"a cloud of {small[0]} point has no halves; de-biased W1 needs at least 2 for each client")
    halves = [(c[: len(c) // 2 * 2 : 2], c[1::2]) for c in clouds]
    within = [w1(*half) for half in halves]
    return float(
        np.mean([w1(a[0], b[1]) - (x + y) / 2 for (a, x), (b, y) in combinations(zip(halves, within, strict=True), 2)])
    )


def weight_divergence(federated: Mapping[str, Tensor], central: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Relative weight divergence |W_fed - W_central| / |W_central| of every weight matrix (Frobenius norms).

    Biases are left out (FedSciML, Section 3). Leading axes of a stack stay: [..., a, b] -> [...].
    """
    norm = torch.linalg.matrix_norm
    return {k: norm(federated[k] - central[k]) / norm(central[k]) for k in central if k.endswith("weight")}


def divergence_bound(lr: float, M: float, E: int, rounds: int) -> float:
    """Theorem 3.1 of FedSciML: after l rounds of E gradient steps, |theta_fed - theta_central| <= 2 eta M E l.

    M bounds the norms of all gradients on the way; both trajectories start together and move by at most eta M a step.
    """
    return 2 * lr * M * E * rounds
