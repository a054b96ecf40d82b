"""Levels put in order beforehand: the formulas against descent and gradients that are computed another way."""

import numpy as np
import pytest
import torch
import xarray
from scipy.linalg import expm

from fedlib.federated.batches import Local
from fedlib.federated.experiment import data_of, train_arguments
from fedlib.federated.federation import Federation
from fedlib.federated.stack import as_dict, stack
from fedlib.papers.beyond.drift import prediction, ranks
from fedlib.papers.beyond.drift.prediction import (
    LEFT,
    PROBLEMS,
    descent,
    descent_of_network,
    disagreement,
    disagreements,
    gaussian,
    linear,
    measures,
    residuals_left,
    staged,
    weights_of,
)
from fedlib.papers.beyond.drift.prediction_figures import ORDER_HEADER, order_in_words, order_of_levels, order_rows
from fedlib.papers.fedsciml.forward.problem import euler_beam, helmholtz, poisson
from fedlib.papers.fedsciml.functions.problem import gramacy_lee, schaffer
from fedlib.papers.fedsciml.reaction.problem import reaction

PROBLEM = {
    "wave, 3 clients": (lambda: gramacy_lee(3, 30, 8), 6, None),
    "Schaffer": (lambda: schaffer(n=40, width=6), 4, None),
    "Poisson": (lambda: poisson(12), 4, None),
    "Helmholtz, shared points": (lambda: helmholtz(side=4, boundary=8), 2, None),
    "beam, shared points and conditions": (lambda: euler_beam(10), 2, None),
    "reaction, a common equation": (lambda: reaction(5, observations=9), 4, PROBLEMS["reaction"].residuals),
}
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def the_same_numbers_in_any_order(monkeypatch):
    monkeypatch.setitem(globals(), "RNG", np.random.default_rng(0))


def start(experiment):
    return stack(experiment.net, [(0,)], experiment.init)[0].double()


@pytest.mark.parametrize("name", PROBLEM)
def test_clients_gradients_are_those_of_their_losses(name):
    """B before anything is learnt, from the Jacobian, against the gradients of the losses that are trained."""
    make, level, residuals = PROBLEM[name]
    experiment = make()
    data, theta = data_of(experiment, level), start(experiment)
    around = linear(experiment, data.pool, theta, residuals)
    weights, p = weights_of(data.owners, around), Federation(data.owners).p
    loss, constants = train_arguments(experiment)["loss"], {k: v.double() for k, v in experiment.constants.items()}

    def value(theta, shard):
        batch = {k: v[shard].double() for k, v in data.pool.items()} | constants
        batch["w"] = torch.full((len(shard),), 1 / len(shard), dtype=torch.float64)
        parameters = as_dict(experiment.net, theta)
        return loss(lambda *x: torch.func.functional_call(experiment.net, parameters, x), batch)

    gradients = []
    for shard, w in zip(data.owners, weights, strict=True):
        point = theta.clone().requires_grad_()
        total = value(point, torch.as_tensor(shard))
        assert total.item() == pytest.approx((w * around.r**2).sum(), rel=1e-10)
        gradients.append(torch.autograd.grad(total, point)[0].numpy())
        assert np.allclose(gradients[-1], 2 * around.J.T @ (w * around.r), rtol=1e-8, atol=1e-10)
    mean = p @ np.array(gradients)
    B = np.sqrt(sum(p * [g @ g for g in gradients]) / (mean @ mean))
    assert B > 1.001
    for flow in (
        descent(around.J @ around.J.T, p @ weights, around.r),
        descent_of_network(around.J, p @ weights, around.r),
    ):
        assert disagreement(flow, weights, p)[0] == pytest.approx(B, rel=1e-7)


