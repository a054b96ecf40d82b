"""Attacks on sums find points where products are enough; who tells what from sums that are hidden."""

import numpy as np
import pytest
from scipy.stats import norm

from fedlib.federated import sums
from fedlib.federated.sums import symmetric_noise
from fedlib.papers.beyond import points
from fedlib.papers.beyond.one_round import privacy, problem
from fedlib.papers.beyond.points import (
    inputs_behind,
    other_measure,
    points_behind,
    poisson_rows,
    share_found,
    spectrum_of,
)
from fedlib.streams import stream

GRID = np.linspace(0, np.pi, 501)


def cosines(k):
    """1, cos x, ..., cos kx: their products are the cosines up to 2k, and sums of these the power sums of cos x."""
    return lambda x: np.cos(np.outer(x, np.arange(k + 1)))


def poisson(m, seed):
    """Poisson's equation with m sines, and its features at any x."""
    experiment = problem.with_sines("poisson", m, 6.0, seed)
    rows = poisson_rows(experiment, problem.start(experiment))
    return experiment, lambda x: rows(x)[:, :-1]


@pytest.mark.parametrize(("seed", "level", "root"), [(0, 2, False), (1, 8, True), (2, 32, False)])
def test_twelve_sines_tell_all_points_of_a_client(seed, level, root):
    """From what is sent, the sums or their root; at any level, and with a grid that has none of the points on it."""
    experiment, curve = poisson(12, seed)
    data = experiment.data(level, 0)
    own, _ = sums.parts(data)
    sent = sums.statistics(experiment, own, problem.start(experiment), root).matrix.numpy()
    G = (sent.T @ sent if root else sent)[:-1, :-1]
    x = data.pool["x"][data.owners[0], 0].double().numpy()
    assert len(x) == 16 > G.shape[0] == 13
    np.testing.assert_allclose(points_behind(G, 16, spectrum_of(curve, GRID)), x, atol=1e-7)


def test_inputs_are_read_off_sums_where_there_is_a_null_space():
    """Made-up inputs (1, normal numbers) times 1, y, y^2: 12 numbers, of which 6 triplets leave 6."""
    rng, grid = stream(0, "inputs"), np.linspace(0, 1, 501)
    x, y = np.column_stack([np.ones(6), rng.normal(size=(6, 3))]), np.sort(rng.uniform(size=6))
    polynomials = lambda y: y[:, None] ** np.arange(3)  # noqa: E731
    rows = np.einsum("np,nk->npk", x, polynomials(y)).reshape(6, -1)
    inputs, times = inputs_behind(rows.T @ rows, 6, polynomials, grid)
    np.testing.assert_allclose(times, y, atol=1e-6)
    np.testing.assert_allclose(inputs, x, atol=1e-4)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_who_knows_all_others_is_right_as_often_as_is_said(sigma):
    """Played: sums with and without one point, noise on each number, and the nearer of the two is named."""
    _, rows = poisson(6, 0)
    worst = rows(GRID[np.square(rows(GRID)).sum(1).argmax()][None])[0]
    added, rng = np.outer(worst, worst) / (worst @ worst), stream(0, "played")
    upper = added[np.triu_indices(len(added))]  # what is sent; below the diagonal stands the same
    noise = sigma * rng.standard_normal((20_000, len(upper)))
    right = np.mean((noise + upper) @ upper > upper @ upper / 2)
    assert np.linalg.norm(upper) < np.linalg.norm(added) == pytest.approx(1)
    assert right < privacy.told_in_or_out(sigma) + 0.01
    furthest = np.mean(noise @ upper / np.linalg.norm(upper) > -0.5)  # of two means that are 1 apart
    assert furthest == pytest.approx(privacy.told_in_or_out(sigma), abs=0.01)
    alone = np.mean(norm.cdf(np.linalg.norm(upper) / 2 / sigma))
    assert right == pytest.approx(alone, abs=0.01)


def test_points_have_a_part_of_the_interval_each_and_the_middle_finds_a_fifth(n=2000):
    x = points.cloud(n, 0)
    assert np.array_equal(np.floor(x * n / np.pi), np.arange(n))
    assert share_found((np.arange(n) + 0.5) * np.pi / n, x, points.NEAR * np.pi / n) == pytest.approx(0.2, abs=0.03)


def test_little_noise_hides_no_point_and_much_spoils_the_solution():
    noise = privacy.under_noise({"60 sines": (60, None), "20 of 60": (60, 20)}, [1e-9, 1.0], [0], points=16)
    assert (noise.error.sel(noise=1e-9) < noise.error.sel(noise=1.0)).all()
    assert (noise.found.sel(noise=1e-9, attack="non-negative fit") == 1).all()


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


def test_under_noise_the_fit_is_as_near_as_the_noise_allows():
    """Its points scatter as the Cramer-Rao bound says, over forty draws of noise."""
    _, rows = poisson(20, 0)
    spectrum = spectrum_of(rows, GRID)
    x, h = points.cloud(4, 0), 1e-6
    sigma = 1e-5 * np.square(rows(GRID)).sum(1).max()
    upper = np.triu_indices(rows(x).shape[1])
    outer = lambda places: np.einsum("ij,ik->ijk", rows(places), rows(places))[:, upper[0], upper[1]]  # noqa: E731
    slope = (outer(x + h) - outer(x - h)) / (2 * h)
    bound = sigma * np.sqrt(np.diag(np.linalg.inv(slope @ slope.T)))
    G = rows(x).T @ rows(x)
    guesses = []
    for seed in range(40):
        noise = symmetric_noise(sigma, len(G), stream(seed, "cramer")).numpy()
        guesses.append(points_behind(G + noise, 4, spectrum, sigma))
    ratio = np.std(guesses, axis=0) / bound
    assert ((ratio > 0.7) & (ratio < 1.4)).all(), ratio
