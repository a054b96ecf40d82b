"""What notebook 10 computes follows from its parameters; verdicts from what is computed."""

import pytest

from fedlib.notebook import rules
from fedlib.papers.feddro.transport import claims, problem, study
from fedlib.trainings.store import made

from ...small import quick


def parameters(**changes) -> dict:
    return quick(study) | changes


@pytest.fixture(scope="module")
def results():
    p = parameters(atoms=24, rounds=5, exact_rounds=2, barycenter_rounds=6)
    return study.results(p, made(study.trainings(p)))


def test_parameters_reach_what_is_computed():
    p = study.PAPER
    rules.check(p, **study.RULES)
    study.check(p)
    tasks = study.trainings(p)
    assert tasks["walks"].arguments == {"atoms": 200, "rounds": 10}
    assert tasks["bounds"].arguments == {"atoms": 200, "rounds": 10, "exact_rounds": 5}
    assert tasks["barycenters"].arguments == {"seeds": [0, 1, 2, 3, 4], "atoms": 200, "rounds": 20}


def test_fewer_points_than_the_smallest_shared_cloud_are_refused():
    with pytest.raises(ValueError, match="atoms = 19: expected at least 20"):
        study.check(parameters(atoms=19))


def test_verdicts_say_what_the_arrays_say(results):
    verdicts = {id: claim(results) for id, claim in claims.CLAIMS.items()}
    gaps = results.bounds.gap.sel(round=4, case=["p = 1", "p = 2", "p = 3"])
    assert verdicts["feddro.target.fedwad"].holds == bool((gaps < 1).all())
    assert verdicts["feddro.target.private"].holds is False
    few = results._replace(bounds=results.bounds.isel(round=slice(3)))
    assert claims.near_after_four(few) is None
    far = results._replace(bounds=results.bounds.assign(gap=results.bounds.gap + 1))
    assert claims.near_after_four(far).holds is False
    ratio = results.barycenters.ratio
    worse = results._replace(barycenters=results.barycenters.assign(ratio=ratio * 1.01))
    assert claims.as_good_as_central(worse).holds is False
    good = results._replace(barycenters=results.barycenters.assign(ratio=0 * ratio + 1))
    assert claims.as_good_as_central(good).holds is True
    secret = results._replace(barycenters=results.barycenters.assign(guessed=0 * ratio + 1))
    assert claims.withstands(secret).holds is True
    assert all(claim(study.Results()) is None for claim in claims.CLAIMS.values())


def test_what_a_run_keeps(results):
    metrics = study.metrics(results)
    assert [*metrics["gap_percent"]] == [*problem.STARTS]
    assert metrics["ratio"][problem.PRINTED] == pytest.approx(results.barycenters.ratio[0].values)
