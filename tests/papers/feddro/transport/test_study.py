"""Verdicts of notebook 10 follow from what is computed."""

import pytest

from fedlib.papers.feddro.transport import claims, problem, study

from ...small import quick


@pytest.fixture(scope="module")
def results():
    return study.Results(problem.walks(24, 5), problem.bounds(24, 5, 2), problem.barycenters([0], 24, 6))


def test_fewer_points_than_the_smallest_shared_cloud_are_refused():
    with pytest.raises(ValueError, match="atoms = 19: expected at least 20"):
        study.check(quick(study, atoms=19))


def test_claims_can_hold_and_fail(results):
    gap = results.bounds.gap
    near = [results.bounds.assign(gap=0 * gap + values) for values in (0.9, 0.9 + (gap.case == "p = 2"))]
    assert [claims.near_after_four(results._replace(bounds=one)).holds for one in near] == [True, False]
    assert claims.near_after_four(results._replace(bounds=results.bounds.isel(round=slice(3)))) is None
    assert claims.withstands(results).holds is False
    for name, value, claim, holds in (
        ("ratio", 1.01, claims.as_good_as_central, False),
        ("ratio", 1.0, claims.as_good_as_central, True),
        ("guessed", 1.0, claims.withstands, True),
    ):
        table = results.barycenters.assign({name: 0 * results.barycenters.ratio + value})
        assert claim(results._replace(barycenters=table)).holds is holds, (name, value)
    assert all(claim(study.Results()) is None for claim in claims.CLAIMS.values())
