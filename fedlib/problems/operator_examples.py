"""Single test functions: the paper's examples (FedSciML, Figs. 12C,D, 13, 14D,E), and whether they tell the rule."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ..federated.stack import predict
from ..papers.fedsciml.operators.problem import Operator, draws

LEVELS = {"antiderivative": (6, 10), "diffusion_reaction": (10,), "burgers_2": (5, 10)}
"""Levels n of the paper's examples."""


def shown(name: str, levels: Sequence[int]) -> list[int]:
    """At which of the levels that were run examples are shown: the paper's, or else the lowest."""
    return [n for n in LEVELS.get(name, ()) if n in levels] or [min(levels)]


def answers(problem: Operator, c: np.ndarray, models: Mapping[str, Tensor]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Solutions [N, P] of the functions c [N, TERMS], and what models say: label -> [N, P].

    models: label -> row [parameters] of a stack.
    """
    pairs, y = problem.pairs(c), torch.as_tensor(problem.points).float()
    said = {label: predict(problem.net(), row, pairs["u"], y).numpy() for label, row in models.items()}
    return pairs["s"].numpy(), said


def each_error(truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Relative L2 error (%) of every function by itself [N]: truth and guess [N, P]."""
    return 100 * np.linalg.norm(guess - truth, axis=1) / np.linalg.norm(truth, axis=1)


def errors(problem: Operator, c: np.ndarray, models: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Relative L2 error (%) of every function by itself, label -> [N]; arguments of ``answers``."""
    truth, said = answers(problem, c, models)
    return {label: each_error(truth, guess) for label, guess in said.items()}


def functions(seed: int, count: int) -> np.ndarray:
    """Coefficients [1 + count, TERMS]: the example, the same of all operators, then the test functions of a seed."""
    return np.concatenate([draws("forward", 10, k, seed, use) for k, use in ((1, "picture"), (count, "test"))])


def findings(e: Mapping[str, np.ndarray], chosen: int = 0) -> dict:
    """What one function shows, and what all of them do.

    Args:
        e: ``errors`` of "federated", "isolated 1", .... chosen: the example.

    Returns:
        "functions": N; "example": label -> its error (%); "below": "isolated k" -> share of all functions at which the
        federation's error is below that client's; "best": share at which it is below every client's.
    """
    alone = np.stack([v for label, v in e.items() if label.startswith("isolated")])
    below = {label: float(np.mean(e["federated"] < v)) for label, v in e.items() if label.startswith("isolated")}
    example = {label: float(v[chosen]) for label, v in e.items()}
    best = float(np.mean(e["federated"] < alone.min(0)))
    return {"functions": len(e["federated"]), "example": example, "below": below, "best": best}
