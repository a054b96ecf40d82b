"""Two clients in the plane: where drift comes from, with every local step in view, and closed forms for both ends."""

from typing import NamedTuple

import numpy as np


class Quadratics(NamedTuple):
    """F_c(theta) = (theta - w_c)^T H_c (theta - w_c) / 2 of K clients: H [K, 2, 2], w [K, 2]; equal weights."""

    H: np.ndarray
    w: np.ndarray

    def gradients(self, theta: np.ndarray) -> np.ndarray:
        """g_c(theta_c) [K, 2] at a point [2] or at one for each client [K, 2]."""
        return np.einsum("cij,cj->ci", self.H, theta - self.w)

    def value(self, theta: np.ndarray) -> np.ndarray:
        """Mean of the F_c at points [..., 2]."""
        gap = theta[..., None, :] - self.w
        return np.einsum("...ci,cij,...cj->...c", gap, self.H, gap).mean(-1) / 2

    def optimum(self) -> np.ndarray:
        """Where the mean of the F_c is smallest [2]."""
        return np.linalg.solve(self.H.sum(0), np.einsum("cij,cj->i", self.H, self.w))

    def fixed_point(self, E: int, lr: float) -> np.ndarray:
        """Where FedAvg with E gradient steps comes to rest [2]: sum_c (1 - (1 - lr H_c)^E) (theta - w_c) = 0.

        For E = 1 it is the optimum; for many steps the mean of the w_c, whatever the F_c weigh.
        """
        M = np.stack([np.eye(2) - np.linalg.matrix_power(np.eye(2) - lr * h, E) for h in self.H])
        return np.linalg.solve(M.sum(0), np.einsum("cij,cj->i", M, self.w))


def two_clients() -> Quadratics:
    """One is steep along one axis, the other along the other one, and they want different points."""
    return Quadratics(
        np.array([[[1.0, 0.0], [0.0, 0.1]], [[0.1, 0.0], [0.0, 1.0]]]), np.array([[1.0, 2.0], [2.0, 1.0]])
    )


class Walk(NamedTuple):
    """theta: the server's models [R + 1, 2]. local: the clients' on the way [R, K, E + 1, 2]."""

    theta: np.ndarray
    local: np.ndarray


def walk(problem: Quadratics, correct: bool, E: int, rounds: int, lr: float, start=(0.0, 0.0)) -> Walk:
    """FedAvg with gradient steps, or with a fresh correction, g_c(theta_c) + gbar(theta) - g_c(theta)."""
    theta, local = [np.array(start, float)], []
    for _ in range(rounds):
        g = problem.gradients(theta[-1])
        correction = (g.mean(0) - g) * correct
        steps = [np.tile(theta[-1], (len(problem.w), 1))]
        for _ in range(E):
            steps.append(steps[-1] - lr * (problem.gradients(steps[-1]) + correction))
        local.append(np.stack(steps, 1))
        theta.append(steps[-1].mean(0))
    return Walk(np.stack(theta), np.stack(local))
