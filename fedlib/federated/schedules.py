"""Learning rates that change from round to round, as named tuples: what a training depends on can be written down.

``decay`` of an Experiment or a Federation takes one: in round r = 0, 1, ... the rate is lr decay(r). A constant factor
per round needs none, it is ``decay`` itself.
"""

import math
from numbers import Real
from typing import NamedTuple

from ..refusals import check_counts


class Drop(NamedTuple("Drop", [("round", int), ("factor", float)])):
    """1 before a round, a factor > 0 from it on.

    Raises:
        ValueError: round is no whole number >= 1, or factor no number > 0.
    """

    __slots__ = ()

    def __new__(cls, round: int, factor: float):
        check_counts(round=round)
        if not (isinstance(factor, Real) and 0 < factor < float("inf")):
            raise ValueError(f"Drop: factor = {factor!r} on the rate from round {round} on; expected a number > 0")
        return super().__new__(cls, round, factor)

    def __call__(self, r: int) -> float:
        return 1.0 if r < self.round else self.factor


class Cosine(NamedTuple("Cosine", [("rounds", int)])):
    """(1 + cos(pi r / rounds)) / 2: from 1 at the start to 0 after so many rounds, and 0 from then on.

    Source: Loshchilov and Hutter 2017 (arXiv 1608.03983), Eq. 5, without restarts.

    Raises:
        ValueError: rounds is no whole number >= 1.
    """

    __slots__ = ()

    def __new__(cls, rounds: int):
        check_counts(rounds=rounds)
        return super().__new__(cls, rounds)

    def __call__(self, r: int) -> float:
        return (1 + math.cos(math.pi * min(r / self.rounds, 1))) / 2
