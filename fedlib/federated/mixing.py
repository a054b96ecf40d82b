"""Communication is a matrix: theta <- A theta, A [K, K] row-stochastic.

Every rule takes the clients' weights p [K] (sum 1) and who took part (bool [K]) and returns A. Row i says
what client i holds after the exchange. A rule with a third argument also gets the round, so that a topology may change
over time.
"""

from collections.abc import Callable
from functools import cache
from inspect import signature

import numpy as np


def fedavg(p: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Everybody receives sum_c p_c theta_c over the active clients, p renormalised over them.

    (McMahan et al. 2017. Fed-DeepONet's Eq. 8 sums over all C clients although only A_k took part.)
    """
    weights = np.where(active, p, 0.0)
    return np.tile(weights / weights.sum(), (len(p), 1))


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


def check_stochastic(A: np.ndarray, K: int, who: str) -> np.ndarray:
    """A itself if it is a K x K row-stochastic matrix; a ValueError that says what is wrong otherwise."""
    A = np.asarray(A, float)
    if A.shape != (K, K):
        raise ValueError(f"{who}: the mixing matrix has shape {A.shape}, expected {(K, K)} for {K} clients")
    sums = A.sum(1)
    if not (np.all(A >= -1e-12) and np.allclose(sums, 1, atol=1e-9)):
        bad = int(np.argmax(np.where(np.isfinite(sums), np.abs(sums - 1) + 1e3 * (A < -1e-12).any(1), np.inf)))
        raise ValueError(
            f"{who}: the mixing matrix is not row-stochastic: row {bad} is {A[bad]} with sum {sums[bad]:.6g}; "
            "entries must be >= 0 and rows must sum to 1 (divide each row by its sum)"
        )
    return A


@cache
def takes_round(mixing: Callable) -> bool:
    """Whether a rule has a third argument: its matrix may then be another one in every round."""
    return len(signature(mixing).parameters) > 2
