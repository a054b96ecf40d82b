"""FedDRO's worst cases (Eqs. 6 to 8), for a loss where all of them are known."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from .handwriting import Clients


def logistic(w: np.ndarray, b: float, x: np.ndarray, y: np.ndarray, along: np.ndarray | float = 0.0) -> np.ndarray:
    """log(1 + exp(-y (w.x + b + along))) of x [n, d], y [n] in {-1, 1}; along [n]: w . displacement. Slope <= 1."""
    return np.logaddexp(0, -y * (x @ w + b + along))


def linear_classifier(clients: Clients, v: int, penalty: float = 0.1) -> tuple[np.ndarray, float]:
    """(w [d], b) that reads class v against the rest: the mean logistic loss plus penalty |w|^2 / 2, minimised."""
    x, y = clients.x, np.where(clients.y == v, 1.0, -1.0)

    def value(row):
        w, b = row[:-1], row[-1]
        slope = -y * expit(-y * (x @ w + b)) / len(y)
        return logistic(w, b, x, y).mean() + penalty * w @ w / 2, np.append(slope @ x + penalty * w, slope.sum())

    row = minimize(value, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B").x
    return row[:-1], float(row[-1])


def worst_cases(w: np.ndarray, b: float, clients: Sequence[tuple[np.ndarray, np.ndarray]], eps: float) -> dict:
    """sup of the mean logistic loss of a linear classifier over ever larger sets around the clients' samples, p = 1.

    A loss of w . x sees of a displacement theta only s = w . theta, |s| <= |theta| |w|, and is convex in it: over an
    interval its largest value is at an end, over an l1 ball (the mean of |theta_i|) at a corner. So all are exact; the
    last is Kuhn et al. (2019): over the whole ball, labels fixed, the loss gains eps times its Lipschitz constant |w|.

    Args:
        clients: (x [n_i, d], y [n_i] in {-1, 1}) of each, which all count the same.
    """
    r, N = eps * float(np.linalg.norm(w)), len(clients)
    mean = np.array([logistic(w, b, x, y).mean() for x, y in clients])

    def moved(s):  # [N], the client's mean loss when all its samples move by s along w
        return np.array([logistic(w, b, x, y, s).mean() for x, y in clients])

    spent = np.maximum(moved(N * r), moved(-N * r)) - mean  # all of the budget at one client
    lonely = [
        (logistic(w, b, x, y, -y * r * N * len(y)) - logistic(w, b, x, y)).max() / (N * len(y)) for x, y in clients
    ]
    return {
        "no displacement": mean.mean(),
        "one θ for all clients, |θ| ≤ ε": max(moved(r).mean(), moved(-r).mean()),
        "one θ_i per client, max |θ_i| ≤ ε (Eq. 8)": np.maximum(moved(r), moved(-r)).mean(),
        "one θ_i per client, mean |θ_i| ≤ ε": mean.mean() + spent.max() / N,
        "one θ_ij per sample, max |θ_ij| ≤ ε": np.mean([logistic(w, b, x, y, -y * r).mean() for x, y in clients]),
        "one θ_ij per sample, mean |θ_ij| ≤ ε": mean.mean() + max(lonely),
        "all of the ball, W₁ ≤ ε (Kuhn et al.): + ε |w|": mean.mean() + r,
    }
