"""Laws of optimal transport: geodesics, bounds, closed forms, invariances, and what crosses the client boundary."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedlib.papers.feddro.algorithms import federated_barycenter
from fedlib.papers.feddro.measures import (
    Measure,
    barycentric_map,
    interpolant,
    objective,
    plan,
    project,
    uniform,
    wasserstein,
)
from fedlib.papers.feddro.transport.problem import fedwad
from fedlib.streams import stream


def clouds(n, m, d, seed=0, weights=False, shift=4.0):
    """Two Gaussian clouds [n, d], [m, d], with equal or random weights."""
    rng = stream(seed, "clouds", n, m, d)
    X, Y = uniform(rng.normal(size=(n, d))), uniform(0.7 * rng.normal(size=(m, d)) + shift)
    if weights:
        X, Y = (Measure(A.x, rng.dirichlet(np.ones(len(A.x)))) for A in (X, Y))
    return X, Y


def tight(X, Y, S, seed=1):
    """S atoms near the common mean."""
    return 0.5 * (X.x.mean(0) + Y.x.mean(0)) + 0.01 * stream(seed, "xi").normal(size=(S, X.x.shape[1]))


@pytest.mark.parametrize("p", [1, 2, 3])
def test_plan_and_distance_on_the_line_are_the_sorted_matching(p):
    rng = stream(0, "line")
    x, y = rng.normal(size=(2, 30))
    X, Y = uniform(x[:, None]), uniform(y[:, None])
    expected = (np.abs(np.sort(x) - np.sort(y)) ** p).mean() ** (1 / p)
    assert wasserstein(X, Y, p) == pytest.approx(expected, rel=1e-12)
    P = plan(X, Y, p)
    np.testing.assert_allclose(P.sum(0), Y.w, atol=1e-12)
    np.testing.assert_allclose(P.sum(1), X.w, atol=1e-12)
    np.testing.assert_allclose(plan(X, X), np.diag(X.w), atol=1e-16)
    np.testing.assert_allclose(barycentric_map(X.x, Y.x), project(plan(X, Y), Y.x), atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(2, 12), st.integers(2, 12), st.floats(0.05, 0.95), st.sampled_from([1, 1.5, 2, 3]), st.integers(0, 99)
)
def test_exact_interpolant_splits_the_distance(n, m, t, p, seed):
    """W(X, eta) = t W and W(eta, Y) = (1 - t) W, with at most n + m - 1 atoms."""
    X, Y = clouds(n, m, 3, seed, weights=True)
    eta, W = interpolant(X, Y, t, p, exact=True), wasserstein(X, Y, p)
    assert len(eta.x) <= n + m - 1
    assert eta.w.sum() == pytest.approx(1)
    assert wasserstein(X, eta, p) == pytest.approx(t * W, rel=1e-9)
    assert wasserstein(eta, Y, p) == pytest.approx((1 - t) * W, rel=1e-9)


def test_barycentric_interpolant_keeps_weights_and_moves_the_mean():
    """Its mean is (1 - t) mean(X) + t mean(Y), whatever the weights."""
    X, Y = clouds(9, 14, 3, weights=True)
    eta = interpolant(X, Y, 0.3)
    np.testing.assert_array_equal(eta.w, X.w)
    np.testing.assert_allclose(eta.w @ eta.x, 0.7 * X.w @ X.x + 0.3 * Y.w @ Y.x)


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 25), st.integers(2, 25), st.integers(2, 25), st.sampled_from([1, 2, 3]), st.integers(0, 99))
def test_fedwad_is_never_below_the_distance(n, m, S, p, seed):
    X, Y = clouds(n, m, 2, seed, weights=True, shift=0.5)
    result = fedwad(X, Y, stream(seed, "xi").normal(size=(S, 2)), 4, p=p)
    assert (result.bound >= wasserstein(X, Y, p) * (1 - 1e-9)).all()


@pytest.mark.parametrize("p", [1, 2, 3])
def test_fedwad_falls_monotonically_to_within_one_percent(p):
    X, Y = clouds(120, 120, 2)
    W = ot.emd2(X.w, Y.w, ot.dist(X.x, Y.x, "euclidean") ** p) ** (1 / p)
    bound = fedwad(X, Y, tight(X, Y, 120), 10, p=p).bound
    assert (np.diff(bound) <= 1e-9).all()
    assert W * (1 - 1e-9) <= bound[-1] < 1.001 * W
    assert bound[0] > 1.02 * W


def shifted_gaussians(n=150):
    rng = stream(3, "shifted")
    base = rng.normal(size=(n, 2))
    shifts = np.array([[0.0, 0], [4, 0], [0, 4]])
    return [uniform(base[rng.permutation(n)] + s) for s in shifts], base, shifts


def test_barycenter_of_shifted_gaussians_has_the_mean_shift():
    """Translates of one cloud: the barycenter is the cloud, translated by the mean."""
    measures, base, shifts = shifted_gaussians()
    start = shifts.mean(0) + 0.01 * stream(1, "start").normal(size=base.shape)
    result = federated_barycenter(measures, start, 25)
    np.testing.assert_allclose(result.Q.mean(0), base.mean(0) + shifts.mean(0), atol=5e-3)
    np.testing.assert_allclose(result.Q.std(0), base.std(0), rtol=0.05)
    central = ot.lp.free_support_barycenter([m.x for m in measures], [m.w for m in measures], start)
    assert objective(result.Q, measures) <= objective(central, measures) * 1.001
    truth = (shifts**2).sum(1).mean() - (shifts.mean(0) ** 2).sum()  # variance of the shifts
    assert objective(result.Q, measures) == pytest.approx(truth, rel=2e-3)
    for mapped, measure, shift in zip(result.mapped, measures, shifts, strict=True):
        error = mapped - (measure.x - shift + shifts.mean(0))  # T_i undoes the shift
        assert np.sqrt((error**2).mean()) < 0.2


def test_no_raw_sample_crosses_the_boundary():
    measures, _, _ = shifted_gaussians(n=40)
    raw, wire = np.concatenate([m.x for m in measures]), []
    start = tight(measures[0], measures[1], 30)
    federated_barycenter(measures, start, 6, wire=wire)
    fedwad(*measures[:2], start, 6, wire=wire)
    fedwad(*measures[:2], start, 3, exact=True, wire=wire)
    assert {(m.what, m.receiver == "server") for m in wire} == {
        ("start", False), ("eta_Q", False), ("gamma", True), ("T(gamma)", False),
        ("xi", False), ("eta", True), ("W(own, eta)", True),
    }  # fmt: skip
    for message in wire:
        if message.value.ndim == 2:
            assert np.abs(message.value[:, None] - raw).sum(2).min() > 1e-9, message.what
    leak = []  # the check itself works: a client's samples as start are seen
    federated_barycenter(measures, measures[0].x, 1, wire=leak)
    assert np.abs(leak[0].value[:, None] - raw).sum(2).min() == 0


def test_rounds_that_start_anew_are_pots():
    """Where gamma_i starts anew at Q, an atom goes a quarter of the way of POT's free-support step over the samples;
    with stride 4 all of it, from the same messages. A carried round after them is as printed."""
    measures, *_ = shifted_gaussians(n=30)
    start = tight(measures[0], measures[1], 30)

    def pots(start, n=1):
        clouds = [m.x for m in measures], [m.w for m in measures]
        return ot.lp.free_support_barycenter(*clouds, start, numItermax=n, stopThr=0)

    wires = [], []
    one = federated_barycenter(measures, start, 1).Q
    np.testing.assert_allclose(one, start + (pots(start) - start) / 4, atol=1e-12)
    two = federated_barycenter(measures, start, 2, restarts=2, wire=wires[0]).Q
    np.testing.assert_allclose(two, one + (pots(one) - one) / 4, atol=1e-12)
    far = federated_barycenter(measures, start, 2, restarts=2, stride=4, wire=wires[1]).Q
    np.testing.assert_allclose(far, pots(start, 2), atol=1e-10)
    assert [(m.what, m.value.shape) for m in wires[0]] == [(m.what, m.value.shape) for m in wires[1]]
    carried = federated_barycenter(measures, start, 1, restarts=0, stride=4).Q
    np.testing.assert_array_equal(carried, one)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: federated_barycenter([X, X], X.x, 1, [1, 1]), "expected 2 numbers >= 0 with sum 1"),
        (lambda X: federated_barycenter([X], np.zeros((4, 3)), 1), r"start has atoms in R\^3, a client in R\^2"),
        (lambda X: uniform(X.x[:0]), "at least one atom"),
        (lambda X: interpolant(X, X, 1.5), "runs from t = 0 to t = 1"),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call(uniform(np.zeros((5, 2))))


def test_rounds_of_a_barycenter_by_hand():
    """One atom: every plan is that atom's, every interpolant a midpoint."""
    clients = [uniform(np.array([[1.0, 0.0], [3.0, 0.0]])), uniform(np.array([[0.0, 8.0]]))]
    start, means = np.array([[-2.0, 4.0]]), (np.array([[2.0, 0.0]]), np.array([[0.0, 8.0]]))
    expected, shared = [start, start], start
    for rounds in (1, 2):
        Q, gammas, mapped = federated_barycenter(clients, start, rounds, [0.25, 0.75])
        both = zip(expected, means, strict=True)
        expected = [((gamma + mean) / 2 + (gamma + shared) / 2) / 2 for gamma, mean in both]
        shared = 0.25 * expected[0] + 0.75 * expected[1]
        np.testing.assert_allclose(gammas, expected, rtol=1e-14)
        np.testing.assert_allclose(Q, shared, rtol=1e-14)
        np.testing.assert_allclose(mapped[0], np.repeat(Q, 2, 0), rtol=1e-14)


