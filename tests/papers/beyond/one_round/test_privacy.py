"""Noise against integrals and attacks against what is known: who tells what from sums that are hidden."""

from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from fedlib.papers.beyond.one_round import privacy
from fedlib.papers.beyond.one_round.privacy import GRID
from fedlib.papers.beyond.points import other_measure, points_behind, poisson_rows, share_found, spectrum_of
from fedlib.streams import stream

from .test_attack import cosines, poisson


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.0, 1.0), (0.5, 0.7), (1.0, 3.7), (8.0, 0.3)])
def test_delta_is_the_integral_over_all_that_may_come(epsilon, sigma):
    """delta = max over sets S of P(S) - e^epsilon Q(S): all z where p > e^epsilon q, of normals at 1 and at 0."""
    more = lambda z: max(0.0, norm.pdf(z, 1, sigma) - np.exp(epsilon) * norm.pdf(z, 0, sigma))  # noqa: E731
    edge = 0.5 + epsilon * sigma**2
    integral, _ = quad(more, edge, edge + 12 * sigma, epsabs=1e-14)
    assert privacy.gaussian_delta(epsilon, sigma) == pytest.approx(integral, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("epsilon", [0.1, 1, 10, 100])
def test_sigma_is_the_least_and_below_the_classical_one(epsilon):
    sigma = privacy.gaussian_sigma(epsilon)
    assert (
        privacy.gaussian_delta(epsilon, 0.999 * sigma) > privacy.DELTA >= 0.999 * privacy.gaussian_delta(epsilon, sigma)
    )
    if epsilon < 1:  # where Dwork and Roth, Theorem A.1, holds
        assert sigma < np.sqrt(2 * np.log(1.25 / privacy.DELTA)) / epsilon


@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_who_knows_all_others_is_right_as_often_as_is_said(sigma):
    """Played: sums with and without one point, noise on each number, and the nearer of the two is named."""
    _, rows = poisson(6, 0)
    worst = rows(GRID[np.square(rows(GRID)).sum(1).argmax()][None])[0]
    added, rng = np.outer(worst, worst) / privacy.sensitivity(rows), stream(0, "played")
    upper = added[np.triu_indices(len(added))]  # what is sent; below the diagonal stands the same
    noise = sigma * rng.standard_normal((20_000, len(upper)))
    right = np.mean((noise + upper) @ upper > upper @ upper / 2)
    assert np.linalg.norm(upper) < np.linalg.norm(added) == pytest.approx(1)
    assert right < privacy.told_in_or_out(sigma) + 0.01
    alone = np.mean(norm.cdf(np.linalg.norm(upper) / 2 / sigma))
    assert right == pytest.approx(alone, abs=0.01)


def test_noise_is_symmetric_and_has_its_size():
    noise = privacy.symmetric_noise(2.0, 300, stream(0, "noise"))
    assert np.array_equal(noise, noise.T) and np.std(np.diag(noise)) == pytest.approx(2, rel=0.2)
    assert np.std(noise[np.triu_indices(300)]) == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("kept", [None, 5])
def test_without_noise_the_directions_lead_back_to_the_solution_of_all_sines(kept):
    experiment, _ = poisson(8, 1)
    rows = poisson_rows(experiment, privacy.start(experiment))
    curve, back = privacy.public_directions(rows, kept)
    b, A = curve(privacy.cloud(200, 0)), rows(privacy.cloud(200, 0))
    c = back @ privacy.least_squares_of(b.T @ b, 0.0)
    expected = np.linalg.lstsq(A[:, :-1] @ back, -A[:, -1], rcond=None)[0]
    assert b.shape == (200, (kept or A.shape[1] - 1) + 1)
    np.testing.assert_allclose(A[:, :-1] @ c, A[:, :-1] @ back @ expected, atol=1e-5 * np.abs(A[:, -1]).max())
    if kept:
        white = curve(GRID)[:, :-1]
        np.testing.assert_allclose(white.T @ white / len(GRID), np.eye(kept), atol=1e-8)


def test_points_have_a_part_of_the_interval_each_and_the_middle_finds_a_fifth():
    shares = []
    for n in (4, 32, 2000):
        x = privacy.cloud(n, 0)
        assert np.array_equal(np.floor(x * n / np.pi), np.arange(n)) and np.array_equal(x, privacy.cloud(n, 0))
        shares.append(share_found((np.arange(n) + 0.5) * np.pi / n, x, privacy.NEAR * np.pi / n))
    assert shares[-1] == pytest.approx(0.2, abs=0.03)


def test_each_point_needs_a_guess_of_its_own():
    x = np.array([1.0, 1.05, 2.0])
    assert share_found(np.array([1.02]), x, 0.1) == pytest.approx(1 / 3)
    assert share_found(np.array([1.02, 1.12, 9.0]), x, 0.1) == pytest.approx(2 / 3), "the nearest is not always the one"
    assert share_found(np.array([]), x, 0.1) == 0


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_chebyshev_system_determines_half_as_many_points_and_no_more(n):
    """2 k + 1 products of 1, cos x, ..., cos kx: k points inside alone have their sums; k + 1 points do not."""
    x = (np.arange(n) + 0.5) * np.pi / n
    _, alone = other_measure(x, cosines(n), GRID)
    weights, apart = other_measure(x, cosines(n - 1), GRID)
    assert alone < 1e-3 and apart > 0.1
    places, a = np.concatenate([GRID, x]), cosines(n - 1)
    G = (weights[:, None] * a(places)).T @ a(places)
    np.testing.assert_allclose(G, a(x).T @ a(x), atol=1e-5), "and yet its sums are the same"


def test_the_furthest_measure_is_that_of_brute_force():
    """Three numbers of a measure, 1, cos x, cos 2x: the best vertex has three places of a coarse grid."""
    x, grid = np.array([0.8, 2.1]), np.linspace(0, np.pi, 24)
    places = np.concatenate([grid, x])
    numbers = np.cos(np.outer(np.arange(3), places))
    best = 0.0
    for three in map(list, combinations(range(len(places)), 3)):
        if np.linalg.cond(numbers[:, three]) < 1e8:
            w = np.linalg.solve(numbers[:, three], numbers[:, -2:].sum(1))
            if (w > -1e-9).all():
                best = max(best, w @ np.square(places[three][:, None] - x).min(1))
    assert other_measure(x, cosines(1), grid)[1] == pytest.approx(np.sqrt(best / 2), rel=1e-3) and best > 0.1


def test_under_noise_the_fit_is_as_near_as_the_noise_allows():
    """Its points scatter as the Cramer-Rao bound says, over forty draws of noise."""
    _, rows = poisson(20, 0)
    spectrum = spectrum_of(rows, GRID)
    x, h = privacy.cloud(4, 0), 1e-6
    sigma = 1e-5 * privacy.sensitivity(rows)
    upper = np.triu_indices(rows(x).shape[1])
    outer = lambda places: np.einsum("ij,ik->ijk", rows(places), rows(places))[:, upper[0], upper[1]]  # noqa: E731
    slope = (outer(x + h) - outer(x - h)) / (2 * h)
    bound = sigma * np.sqrt(np.diag(np.linalg.inv(slope @ slope.T)))
    G = rows(x).T @ rows(x)
    guesses = []
    for seed in range(40):
        noise = privacy.symmetric_noise(sigma, len(G), stream(seed, "cramer"))
        guesses.append(points_behind(G + noise, 4, spectrum, sigma))
    ratio = np.std(guesses, axis=0) / bound
    assert ((ratio > 0.7) & (ratio < 1.4)).all(), ratio


def test_tables_have_what_figures_take():
    crowd = privacy.in_a_crowd([6, 12], [4, 16], [0, 1])
    fit = crowd.found.sel(attack="non-negative fit")
    assert (fit.sel(m=12) == 1).all() and (crowd.apart.sel(points=4) < 1e-3).all()
    noise = privacy.under_noise({"60 sines": (60, None), "20 of 60": (60, 20)}, [1e-9, 1.0], [0], points=16)
    assert (noise.error.sel(noise=1e-9) < noise.error.sel(noise=1.0)).all()
    assert (noise.found.sel(noise=1e-9, attack="non-negative fit") == 1).all()
    private = privacy.private_in_a_crowd([100, 10_000], [1, 100], [0])
    assert private.error.sel(points=10_000, epsilon=100) < 2 < private.error.sel(points=100, epsilon=1)