@pytest.mark.parametrize("name", ["Poisson", "beam, shared points and conditions", "reaction, a common equation"])
def test_jacobian_by_differences(name):
    make, level, residuals = PROBLEM[name]
    experiment = make()
    pool, theta = data_of(experiment, level).pool, start(experiment)
    J = linear(experiment, pool, theta, residuals).J
    for _ in range(3):
        v = torch.as_tensor(RNG.standard_normal(len(theta)))
        plus, minus = (linear(experiment, pool, theta + sign * 1e-5 * v, residuals).r for sign in (1, -1))
        assert np.allclose(J @ v.numpy(), (plus - minus) / 2e-5, rtol=1e-6, atol=1e-6 * np.abs(J).max())


def some_flow(n=8, K=2):
    """A kernel, residuals, and clients who share the first point and own the others in turn."""
    A = RNG.standard_normal((n, n))
    owners = [np.r_[0, 1 + np.flatnonzero(np.arange(n - 1) % K == k)] for k in range(K)]
    weights = np.zeros((K, n))
    for w, shard in zip(weights, owners, strict=True):
        w[shard] = 1 / len(shard)
    return A @ A.T, RNG.standard_normal(n), weights, Federation(owners).p


def test_residuals_on_the_way_are_those_of_gradient_flow():
    """Against the matrix exponential, and the norm that was asked for."""
    K, r, weights, p = some_flow()
    W, left = p @ weights, np.array([1.0, 0.5, 0.1])
    flow = descent(K, W, r)
    a = residuals_left(flow, left)
    assert np.allclose(np.linalg.norm(a, axis=1) / np.linalg.norm(flow.a), left, rtol=1e-6)
    for row in a:
        moved = (np.abs(flow.a) > 1e-3) & (np.abs(row) > 1e-200)  # what is gone says nothing of the time
        t = np.mean(-np.log(row[moved] / flow.a[moved]) / flow.rates[moved])
        assert np.allclose(flow.Q @ row / np.sqrt(W), expm(-t * K @ np.diag(W)) @ r, atol=1e-7)


def test_descent_by_small_steps_goes_the_same_way():
    """A linear model, descended as it is trained: B when its residual has halved."""
    J, (_, r, weights, p) = RNG.standard_normal((8, 12)), some_flow()
    W, x = p @ weights, r.copy()
    size = lambda x: np.sqrt((W * x**2).sum())  # noqa: E731
    while size(x) > 0.5 * size(r):
        x -= 1e-4 * J @ (J.T @ (W * x))
    g = np.array([J.T @ (w * x) for w in weights])
    B = np.sqrt((p @ (g**2).sum(1)) / ((p @ g) ** 2).sum())
    assert disagreement(descent(J @ J.T, W, r), weights, p, np.array([0.5]))[0] == pytest.approx(B, rel=1e-3)


@pytest.mark.parametrize("P", [5, 12])
def test_singular_values_say_what_the_kernel_says(P):
    """Fewer parameters than residuals, and more."""
    J, (_, r, weights, p) = RNG.standard_normal((8, P)), some_flow()
    by_kernel, by_network = descent(J @ J.T, p @ weights, r), descent_of_network(J, p @ weights, r)
    assert len(by_network.rates) == 8
    left = np.array([1.0, 0.95, 0.9])
    B, again = (disagreement(flow, weights, p, left) for flow in (by_kernel, by_network))
    assert np.isfinite(B[:2]).all()
    assert np.allclose(B, again, rtol=1e-7, equal_nan=True)


def test_rates_far_below_the_rounding_of_the_kernel():
    """Singular values of J down to 1e-10: of the kernel, these are rounding, and it does not say its last stages."""
    U = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
    J, r = U * np.array([1, 1e-3, 1e-6, 1e-10]), U.sum(1)
    weights = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    p, left = np.array([0.5, 0.5]), np.array([1.0, 0.4, 0.1])
    W = p @ weights
    B = disagreement(descent_of_network(J, W, r), weights, p, left)
    assert np.isfinite(B).all()
    assert np.isnan(disagreement(descent(J @ J.T, W, r), weights, p, left)[1:]).all()
    s = np.array([1, 1, -1, -1])
    flow = descent_of_network(J, W, r)
    last = flow.Q @ residuals_left(flow, left)[2]
    at_last = 1 + np.sum((J.T @ (s * last)) ** 2) / np.sum(1e-20 * (U[:, 3] @ last) ** 2)
    assert B[2] ** 2 == pytest.approx(at_last, rel=1e-4)


