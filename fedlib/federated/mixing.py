"""Communication is a matrix: theta <- A theta, A [K, K] row-stochastic.

Every rule takes the clients' weights p [K] (sum 1) and who took part (bool [K]) and returns A. Row i says what client i
holds after the exchange. A rule whose rows are all equal may return one of them as ``np.broadcast_to(row, (K, K))``: a
million clients are then no matrix with 10^12 entries.
"""

import numpy as np


def fedavg(p: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Everybody receives sum_c p_c theta_c over the active clients, p renormalised over them.

    (McMahan et al. 2017. Fed-DeepONet's Eq. 8 sums over all C clients although only A_k took part.)
    """
    weights = np.where(active, p, 0.0)
    weights /= weights.sum()
    return np.broadcast_to(weights, (len(p), len(p)))


def equal(p: np.ndarray, active: np.ndarray) -> np.ndarray:
    """As ``fedavg``, but every active client counts alike, however many points it has."""
    return fedavg(np.ones_like(p), active)


def isolated(p: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Nobody talks: the identity. With one client that owns all points this is the centralised model."""
    return np.eye(len(p))


def ring(p: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Gossip: an active client averages with its two neighbours on a ring, 1/3 each.

    The share of an absent neighbour stays at home, so A stays symmetric and doubly stochastic; p is not used.
    """
    K = len(p)
    A = np.zeros((K, K))
    for shift in (-1, 1):
        neighbour = np.roll(np.arange(K), shift)
        meets = active & active[neighbour] & (neighbour != np.arange(K))
        A[np.arange(K)[meets], neighbour[meets]] += 1 / 3
    return A + np.diag(1 - A.sum(1))


def check_stochastic(A: np.ndarray, K: int, name: str) -> np.ndarray:
    """A itself if it is a K x K row-stochastic matrix; else a ValueError says what is wrong in federation ``name``."""
    A = np.asarray(A)
    if A.shape != (K, K):
        raise ValueError(f"{name}: the mixing matrix has shape {A.shape}, expected {(K, K)} for {K} clients")
    A = np.asarray(A[:1] if A.strides[0] == 0 else A, float)  # a row that was broadcast is looked at once
    sums = A.sum(1)
    if not (np.all(A >= -1e-12) and np.allclose(sums, 1, atol=1e-9)):
        bad = int(np.argmax(np.where(np.isfinite(sums), np.abs(sums - 1) + 1e3 * (A < -1e-12).any(1), np.inf)))
        raise ValueError(
            f"{name}: the mixing matrix is not row-stochastic: row {bad} is {A[bad]} with sum {sums[bad]:.6g}; "
            "entries must be >= 0 and rows must sum to 1 (divide each row by its sum)"
        )
    return np.broadcast_to(A, (K, K))


def distinct_rows(A: np.ndarray) -> np.ndarray:
    """Rows of a mixing matrix that differ: [1, K] if all clients receive the same, else A itself."""
    return A[:1] if A.strides[0] == 0 or (A[0] == A).all() else A
