"""Claims are functions of results: each holds on arrays that are made so, and fails on ones that are not."""

import numpy as np
import xarray

from fedlib.notebook.relations import judged
from fedlib.papers.fed_deeponet.pendulum import claims
from fedlib.papers.fed_deeponet.pendulum.study import VARIES, Results

from ...small import both_outcomes

SEEDS = np.array([0.99, 1.01])


def data(error, **axes) -> xarray.Dataset:
    """Means over axes -> what ``study.with_loss`` says, of two seeds and two rounds."""
    error = np.asarray(error, float)
    values = np.multiply.outer(np.stack([9 * error, error]), SEEDS)
    dims = ("round", *axes, "seed")
    coords = {"round": [1, 2], **axes, "seed": [0, 1]}
    array = xarray.DataArray(values, coords, dims)
    loss = array.rename(round="loss_round")
    unseen = array.expand_dims(i=3)
    return xarray.Dataset({"error": array, "unseen": unseen, "loss": loss})


def results(clients=(1.0, 1.1, 1.2, 1.3), shares=(1.2, 1.2), plain=(9.0, 5.0), central=(1.0, 1.0)) -> Results:
    nothing = xarray.Dataset()
    labels = np.array([0.5, VARIES], object)
    return Results(
        data([1.7, *clients], level=[2, 10, 20, 40, 50]), nothing,
        data([shares], level=[20], share=labels), data([plain], level=[20], lr=[0.01, 0.03]),
        data([central], level=[20], work=["same steps", "same passes"]), nothing, None,
    )  # fmt: skip


CASES = {
    "adam": (results(), results(plain=(9.0, 3.2))),
    "centralised.steps": (results(central=(0.9, 9)), results(central=(0.8, 9))),
    "centralised.passes": (results(central=(9, 0.9)), results(central=(9, 0.8))),
    "centralised.unseen.steps": (results(central=(0.9, 9)), results(central=(0.8, 9))),
    "centralised.unseen.passes": (results(central=(9, 0.9)), results(central=(9, 0.8))),
    "robust": (results(), results(shares=(2.3, 1.2))),
    "varying.share": (results(shares=(9.0, 1.3)), results(shares=(1.0, 1.4))),
    "target.clients.rising": (results(), results((1.0, 1.3, 1.2, 1.4))),
}
"""Id -> results on which the claim holds, and on which it does not."""
test_a_claim_holds_and_fails = both_outcomes(claims.CLAIMS, CASES, "fed-deeponet")


def test_every_claim_has_both_outcomes_and_errors_of_who_learnt_nothing_say_nothing():
    assert {f"fed-deeponet.{id}" for id in CASES} == {*claims.CLAIMS}
    nothing = results((100,) * 4, (100, 100), central=(100, 100))
    for id in {*claims.CLAIMS} - {"fed-deeponet.adam"}:
        assert judged(claims.CLAIMS[id], nothing).holds is False, id


def test_what_the_paper_has_not_counts_for_nothing():
    """Two clients are ours: at 1.7 % they are no step of Table 1, nor its largest error."""
    rising, robust = (claims.CLAIMS[f"fed-deeponet.{id}"] for id in ("target.clients.rising", "robust"))
    assert judged(rising, results()) == (True, "1, 1.1, 1.2, 1.3")
    assert judged(robust, results()) == (True, "1.3 ± 0.018 < 2")
    one = results()._replace(clients=data([1.0], level=[10]))
    alone = results(central=(9, 9))._replace(clients=data([0.8, 1.1], level=[1, 20]))
    verdict = judged(claims.CLAIMS["fed-deeponet.centralised.steps"], alone)
    assert verdict == (False, "1.1 ± 0.016 ≥ 1"), "one client with all triplets is a centralised model, too"
    assert judged(rising, one).holds is None
