"""Who gets which points: every rule returns one index array per client, a disjoint cover of 0..N-1."""

import numpy as np


def deal(n_points: int, n_clients: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Shuffle 0..n_points-1 and deal it to n_clients without repetition; sizes differ by at most 1.

    (Fed-DeepONet, Section 4: N / C triplets for each client.)
    """
    if not 1 <= n_clients <= n_points:
        raise ValueError(f"{n_clients} clients cannot share {n_points} points; use 1 to {n_points} clients")
    return np.array_split(rng.permutation(n_points), n_clients)
