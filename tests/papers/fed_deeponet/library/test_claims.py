"""Claims are functions of results: each holds on arrays that are made so, and fails on ones that are not."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.relations import judged
from fedlib.papers.fed_deeponet.library import claims
from fedlib.papers.fed_deeponet.library.study import Results

from ...small import both_outcomes

NOTHING = xarray.Dataset()


def results(error=2.5, unseen=4.0, told=((3.0, 10.0), (3.2, 9.0)), hidden=((3.3, 20.0), (3.1, 21.0))) -> Results:
    """told, hidden: errors of two seeds after one second and after three."""
    axes = {"level": [1.0], "seed": [0, 1]}
    values = np.array([9.0, 1.0])[:, None, None] * np.array([[error, error]])
    paper = {"error": (("round", *axes), values), "unseen": (("round", "i", *axes), np.full((2, 6, 1, 2), unseen))}
    cases = np.stack([told, hidden])[None]
    coords = {"case": ["mixed, told", "mixed, hidden"], "seed": [0, 1], "level": [1.0, 3.0]}
    both = xarray.Dataset({"error": (("round", *coords), cases)}, coords)
    return Results(both, xarray.Dataset(paper, axes), NOTHING, NOTHING, xarray.DataArray())


CASES = {
    "library.generalises": (results(), results(unseen=5.1)),
    "target.library.hidden": (results(), results(hidden=((3.3, 20.0), (7.0, 21.0)))),
}
"""Id -> results on which the claim holds, and on which it does not."""
test_a_claim_holds_and_fails = both_outcomes(claims.CLAIMS, CASES, "fed-deeponet")


def test_every_claim_has_both_outcomes_and_errors_of_who_learnt_nothing_say_nothing():
    assert {f"fed-deeponet.{id}" for id in CASES} == {*claims.CLAIMS}
    assert judged(claims.CLAIMS["fed-deeponet.library.generalises"], results(error=100, unseen=100)).holds is False


def test_a_seed_that_lacks_a_case_is_no_ratio():
    made = results()
    made.cases["error"][-1, 1, 1, 0] = np.nan
    assert claims.hiding(made, 1.0).dropna("seed").values.tolist() == [pytest.approx(1.1)]
    hidden = claims.CLAIMS["fed-deeponet.target.library.hidden"]
    assert judged(hidden, made).holds is True
    assert judged(hidden, made._replace(cases=made.cases.sel(level=[1.0]))) is None
