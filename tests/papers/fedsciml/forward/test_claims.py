"""Claims are functions of results: each holds on arrays that are made so, and fails on ones that are not."""

import numpy as np
import xarray

from fedlib.federated.experiment import KINDS
from fedlib.notebook.relations import judged
from fedlib.papers.fedsciml.forward import claims
from fedlib.papers.fedsciml.forward.study import STUDIES, Results

from ...small import both_outcomes

DISTANCES = [1.6, 0.8, 0.5, 0.4, 0.3, 0.2, 0.1]
LEVELS = [2, 4, 6, 8, 10, 16, 32]
"""Of Poisson's equation: 2 and 4 are the code's alone."""

FALLING, RISING = [7, 6, 5, 4, 3, 2, 1.5], [1.5, 2, 3, 4, 5, 6, 7]


def errors(federated, isolated=9.0, centralised=1.0):
    """[round, kind, level, seed] of two seeds and one round."""
    means = np.array([np.broadcast_to(values, 7) for values in (federated, isolated, centralised)], float)
    values = means[None, :, :, None] + [-0.01, 0.01]
    coords = {"level": LEVELS, "distance": ("level", DISTANCES), "kind": [*KINDS], "seed": [0, 1], "round": [9]}
    return xarray.DataArray(values, coords, ["round", "kind", "level", "seed"])


def divergences(*matrices):
    """[seed, matrix, level], the same for two seeds."""
    coords = {"level": LEVELS, "distance": ("level", DISTANCES), "matrix": [1, 2, 3, 4]}
    return xarray.DataArray(np.array([matrices, matrices], float), coords, ["seed", "matrix", "level"])


def results(name, federated=FALLING, apart=(FALLING,) * 4, **more) -> Results:
    return Results({name: errors(federated, **more)}, {name: divergences(*apart)}, {})


STEEP = [70, 60, 50, 40, 30, 20, 10]
BELOW = [0.5, *FALLING[1:]]
CASES = {
    "q1.helmholtz": (results("helmholtz"), results("helmholtz", BELOW)),
    "q2.helmholtz": (results("helmholtz"), results("helmholtz", RISING)),
    "q3.helmholtz.federated": (results("helmholtz"), results("helmholtz", RISING)),
    "q3.helmholtz.isolated": (results("helmholtz", isolated=1.9), results("helmholtz", isolated=2.1)),
    "q7.allen_cahn_2": (results("allen_cahn_2"), results("allen_cahn_2", isolated=6.9)),
    "q7.allen_cahn_3": (results("allen_cahn_3"), results("allen_cahn_3", isolated=6.9)),
    "q4.poisson": (results("poisson"), results("poisson", apart=[FALLING, FALLING, FALLING, RISING])),
    "q5.layers": (
        results("helmholtz", apart=[RISING, FALLING, FALLING, RISING]),
        results("helmholtz", apart=[FALLING, FALLING, RISING, FALLING]),
    ),
    "q5.slope": (
        results("helmholtz", apart=[FALLING, STEEP, FALLING, FALLING]),
        results("helmholtz", apart=[STEEP, FALLING, STEEP, STEEP]),
    ),
}
"""Id -> results on which the claim holds, and on which it does not."""
test_a_claim_holds_and_fails = both_outcomes(claims.CLAIMS, CASES, "fedsciml")


def test_every_equation_has_four_claims_with_both_outcomes():
    kinds = [id.removeprefix("fedsciml.") for id in claims.CLAIMS]
    covered = {id.replace("helmholtz", name) for id in CASES for name in claims.PAPER} | {*CASES}
    assert {*kinds} <= covered, "each has both outcomes above"
    assert all(len(claims.claims_on(name)) == 4 for name in STUDIES)


def test_verdicts_rest_on_the_papers_levels():
    assert claims.printed("poisson", LEVELS) == LEVELS[2:] and claims.printed("helmholtz", LEVELS) == LEVELS
    wrong_at_two = results("poisson", [0.5, 0.5, *FALLING[2:]])
    assert judged(claims.CLAIMS["fedsciml.q1.poisson"], wrong_at_two) == (True, "5 of 5 levels")
    code_only = wrong_at_two._replace(errors={"poisson": wrong_at_two.errors["poisson"].isel(level=[0, 1])})
    assert judged(claims.CLAIMS["fedsciml.q1.poisson"], code_only) is None


def test_one_level_has_no_slope():
    one = {"helmholtz": divergences(*[FALLING] * 4).isel(level=[0])}
    verdict = judged(claims.CLAIMS["fedsciml.q5.slope"], results("helmholtz")._replace(divergences=one))
    assert verdict == (None, "one level has no slope")
