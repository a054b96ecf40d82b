"""One scale for the columns of all sites' tables, from sums that they may share: of a column n, sum x and sum x^2.

A site sends them as n, the mean, and the sum of squares around it: the same three numbers, but of times in seconds
since 1970 sum x^2 has lost all digits that count.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

GAP, WIDTHS = 2.0, 50.0


class Moments(NamedTuple):
    """Of n rows: the mean of each column [c], and the sum of (x - mean)^2 [c]."""

    n: float
    mean: np.ndarray
    squares: np.ndarray

    @property
    def scale(self) -> np.ndarray:
        """Mean and st.dev. of each column [2, c]; 1 for the st.dev. of a column that is constant."""
        spread = np.sqrt(self.squares / self.n)
        return np.stack([self.mean, np.where(spread > 1e-12 * np.abs(self.mean), spread, 1)])


def moments(x: Tensor) -> Moments:
    """Of rows [n, c]."""
    rows = x.double().numpy()
    mean = rows.mean(0)
    return Moments(float(len(rows)), mean, ((rows - mean) ** 2).sum(0))


def added(parts: Sequence[Moments]) -> Moments:
    """Of the rows of all together (Chan, Golub, LeVeque 1979)."""
    n = sum(part.n for part in parts)
    mean = sum(part.n * part.mean for part in parts) / n
    return Moments(n, mean, sum(part.squares + part.n * (part.mean - mean) ** 2 for part in parts))


def agreed(sites: Mapping[str, Mapping[str, Moments]]) -> dict[str, np.ndarray]:
    """The scale [2, c] of each tensor, from what each site tells of it."""
    names = next(iter(sites.values()), {})
    return {name: added([parts[name] for parts in sites.values()]).scale for name in names}


def standardised(tensors: Mapping[str, Tensor], scale: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """(x - mean) / st.dev. of the tensors that have a scale, in float64; the others as they are."""
    tensors = dict(tensors)
    for name, of_name in scale.items():
        mean, spread = torch.as_tensor(of_name)
        tensors[name] = (tensors[name].double() - mean) / spread
    return tensors


def far(sites: Mapping[str, Moments], columns: Sequence[str]) -> list[str]:
    """A sentence on each site and column whose values are far from those of all others, as another unit makes them.

    Its values are mean ± 2 st.dev. They are far where they begin more than GAP widths of the others' beyond them, or
    are WIDTHS times as wide, or narrow, as those of the others (the median of such ratios).
    """
    if len(sites) < 2:
        return []
    mean = np.stack([part.mean for part in sites.values()])
    spread = np.sqrt([part.squares / part.n for part in sites.values()])
    low, high, sentences = mean - 2 * spread, mean + 2 * spread, []
    for i, site in enumerate(sites):
        others = np.arange(len(sites)) != i
        bottom, top = low[others].min(0), high[others].max(0)
        gap = np.maximum(low[i] - top, bottom - high[i])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.sort(np.abs(np.log(spread[i]) - np.log(spread[others])), 0)[(len(sites) - 2) // 2]
        beyond = (gap > GAP * (top - bottom)) & (top > bottom)
        for c in np.flatnonzero(beyond | (np.isfinite(ratios) & (ratios > np.log(WIDTHS)))):
            sentences.append(
                f"{site} has {columns[c]} at {mean[i, c]:.3g} ± {spread[i, c]:.2g}, the other sites from "
                f"{bottom[c]:.3g} to {top[c]:.3g}; is it in another unit?"
            )
    return sentences
