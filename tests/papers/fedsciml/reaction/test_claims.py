"""Claims on the reaction rate, on arrays that are made up."""

import numpy as np
import pytest
import xarray

from fedlib.papers.fedsciml.reaction import claims
from fedlib.papers.fedsciml.reaction.study import Results

LEVELS, W1 = [2, 4, 6, 8, 12, 24], [0.5, 0.26, 0.17, 0.13, 0.09, 0.04]
AT = {"level": LEVELS, "distance": ("level", W1)}
SEEDS = np.array([0.9, 1.0, 1.1])


def errors(federated, alone=50.0, central=1.0):
    """[kind, level, seed] (%) with a little scatter over three seeds."""
    each = [np.multiply.outer(np.broadcast_to(values, 6), SEEDS) for values in (federated, alone, central)]
    coords = AT | {"kind": ["federated", "isolated", "centralised"]}
    return xarray.DataArray(np.array(each), coords, ("kind", "level", "seed"))


FALLING = np.array([40, 20, 10, 8, 4, 2.0])


def test_the_error_grows_with_the_distance():
    assert claims.grows(errors(FALLING)).holds and not claims.grows(errors(FALLING[::-1])).holds
    wild = errors(FALLING)
    wild.loc[{"kind": "federated", "level": 24, "seed": 2}] = 1e5
    assert claims.grows(wild).holds, "a median does not see one seed"


def test_between_is_read_of_medians():
    """No seed that is lost makes an interval so wide that it holds everything."""
    assert claims.between(errors(FALLING)).holds
    wild = errors(FALLING, alone=[100, 100, 5, 100, 100, 100])
    wild.loc[{"kind": "federated", "level": 6}] = [43, 4, 9797]
    assert claims.between(wild) == (False, "5 of 6 levels")
    assert not claims.between(errors(99, alone=100, central=98)).holds, "nobody has learnt anything"
    assert claims.between(errors(FALLING, central=3.9)).holds and not claims.between(errors(FALLING, central=4.1)).holds


def divergences(*matrices):
    values = np.multiply.outer(SEEDS, np.transpose(matrices))
    return xarray.DataArray(values, AT | {"matrix": 1 + np.arange(len(matrices))}, ("seed", "level", "matrix"))


@pytest.mark.parametrize("rows, all_grow, none_grows", [
    ((W1, W1), True, False), ((W1, W1[::-1]), False, False), ((W1[::-1], [1, 3, 2, 3, 1, 2]), False, True),
    (([5, 6, 4, 1, 2, 3], [6, 3, 5, 2, 4, 1]), True, True),  # 0.77: goes with W1, and is no clear trend
])  # fmt: skip
def test_trends_of_the_weights(rows, all_grow, none_grows):
    assert claims.diverges(divergences(*rows)).holds is all_grow
    assert claims.no_trend(divergences(*rows)).holds is none_grows
    few = divergences(*rows).isel(level=slice(2))
    assert claims.diverges(few).holds is claims.no_trend(few).holds is None


def test_k_is_found_below_five_per_cent_at_the_finest_level():
    assert claims.below_five("federated")(errors(FALLING)) == (True, "2.0 %")
    assert not claims.below_five("federated")(errors(FALLING + 4)).holds
    assert not claims.below_five("isolated")(errors(FALLING)).holds


def answers(off_strong, off_weak):
    """k of two centralised models, off by a share of the truth where u is strong, and where it is weak."""
    x = np.linspace(0, 1, 101)
    truth = np.array([np.sin(2 * np.pi * x), 1 + x])
    weak = np.abs(truth[0]) < 0.2
    k = truth[1] * (1 + np.where(weak, off_weak, off_strong))
    values = np.array([[[truth[0], k]]] * 2)[:, :, None]
    coords = {"field": ["u", "k"], "model": ["centralised"], "x": x, "truth": (("field", "x"), truth)}
    return xarray.DataArray(values, coords, ("seed", "level", "model", "field", "x"))


def test_where_k_is_known():
    off = claims.by_strength(answers(0.1, 0.03))
    np.testing.assert_allclose(off["strong"], [10, 10])
    np.testing.assert_allclose(off["weak"], [3, 3])
    assert not claims.identifiable(answers(0.1, 0.03)).holds and claims.identifiable(answers(0.03, 0.1)).holds


def test_the_ends_and_the_residual():
    squares = xarray.DataArray([[8.0, 1, 0.5, 1.5], [4, 1, 1, 4]], {"x": [0, 0.3, 0.6, 1]}, ("seed", "x"))
    np.testing.assert_allclose(claims.share_of_ends(squares), [9.5 / 11, 0.8])
    assert claims.at_the_ends(squares).holds and not claims.at_the_ends(squares[:, [1, 0, 3, 2]]).holds


def test_every_claim_takes_its_choice_of_points():
    """Of what is not trained a claim says nothing."""
    both = xarray.concat([errors(FALLING), errors(FALLING + 1)], xarray.Variable("field", ["u", "k"]))
    with_rounds = both.expand_dims(round=[1])
    weights = xarray.concat([divergences(W1)] * 2, xarray.Variable("field", ["u", "k"]))
    squares = xarray.DataArray([[8.0, 1, 1.5]], {"x": [0, 0.5, 1]}, ("seed", "x"))
    judged, code = "10 inner", "8 inner and 2 end"
    results = Results(judged, {judged: with_rounds}, {judged: weights}, {judged: answers(0.1, 0.03)}, {}, {})
    verdicts = {id: claim(results) for id, claim in claims.CLAIMS.items()}
    silent = {id for id, verdict in verdicts.items() if verdict is None}
    assert silent == {"fedsciml.target.k.ends"}
    assert verdicts["fedsciml.q9.error.u"].holds and verdicts["fedsciml.q9.divergence.k"].holds is False
    more = results._replace(errors={code: with_rounds}, answers={}, squares={code: squares})
    verdicts = {id: claim(more) for id, claim in claims.CLAIMS.items()}
    assert verdicts["fedsciml.target.k.ends"].holds and verdicts["fedsciml.q9.error.u"] is None