@pytest.mark.parametrize("t", [0.25, 0.5])
def test_one_round_of_fedwad_by_hand(t):
    """Clouds of one atom on a line: at x = 0, y = 10, xi = 4. The interpolants lie at 4 (1 - t) and 4 + 6 t."""
    X, Y = (uniform(np.array([[v]])) for v in (0.0, 10.0))
    bound, xi = fedwad(X, Y, np.array([[4.0]]), 1, t=t)
    assert bound == pytest.approx([10.0])  # on the segment the chain has no detour
    assert xi[1].x == pytest.approx((4 * (1 - t) + 4 + 6 * t) / 2)
    X, Y = (uniform(np.array([v])) for v in ([0.0, 0.0], [8.0, 0.0]))
    bound, xi = fedwad(X, Y, np.array([[4.0, 3.0]]), 1, t=t)
    assert bound == pytest.approx([10.0])  # two sides of length 5
    np.testing.assert_allclose(xi[1].x, [[4.0, 3 * (1 - t)]], rtol=1e-14)


def test_the_objective_counts_its_weights():
    Q, clients = np.zeros((1, 1)), [uniform(np.array([[1.0]])), uniform(np.array([[3.0]]))]
    assert objective(Q, clients) == pytest.approx(5.0)
    assert objective(Q, clients, [0.75, 0.25]) == pytest.approx(3.0)


