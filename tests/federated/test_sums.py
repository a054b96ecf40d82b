"""Laws of sums: whoever owns which points, one round gives the model of all of them."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm
from torch import nn

from fedlib.federated import sums
from fedlib.federated.experiment import Data, Experiment
from fedlib.federated.stack import draw_parameters
from fedlib.models.features import random_sines
from fedlib.models.networks import glorot_uniform, mlp
from fedlib.papers.fedsciml.forward import problem as forward
from fedlib.streams import stream, torch_stream


def linear(name: str, m: int, scale: float) -> Experiment:
    """An equation of notebook 05 with random sines in the place of its network."""
    experiment = forward.poisson() if name == "poisson" else forward.helmholtz(side=8)
    channel = {"x": "xx", "xy": "xx+yy"}[experiment.coordinates]
    net = random_sines(m, scale, experiment.coordinates, (channel,), stream(0, "features"))
    return experiment._replace(net=net)


def dealt(data: Data, rng: np.random.Generator) -> Data:
    """The same points with up to seven clients, ragged, some of them empty."""
    n, K = len(data.pool["x"]), rng.integers(1, 8)
    owner = rng.choice(K, n, p=rng.dirichlet(np.full(K, 0.3)))
    return data._replace(owners=[np.flatnonzero(owner == k) for k in range(K)])


def zeros(experiment: Experiment, dtype=torch.float64) -> torch.Tensor:
    return torch.zeros(sum(p.numel() for p in experiment.net.parameters()), dtype=dtype)


@pytest.fixture(scope="module")
def network() -> tuple[Experiment, Data]:
    """Poisson's equation with a small network, nonlinear in its weights."""
    experiment = forward.poisson()
    net = type(experiment.net)(mlp((1, 8, 8, 1), nn.Tanh), "x", ("xx",))
    return experiment._replace(net=net), experiment.data(4, 0)


@pytest.mark.parametrize("root, partitions", [(True, 200), (False, 30)], ids=["roots", "sums"])
@pytest.mark.parametrize("name, m, scale, level", [("poisson", 20, 4.0, 8), ("helmholtz", 30, 9.0, 4)])
def test_one_round_is_the_centralised_solution_whoever_owns_what(name, m, scale, level, root, partitions):
    """Of all rows at once, by an oracle that knows no sums."""
    experiment = linear(name, m, scale)
    data, theta = experiment.data(level, 0), zeros(experiment)
    J, r = sums.rows(experiment, data.pool, theta).tensor_split([m + 1], 1)
    ridge = 1e-6 * float(torch.linalg.matrix_norm(J, 2)) ** 2
    left = torch.cat([J, ridge**0.5 * torch.eye(m + 1, dtype=J.dtype)])
    oracle = torch.linalg.lstsq(left, torch.cat([-r, torch.zeros_like(r[: m + 1])])).solution[:, 0]
    rng, worst = stream(0, "partitions"), 0.0
    for _ in range(partitions):
        step = sums.one_round(experiment, dealt(data, rng), theta, ridge, root).step
        worst = max(worst, float((step - oracle).norm() / oracle.norm()))
    assert 0 < worst < 1e-9, "a condition number of 1e6, squared where the fit is not exact"


def test_one_round_by_hand():
    """Two features and three points, two clients: the normal equations on paper. u = c_0 x + c_1, r = u - y."""
    x, y = torch.tensor([0.0, 1.0, 2.0])[:, None].double(), torch.tensor([1.0, 3.0, 4.0]).double()
    experiment = Experiment("line", nn.Linear(1, 1), lambda predict, batch: predict(batch["x"]) - batch["y"][:, None])
    data = Data({"x": x, "y": y}, [np.array([0, 2]), np.array([1])])
    line = sums.one_round(experiment, data, torch.zeros(2, dtype=torch.float64), ridge=0.0)
    np.testing.assert_allclose(line.step, [1.5, 7 / 6], rtol=1e-12)  # slope, intercept
    assert line.degrees == pytest.approx(2) and line.noise == pytest.approx((1 / 6) ** 0.5)


def test_an_absent_client_is_taken_away_exactly():
    experiment = linear("poisson", 20, 4.0)
    data, theta = experiment.data(8, 0), zeros(experiment)
    messages = [sums.statistics(experiment, points, theta, root=False) for points in sums.parts(data)]
    left = sums.without(sums.added(messages), messages[1])
    gap = (left.matrix - messages[0].matrix).abs().max() / messages[0].matrix.abs().max()
    assert gap < 1e-15 and left.n == messages[0].n
    with pytest.raises(ValueError, match="add those of the clients that stay"):
        sums.without(sums.added(messages)._replace(root=True), messages[1])