def test_two_clients_disagree_as_the_sign_says():
    """B^2 = 1 + (s r)' K (s r) / r' K r of two clients with as many points."""
    K, r, _, _ = some_flow()
    s = RNG.permutation(np.repeat([1.0, -1.0], 4))
    weights = np.array([s > 0, s < 0]) / 4
    B = disagreement(descent(K, np.full(8, 1 / 8), r), weights, np.array([0.5, 0.5]), np.ones(1))[0]
    expected = np.sqrt(1 + (s * r) @ K @ (s * r) / (r @ K @ r))
    assert pytest.approx(expected, rel=1e-10) == B


def test_what_does_not_matter():
    """The residual's and the kernel's size, the order of points and of clients; clients who own the same agree."""
    K, r, weights, p = some_flow(K=3, n=10)
    left = np.array([1.0, 0.3, 0.1])

    def B(K, r, weights, p):
        return disagreement(descent(K, p @ weights, r), weights, p, left)

    expected, points, clients = B(K, r, weights, p), RNG.permutation(10), RNG.permutation(3)
    assert (expected > 1.01).all()
    assert np.allclose(B(7 * K, r, weights, p), expected)
    assert np.allclose(B(K, -3 * r, weights, p), expected)
    assert np.allclose(B(K[np.ix_(points, points)], r[points], weights[:, points], p), expected)
    assert np.allclose(B(K, r, weights[clients], p[clients]), expected)
    assert np.allclose(B(K, r, np.repeat([p @ weights], 3, 0), p), 1)


