"""A study of operators: who knows what, that one stack is the same as each alone, and errors by label."""

import numpy as np
import pytest
import torch

from fedlib.federated.batches import Local
from fedlib.federated.mixing import fedavg
from fedlib.federated.stack import as_dict
from fedlib.federated.train import train
from fedlib.models.networks import glorot_normal
from fedlib.numerics import solutions
from fedlib.numerics.heterogeneity import weight_divergence
from fedlib.numerics.spaces import chebyshev_series
from fedlib.papers.fedsciml.operators import problem as operators
from fedlib.problems import operator_study as study

LINE = operators.learn_antiderivative()
PLAN = ((5, 2), (10, 5), (5,))  # levels, union, independent


def trained(seeds, *plan):
    cases = study.federations("antiderivative", 6, seeds, *(plan or PLAN), lr=0.003)
    tests = {s: study.draws("forward", 10, 4, s, "test") for s in seeds}
    experiment = study.experiment(LINE, *cases, tests)
    history = train(**experiment, rounds=4, local=Local(2), init=glorot_normal, evaluate_every=2)
    return study.tested(history, LINE, tests)


@pytest.fixture(scope="module")
def history():
    return trained([3, 1])


def test_terms_that_two_clients_know():
    somebody, both = study.known_terms()
    assert somebody == [2, 4, 6, 8, 10, 10, 10, 10, 10, 10] and both == [0, 0, 0, 0, 0, 2, 4, 6, 8, 10]


def test_draws_differ_by_client_level_seed_and_use():
    args = (("forward", 5, 3, 0), ("inverse", 5, 3, 0), ("forward", 6, 3, 0), ("forward", 5, 3, 1))
    found = [study.draws(*a) for a in args] + [study.draws("forward", 5, 3, 0, "test")]
    assert len({c[0, 4:5].tobytes() + c[0, 5:].tobytes() for c in found}) == 5
    assert (found[0][:, 5:] == 0).all() and (found[1][:, :5] == 0).all() and (study.draws(*args[0]) == found[0]).all()


def test_the_staircase_is_the_left_riemann_sum():
    c = study.draws("forward", 10, 5, 0)
    x = np.linspace(0, 1, 100)
    left = np.cumsum(chebyshev_series(c, x), 1)[:, :-1] / 99
    exact = solutions.antiderivative(c, x)
    gap = np.concatenate([np.zeros((5, 1)), left], 1) - exact
    assert study.staircase_error(c) == pytest.approx(100 * np.linalg.norm(gap) / np.linalg.norm(exact), rel=0.05)


def test_viscosity_leaves_at_most_what_it_leaves_of_the_longest_wave():
    """Small inputs obey the heat equation: wave m decays by exp(-nu (2 pi m)^2), m >= 1."""
    c = 1e-3 * study.draws("forward", 10, 5, 0)
    left = [study.fading(c, nu) for nu in (0.1, 0.15)]
    bounds = [100 * np.exp(-nu * 4 * np.pi**2) for nu in (0.1, 0.15)]
    assert all(0.01 * bound < e < 1.001 * bound for e, bound in zip(left, bounds, strict=True))
    assert left[1] / left[0] == pytest.approx(np.exp(-0.05 * 4 * np.pi**2), rel=0.02), "only the longest wave is left"


def test_what_is_trained_at_which_level():
    cases, c = study.federations("burgers_3", 4, (3, 1), (2, 6), (10, 6), (2,), lr=0.01)
    own = [("federated", 2), ("isolated", 2), ("independent", 2)]
    own += [(kind, n) for n in (6, 10) for kind in ("federated", "isolated", "centralised")]
    assert list(cases) == [(*key, s) for s in (3, 1) for key in own] and c.shape == (2 * 3 * 3 * 4, 10)
    for (kind, n, s), fed in cases.items():
        assert (fed.mixing is fedavg) == (kind in ("federated", "independent")) and fed.seed == s and fed.lr == 0.01
        assert fed.common_init == (kind != "independent")
        shards = np.split(fed.shards[0], 3) if kind == "centralised" else fed.shards
        for support, shard in zip(("forward", "middle", "inverse"), shards, strict=True):
            np.testing.assert_array_equal(c[shard], study.draws(support, n, 4, s))
    only, _ = study.federations("antiderivative", 4, (0,), (5, 6), isolated=False)
    assert list(only) == [("federated", 5, 0), ("federated", 6, 0)]