def test_points_that_all_share_count_once():
    """Helmholtz' boundary belongs to both clients; the centralised model sees it once."""
    experiment = linear("helmholtz", 30, 9.0)
    data, theta = experiment.data(4, 0), zeros(experiment)
    together = data._replace(owners=[np.arange(len(data.pool["x"]))])
    apart, once = (sums.added(sums.statistics(experiment, p, theta) for p in sums.parts(of)) for of in (data, together))
    assert sum(map(len, data.owners)) > len(data.pool["x"])
    assert apart.n == pytest.approx(once.n)
    np.testing.assert_allclose(apart.matrix.T @ apart.matrix, once.matrix.T @ once.matrix, rtol=1e-9, atol=1e-6)


def test_a_root_keeps_the_digits_that_sums_lose():
    """J^T J squares the condition number."""
    experiment = linear("poisson", 60, 6.0)
    data, theta = experiment.data(8, 0), zeros(experiment)
    s = {root: sums.one_round(experiment, data, theta, root=root).spectrum.s for root in (True, False)}
    seen = {root: int((of > 1e-7 * of[0]).sum()) for root, of in s.items()}
    assert seen[True] == seen[False]
    np.testing.assert_allclose(s[True][: seen[True] - 2], s[False][: seen[True] - 2], rtol=0.1)
    assert len(s[True]) >= seen[True] + 5, "more directions are known than the sums have digits for"


def test_generalised_cross_validation_leaves_one_out():
    """With the hat matrix H: mean of (r_i / (1 - tr H / n))^2; the ridge that is chosen has the least of it."""
    rng = stream(3, "gcv")
    A = torch.as_tensor(rng.standard_normal((40, 9)) * np.geomspace(1, 1e-3, 9))
    y = torch.as_tensor(rng.standard_normal((40, 1)))
    for root in (True, False):
        matrix = torch.cat([A, y], 1)
        of = sums.Sums(torch.linalg.qr(matrix, mode="r").R if root else matrix.T @ matrix, 40.0, root)
        for ridge in (1e-5, 0.1):
            H = A @ torch.linalg.inv(A.T @ A + ridge * torch.eye(9, dtype=A.dtype)) @ A.T
            expected = (y - H @ y).square().mean() / (1 - H.trace() / 40) ** 2
            got = sums.solve(of, ridge)
            assert got.gcv == pytest.approx(float(expected), rel=1e-8)
            assert got.degrees == pytest.approx(float(H.trace()), rel=1e-8)
        assert sums.solve(of).gcv <= min(sums.solve(of, ridge).gcv for ridge in (1e-6, 1e-3, 1.0))


def test_spreads_are_those_of_the_posterior():
    """noise^2 phi^T (J^T J + ridge)^-1 phi, with fewer rows than parameters, too."""
    rng = stream(4, "spread")
    for n in (30, 5):
        A = torch.as_tensor(rng.standard_normal((n, 9)))
        phi = torch.as_tensor(rng.standard_normal((6, 8)))
        of = sums.solve(sums.Sums(torch.linalg.qr(A, mode="r").R, float(n), True), 0.7)
        covariance = torch.linalg.inv(A[:, :8].T @ A[:, :8] + 0.7 * torch.eye(8, dtype=A.dtype))
        np.testing.assert_allclose(of.spread(phi), of.noise * (phi @ covariance * phi).sum(1).sqrt(), rtol=1e-9)


def test_gauss_newton_goes_the_same_way_for_every_partition(network):
    experiment, data = network
    theta = draw_parameters(experiment.net, glorot_uniform, torch_stream(0, "init")).double()
    together = data._replace(owners=[np.arange(32)])
    one, *others = (sums.gauss_newton(experiment, of, theta, 8) for of in (together, data, experiment.data(16, 0)))
    for other in others:
        np.testing.assert_allclose(other.theta, one.theta, rtol=1e-6, atol=1e-8)
    long = sums.gauss_newton(experiment, data, theta, 60)
    assert long.loss[-1] < 0.1 * one.loss[0] and sorted(long.loss, reverse=True) == long.loss


