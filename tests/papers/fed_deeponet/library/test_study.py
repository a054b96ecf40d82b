"""The results of notebook 03 are labelled arrays of what is trained."""

from functools import partial

import numpy as np
import pytest

from fedlib.notebook.relations import judged
from fedlib.papers.fed_deeponet.library import claims, study
from fedlib.trainings.store import made

from ...small import quick

SMALL = {
    "n_triplets": 40, "n_test": 3, "n_common": 4, "sensors": 6, "rounds": 2, "local_updates": 2, "clients": 4,
    "seeds": [0, 1, 2], "some_seeds": [0, 1], "unseen_draws": 2,
}  # fmt: skip
parameters = partial(quick, study, **SMALL)


@pytest.fixture(scope="module")
def trained():
    p = parameters()
    histories = made(study.trainings(p), backend="eager")
    return p, histories, study.results(p, histories)


def test_every_training_is_in_the_results(trained):
    p, _, results = trained
    assert results.cases.error.sizes == {"case": 4, "round": 2, "level": 2, "seed": 2}
    both = results.paper.error.sel(seed=[0, 1]).squeeze("level")
    np.testing.assert_allclose(results.cases.error.sel(case=study.TOLD, level=1.0), both, rtol=1e-5)
    assert results.floor.level.values.tolist() == p["seconds"] and results.floor[0] < results.floor[1]
    every, unseen = study.of_torques(results.paper), study.last(results.paper, "unseen").squeeze("level")
    np.testing.assert_array_equal(every.sel(torque="sin(pi t)", draw=1), unseen.isel(i=3))
    assert {*claims.CLAIMS} == {id for id, claim in claims.CLAIMS.items() if judged(claim, results)}
