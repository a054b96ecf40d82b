"""The attack on sums finds points that it has never seen, where products are enough; else others have the sums."""

from itertools import product

import numpy as np
import pytest

from fedlib.federated import sums
from fedlib.papers.beyond.one_round import problem
from fedlib.papers.beyond.one_round.attack import points_of_sums
from fedlib.papers.beyond.one_round.torques import torques_of_sums
from fedlib.papers.beyond.points import inputs_behind, points_behind, poisson_rows, spectrum_of
from fedlib.streams import stream

GRID = np.linspace(0, np.pi, 501)


def cosines(k):
    """1, cos x, ..., cos kx: their products are the cosines up to 2k, and sums of these the power sums of cos x."""
    return lambda x: np.cos(np.outer(x, np.arange(k + 1)))


def waves(k):
    """1, cos x, sin x, ..., cos kx, sin kx."""
    return lambda x: np.concatenate([np.cos(np.outer(x, np.arange(k + 1))), np.sin(np.outer(x, 1 + np.arange(k)))], 1)


def poisson(m, seed):
    """Poisson's equation with m sines, and its features at any x."""
    experiment = problem.with_sines("poisson", m, 6.0, seed)
    rows = poisson_rows(experiment, problem.start(experiment))
    return experiment, lambda x: rows(x)[:, :-1]


@pytest.mark.parametrize("k", [1, 2, 5])
def test_independent_products_are_as_many_as_trigonometry_says(k):
    assert len(spectrum_of(cosines(k), GRID).s) == 2 * k + 1
    assert len(spectrum_of(waves(k), GRID).s) == 4 * k + 1


@pytest.mark.parametrize("seed", range(5))
def test_random_points_are_found_where_there_are_more_of_them_than_features(seed):
    """Fourteen points, none very near another, from eleven features, which have 21 independent products."""
    x = (np.arange(14) + stream(seed, "points").uniform(0.1, 0.9, 14)) * np.pi / 14
    features = waves(5)(x)
    assert features.shape == (14, 11)
    np.testing.assert_allclose(points_behind(features.T @ features, 14, spectrum_of(waves(5), GRID)), x, atol=1e-5)


def test_newtons_identities_find_the_same_points():
    """n power sums of n numbers cos x are the coefficients of the polynomial whose roots they are."""
    k, x = 5, np.array([0.3, 0.8, 1.1, 1.7, 2.2, 2.9])
    a = cosines(k)(x)
    p = [np.sum(np.cos(x) ** j) for j in range(len(x) + 1)]
    e = [1.0]
    for j in range(1, len(x) + 1):
        e.append(sum((-1) ** (i - 1) * e[j - i] * p[i] for i in range(1, j + 1)) / j)
    roots = np.roots([(-1) ** j * value for j, value in enumerate(e)]).real
    found = points_behind(a.T @ a, len(x), spectrum_of(cosines(k), GRID))
    np.testing.assert_allclose(found, np.sort(np.arccos(roots)), atol=1e-6)


@pytest.mark.parametrize(("m", "seed"), [(3, 2), (4, 0)])
def test_fewer_products_than_points_do_not_determine_them(m, seed):
    """The attack ends at other points with the same sums, to rounding."""
    experiment, curve = poisson(m, seed)
    data = experiment.data(8, 0)
    x = data.pool["x"][data.owners[0], 0].double().numpy()
    G = curve(x).T @ curve(x)
    others = points_behind(G, 16, spectrum_of(curve, GRID))
    assert len(spectrum_of(curve, GRID).s) < len(x) == 16
    np.testing.assert_allclose(curve(others).T @ curve(others), G, atol=1e-13 * np.abs(G).max())
    assert np.abs(others - x).max() > 0.01


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize(("seed", "level"), product(range(3), (2, 8, 32)))
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


def test_of_random_points_those_are_missed_that_crowd():
    _, curve = poisson(12, 2)
    x = np.sort(stream(2, "random points").uniform(0, np.pi, 32))
    missed = np.abs(points_behind(curve(x).T @ curve(x), 32, spectrum_of(curve, GRID)) - x) > 1e-3
    gaps = np.diff(x, prepend=-9, append=9)
    nearest = np.minimum(gaps[:-1], gaps[1:])
    assert 0 < missed.sum() < 32 and np.median(nearest[missed]) < 0.5 * np.median(nearest[~missed])


def test_what_is_stored_counts_and_measures():
    of = points_of_sums([12], [0])
    assert of.products.item() == 44 and of.points == [16, 32, 32] and 0.5 < of.error.item() < 0.7
    assert (of.off.sel(sums=["one client", "total"]) < 1e-6).all() and (of.middle <= of.off).all()


def test_inputs_are_read_off_sums_where_there_is_a_null_space():
    """Made-up inputs (1, normal numbers) times 1, y, y^2: 12 numbers, of which 6 triplets leave 6."""
    rng, grid = stream(0, "inputs"), np.linspace(0, 1, 501)
    x, y = np.column_stack([np.ones(6), rng.normal(size=(6, 3))]), np.sort(rng.uniform(size=6))
    polynomials = lambda y: y[:, None] ** np.arange(3)  # noqa: E731
    rows = np.einsum("np,nk->npk", x, polynomials(y)).reshape(6, -1)
    inputs, times = inputs_behind(rows.T @ rows, 6, polynomials, grid)
    np.testing.assert_allclose(times, y, atol=1e-6)
    np.testing.assert_allclose(inputs, x, atol=1e-4)


def test_torques_of_a_few_triplets_are_read_and_of_many_are_not():
    table = torques_of_sums([3, 60], [0], inputs=8, degree=4)
    few, many = (table.isel(points=n, seed=0) for n in (0, 1))
    assert few.share == 1 and many.share < 0.1, "36 numbers: of 60 triplets there is no null space"
    angle = few.u @ few.truth / np.linalg.norm(few.u) / np.linalg.norm(few.truth)
    assert angle > 0.99, "8 coordinates leave some of it"
