"""Losses for a network that answers with M sampled outputs: what they are smallest at is what gets learnt."""

from collections.abc import Callable

import torch
from torch import Tensor


def squared_error(y_hat: Tensor, y: Tensor) -> Tensor:
    """Mean over paths of (X - y)^2: [..., M], [...] -> [...]. Smallest without noise, whatever the data's noise."""
    return ((y_hat - y[..., None]) ** 2).mean(-1)


def energy_score(y_hat: Tensor, y: Tensor) -> Tensor:
    """E|X - y| - E|X - X'| / 2 over M >= 2 paths (CRPS): smallest where the law of X is that of y. [..., M] -> [...].

    Unbiased for every M: pairs i = j do not count (Gneiting & Raftery 2007).
    """
    M = y_hat.shape[-1]
    if M < 2:
        raise ValueError("the energy score compares paths with each other: draw M >= 2 for every point")
    pairs = (y_hat[..., :, None] - y_hat[..., None, :]).abs().sum((-2, -1))
    return (y_hat - y[..., None]).abs().mean(-1) - pairs / (2 * M * (M - 1))


def gaussian_nll(y_hat: Tensor, y: Tensor) -> Tensor:
    """Negative log-likelihood (up to a constant) of N(mean, variance of the M paths); [..., M] -> [...].

    The factor (M - 3) / (M - 1) makes it unbiased at its optimum; use M >= 8, below it is unstable.
    """
    M = y_hat.shape[-1]
    if M < 4:
        raise ValueError(f"{M} paths: a variance estimated from fewer than 4 has no finite inverse; use M >= 8")
    s2, mean = torch.var_mean(y_hat, -1)
    return ((M - 3) / (M - 1) * (mean - y) ** 2 / s2 + s2.log()) / 2


def local_loss(score: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """The loss of one client for the engine: sum_i w_i score(paths of point i, y_i), with fresh noise in each step."""
    return lambda predict, batch: (batch["w"] * score(predict(batch["x"], batch["noise"]), batch["y"])).sum()
