"""Yardsticks are functions of arrays: each holds on an array that is made so, and fails on one that is not."""

from itertools import permutations

import numpy as np
import pytest
import xarray
from scipy.stats import spearmanr

from fedlib.federated.experiment import KINDS
from fedlib.papers.fedsciml import yardsticks
from fedlib.papers.fedsciml.yardsticks import agrees, between, falls, grows

COORDS = {"level": [2, 4, 8, 16, 32], "distance": ("level", [0.9, 0.7, 0.4, 0.2, 0.1])}


def errors(federated, isolated=9.0, centralised=1.0, spread=0.1, kinds=tuple(KINDS)):
    """[kind, level, seed] of two seeds, ``spread`` below and above; the st.dev. is sqrt(2) times it."""
    means = np.array([np.broadcast_to(values, 5) for values in (federated, isolated, centralised)], float)
    values = means[:, :, None] + np.array([-spread, spread])
    return xarray.DataArray(values, COORDS | {"kind": [*kinds], "seed": [0, 1]}, ["kind", "level", "seed"])


def test_between():
    assert between(errors([5, 4, 3, 2, 1.5])) == (True, "5 of 5 levels")
    for outside in ([10, 4, 3, 2, 2], [5, 4, 3, 2, 0.5]):
        assert between(errors(outside)) == (False, "4 of 5 levels")
    nothing = errors(100, 100, 100)  # nobody has learnt anything
    assert between(nothing) == (False, "0 of 5 levels") and agrees(nothing, "federated") == (False, "ratio 1.00")


def test_between_has_one_st_dev_of_slack_on_both_sides():
    """The intervals of two kinds touch where the means differ by two st.dev.s; one seed has no slack."""
    spread = 0.3
    slack = 2 * np.sqrt(2) * spread
    for edge, outwards in ((9, 1), (1, -1)):
        assert between(errors([edge + outwards * slack * 0.99, 4, 4, 4, 4], spread=spread)).holds
        assert not between(errors([edge + outwards * slack * 1.01, 4, 4, 4, 4], spread=spread)).holds
    assert between(errors([9, 4, 3, 2, 1], spread=0).isel(seed=[0])).holds
    assert not between(errors([9.001, 4, 3, 2, 1], spread=0).isel(seed=[0])).holds


def test_who_is_alone_has_a_name():
    best = errors([5, 4, 3, 2, 2], kinds=("federated", "best client alone", "centralised"))
    assert between(best, "best client alone").holds
    assert not between(best + xarray.DataArray([0, -6, 0], dims="kind"), "best client alone").holds


def test_the_federated_error_falls_with_the_distance():
    assert falls(errors([5, 4, 3, 2, 1])) == (True, "rank correlation 1.00")
    assert falls(errors([1, 2, 3, 4, 5])) == (False, "rank correlation -1.00")
    assert falls(errors([5, 4, 3, 1, 2])).holds, "one pair of neighbours in the other order is 0.9"
    assert not falls(errors([4, 3, 5, 1, 2])).holds, "0.7"


def test_all_that_should_grow_must():
    rise, fall = [5, 4, 3, 2, 1], [1, 2, 3, 4, 5]

    def layers(*values):
        return xarray.DataArray([values], COORDS, ["seed", "matrix", "level"])

    assert grows(layers(rise, rise)) == (True, "rank correlation 1.00, 1.00")
    assert grows(layers(rise, fall).transpose("level", "matrix", "seed")) == (False, "rank correlation 1.00, -1.00")
    assert grows(layers(rise, [3, 3, 3, 3, np.nan])).holds is False, "what diverged does not grow"
    assert grows(layers(rise, rise).isel(level=slice(4))) == (None, "4 of at least 5 levels")


def test_few_orders_of_the_least_number_of_levels_reach_the_least_correlation_by_chance():
    def share(levels):
        rho = [spearmanr(range(levels), order).statistic for order in permutations(range(levels))]
        return np.mean(np.array(rho) > yardsticks.RHO - 1e-9)

    assert share(yardsticks.LEVELS) == pytest.approx(1 / 15)
    assert share(yardsticks.LEVELS - 1) == share(3) == pytest.approx(1 / 6)


def test_agreement_is_that_of_the_finest_level():
    one = errors([1, 1, 1, 1, 1.9], isolated=[1, 1, 1, 1, 2.1])
    assert agrees(one, "federated") == (True, "ratio 1.90")
    assert agrees(one, "isolated") == agrees(one.isel(level=[4, 0, 1, 2, 3]), "isolated") == (False, "ratio 2.10")
