"""FedSciML's partition rules: disjoint covers, W1 against closed forms and the values of the fact page; Theorem 3.1."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import functional_call

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.heterogeneity import divergence_bound, mean_pairwise_w1, w1, weight_divergence
from fedlib.federated.optimizers import sgd
from fedlib.federated.partitions import checkerboard, hammersley, index_rule, slices
from fedlib.federated.stack import as_dict, stack
from fedlib.federated.train import train
from fedlib.models.networks import fan_in_uniform, mlp
from fedlib.problems.functions import gramacy_lee, schaffer
from fedlib.streams import stream


def is_cover(shards, n):
    np.testing.assert_array_equal(np.sort(np.concatenate(shards)), np.arange(n))


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 90))
def test_index_rule_is_a_disjoint_cover_of_almost_equal_sizes(K, p, extra):
    n = K * p + extra
    shards = index_rule(n, K, p)
    is_cover(shards, n)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_index_rule_deals_the_remainder_to_the_right():
    a, b = index_rule(11, 2, 2)  # q = 2, pieces 01 23 45 67, the last three points one by one
    assert a.tolist() == [0, 1, 4, 5, 8, 10]
    assert b.tolist() == [2, 3, 6, 7, 9]


@given(st.integers(2, 5), st.integers(1, 6), st.integers(0, 20))
def test_slices_and_checkerboard_are_disjoint_covers(K, p, seed):
    points = stream(seed, "points").uniform(-2, 3, (4000, 2))
    is_cover(slices(points[:, 0], -2, 3, K, p), 4000)
    is_cover(checkerboard(*points.T, (-2, 3), K, max(K, p)), 4000)


def test_the_last_block_owns_its_upper_edge():
    a, b = slices(np.array([0.0, 0.5, 1.0]), 0, 1, 2, 1)
    assert (a.tolist(), b.tolist()) == ([0], [1, 2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: index_rule(10, 2, 6), "at most 5 pieces per client"),
        (lambda: slices(np.zeros(4), 0, 1, 2, 1), "client 1 of 2 gets no point"),
        (lambda: slices(np.array([2.0]), 0, 1, 2, 1), r"outside the domain \[0, 1\]"),
        # 2 x 2 blocks have the sums 0, 1, 2: the authors' scripts left clients 4 (and 5) empty
        (lambda: checkerboard(*hammersley(400).T, (0, 1), 4, 2), "client 3 of 4 gets no point"),
    ],
)
def test_empty_clients_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def w1_of_pieces(x, p, K=2):
    return mean_pairwise_w1([x[s] for s in index_rule(len(x), K, p)])


@pytest.mark.parametrize(
    ("x", "values"),
    [
        (np.linspace(-1, 1, 200), {1: 1.0050, 5: 0.2010, 10: 0.1005, 50: 0.0201, 100: 0.0101}),  # Gramacy & Lee
        (np.linspace(0, np.pi, 32), {1: 1.6215, 2: 0.8107, 3: 0.4814, 4: 0.4054, 5: 0.2914, 8: 0.2027, 16: 0.1013}),
        # Allen-Cahn's 80 lines: 16 left-over lines make p = 16 less heterogeneous than p = 20
        (np.linspace(-1, 1, 80), {1: 1.0127, 3: 0.3215, 5: 0.2025, 10: 0.1013, 16: 0.0456, 20: 0.0506}),
    ],
)
def test_w1_of_the_papers_levels(x, values):
    for p, expected in values.items():
        assert w1_of_pieces(x, p) == pytest.approx(expected, abs=6e-5), p


@pytest.mark.parametrize("p", [1, 2, 5, 10])
def test_w1_of_two_clients_in_one_dimension_is_L_over_2p(p):
    n, L = 4000, 2.0
    x = np.linspace(-1, 1, n)
    assert w1_of_pieces(x, p) == pytest.approx(L / (2 * p) * n / (n - 1), rel=1e-9)


@pytest.mark.parametrize("K", [2, 3, 4, 5])
def test_w1_of_K_slabs_is_h_times_K_plus_1_over_3_and_eq_4_is_right_only_for_4(K):
    x, p = np.linspace(0, 1, 600 * K), 3
    clouds = [x[s] for s in slices(x, 0, 1, K, p)]
    right = (K + 1) / (3 * K * p)
    assert mean_pairwise_w1(clouds) == pytest.approx(right, rel=2e-3)
    printed = mean_pairwise_w1(clouds, printed=True)
    factor = {2: np.inf, 3: 1.5, 4: 1.0, 5: 5 / 6}[K]
    assert printed == pytest.approx(factor * right, rel=2e-3)


def test_w1_of_the_2_x_2_checkerboard_is_a_third():
    g = (np.arange(24) + 0.5) / 24
    x, y = (z.ravel() for z in np.meshgrid(g, g))
    a, b = (np.stack([x, y], 1)[s] for s in checkerboard(x, y, (0, 1), 2, 2))
    assert w1(a, b) == pytest.approx(1 / 3, rel=5e-3)


@given(st.integers(5, 30), st.integers(0, 20), st.integers(0, 5))
def test_shared_points_scale_w1(n, shared, seed):
    """Common mass cancels: W1 of all points = N_k / (N_k + S) x W1 of the private ones."""
    rng = stream(seed, "shared")
    a, b, common = rng.normal(size=(n, 2)), rng.normal(1, 1, size=(n, 2)), rng.normal(size=(shared, 2))
    both = w1(np.concatenate([a, common]), np.concatenate([b, common]))
    assert both == pytest.approx(n / (n + shared) * w1(a, b), abs=1e-9)


@pytest.mark.parametrize(
    ("s", "expected"), [(2, 0.3337), (4, 0.1216), (6, 0.0772), (8, 0.0609), (12, 0.0415), (24, 0.0417)]
)
def test_w1_of_helmholtz_levels(s, expected):
    """floor(24 / s)^2 Hammersley points in each of s x s blocks."""
    local = hammersley((24 // s) ** 2)
    clouds = [[], []]
    for i in range(s):
        for j in range(s):
            clouds[(i + j) % 2].append((local + np.array([i, j])) / s)
    assert w1(*map(np.concatenate, clouds)) == pytest.approx(expected, abs=6e-5)


def test_hammersley_points_of_the_fact_page():
    np.testing.assert_array_equal(hammersley(6)[:, 0], [0.5, 0, 0.5, 0.25, 0.75, 0.125])
    np.testing.assert_allclose(hammersley(6)[:, 1], np.arange(6) / 6)
    np.testing.assert_array_equal(hammersley(1), [[0.5, 0.0]])


def test_weight_divergence_is_relative_per_matrix_and_leaves_biases_out():
    net = mlp((2, 3, 1), torch.nn.Tanh)
    central = {k: v.detach() for k, v in net.named_parameters()}
    federated = {k: 1.5 * v if k == "0.weight" else v + 1 for k, v in central.items()}
    divergence = weight_divergence(federated, central)
    assert set(divergence) == {"0.weight", "2.weight"}
    assert divergence["0.weight"].item() == pytest.approx(0.5)
    expected = 3**0.5 / central["2.weight"].norm()
    torch.testing.assert_close(divergence["2.weight"], expected)


@pytest.mark.parametrize("E", [1, 2, 5])
def test_theorem_3_1(problem, E):
    """Gradient-descent FedAvg from a common start: below 2 eta M E l, and exactly zero for E = 1."""
    net, loss, pool, shards = problem
    lr, rounds, norms = 0.05, 6, []

    def descend(theta, shard, steps):
        """Plain gradient descent on one shard; notes the gradient norms, whose maximum is M."""
        batch = {k: v[shard] for k, v in pool.items()} | {
            "w": torch.full((len(shard),), 1 / len(shard), dtype=torch.float64)
        }
        for _ in range(steps):
            g = torch.func.grad(lambda th: loss(lambda x: functional_call(net, as_dict(net, th), x), batch))(theta)
            norms.append(g.norm().item())
            theta = theta - lr * g
        return theta

    feds = [Federation(shards, lr=lr), centralised(shards, lr=lr)]
    federated = central = stack(net, [(0,)], fan_in_uniform)[0]
    for l in range(1, rounds + 1):
        p = torch.as_tensor(feds[0].p)
        federated = p @ torch.stack([descend(federated, s, E) for s in shards])
        central = descend(central, np.concatenate(shards), E)
        history = train(net, loss, pool, feds, rounds=l, local=Local(E), optimizer=sgd(), dtype=torch.float64)
        torch.testing.assert_close(history.model(0), federated, rtol=0, atol=1e-12)
        gap = (history.model(0) - history.model(1)).norm().item()
        assert gap <= divergence_bound(lr, max(norms), E, l)
        assert gap < 1e-12 if E == 1 else gap > 1e-6
        divergence = weight_divergence(as_dict(net, history.model(0)), as_dict(net, history.model(1)))
        assert all((v < 1e-12) == (E == 1) for v in divergence.values())


def test_gramacy_lee_is_the_original_shifted_by_three_halves():
    z = torch.linspace(-1, 1, 101, dtype=torch.float64)
    x = z + 1.5
    torch.testing.assert_close(
        gramacy_lee(z), (x - 1) ** 4 + torch.sin(10 * torch.pi * x) / (2 * x), atol=1e-13, rtol=0
    )


@pytest.mark.parametrize(("printed", "top"), [(True, 0.708), (False, 0.998)])
def test_schaffer_starts_at_zero_and_has_the_known_range(printed, top):
    side = torch.linspace(0, 1, 401, dtype=torch.float64)
    f = schaffer(torch.cartesian_prod(side, side), printed)
    assert f[0] == f.min() == 0
    assert round(f.max().item(), 3) == top


def test_authors_schaffer_is_radial_and_the_printed_one_is_not():
    """At radius 1/2 the code has a = r = 1 everywhere; as printed, a = 0 and r = 1/4 on the diagonal."""
    on_axis, diagonal = torch.tensor([[0.5, 0.0], [0.125**0.5, 0.125**0.5]], dtype=torch.float64)
    torch.testing.assert_close(schaffer(on_axis), schaffer(diagonal))
    expected = 0.5 + (np.sin(1.0) ** 2 - 0.5) / 1.001**2
    assert abs(schaffer(on_axis).item() - expected) < 1e-12
    assert abs(schaffer(diagonal, printed=True).item() - (0.5 - 0.5 / 1.00025**2)) < 1e-12
