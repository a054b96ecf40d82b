"""Claims on the reaction rate, on arrays that are made up."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.relations import judged, seeds
from fedlib.papers.fedsciml.reaction import claims
from fedlib.papers.fedsciml.reaction.claims import CODE, TEN
from fedlib.papers.fedsciml.reaction.study import Results

W1 = [0.5, 0.26, 0.17, 0.13, 0.09, 0.04]
AT = {"level": [2, 4, 6, 8, 12, 24], "distance": ("level", W1)}
SEEDS = np.array([0.9, 1.0, 1.1])
FALLING = np.array([40, 20, 10, 8, 4, 2.0])


def of_fields(u, k):
    return xarray.concat([u, k], xarray.Variable("field", ["u", "k"])).assign_attrs(middle="median")


def errors(federated=FALLING, alone=50.0, central=1.0):
    """[kind, level, seed] (%) with a little scatter over three seeds."""
    each = [np.multiply.outer(np.broadcast_to(values, 6), SEEDS) for values in (federated, alone, central)]
    coords = AT | {"kind": ["federated", "isolated", "centralised"]}
    return xarray.DataArray(np.array(each), coords, ("kind", "level", "seed"))


def divergences(*matrices):
    """[seed, level, matrix]."""
    values = np.multiply.outer(SEEDS, np.transpose(matrices))
    return xarray.DataArray(values, AT | {"matrix": 1 + np.arange(len(matrices))}, ("seed", "level", "matrix"))


def answers(off_strong, off_weak):
    """k of two centralised models, off by a share of the truth where u is strong, and where it is weak."""
    x = np.linspace(0, 1, 101)
    truth = np.array([np.sin(2 * np.pi * x), 1 + x])
    weak = np.abs(truth[0]) < 0.2
    k = truth[1] * (1 + np.where(weak, off_weak, off_strong))
    values = np.array([[[truth[0], k]]] * 2)[:, :, None]
    coords = {"field": ["u", "k"], "model": ["centralised"], "x": x, "truth": (("field", "x"), truth)}
    return xarray.DataArray(values, coords, ("seed", "level", "model", "field", "x"))


def squares(*rows):
    return xarray.DataArray([*rows], {"x": [0, 0.3, 0.6, 1]}, ("seed", "x"))


GOES = ([6, 5, 4, 1, 2, 3], [6, 3, 5, 2, 4, 1])
"""0.77: goes with W1, and is no clear trend."""
ENDS = squares([8.0, 1, 0.5, 1.5], [4, 1, 1, 4])


def results(e=None, apart=GOES, said=(0.03, 0.1), left=ENDS) -> Results:
    """The same of both fields."""
    last = of_fields(*[errors() if e is None else e] * 2).expand_dims(round=[1])
    weights = of_fields(*[divergences(*apart)] * 2)
    return Results(TEN, {TEN: last}, {TEN: weights}, {TEN: answers(*said)}, {CODE: left}, {})


def wild(kind="federated", level=24, values=(1e5, 2, 2), **of):
    """Errors of which some seeds are others."""
    made = errors(**of)
    made.loc[{"kind": kind, "level": level}] = [*values]
    return results(made)


CASES = {
    "q9.error": (wild(), results(errors(FALLING[::-1]))),  # a median does not see one seed
    "q9.between": (
        results(errors(central=3.9)),
        wild(level=6, values=(43, 4, 9797), alone=[100, 100, 5, 100, 100, 100]),  # no seed makes an interval wide
    ),
    "q9.divergence.u": (results(), results(apart=(W1, W1[::-1]))),
    "q9.divergence.k": (results(), results(apart=(W1, GOES[0]))),
    "target.k.finest": (results(), results(errors(FALLING + 4))),
    "target.k.points/10": (results(), results(errors(central=6))),
    "target.k.identifiable": (results(), results(said=(0.1, 0.03))),
    "target.k.ends": (results(), results(left=ENDS[:, [1, 0, 3, 2]].assign_coords(x=ENDS.x))),
}
"""Claim, of u and of k where no field is named -> results on which it holds, and on which it does not."""


@pytest.mark.parametrize("id", claims.CLAIMS)
def test_a_claim_holds_and_fails(id):
    name = id.removeprefix("fedsciml.")
    holds, fails = CASES[name] if name in CASES else CASES[name[:-2]]
    assert judged(claims.CLAIMS[id], holds).holds is True and judged(claims.CLAIMS[id], fails).holds is False
    assert seeds(claims.CLAIMS[id], holds) in (2, 3)


def test_between_asks_for_what_has_learnt_and_is_not_far_below_the_centralised_error():
    between = claims.CLAIMS["fedsciml.q9.between.u"]
    assert not judged(between, results(errors(99, alone=100, central=98))).holds
    assert not judged(between, results(errors(central=4.1))).holds


def test_of_what_is_not_trained_a_claim_says_nothing():
    nothing = Results(TEN, {}, {}, {}, {}, {})
    assert {judged(claim, nothing) for claim in claims.CLAIMS.values()} == {None}
    other = results()._replace(judged="4 inner")
    said = {id for id, claim in claims.CLAIMS.items() if judged(claim, other)}
    assert said == {"fedsciml.target.k.points/10", "fedsciml.target.k.ends"}, "which name their points"


def test_where_k_is_known():
    off = claims.by_strength(answers(0.1, 0.03))
    np.testing.assert_allclose(off["strong"], [10, 10])
    np.testing.assert_allclose(off["weak"], [3, 3])
    np.testing.assert_allclose(claims.share_of_ends(ENDS), [9.5 / 11, 0.8])
