"""Laws of sums: whoever owns which points, one round gives the model of all of them."""

import numpy as np
import pytest
import torch
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


def test_the_library_solves_what_it_trains_for(network):
    """The sums' gradient is that of the federated loss: 2 J^T r / n is what autograd says."""
    experiment, data = network
    theta = draw_parameters(experiment.net, glorot_uniform, torch_stream(0, "init")).double()
    total = sums.added(sums.statistics(experiment, points, theta, root=False) for points in sums.parts(data))
    x = theta.clone().requires_grad_()
    experiment.residuals(sums.predicting(experiment, x), data.pool).square().sum().backward()
    np.testing.assert_allclose(2 * total.matrix[:-1, -1], x.grad, rtol=1e-9, atol=1e-9)
    assert total.n == 32


def test_one_round_by_hand():
    """Two features and three points, two clients: the normal equations on paper. u = c_0 x + c_1, r = u - y."""
    x, y = torch.tensor([0.0, 1.0, 2.0])[:, None].double(), torch.tensor([1.0, 3.0, 4.0]).double()
    experiment = Experiment("line", nn.Linear(1, 1), lambda predict, batch: predict(batch["x"]) - batch["y"][:, None])
    data = Data({"x": x, "y": y}, [np.array([0, 2]), np.array([1])])
    line = sums.one_round(experiment, data, torch.zeros(2, dtype=torch.float64), ridge=0.0)
    np.testing.assert_allclose(line.step, [1.5, 7 / 6], rtol=1e-12)  # slope, intercept
    assert line.degrees == pytest.approx(2) and line.noise == pytest.approx((1 / 6) ** 0.5)


def test_the_order_does_not_matter():
    experiment = linear("poisson", 20, 4.0)
    data, theta = dealt(experiment.data(8, 0), stream(1, "partitions")), zeros(experiment)
    for root in (True, False):
        messages = [sums.statistics(experiment, points, theta, root) for points in sums.parts(data)]
        one, other = (sums.solve(sums.added(of), 1e-3).step for of in (messages, messages[::-1]))
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_an_absent_client_is_taken_away_exactly():
    experiment = linear("poisson", 20, 4.0)
    data, theta = experiment.data(8, 0), zeros(experiment)
    messages = [sums.statistics(experiment, points, theta, root=False) for points in sums.parts(data)]
    left = sums.without(sums.added(messages), messages[1])
    gap = (left.matrix - messages[0].matrix).abs().max() / messages[0].matrix.abs().max()
    assert gap < 1e-15 and left.n == messages[0].n
    with pytest.raises(ValueError, match="add those of the clients that stay"):
        sums.without(sums.added(messages)._replace(root=True), messages[1])


def test_without_points_a_client_changes_nothing():
    experiment = linear("poisson", 20, 4.0)
    data, theta = experiment.data(8, 0), zeros(experiment)
    for root, size in ((True, 0), (False, 22 * 23 // 2 * 8)):
        empty = sums.statistics(experiment, {n: v[:0] for n, v in data.pool.items()}, theta, root)
        others = [sums.statistics(experiment, points, theta, root) for points in sums.parts(data)]
        assert empty.bytes == size and empty.n == 0
        one, both = (sums.solve(sums.added(of), 1e-3).step for of in (others, [empty, *others]))
        np.testing.assert_allclose(one, both, rtol=1e-9, atol=1e-12)


def test_points_that_all_share_count_once():
    """Helmholtz' boundary belongs to both clients; the centralised model sees it once."""
    experiment = linear("helmholtz", 30, 9.0)
    data, theta = experiment.data(4, 0), zeros(experiment)
    together = data._replace(owners=[np.arange(len(data.pool["x"]))])
    apart, once = (sums.added(sums.statistics(experiment, p, theta) for p in sums.parts(of)) for of in (data, together))
    assert sum(map(len, data.owners)) > len(data.pool["x"])
    assert apart.n == pytest.approx(once.n)
    np.testing.assert_allclose(apart.matrix.T @ apart.matrix, once.matrix.T @ once.matrix, rtol=1e-9, atol=1e-6)


def test_float32_is_as_good_as_float32_can_be():
    experiment = linear("poisson", 12, 3.0)
    data = experiment.data(8, 0)
    ridge = 1e-4 * float(sums.one_round(experiment, data, zeros(experiment)).spectrum.s[0]) ** 2
    steps = {d: sums.one_round(experiment, data, zeros(experiment, d), ridge) for d in (torch.float32, torch.float64)}
    test = {n: v.double() for n, v in data.test.items()}
    u32, u64 = (experiment.answer(sums.predicting(experiment, of.step.double()), test) for of in steps.values())
    assert steps[torch.float32].step.dtype == torch.float32
    assert (u32 - u64).norm() / u64.norm() < 1e-4


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


def test_gauss_newton_of_a_linear_problem_needs_one_step():
    experiment = linear("poisson", 8, 2.0)
    data, theta = experiment.data(8, 0), zeros(experiment)
    iterates = sums.gauss_newton(experiment, data, theta, 6, damping=1e-20, least=1e-3)
    once = sums.one_round(experiment, data, theta, ridge=0.0)
    assert len(iterates.loss) == 3, "it is known to be good in the second round, and to stay so in the third"
    J, r = sums.rows(experiment, data.pool, theta).tensor_split([9], 1)
    assert iterates.loss[1] == pytest.approx(float((r[:, 0] + J @ once.step).square().sum()), rel=1e-4)


@pytest.mark.parametrize("noise", [1e-12, -1e-12, 3e-11, -3e-11, 0.0])
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


@pytest.mark.fault("clear error")
def test_an_experiment_without_residuals_is_refused():
    experiment = Experiment("scores", nn.Linear(1, 1), loss=lambda predict, batch: predict(batch["x"]).sum())
    with pytest.raises(ValueError, match="scores has a loss, but no residuals"):
        sums.statistics(experiment, {"x": torch.zeros(2, 1)}, torch.zeros(2))
