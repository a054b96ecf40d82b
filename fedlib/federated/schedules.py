"""Learning rates that change from round to round, as named tuples: what a training depends on can be written down.

``decay`` of an Experiment or a Federation takes one: in round r = 0, 1, ... the rate is lr decay(r). A constant factor
per round needs none, it is ``decay`` itself.
"""

from numbers import Real
from typing import NamedTuple

import numpy as np


class Drop(NamedTuple("Drop", [("round", int), ("factor", float)])):
    """1 before a round, a factor > 0 from it on.

    Raises:
        ValueError: round is no whole number >= 1, or factor no number > 0.
    """

    __slots__ = ()

    def __new__(cls, round: int, factor: float):
        if isinstance(round, bool) or not isinstance(round, (int, np.integer)) or round < 1:
            raise ValueError(f"Drop: round = {round!r}; expected a whole number >= 1, for rounds are 0, 1, ...")
        if not (isinstance(factor, Real) and 0 < factor < float("inf")):
            raise ValueError(f"Drop: factor = {factor!r} on the rate from round {round} on; expected a number > 0")
        return super().__new__(cls, round, factor)

    def __call__(self, r: int) -> float:
        return 1.0 if r < self.round else self.factor


class Decay(NamedTuple("Decay", [("rate", float)])):
    """1 / (1 + rate r), as theorems on FedAvg want it; rate >= 0.

    Raises:
        ValueError: rate is no number >= 0.
    """

    __slots__ = ()

    def __new__(cls, rate: float):
        if not (isinstance(rate, Real) and 0 <= rate < float("inf")):
            raise ValueError(f"Decay: rate = {rate!r}; expected a number >= 0, of 1 / (1 + rate r) in round r")
        return super().__new__(cls, rate)

    def __call__(self, r: int) -> float:
        return 1 / (1 + self.rate * r)