def test_a_mask_that_makes_what_is_left_slow_resonates():
    """Of a kernel that learns slow waves first, a fast wave is left: pieces as long as its half waves stand out."""
    x = np.linspace(0, 1, 240, endpoint=False) + 1 / 480
    r, levels = np.sin(16 * np.pi * x), [2, 4, 8, 16, 24, 40]
    flow = descent(gaussian(x[:, None], 0.05), np.full(240, 1 / 240), r)
    signs = {level: (-1.0) ** (np.arange(240) * level // 240) for level in levels}
    B = {
        level: disagreement(flow, np.array([s > 0, s < 0]) / 120, np.array([0.5, 0.5]), np.array([0.9]))[0]
        for level, s in signs.items()
    }
    assert max(B, key=B.get) == 16
    assert B[16] > 1.4 * sorted(B.values())[-2]


def test_what_is_never_learnt_is_not_a_number():
    """A residual that the kernel does not see: stages that are not reached are left out of the mean."""
    r = np.array([1.0, 0, 0, 0.5])
    weights = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    B = disagreement(descent(np.diag([1.0, 1, 1, 0]), np.full(4, 0.25), r), weights, np.array([0.5, 0.5]))
    reached = np.sqrt(1.25) * LEFT > 0.5
    assert np.array_equal(np.isfinite(B), reached)
    assert B[reached] == pytest.approx(np.sqrt(2))  # one client has all of it, the other nothing
    assert staged(xarray.DataArray(B, {"left": LEFT})) == pytest.approx(np.sqrt(2))


def test_stages_end_where_enough_is_learnt():
    B = xarray.DataArray(np.where(LEFT >= 1e-2 * 0.999, 2.0, 50.0), {"left": LEFT})
    assert staged(B, 1e-2) == pytest.approx(2)
    assert staged(B, 1e-3) > 3


def test_one_problem_by_its_name(monkeypatch):
    """Shapes, and a start that does not see what the stages see: the arrays that are stored."""
    monkeypatch.setitem(prediction.PROBLEMS, "small", PROBLEMS["poisson"]._replace(make=lambda: poisson(16)))
    dataset = disagreements("small", [2, 8, 4], [0, 3])
    assert dict(dataset.network.sizes) == {"seed": 2, "level": 3, "left": len(LEFT)}
    assert np.allclose(dataset.W1, [gap for gap in (np.pi * 8 / 15, np.pi * 2 / 15, np.pi * 4 / 15)])
    table = measures(dataset)
    assert table.dims == ("measure", "seed", "level")
    assert np.ptp(table.sel(measure="gaussian").values, axis=0).max() == 0
    assert np.ptp(table.sel(measure="network").values, axis=0).min() > 0
    assert (table.sel(measure=["start", "tenth", "network", "gaussian"]) >= 1).all()


def test_a_table_has_the_levels_and_seeds_that_errors_and_numbers_have(monkeypatch):
    """Numbers as logarithms; a problem of which nothing is computed has no table."""
    error = xarray.DataArray(np.ones((3, 3)), {"seed": [0, 1, 2], "level": [2, 4, 8]}, ("seed", "level"))
    monkeypatch.setattr(prediction, "errors_of", lambda name, histories: error)
    sizes = {"seed": [0, 2], "level": [2, 8, 16], "left": LEFT}
    B = xarray.DataArray(np.full((2, 3, len(LEFT)), 3.0), sizes, [*sizes])
    dataset = xarray.Dataset({"network": B, "gaussian": B.isel(seed=0, drop=True), "W1": 1.0 / B.level})
    (table,) = prediction.with_errors({"disagreement_poisson": dataset}).values()
    assert dict(table.sizes) == {"seed": 2, "level": 2, "measure": 5}
    assert np.allclose(table.number.sel(measure="network"), np.log(3))
    assert np.allclose(table.number.sel(measure="W1", seed=0), [-np.log(2), -np.log(8)])


def test_one_file_for_a_problem_and_one_training():
    calls = prediction.trainings({"poisson": [2], "square_wave": [2, 10]}, {"poisson": [0], "square_wave": [0, 1]}, 30)
    assert [*calls] == ["disagreement_poisson", "disagreement_square_wave", "square_wave"]
    assert calls["square_wave"].changes == {"rounds": 30, "local": Local(5), "lr": 1e-3}
    assert calls["disagreement_poisson"].settings()["arguments"] == {"name": "poisson", "levels": [2], "seeds": [0]}


def test_square_wave_has_ten_half_waves_that_ten_pieces_fit():
    data = data_of(prediction.square_wave(), 10)
    values = data.pool["f"].numpy()
    assert {*values} == {-1.0, 1.0}
    assert np.count_nonzero(np.diff(values)) == 9
    assert [{*values[shard]} for shard in data.owners] == [{-1.0}, {1.0}]


def test_picture_and_table_of_an_order():
    """The rings stand where a measure says it is worst, the band where it is; text and table say the same."""
    levels, seeds = [2, 8, 32], [0, 1]
    error = xarray.DataArray([[1.0, 5, 0.2], [1.1, 6, 0.3]], {"seed": seeds, "level": levels})
    rows = {
        "W1": [3.0, 2, 1],
        "start": [3.0, 2, 1],
        "tenth": [2.0, 4, 1],
        "network": [2.0, 4, 1],
        "gaussian": [2.0, 4, 1],
    }
    numbers = xarray.DataArray(
        [[row] * 2 for row in rows.values()],
        {"measure": [*rows], "seed": seeds, "level": levels},
        ("measure", "seed", "level"),
    )
    tables = {"poisson": xarray.Dataset({"error": error, "number": np.log(numbers)})}
    orders = ranks.orders(tables, draws=200)
    fig = order_of_levels(tables)
    rings = [line.get_xdata()[0] for line in fig.axes[1].lines if line.get_markersize() > 7]
    assert rings == [2, 8, 8]
    assert [*fig.axes[1].xaxis.get_ticklocs()] == levels
    assert "Poisson: worst at 8, W1 says 2, staged B 8 to 10 %, 8 to 1 %" in order_in_words(orders)
    (row,) = order_rows(tables, orders)
    assert len(row) == len(ORDER_HEADER)
    assert row[:4] == ["Poisson", "3, 2", "8 (100 %)", "0.50, 2"]
    assert row[6] == "1.00, 8"
    assert row[-1].startswith("+0.50 [")