CLOUDS = np.array([[100, 0], [110, 0]]), np.array([[200, 0], [250, 3]])
HALF = np.full(2, 0.5)


@pytest.mark.parametrize("kinds", [("uint8", "uint8"), ("float32", "int8")])
def test_clouds_of_small_numbers_are_those_of_the_same_numbers(kinds):
    clouds = [c % 100 if "int8" in kinds else c for c in CLOUDS]
    small = [Measure(c.astype(kind), HALF) for c, kind in zip(clouds, kinds, strict=True)]
    exact = [Measure(c.astype(float), HALF) for c in clouds]
    assert wasserstein(*small) == pytest.approx(wasserstein(*exact)) and wasserstein(*small) > 20
    for p, t, whole in ((2, 0.5, True), (1, 0, False), (2, 1, False)):
        one, other = (interpolant(*pair, t, p, whole).x for pair in (small, exact))
        np.testing.assert_allclose(one, other, rtol=1e-6)
    start = np.array([[50.0, 1.0], [70.0, 0.0]])
    one, other = (federated_barycenter(pair, start, 3) for pair in (small, exact))
    np.testing.assert_allclose(one.Q, other.Q, rtol=1e-6)
    np.testing.assert_allclose(
        barycentric_map(*(m.x for m in small)), barycentric_map(*(m.x for m in exact)), rtol=1e-6
    )


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (Measure(CLOUDS[0], np.array([3, 1])), "smallest 1, sum 4; .* divide counts by their sum"),
        (Measure(CLOUDS[0], np.array([1.0, 0.0])), "smallest 0, sum 1; .* leave out what weighs nothing"),
        (Measure(CLOUDS[0], np.array([1.5, -0.5])), "smallest -0.5"),
        (Measure(CLOUDS[0], np.full(3, 1 / 3)), r"weights of shape \(3,\) for 2 atoms"),
        (Measure(CLOUDS[0], np.array([np.nan, 1])), "weights of shape"),
        (Measure(np.array([[0.0, np.nan], [1.0, 1.0]]), HALF), "1 of 2 atoms are not finite"),
    ],
)
def test_weights_that_are_no_shares_are_refused(measure, message):
    good = Measure(CLOUDS[1], HALF)
    for call in (wasserstein, plan, interpolant):
        for pair in ((measure, good), (good, measure), (measure, measure)):
            with pytest.raises(ValueError, match=message):
                call(*pair)
