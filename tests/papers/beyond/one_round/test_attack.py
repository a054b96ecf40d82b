"""The attack on sums finds points that it has never seen, where products are enough; else others have the sums."""

import numpy as np
import pytest

from fedlib.federated import sums
from fedlib.papers.beyond.one_round import problem
from fedlib.papers.beyond.one_round.torques import torques_of_sums
from fedlib.papers.beyond.points import inputs_behind, points_behind, poisson_rows, spectrum_of
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


def test_torques_of_a_few_triplets_are_read_and_of_many_are_not():
    table = torques_of_sums([3, 60], [0], inputs=8, degree=4)
    few, many = (table.isel(points=n, seed=0) for n in (0, 1))
    assert few.share == 1 and many.share < 0.1, "36 numbers: of 60 triplets there is no null space"
    angle = few.u @ few.truth / np.linalg.norm(few.u) / np.linalg.norm(few.truth)
    assert angle > 0.99, "8 coordinates leave some of it"
