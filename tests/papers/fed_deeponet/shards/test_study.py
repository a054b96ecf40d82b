"""What notebook 02 trains follows from its parameters; its results are labelled arrays of what is trained."""

import numpy as np
import pytest
import torch

from fedlib.federated.solved import answer
from fedlib.notebook import rules
from fedlib.papers.fed_deeponet import physics
from fedlib.papers.fed_deeponet.shards import live, problem, study
from fedlib.trainings.store import made

from ...small import quick

SMALL = {
    "n_triplets": 60, "n_test": 3, "sensors": 6, "clients": 4, "rounds": 2, "local_updates": 2, "shards": [1, 3],
    "deltas": [0.0, 1.0], "seeds": [0, 1], "passes": 1, "passes_shards": [3], "passes_deltas": [2.0],
    "rate_shards": [1],
    "lrs_adam": [0.001], "decays_adam": [1.0, 0.5], "lrs_sgd": [0.01, 0.1], "kept_shards": [1], "w1_points": 6,
}  # fmt: skip


def parameters(**changes) -> dict:
    return quick(study) | SMALL | changes


@pytest.fixture(scope="module")
def histories():
    return made(study.trainings(parameters()), backend="eager")


def test_the_papers_settings_are_those_of_the_paper():
    p = study.PAPER
    rules.check(p, **study.RULES)
    study.check(p)
    calls = study.trainings(p)
    assert calls["shards"].levels == [*range(1, 11), 15, 20] == calls["SGD"].levels
    assert calls["fields"].levels == [0.0, *problem.DELTAS]
    for name in ("shards", "SGD", "fields"):
        for of in calls[name].settings().values():
            resolved = of["resolved"]
            assert resolved["rounds"] == 20 and resolved["local"][:2] == [200, "steps"] and resolved["reset_moments"]
            assert resolved["fraction"] == [0.1, 1.0]
    constant = calls["shards"].settings()[study.CONSTANT,]["resolved"]
    assert (constant["lr"], constant["decay"]) == (0.001, 1.0), "the verdict's words say 1e-3"
    assert p["lr_sgd"] in p["lrs_sgd"]
    assert not calls["centralised", "shards"].settings()["same steps",]["resolved"]["reset_moments"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shards": [16]}, "shards = 16 for each of 4 clients: expected at most n_triplets = 60"),
        ({"n_triplets": 9, "shards": [1], "passes_shards": []}, "n_triplets = 9: expected at least 10"),
        ({"fraction": [0.5, 0.1]}, "expected an interval"),
    ],
)
def test_what_no_parameter_tells_alone_is_refused(wrong, message):
    study.check(parameters())
    with pytest.raises(ValueError, match=message):
        study.check(parameters(**wrong))


def test_every_training_is_in_the_results(histories):
    results = study.results({}, histories)
    assert results.shards.curve.values.tolist() == [*study.CURVES]
    assert results.fields.curve.values.tolist() == [study.CURVES[0], *study.CURVES[2:]]
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


def test_what_is_kept_has_the_cases_that_others_read(histories):
    kept = study.metrics(study.results({}, histories))
    adam = kept["error_percent"]["Algorithm 2"]
    assert {"shards 1", "shards 3", "fields 0.0", "fields 1.0", "rate 1 0.001 0.5"} <= {*adam}
    assert "rate 1 0.1 1.0" in kept["error_percent"]["Algorithm 1"]
    assert "fields 1.0" in kept["other_tests_percent"]["on GRF(l1 + Delta)"]["Algorithm 1"]
    assert kept["w1"]["shards s"].shape == (2, 2) and np.shape(kept["torque_distance"]) == (2, 2)
    assert study.metrics(study.Results(*[None] * 8))["error_percent"] == {}


def test_the_slider_shows_the_first_seeds_models_and_all_seeds_errors(histories):
    together, alone = (histories[name] for name in ("shards", "alone"))
    curves, errors = live.explored(together, alone, tests=3, sensors=6)
    assert curves.dims == ("shards", "rate", "model", "x") and errors.sizes["seed"] == 2
    cases = physics.random_tests(3, 6, 0.2, 0)
    furthest = cases["x1"].abs().amax(1).argmax()
    np.testing.assert_allclose(curves.truth, cases["x1"][furthest])
    theta = together.model("federated", 3, 0, study.CONSTANT)
    said = answer(problem.label_sorted(sensors=6), theta, {"GRF u": cases["u"], "times": physics.times(6)})
    np.testing.assert_allclose(curves.sel(shards=3, rate=study.CONSTANT, model="federated"), said[furthest], atol=1e-6)
    off = 100 * np.linalg.norm(said - cases["x1"].numpy(), axis=1) / cases["x1"].norm(dim=1).numpy()
    mean = errors.sel(shards=3, rate=study.CONSTANT, model="federated", seed=0).item()
    assert mean == pytest.approx(off.mean(), rel=1e-3), "the mean over all test torques"
    assert not torch.allclose(theta, alone.model("isolated", 3, 0, study.CONSTANT))
