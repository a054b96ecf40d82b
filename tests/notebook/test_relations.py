"""Relations of claims: each holds on arrays that are made so, fails on others, and says nothing of what is absent."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
import xarray
from scipy.stats import spearmanr

from fedlib.notebook import relations
from fedlib.notebook.claims import Seeded, Verdict
from fedlib.notebook.relations import judged, seeds

COORDS = {"level": [2, 4, 8, 16, 32], "distance": ("level", [0.9, 0.7, 0.4, 0.2, 0.1]), "seed": [0, 1, 2]}


def levels(*means, spread=0.1):
    """Errors (%) [level, seed] of three seeds around means at five levels."""
    means = np.broadcast_to(np.array(means, float), 5)
    return xarray.DataArray(means[:, None] + [-spread, 0, spread], COORDS, ["level", "seed"], attrs={"units": "%"})


def one(*values, **attrs):
    """Values [seed]."""
    return xarray.DataArray([*values], {"seed": range(len(values))}, ["seed"], attrs=attrs)


def apart(first):
    """Federation, and who is alone, whose means differ by ``first`` st.dev.s at the coarsest level, and are alike."""
    return levels(9 + 0.1 * first, 5, 5, 5, 5), (levels(1), levels(9))


RISE, FALL = (5, 4, 3, 2, 1), (1, 2, 3, 4, 5)
CASES = [
    ("<", levels(1), 2, True, "5 of 5 levels"),
    ("<", levels(1, 1, 1, 1, 3), levels(2), False, "4 of 5 levels"),
    ("<", one(1.0, 3.0, units="%"), 5, True, "2 ± 1.4 % < 5"),
    ("<", one(1.0, 3.0), one(1.0, 1.0), False, "2 ± 1.4 ≥ 1 ± 0"),
    (">", one(1.0, 3.0), 5, False, "2 ± 1.4 ≤ 5"),
    (">", levels(*FALL).isel(level=[0, 4]), 2, False, "1, 5 % not all > 2"),
    (">", 7.0, 5, True, "7 > 5"),
    ("<", 3e-16, 1e-12, True, "rounding < 1e-12"),
    (
        "surely <",
        one(1.0, 2.0, 4.0),
        one(2.1, 4.0, 8.1),
        True,
        "ratio 0.49 [0.46, 0.52]",
    ),
    ("surely <", one(1.0, 9.0, 4.0), one(2.0, 4.0, 8.0), False, "ratio 0.83 [0.095, 7.1]"),
    ("surely >", one(3.0, 4.0, 5.0), 0, True, "difference 4 [1.5, 6.5]"),
    ("surely >", one(-3.0, 4.0, 5.0), 0, False, "difference 2 [-8.8, 13]"),
    ("surely >", one(1.0, 2.0, scale="linear"), one(0.0, 1.1), True, "difference 0.95 [0.31, 1.6]"),
    ("surely >", one(4.0), 0, None, "one seed"),
    ("surely <", one(1.0, 1.1, 0.9, np.inf), one(2.0, 2.0, 2.0, 2.0), False, "1 diverged"),
    ("grows with", levels(4, 5, 3, 1, 2), "distance", True, "0.80"),
    ("has no trend with", levels(4, 5, 3, 1, 2), "distance", False, "0.80"),
    ("grows with", levels(*RISE), "distance", True, "rank correlation 1.00"),
    ("grows with", levels(*FALL), "distance", False, "rank correlation -1.00"),
    ("grows with", levels(5, 4, 3, 1, 2), "distance", True, "0.90"),
    ("grows with", levels(4, 3, 5, 1, 2), "distance", False, "0.60"),
    ("grows with", levels(3, 3, 3, 3, np.nan), "distance", False, "nan"),
    ("grows with", levels(*RISE).isel(level=slice(4)), "distance", None, "4 of at least 5 levels"),
    ("goes with", levels(4, 3, 5, 1, 2), "distance", True, "0.60"),
    ("goes with", levels(3, 1, 5, 2, 4), "distance", False, "-0.30"),
    ("has no trend with", levels(3, 1, 5, 2, 4), "distance", True, "-0.30"),
    ("has no trend with", levels(*FALL), "distance", False, "-1.00"),
    ("rises along", levels(*FALL), "level", True, "1, 2, 3, 4, 5"),
    ("rises along", levels(1, 2, 2, 4, 5), "level", False, "1, 2, 2, 4, 5"),
    ("falls along", levels(*RISE), "level", True, "5, 4, 3, 2, 1"),
    ("falls along", levels(*FALL), "level", False, "1, 2, 3, 4, 5"),
    ("falls along", one(*range(9, 2, -1)).rename(seed="level"), "level", True, "9 to 3, 6 of 6 steps"),
    ("falls along", levels(5).isel(level=[0]), "level", None, "no step"),
    ("between", *apart(1.99), True, "5 of 5 levels"),
    ("between", *apart(2.01), False, "4 of 5 levels"),
    ("between", levels(100), (levels(100), levels(100)), False, "0 of 5 levels"),
    ("agrees with", levels(1.9).isel(level=[4]), levels(1).isel(level=[4]), True, "ratio 1.90"),
    ("agrees with", one(2.1), one(1.0), False, "ratio 2.10"),
    ("agrees with", one(80.0), one(90.0), False, "ratio 0.89"),
    ("within", one(0.9, 1.0), (0.9, 0.97), True, "0.95"),
    ("within", one(0.9, 0.9), (0.9, 0.97), False, "0.9"),
    ("near", one(1.1, 1.1), 1.0, True, "1.1"),
    ("near", one(1.2, 1.2), 1.0, False, "1.2"),
]


@pytest.mark.parametrize(("relation", "quantity", "bound", "holds", "words"), CASES)
def test_a_relation_holds_and_fails_and_writes_the_numbers(relation, quantity, bound, holds, words):
    verdict = judged((lambda _: quantity, relation, bound), None)
    assert verdict.holds is holds and words in verdict.why


def test_every_relation_is_judged_both_ways():
    assert {(case[0], case[3]) for case in CASES if case[3] is not None} == {
        (name, holds) for name in relations.RELATIONS for holds in (True, False)
    }


def test_all_series_must_grow():
    both = xarray.concat([levels(*RISE), levels(*FALL)], xarray.Variable("matrix", [1, 2]))
    assert judged((lambda _: both, "grows with", "distance"), None) == (False, "rank correlation 1.00, -1.00")
    assert judged((lambda _: both.sel(matrix=[1]), "grows with", "distance"), None).holds


def test_seeds_that_fall_into_two_groups_are_judged_by_the_median():
    lost = one(0.1, 0.1, 90.0)
    assert judged((lambda _: lost, "<", 5), None).holds is False
    assert judged((lambda _: lost.assign_attrs(middle="median"), "<", 5), None).holds is True


@pytest.mark.parametrize("quantity", [
    lambda results: results.absent, lambda results: results.error.sel(level=3), lambda results: None,
    lambda results: results.error * np.nan,
])  # fmt: skip
def test_of_what_is_not_there_nothing_is_said(quantity):
    results = SimpleNamespace(error=levels(1))
    assert judged((quantity, "<", 5), results) is None
    assert judged((lambda results: results.error, "<", quantity), results) is None
    assert judged((lambda results: results.error, "between", (quantity, quantity)), results) is None


def test_a_claim_rests_on_the_fewest_seeds_of_its_sides():
    few = levels(1).isel(seed=[0, 1])
    assert seeds((lambda _: levels(1), "<", lambda _: few), None) == 2
    assert seeds((lambda _: levels(1), "between", (lambda _: levels(1), lambda _: few)), None) == 2
    paired = lambda _: one(1.0, 2.0, 3.0), "surely <", lambda _: one(1.0, 2.0, 3.0).assign_coords(seed=[2, 3, 4])
    assert seeds(paired, None) == 1
    assert seeds((lambda _: 1.0, "<", 2), None) is None
    assert seeds(lambda _: Verdict(True), None) is None
    assert seeds(Seeded(lambda _: Verdict(True), lambda _: 4), None) == 4


def test_few_orders_of_the_least_number_of_levels_reach_the_least_correlation_by_chance():
    def share(n):
        rho = [spearmanr(range(n), order).statistic for order in permutations(range(n))]
        return np.mean(np.array(rho) > relations.RHO - 1e-9)

    assert share(relations.LEVELS) == pytest.approx(1 / 15)
    assert share(relations.LEVELS - 1) == share(3) == pytest.approx(1 / 6)
