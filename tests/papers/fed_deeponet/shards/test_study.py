"""The results of notebook 02 are labelled arrays of what is trained."""

from functools import partial

import numpy as np
import pytest

from fedlib.federated.solved import answer
from fedlib.papers.fed_deeponet import physics
from fedlib.papers.fed_deeponet.shards import live, problem, study
from fedlib.trainings.store import made

from ...small import quick

SMALL = {
    "n_triplets": 60, "n_test": 3, "sensors": 6, "clients": 4, "rounds": 2, "local_updates": 2, "shards": [1, 3],
    "deltas": [0.0, 1.0], "seeds": [0, 1], "w1_points": 6,
}  # fmt: skip
parameters = partial(quick, study, **SMALL)


@pytest.fixture(scope="module")
def histories():
    return made(study.trainings(parameters()), backend="eager")


def test_every_training_is_in_the_results(histories):
    results = study.results({}, histories)
    assert results.shards.sel(test=["GRF", "unseen", "validation"]).notnull().all()
    assert results.fields.sel(test=["second", "mixture"]).notnull().all()
    last = histories["shards"].metrics["error"][-1][histories["shards"].rows["federated", 3, 1, study.CONSTANT]][0]
    assert results.shards.sel(test="GRF", curve=study.CURVES[1], level=3, seed=1).item() == pytest.approx(last)
    one = results.shards.sel(curve=study.CURVES[3], test="GRF")
    np.testing.assert_array_equal(one.sel(level=1), one.sel(level=3), err_msg="one place sees the same at all levels")
    both = results.fields.sel(level=1.0, curve=study.SGD)
    np.testing.assert_allclose(both.sel(test="mixture"), (both.sel(test="GRF") + both.sel(test="second")) / 2)
    np.testing.assert_allclose(
        results.rates.sel(lr=0.001, decay=1.0, algorithm=study.ADAM, level=1, test="GRF"),
        results.shards.sel(curve=study.CURVES[1], level=1, test="GRF"), rtol=1e-4,
    )  # fmt: skip


def test_the_slider_shows_the_first_seeds_models_and_all_seeds_errors(histories):
    together, alone = (histories[name] for name in ("shards", "alone"))
    curves, errors = live.explored(together, alone, tests=3, sensors=6)
    cases = physics.random_tests(3, 6, 0.2, 0)
    furthest = cases["x1"].abs().amax(1).argmax()
    np.testing.assert_allclose(curves.truth, cases["x1"][furthest])
    theta = together.model("federated", 3, 0, study.CONSTANT)
    said = answer(problem.label_sorted(sensors=6), theta, {"GRF u": cases["u"], "times": physics.times(6)})
    np.testing.assert_allclose(curves.sel(shards=3, rate=study.CONSTANT, model="federated"), said[furthest], atol=1e-6)
    off = 100 * np.linalg.norm(said - cases["x1"].numpy(), axis=1) / cases["x1"].norm(dim=1).numpy()
    mean = errors.sel(shards=3, rate=study.CONSTANT, model="federated", seed=0).item()
    assert mean == pytest.approx(off.mean(), rel=1e-3), "the mean over all test torques"