@pytest.mark.parametrize("noise", [3e-11, -3e-11, 0.0])
def test_gauss_newton_ends_where_rounding_decides(noise, monkeypatch):
    """On another CPU r^T r of a solved problem rises in its twelfth digit, or falls there, in every round."""
    exact, rounds = sums.added, []

    def rounded(messages):
        total = exact(messages)
        rounds.append(total.loss)
        matrix = total.matrix.clone()
        matrix[:, -1] *= 1 + noise / 2 * len(rounds)
        return total._replace(matrix=matrix)

    monkeypatch.setattr(sums, "added", rounded)
    experiment = linear("poisson", 8, 2.0)
    data, theta = experiment.data(8, 0), zeros(experiment)
    for least in (0.0, 1e-3):
        rounds.clear()
        iterates = sums.gauss_newton(experiment, data, theta, 20, damping=1e-20, least=least)
        assert len(iterates.loss) == len(rounds) == 3


def test_bytes_are_counted():
    experiment = linear("poisson", 20, 4.0)
    points, theta = sums.parts(experiment.data(8, 0))[0], zeros(experiment)
    assert sums.statistics(experiment, points, theta, root=False).bytes == 8 * 22 * 23 // 2
    R = sums.statistics(experiment, points, theta)
    assert R.bytes == 8 * int(torch.triu(torch.ones_like(R.matrix)).sum()) and len(R.matrix) == 16
    nothing = {name: value[:0] for name, value in points.items()}
    assert sums.statistics(experiment, nothing, theta).bytes == 0


@pytest.mark.fault("clear error")
def test_an_experiment_without_residuals_is_refused():
    experiment = Experiment("scores", nn.Linear(1, 1), loss=lambda predict, batch: predict(batch["x"]).sum())
    with pytest.raises(ValueError, match="scores has a loss, but no residuals"):
        sums.statistics(experiment, {"x": torch.zeros(2, 1)}, torch.zeros(2))


