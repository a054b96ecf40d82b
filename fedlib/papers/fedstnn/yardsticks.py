"""How a statement of FedStNN is judged; one statement has one yardstick in all rooms."""

import numpy as np

from ...notebook.claims import Verdict


def near(value: float, wanted: float, share: float = 0.15) -> bool:
    """Within a share of what it should be."""
    return bool(abs(value / wanted - 1) < share)


def spread(std: np.ndarray, sigma: float, share: float = 0.15) -> Verdict:
    """The learnt spread, its mean over seeds, is the noise of the data."""
    return Verdict(near(std.mean(), sigma, share), f"{std.mean():.3f}")


def below(values: np.ndarray, bound: float) -> Verdict:
    """An error, its mean over seeds, is below a bound."""
    return Verdict(bool(values.mean() < bound), f"{values.mean():.3f}")


def covers(coverage: np.ndarray) -> Verdict:
    """A band of 2 std covers 90 to 97 % of new observations, mean over seeds."""
    return Verdict(bool(0.90 < coverage.mean() < 0.97), f"{coverage.mean():.1%}")


def inside(share: np.ndarray) -> Verdict:
    """Most predictions lie within f +- 2 sigma, mean over seeds."""
    return Verdict(bool(share.mean() > 0.8), f"{share.mean():.1%}")
