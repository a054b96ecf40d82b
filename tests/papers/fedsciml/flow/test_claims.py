"""Claims are functions of results: each holds on arrays that are made so, and fails on ones that are not."""

import numpy as np
import pytest

from fedlib.notebook import relations
from fedlib.papers.fedsciml.flow import claims

from .results import made

CASES = {
    "q8.sooner.C1": (made(), made(C1=(40, 50, 60, 30, 25, 50))),
    "q8.sooner.C2": (made(C2=(30, 25, 20, 15, 12, 20)), made()),
    "q8.similar": (made(), made()._replace(apart=0.1)),
    "q8.error.C1": (made(), made(ends1=(1.01, 1.02, 1.05, 1, 1, 1))),
    "q8.error.C2": (made(), made(ends2=(1.1, 1.2, 1.4, 1, 1, 1))),
    "q8.spread.C1": (made(), made(spread=(0,) * 6)),
    "q8.spread.C2": (made(), made(spread=(1, 2, 3, 1, 1, 1))),
    "q8.converge": (made(ends2=(1.05,) * 6), made()),
}
"""Id -> results on which the claim holds, and on which it does not."""


def judged(id, results):
    return relations.judged(claims.CLAIMS[f"fedsciml.{id}"], results)


@pytest.mark.parametrize("id", CASES)
def test_a_claim_holds_and_fails(id):
    holds, fails = (judged(id, results) for results in CASES[id])
    assert holds.holds is True and fails.holds is False and holds.why and fails.why


def test_accuracy_cannot_fail_and_all_others_have_both_outcomes():
    assert {id.removeprefix("fedsciml.") for id in claims.CLAIMS} - {"q8.accuracy"} == {*CASES}
    assert judged("q8.accuracy", made()) == (True, "6 of 6 places")
    late = made(C1=(60, 50, 120, 30, 25, 50), whole=1000)
    assert judged("q8.accuracy", late) == (True, "5 of 5 places"), "of what comes within 10 %"


def test_of_what_is_not_seen_in_few_rounds_nothing_is_told():
    """Half of the rounds tell where a training ends; a time that has not come is later, not never."""
    early = made(C1=(60, 50, 120, 30, 25, 50), whole=1000)
    assert judged("q8.sooner.C1", early) is None
    assert judged("q8.sooner.C1", early._replace(whole=100)) == (False, "0.054, 0.045, inf")
    assert judged("q8.error.C2", made(whole=201)) is None and judged("q8.error.C2", made(whole=200)).holds


def test_one_level_and_one_seed_say_nothing_of_an_order():
    one = made()
    one = one._replace(C=one.C.sel(model=["n = 6"]))
    assert not any(judged(f"q8.{name}", one) for name in ("error.C1", "spread.C1"))
    assert judged("q8.sooner.C1", one).holds is None and judged("q8.spread.C1", made(seeds=1)) is None


def test_only_seeds_that_all_federations_have_are_compared():
    part = made()
    C = part.C.copy()
    C.loc[{"model": "n = 10", "seed": 1}] = np.nan
    assert claims.federations(part._replace(C=C)).seed.values.tolist() == [0]
    assert judged("q8.sooner.C1", part._replace(C=C)).holds
    assert relations.seeds(claims.CLAIMS["fedsciml.q8.spread.C1"], part) == 2, "of a st.dev., too"
