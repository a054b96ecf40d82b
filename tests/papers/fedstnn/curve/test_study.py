"""What is computed of trainings of the noisy sine, against answers that are known by hand."""

import numpy as np
import pytest
import xarray
from scipy.stats import norm

from fedlib.papers.fedstnn.curve import claims, study
from fedlib.papers.fedstnn.experiment import SCORES
from fedlib.papers.fedstnn.sine import curve, curve_grid, growing, region, some

X, SEEDS, K, SIGMA = curve_grid(200), [0, 1], 20, 0.1
RIGHT = 2 * norm.cdf(2) - 1


def answers(off=0.0, std=SIGMA, **axes):
    """A mean that is off everywhere, and a spread; [*axes, seed, x]."""
    axes |= {"seed": SEEDS, "x": X}
    shape = [len(values) for values in axes.values()]
    zero = xarray.DataArray(np.zeros(shape), axes, [*axes])
    mean, inside = zero + curve(X) + off, zero.isel(x=0, drop=True) + 0.9
    return xarray.Dataset({"mean": mean, "std": zero + std, "path": mean, "inside": inside})


@pytest.fixture
def results():
    """Everything as it should be, and the squared error without a spread."""
    levels = ["IID 110", "non-IID 110", "non-IID 60", "none outside"]
    shared, noises = answers(0.02, level=levels), answers(level=[0.05, 0.1])
    at_home = np.array([(low <= X) & (high > X) for low, high in (region(k, K) for k in some(K))])
    off = xarray.DataArray(np.where(at_home, 0.01, 0.4), dims=("client", "x"))
    alone = answers(0.0, client=some(K)).assign(mean=lambda data: data["mean"] + off)
    sigmas = xarray.DataArray([0.05, 0.4], dims="level")
    one_place = xarray.concat(
        [answers(level=[0.05, 0.4], std=s * sigmas) for s in (0.03, 1.0, 1.0)], xarray.Variable("score", [*SCORES])
    )
    varied = xarray.concat(
        [answers(std=growing(X) + off) for off in (0.02, 0.0)], xarray.Variable("diffusion", ["vector", "net"])
    )
    squared = answers(0.01, 0.01)
    squared["inside"] = squared["inside"] + 0.1
    return study.Results(
        shared, alone, noises, squared, answers(0.021), answers(0.06), one_place, varied, None,
        study.coverage(shared, K, SIGMA), study.coverage_alone(alone, K, SIGMA),
        study.coverage_of_noises(noises, SIGMA), {}, 16, SIGMA, K,
    )  # fmt: skip


def test_a_true_band_covers_95_percent_of_every_clients_observations():
    right = study.coverage(answers(level=["non-IID 110"]), K, SIGMA)
    assert right.dims == ("level", "seed", "client") and right.sizes["client"] == K
    np.testing.assert_allclose(right, RIGHT)


def test_a_mean_that_is_wrong_in_a_tenth_is_so_for_those_who_know_it():
    one = answers(level=["none outside"])
    low, high = region(5, K)
    one["mean"] = one["mean"] + xarray.where((low <= one.x) & (one.x < high), 1.0, 0.0)
    cover = study.coverage(one, K, SIGMA).isel(level=0, seed=0)
    assert (cover.sel(client=[5, 6]) < 0.05).all()
    np.testing.assert_allclose(cover.sel(client=[1, 2, 9, 20]), RIGHT)


def test_one_band_covers_quiet_clients_more_often(results):
    cover = results.coverage_noises.isel(seed=0)
    np.testing.assert_allclose(cover.sel(level=0.1), RIGHT)
    np.testing.assert_allclose(cover.sel(level=0.05), [2 * norm.cdf(4) - 1, 2 * norm.cdf(4 / 3) - 1])


def test_errors_at_home_elsewhere_and_on_the_whole(results):
    rmse = study.own_and_elsewhere(results.alone, K).isel(seed=0)
    np.testing.assert_allclose(rmse["own"], 0.01)
    np.testing.assert_allclose(rmse["elsewhere"], 0.4)
    np.testing.assert_allclose(rmse["whole"], (0.1 * 0.01**2 + 0.9 * 0.4**2) ** 0.5, rtol=0.01)
    assert ((results.coverage_alone > 0.8) & (results.coverage_alone < 0.9)).all(), "ten points lie elsewhere"


def test_claims_hold_where_they_should(results):
    verdicts = {id: claim(results) for id, claim in claims.CLAIMS.items()}
    assert {id: verdict.holds for id, verdict in verdicts.items()} == {
        id: id != "fedstnn.target.51.squared" for id in claims.CLAIMS
    }
    assert all(claim(results._replace(shared=None)) is None for claim in claims.CLAIMS.values())


@pytest.mark.parametrize(
    ("worse", "id"),
    [
        ({"shared": answers(0.06, level=["non-IID 110", "non-IID 60"])}, "fedstnn.target.51.mean"),
        ({"shared": answers(0.02, 0.2, level=["non-IID 110", "non-IID 60"])}, "fedstnn.target.51.spread"),
        ({"shared": answers(0.02, 0.2, level=["non-IID 110", "non-IID 60"])}, "fedstnn.target.51.bandwidth"),
        ({"shared": answers(0.02, 0.05, level=["non-IID 110", "non-IID 60"])}, "fedstnn.target.51.band"),
        ({"alone": answers(0.05, client=some(K))}, "fedstnn.target.51.alone"),
        ({"alone": answers(0.05, client=some(K))}, "fedstnn.target.51.nobody"),
        ({"printed": answers(0.03)}, "fedstnn.target.index"),
    ],
)
def test_a_claim_can_fail(results, worse, id):
    assert not claims.CLAIMS[id](results._replace(**worse)).holds


def test_all_facts_hold_and_can_fail(results):
    assert all(claims.facts(results).values())
    silent = results._replace(
        squared=answers(0.01, 0.2), starts=answers(0.01), shared=answers(0.5, level=["non-IID 110"])
    )
    failed = [text for text, fact in claims.facts(silent).items() if not fact]
    assert len(failed) >= 4
