"""How long until a coefficient of the flow is found (FedSciML, Table 2): when it comes close, and when it stays there.

Both are times [..., 2, tolerances] of C [..., V, 2] at recorded rounds [V], in rounds; infinite for never.
"""

from collections.abc import Sequence

import numpy as np

from .flow import TRUTH

TOLERANCES = (10, 5, 1, 0.5)  # % of the truth: the rows of Table 2


def inside(C: np.ndarray, tolerances: Sequence[float]) -> np.ndarray:
    """Whether C [..., V, 2] is within each tolerance (%) of the truth [..., V, 2, T]."""
    return 100 * np.abs(C / np.array(TRUTH) - 1)[..., None] <= np.array(tolerances)


def reached(rounds: Sequence[int], C: np.ndarray, tolerances: Sequence[float]) -> np.ndarray:
    """First recorded round at which C is within each tolerance (%) of the truth, or inf: the times of Table 2.

    Whether it stays there does not matter ("the least epochs ... to achieve the error threshold"), see ``settled``.
    A coefficient that runs through a band between two records is not seen, so record every round.

    Args:
        rounds [V]; C [..., V, 2]; tolerances [T].

    Returns:
        [..., 2, T].
    """
    close = inside(C, tolerances)
    first = np.where(close.any(-3), np.argmax(close, -3), len(rounds))
    return np.append(np.asarray(rounds, float), np.inf)[first]


def settled(rounds: Sequence[int], C: np.ndarray, tolerances: Sequence[float]) -> np.ndarray:
    """First recorded round from which on C stays within each tolerance (%) of the truth to the end, or inf.

    Args:
        rounds [V]; C [..., V, 2]; tolerances [T].

    Returns:
        [..., 2, T].
    """
    outside = ~inside(C, tolerances)
    last = len(rounds) - 1 - np.argmax(outside[..., ::-1, :, :], -3)  # where it was outside last
    first = np.where(outside.any(-3), last + 1, 0)
    return np.append(np.asarray(rounds, float), np.inf)[first]


def thousands(times: np.ndarray) -> list:
    """Times in thousands, as lists for a result file: None for never."""
    if times.ndim:
        return [thousands(part) for part in times]
    return float(times) / 1000 if np.isfinite(times) else None


def numbers(listed: Sequence) -> np.ndarray:
    """The array of ``thousands``: infinite for None."""
    values = np.array(listed, float)
    return np.where(np.isnan(values), np.inf, values)