def test_errors_on_the_whole_grid_are_those_of_the_last_models(history):
    """For the antiderivative the points of the loss are the whole grid: the recorded errors are the same."""
    whole, e = history.metric("whole"), history.metric("e")
    assert np.isnan(whole.isel(round=0)).all()
    np.testing.assert_allclose(whole.isel(round=-1), e.isel(round=-1), rtol=1e-5)


def test_errors_have_seeds_levels_and_clients(history):
    e = study.errors(history, [2, 5], [5, 10])
    assert e["levels"] == [2, 5] and e["isolated"].shape == (2, 2, 2) and e["federated"].shape == (2, 2)
    first, second = (history.last("whole", seed=s) for s in (3, 1))
    assert e["isolated"][1, 0, 1] == second.sel(kind="isolated", n=2, client=1)
    assert e["federated"][0, 1] == first.sel(kind="federated", n=5, client=0)
    assert list(e["centralised"]) == [5, 10]
    assert e["centralised"][10].tolist() == [h.sel(kind="centralised", n=10, client=0) for h in (first, second)]
    kept = study.metrics({"antiderivative": e})
    np.testing.assert_array_equal(kept["centralised_percent"]["antiderivative"][:, 1], e["centralised"][10])
    assert kept["levels"] == {"antiderivative": [2, 5]}
    assert kept["error_percent"]["antiderivative"] == {kind: e[kind] for kind in ("isolated", "federated")}
    np.testing.assert_array_equal(study.federated_errors(history, [5, 2]), e["federated"][:, ::-1])
    curves = study.curves(history, [5])
    of_seeds = [history.metric("e", kind="federated", n=5, seed=s, client=0).values for s in (3, 1)]
    np.testing.assert_allclose(curves[5], np.mean(of_seeds, 0), rtol=1e-6)


def test_divergence_by_matrix(history):
    found = study.divergence(LINE, history, "federated", [5, 10])
    names = ["branch, matrix 1", "branch, matrix 2", "trunk, matrix 1", "trunk, matrix 2"]
    assert list(found) == names and {values.shape for values in found.values()} == {(2, 2)}
    one, central = (as_dict(LINE.net(), history.model(k, 10, 1)) for k in ("federated", "centralised"))
    expected = list(weight_divergence(one, central).values())
    assert [values[1, 1] for values in found.values()] == pytest.approx([float(v) for v in expected])
    apart = study.divergence(LINE, history, "independent", [5])
    assert all((apart[name][:, 0] > found[name][:, 0]).all() for name in names)
    assert study.changes({"a": [[1, 5, 2], [3, 5, 2]]}) == {"a": 1.0}


def test_models_and_their_maps(history):
    rows = study.models(history, 5, 3)
    assert list(rows) == ["federated", "isolated 1", "isolated 2"]
    assert (rows["isolated 2"] == history.model("isolated", 5, 3, client=1)).all()
    problem, c = operators.learn_burgers(), study.draws("forward", 10, 1, 0)
    net = problem.net()
    theta = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
    v, u, guess = study.maps(problem, c, {"federated": theta})
    np.testing.assert_allclose(v, chebyshev_series(c, np.linspace(0, 1, 101))[0], atol=1e-5)
    np.testing.assert_allclose(u[:-1, 0], v[:-1], atol=1e-6)  # Burgers starts at its input
    point = torch.tensor([[0.3, 0.7]])
    expected = net(torch.as_tensor(v)[None], point).detach()
    np.testing.assert_allclose(guess["federated"][30, 70], expected[0, 0], atol=1e-5)