# in private


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.0, 1.0), (0.5, 0.7), (8.0, 0.3)])
def test_delta_is_the_integral_over_all_that_may_come(epsilon, sigma):
    """delta = max over sets S of P(S) - e^epsilon Q(S): all z where p > e^epsilon q, of normals at 1 and at 0."""
    more = lambda z: max(0.0, norm.pdf(z, 1, sigma) - np.exp(epsilon) * norm.pdf(z, 0, sigma))  # noqa: E731
    edge = 0.5 + epsilon * sigma**2
    integral, _ = quad(more, edge, edge + 12 * sigma, epsabs=1e-14)
    assert sums.gaussian_delta(epsilon, sigma) == pytest.approx(integral, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("epsilon", [0.1, 1, 10, 100])
def test_sigma_is_the_least_and_below_the_classical_one(epsilon):
    sigma = sums.gaussian_sigma(epsilon, 1e-5)
    assert sums.gaussian_delta(epsilon, 0.999 * sigma) > 1e-5 >= 0.999 * sums.gaussian_delta(epsilon, sigma)
    if epsilon < 1:  # where Dwork and Roth, Theorem A.1, holds
        assert sigma < np.sqrt(2 * np.log(1.25 / 1e-5)) / epsilon


def test_noise_is_symmetric_and_has_its_size():
    noise = sums.symmetric_noise(2.0, 300, stream(0, "noise")).numpy()
    assert np.array_equal(noise, noise.T) and np.std(np.diag(noise)) == pytest.approx(2, rel=0.2)
    assert np.std(noise[np.triu_indices(300)]) == pytest.approx(2, rel=0.02)


@pytest.fixture(scope="module")
def table() -> tuple[torch.Tensor, torch.Tensor, sums.Directions]:
    """Rows [J, r] of forty points, those that everybody knows, and directions; J's last column is nearly its first."""
    x = torch.as_tensor(stream(0, "private").uniform(-1, 1, (300, 2)))
    J = torch.stack([torch.ones(300), x[:, 0], x[:, 1], x[:, 0] + 1e-3 * x[:, 1] ** 2], 1)
    public = torch.cat([J, 0 * x[:, :1] + 3.0], 1)
    rows = torch.cat([J, (J @ torch.tensor([1.0, 2, -1, 0]).double())[:, None]], 1)[:40]
    return rows, public, sums.whitened(public)


def told(rows, added, directions, epsilon, group=1, times=1000, beside=0.0):
    """Who knows all ``rows`` tests whether ``added`` ones are there, too, by the ratio of likelihoods: how often it is
    rightly above e^epsilon, less e^epsilon times how often it is so wrongly. No test tells more, and (epsilon, delta)
    says: delta at most. What is wrong is counted as what is right, divided by its ratio.

    beside: times the added rows, as they are, that are added without noise.
    """
    up = np.triu_indices(directions.W.shape[1])
    outer = ((added @ directions.W).T @ (added @ directions.W)).numpy()
    draw = lambda A: sums.private(A, directions, epsilon, 1e-5, group).matrix.numpy()  # noqa: E731
    both = torch.cat([rows, added])
    without, within = (np.array([draw(A)[up] @ outer[up] for _ in range(times)]) for A in (rows, both))
    within += beside * outer[up] @ outer[up]
    gap, spread = within.mean() - without.mean(), ((within.var() + without.var()) / 2) ** 0.5
    ratio = gap / spread**2 * (within - (within.mean() + without.mean()) / 2)
    return np.maximum(0, 1 - np.exp(np.minimum(epsilon - ratio, 0))).mean()


@pytest.mark.parametrize("epsilon", [0.5, 1, 10])
def test_private_sums_withstand_the_best_test_of_who_is_in_them(epsilon, table, monkeypatch):
    """The worst of the public rows, and one ten times as long; a tenth of the noise, or no row shortened, is seen."""
    rows, public, directions = table
    worst = public[(public @ directions.W).square().sum(1).argmax()][None]
    for row in (worst, 10 * worst):
        assert told(rows, row, directions, epsilon) < 0.02
    assert told(rows, 10 * worst, directions, epsilon, beside=1.0, times=100) > 0.2, "as if it were not shortened"
    sigma = sums.gaussian_sigma
    monkeypatch.setattr(sums, "gaussian_sigma", lambda *args: sigma(*args) / 10)
    assert told(rows, worst, directions, epsilon) > 0.2


def test_who_owns_many_rows_needs_as_many_times_the_noise(table):
    rows, public, directions = table
    many = public[(public @ directions.W).square().sum(1).argsort()[-10:]]
    assert told(rows, many, directions, 1.0) > 0.2 and told(rows, many, directions, 1.0, group=10) < 0.02
    one, ten = (sums.private(rows, directions, 1.0, group=group) for group in (1, 10))
    assert ten.noise == pytest.approx(10 * one.noise) and np.isnan(one.n), "how many there are is not told"


def test_private_sums_are_solved_by_their_noise_and_lead_back(table):
    """Many rows from several laboratories; of one whose message is taken out the noise is gone, too."""
    rows, _, directions = table
    assert directions.W.shape == (5, 5), "rounding leaves all four of these"
    expected = -torch.linalg.lstsq(rows[:, :-1], rows[:, -1:]).solution[:, 0]
    messages = [sums.private(rows.repeat(50, 1), directions, 1e3) for _ in range(3)]
    total = sums.added(messages)
    assert total.noise == pytest.approx(3**0.5 * messages[0].noise)
    assert sums.without(total, messages[2]).noise == pytest.approx(2**0.5 * messages[0].noise)
    solution = sums.solve(total)
    assert solution.ridge == 2 * total.noise * 5**0.5 and np.isnan(solution.noise)
    answers = rows[:, :-1] @ torch.stack([directions.back @ solution.step, expected], 1)
    assert (answers[:, 0] - answers[:, 1]).norm() < 0.02 * answers[:, 1].norm()
    assert not torch.equal(*(sums.private(rows, directions, 1.0).matrix for _ in range(2))), "nobody draws it again"


@pytest.mark.parametrize("kept", [None, 2])
def test_whitened_directions_are_alike_on_public_rows(kept, table):
    _, public, _ = table
    directions = sums.whitened(public, kept)
    b = public @ directions.W
    assert b.shape[1] == (kept or 4) + 1 and directions.longest == b.square().sum(1).max()
    white = b[:, :-1].T @ b[:, :-1] / len(b)
    torch.testing.assert_close(white, torch.eye(len(white)).double(), rtol=0, atol=1e-6)
    assert b[:, -1].abs().max() == pytest.approx(float(b[:, :-1].norm(dim=1).max()))


def test_what_cannot_be_made_private_is_refused(table):
    rows, public, directions = table
    R = torch.linalg.qr(rows, mode="r").R
    for given, word in ((sums.Sums(R, 40.0, True), "root"), (sums.Sums(rows.T @ rows, 40.0), "sums")):
        with pytest.raises(ValueError, match=rf"{word}.*rows\(experiment"):
            sums.private(given, directions, 1.0)
    for bad in ({"epsilon": 0}, {"epsilon": 1, "delta": 0}, {"epsilon": 1, "group": 0}):
        with pytest.raises(ValueError, match="epsilon > 0"):
            sums.private(rows, directions, **bad)
    with pytest.raises(ValueError, match="finite"):
        sums.private(rows * np.nan, directions, 1.0)
    with pytest.raises(ValueError, match="r = 0"):
        sums.whitened(torch.cat([public[:, :-1], 0 * public[:, -1:]], 1))
