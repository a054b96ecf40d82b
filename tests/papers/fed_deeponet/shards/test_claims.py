"""Claims are functions of results: each holds on arrays that are made so, and fails on ones that are not."""

import numpy as np
import xarray

from fedlib.notebook.relations import judged
from fedlib.papers.fed_deeponet.shards import claims
from fedlib.papers.fed_deeponet.shards.study import CURVES, SGD, Results

from ...small import both_outcomes

SEEDS = np.array([0.99, 1.01])
FALLING, CONSTANT = CURVES[:2]


def errors(tests, levels, curves) -> xarray.DataArray:
    """The same means (%) on all tests: curve -> values at levels; two seeds."""
    values = np.multiply.outer(np.array([*curves.values()], float), SEEDS)
    array = xarray.DataArray(values, {"curve": [*curves], "level": levels, "seed": [0, 1]}, ("curve", "level", "seed"))
    return array.expand_dims(test=tests)


def results(adam=(9, 1.4, 1.2), constant=50, plain=30, fields=(1, 2, 2.2), poor=(20, 21, 22), near=(2, 1)):
    shards = {FALLING: adam, CONSTANT: [constant] * 3, SGD: [plain] * 3}
    arrays = errors(["GRF", "unseen"], [1, 2, 20], shards)
    deltas = errors(["GRF", "unseen", "second", "mixture"], [0.0, 0.5, 4.0], {FALLING: fields, SGD: poor})
    coords = {"what": ["s"], "shards": [1, 2], "seed": [0, 1]}
    distance = xarray.DataArray(np.multiply.outer([near], [1.0, 1.0]), coords, ("what", "shards", "seed"))
    return Results(arrays, deltas, None, None, None, xarray.Dataset({"by_shards": distance}))


CASES = {
    "shards.iid": (results(), results(near=(1, 2))),
    "shards.extreme": (results(adam=(50, 1.4, 1.2)), results()),
    "shards.extreme.unseen": (results(adam=(50, 1.4, 1.2)), results()),
    "shards.two": (results(), results(adam=(9, 1.6, 1.2))),
    "shards.most": (results(), results(adam=(9, 1.4, 1.6))),
    "shards.most.unseen": (results(), results(adam=(9, 1.4, 1.6))),
    **dict.fromkeys(
        ("fields.adam", "fields.adam.second", "fields.adam.mixture", "fields.adam.unseen"),
        (results(), results(fields=(1, 2, 2.6))),
    ),
    "fields.sgd": (results(), results(poor=(20, 21, 31))),
    "fields.sgd.unseen": (results(), results(poor=(5, 5, 5))),
}
"""Id -> results on which the claim holds, and on which it does not."""
test_a_claim_holds_and_fails = both_outcomes(claims.CLAIMS, CASES, "fed-deeponet")


def test_every_claim_has_both_outcomes_and_errors_of_who_learnt_nothing_say_nothing():
    assert {f"fed-deeponet.{id}" for id in CASES} == {*claims.CLAIMS}
    nothing = results(adam=(100,) * 3, fields=(100,) * 3)
    for id in {*claims.CLAIMS} - {"fed-deeponet.shards.iid"}:
        assert judged(claims.CLAIMS[id], nothing).holds is ("extreme" in id), id


def test_the_judged_rate_is_the_one_of_table_1():
    extreme = claims.CLAIMS["fed-deeponet.shards.extreme"]
    assert judged(extreme, results(constant=1)) == judged(extreme, results(constant=99))
    assert judged(extreme, results(adam=(29, 1.4, 1.2))).holds is False


def test_levels_that_were_not_trained_say_nothing():
    made = results()
    some = made._replace(shards=made.shards.sel(level=[2, 20]), fields=made.fields.sel(level=[0.5, 4.0]))
    for id in ("shards.extreme", "shards.most", "shards.two"):
        assert judged(claims.CLAIMS[f"fed-deeponet.{id}"], some) is None
    one = made._replace(fields=made.fields.sel(level=[0.0, 4.0]))
    assert judged(claims.CLAIMS["fed-deeponet.fields.adam"], one) is None, "fewer than two differences"
