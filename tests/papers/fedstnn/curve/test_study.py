"""What is computed of trainings of the noisy sine, against answers that are known by hand."""

import numpy as np
import xarray
from scipy.stats import norm

from fedlib.papers.fedstnn.curve import study
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


def test_one_band_covers_quiet_clients_more_often():
    cover = study.coverage_of_noises(answers(level=[0.05, 0.1]), SIGMA).isel(seed=0)
    np.testing.assert_allclose(cover.sel(level=0.1), RIGHT)
    np.testing.assert_allclose(cover.sel(level=0.05), [2 * norm.cdf(4) - 1, 2 * norm.cdf(4 / 3) - 1])


def test_errors_at_home_elsewhere_and_on_the_whole():
    at_home = np.array([(low <= X) & (high > X) for low, high in (region(k, K) for k in some(K))])
    off = xarray.DataArray(np.where(at_home, 0.01, 0.4), dims=("client", "x"))
    alone = answers(0.0, client=some(K)).assign(mean=lambda data: data["mean"] + off)
    rmse = study.own_and_elsewhere(alone, K).isel(seed=0)
    np.testing.assert_allclose(rmse["own"], 0.01)
    np.testing.assert_allclose(rmse["elsewhere"], 0.4)
    np.testing.assert_allclose(rmse["whole"], (0.1 * 0.01**2 + 0.9 * 0.4**2) ** 0.5, rtol=0.01)


def test_what_should_be_stands_once_beside_what_is():
    """In a picture: for one seed, absent of the others."""
    beside = study.spreads_that_grow(
        xarray.concat([answers(std=growing(X) + off) for off in (0.02, 0.0)], xarray.Variable("diffusion", ["a", "b"]))
    )
    assert beside.diffusion.values.tolist() == ["a", "b", "truth"] and beside.name == "a noise that grows with x"
    np.testing.assert_allclose(beside.sel(diffusion="truth", seed=0), growing(X))
    assert beside.sel(diffusion="truth", seed=1).isnull().all() and beside.sel(diffusion="a").notnull().all()
