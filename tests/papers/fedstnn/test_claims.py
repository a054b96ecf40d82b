"""What notebook 08 says of the curve and the surface: each claim holds on arrays that are made so, and can fail."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.relations import judged
from fedlib.papers.fedstnn import claims, regression
from fedlib.papers.fedstnn.curve import study as sine
from fedlib.papers.fedstnn.experiment import SCORES
from fedlib.papers.fedstnn.plane import on_grid
from fedlib.papers.fedstnn.sine import region, some
from fedlib.papers.fedstnn.surface import study as plane
from fedlib.streams import stream

from .curve.test_study import SIGMA, K, X, answers
from .surface.test_study import MODELS, normal, of_answers

F = on_grid()


@pytest.fixture(scope="module")
def on_curve():
    """Everything as it should be, and the squared error without a spread."""
    at_home = np.array([(low <= X) & (high > X) for low, high in (region(k, K) for k in some(K))])
    off = xarray.DataArray(np.where(at_home, 0.01, 0.4), dims=("client", "x"))
    alone = answers(0.0, client=some(K)).assign(mean=lambda data: data["mean"] + off)
    sigmas = xarray.DataArray([0.05, 0.4], dims="level")
    one_place = xarray.concat(
        [answers(level=[0.05, 0.4], std=s * sigmas) for s in (0.03, 1.0, 1.0)], xarray.Variable("score", [*SCORES])
    )
    squared = answers(0.01, 0.01)
    squared["inside"] = squared["inside"] + 0.1
    shared = answers(0.02, level=["IID 110", "non-IID 110", "non-IID 60", "none outside"])
    return sine.Results(
        shared, alone, answers(level=[0.05, 0.1]), squared, answers(0.021), answers(0.06), one_place, None, None, {},
        SIGMA, K,
    )  # fmt: skip


def every(mean, std=SIGMA, noise=1.0):
    """Answers at all points of the grid; clients alone are off outside of their quadrant."""
    mean = np.tile(F, (6, 2, 1)) + np.asarray(mean)[:, None, None]
    axes = ("model", "seed", "x")
    made = {"mean": (axes, mean), "std": (axes, np.full_like(mean, std)), "inside": (axes[:2], np.full((6, 2), 0.9))}
    return xarray.Dataset(made | {"path": (axes, mean + noise * normal("p", 6, 2))}, {"model": MODELS, "seed": [0, 1]})


@pytest.fixture(scope="module")
def results(on_curve):
    return regression.Results(on_curve, of_answers(every([0.02, 0.02, 0.5, 0.5, 0.5, 0.5])))


def test_claims_hold_where_they_should(results):
    assert all(judged(claim, results).holds for claim in claims.CLAIMS.values())
    nothing = regression.results(regression.PAPER, {})
    assert all(judged(claim, nothing) is None for claim in claims.CLAIMS.values())


@pytest.mark.parametrize(
    ("worse", "id"),
    [
        ({"shared": answers(0.06, level=["non-IID 110", "non-IID 60"])}, "51.mean"),
        ({"shared": answers(0.02, 0.2, level=["non-IID 110", "non-IID 60"])}, "51.spread"),
        ({"shared": answers(0.02, 0.2, level=["non-IID 110", "non-IID 60"])}, "51.bandwidth"),
        ({"shared": answers(0.02, 0.05, level=["non-IID 110", "non-IID 60"])}, "51.band"),
        ({"alone": answers(0.05, client=some(K))}, "51.alone"),
        ({"printed": answers(0.03)}, "index"),
    ],
)
def test_a_claim_on_the_curve_can_fail(results, worse, id):
    worse = results._replace(curve=results.curve._replace(**worse))
    assert not judged(claims.CLAIMS[f"fedstnn.target.{id}"], worse).holds


def test_a_claim_that_compares_can_fail(results):
    """60 points as much as twice as bad; a spread that is the same at all noises."""
    shared = results.curve.shared.copy(deep=True)
    shared["mean"].loc[{"level": "non-IID 60"}] += 0.02
    worse = results._replace(curve=results.curve._replace(shared=shared))
    assert not judged(claims.CLAIMS["fedstnn.target.51.sixty"], worse).holds
    one_place = results.curve.one_place.assign(std=0 * results.curve.one_place["std"] + 0.1)
    worse = results._replace(curve=results.curve._replace(one_place=one_place))
    assert not judged(claims.CLAIMS["fedstnn.target.sigma"], worse).holds


def test_claims_on_the_surface_can_fail(results):
    wrong = results._replace(surface=of_answers(every([1.5, 1.5, 0.7, 0.7, 0.7, 0.7], 0.01, 0)))
    failed = {id for id, claim in claims.CLAIMS.items() if ".52." in id and not judged(claim, wrong).holds}
    assert failed == {id for id in claims.CLAIMS if ".52." in id}


def test_all_facts_hold_and_can_fail(results):
    assert all(claims.facts(results).values())
    silent = results.curve._replace(
        squared=answers(0.01, 0.2), starts=answers(0.01), shared=answers(0.5, level=["non-IID 110"])
    )
    failed = [text for text, fact in claims.facts(results._replace(curve=silent)).items() if not fact]
    assert len(failed) >= 4


def test_all_pairs_are_the_mean_over_both_indices():
    p, z = (
        xarray.DataArray(stream(0, name).standard_normal((3, 40)) + 2, dims=("seed", "x"), coords={"seed": [0, 1, 2]})
        for name in "pz"
    )
    made = plane.Results(xarray.Dataset({"path": p}), z, None, SIGMA)
    found = claims.readings(regression.Results(None, made))
    pairs = ((p.values[:, :, None] - z.values[:, None]) ** 2).mean((1, 2))
    np.testing.assert_allclose(found["all pairs, (n, 1) - (n,)"], pairs)
    np.testing.assert_allclose(found["point by point"], ((p - z) ** 2).mean("x"))
