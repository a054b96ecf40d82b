"""Diffusion and reaction: the exact pair has no loss, references agree with a second method, k is learnt."""

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev as C

from fedlib.federated import reference
from fedlib.federated.backends import with_constants
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.mixing import isolated
from fedlib.federated.stack import as_dict, load, stack
from fedlib.federated.train import train
from fedlib.models.jets import function_jet
from fedlib.models.networks import glorot_uniform
from fedlib.numerics import solutions
from fedlib.numerics.solvers import chebyshev
from fedlib.problems import reaction


def by_collocation(version, n=64):
    """A second method: Chebyshev collocation -> coefficients of u in z = 2 x - 1."""
    z, D = chebyshev(n)
    x = (1 + z) / 2
    A = solutions.DIFFUSION * 4 * D @ D - np.diag(solutions.reaction_rate(x, version))
    A[[0, -1]] = np.eye(n + 1)[[0, -1]]
    rhs = solutions.source(x)
    rhs[[0, -1]] = 0
    return C.chebfit(z, np.linalg.solve(A, rhs), n)


@pytest.mark.parametrize("version", ["paper", "code"])
def test_the_reference_agrees_with_a_second_method(version):
    x = np.linspace(0, 1, 101)
    u = solutions.steady_reaction(x, version)
    np.testing.assert_allclose(u, C.chebval(2 * x - 1, by_collocation(version)), atol=1e-9)
    np.testing.assert_allclose(u, -u[::-1], atol=1e-10)  # antisymmetric: u vanishes where k peaks
    assert np.abs(u).max() > 0.1


def test_the_two_versions_of_k_differ():
    assert solutions.reaction_rate(0.5) == pytest.approx(1.1)
    assert solutions.reaction_rate(0.0) == pytest.approx(0.1 + np.exp(-0.5 / 0.09))
    assert np.ptp(solutions.reaction_rate(np.linspace(0, 1, 11), "code")) < 0.11
    with pytest.raises(ValueError, match="'paper' or 'code'"):
        solutions.reaction_rate(0.5, "printed")


def test_the_exact_pair_has_no_loss():
    points = np.linspace(0.05, 0.95, 9)[:, None]
    coefficients = by_collocation("paper", 40)

    def u(x):
        angle = torch.arccos(2 * x[:, 0] - 1)
        return sum(c * torch.cos(i * angle) for i, c in enumerate(coefficients))

    def perfect(x, value_only=False, factor=1.0):
        jet = function_jet(lambda x: u(x) / reaction.vanishing(x), x, ("xx",), "x")
        k = factor * torch.as_tensor(solutions.reaction_rate(x[:, 0].numpy()))
        return (jet[""][:, None] if value_only else {n: v[:, None] for n, v in jet.items()}), k

    x = torch.as_tensor(points)
    batch = {"x": x, "u": u(x), "w": torch.full((9,), 1 / 9)}
    loss, batch = reaction.reaction_loss, batch | reaction.reaction_constants(points)
    assert loss(perfect, batch) < 1e-12
    assert loss(lambda *a: perfect(*a, factor=1.2), batch) > 1e-4
    assert loss(perfect, batch | {"u": batch["u"] + 0.1}) == pytest.approx(0.01)


def test_any_pair_of_networks_vanishes_at_the_ends_and_the_halves_are_separate():
    net = load(reaction.Pair(), stack(reaction.Pair(), [(1,)], glorot_uniform)[0])
    test = {k: v[0].float() for k, v in reaction.reaction_test(1).items()}
    found = reaction.reaction_errors(net, test)
    assert found["u"][[0, -1]].abs().max() == 0 and found["k"].abs().max() > 0
    names = [n for n, _ in net.named_parameters() if n.endswith("weight")]
    assert len([n for n in names if n.startswith("u.")]) == len([n for n in names if n.startswith("k.")]) == 4
    before = found["k"]
    for parameter in net.u.parameters():
        parameter.data.add_(0.1)
    assert (reaction.reaction_errors(net, test)["k"] == before).all()


def test_reaction_data_are_dealt_by_the_index_rule():
    pool, shards = reaction.reaction_data([2, 24])
    assert shards[2][0].tolist() == list(range(12)) and shards[24][1].tolist() == list(range(1, 24, 2))
    np.testing.assert_allclose(pool["u"], solutions.steady_reaction(np.linspace(0, 1, 24)))
    assert reaction.reaction_points().shape == (10, 1)


def test_residual_points_with_and_without_the_ends():
    inside, both = reaction.reaction_points(8, ends=False)[:, 0], reaction.reaction_points(8)[:, 0]
    np.testing.assert_allclose(inside, np.arange(1, 9) / 9)
    np.testing.assert_array_equal(both, [0, *inside, 1])
    pool, shards = reaction.reaction_data([2])
    cases = reaction.federations(shards, 24, (0,), alone=False)
    assert list(cases) == [("federated", 2, 0), ("centralised", None, 0)]
    made = reaction.experiment(pool, cases, 10, ends=False)
    assert made["constants"]["points"].shape == (10, 1) and 0 < made["constants"]["points"].min() < 0.1
    history = train(**made, rounds=1, local=Local(1), init=glorot_uniform)
    assert list(reaction.final_errors(history)) == ["federated", "centralised"]


def test_the_reaction_stack_equals_the_plain_loop():
    pool, shards = reaction.reaction_data([4])
    net, known = reaction.Pair().double(), reaction.reaction_constants(reaction.reaction_points())
    loss = with_constants(reaction.reaction_loss, known)
    fed = Federation(shards[4], lr=1e-3)
    plain = reference.fedavg_adam(net, loss, pool, fed, rounds=4, local=Local(5), init=glorot_uniform)
    fast = train(net, loss, pool, [fed], rounds=4, local=Local(5), init=glorot_uniform, dtype=torch.float64)
    torch.testing.assert_close(fast.model(0), plain, rtol=0, atol=1e-10)


def test_k_is_learnt_where_u_is_not_zero():
    """A short run from a good start: 24 observations and ten residual points determine k away from u = 0."""
    pool, _ = reaction.reaction_data([2])
    test = reaction.reaction_test(1)
    history = train(
        reaction.Pair(), reaction.reaction_loss, pool,
        [Federation([np.arange(24)], lr=3e-3)], rounds=1500, local=Local(1), init=glorot_uniform,
        constants=reaction.reaction_constants(reaction.reaction_points()),
        evaluate=reaction.reaction_errors, test=test, evaluate_every=1500,
    )  # fmt: skip
    assert history.metrics["error_u"][-1, 0] < 2
    assert history.metrics["error_k"][-1, 0] < 40


@pytest.fixture(scope="module")
def study():
    """Two levels and seeds, a few rounds."""
    pool, shards = reaction.reaction_data([2, 8])
    cases = reaction.federations(shards, 24, (3, 1), lr=1e-3)
    experiment = reaction.experiment(pool, cases, 8)
    history = train(**experiment, rounds=4, local=Local(2), init=glorot_uniform, evaluate_every=2)
    return shards, cases, history


def test_at_each_level_a_federation_and_its_clients_alone_and_one_model_of_all(study):
    shards, cases, _ = study
    expected = [("federated", 2), ("isolated", 2), ("federated", 8), ("isolated", 8), ("centralised", None)]
    assert list(cases) == [(*key, s) for s in (3, 1) for key in expected]
    for (kind, n, s), fed in cases.items():
        own = [np.arange(24)] if kind == "centralised" else shards[n]
        assert all((a == b).all() for a, b in zip(fed.shards, own, strict=True)) and fed.seed == s
        assert (fed.mixing is isolated) == (kind != "federated")


def test_errors_at_the_end_have_seeds_and_levels(study):
    *_, history = study
    e = reaction.final_errors(history)
    assert list(e) == list(reaction.KINDS) and {values.shape for of in e.values() for values in of.values()} == {(2, 2)}
    alone = history.metrics["error_k"][-1, history.rows["isolated", 8, 1]]
    assert e["isolated"]["k"][1, 1] == pytest.approx(alone.mean()) and alone[0] != alone[1]
    assert e["federated"]["u"][0, 1] == history.metrics["error_u"][-1, history.rows["federated", 8, 3]][0]
    assert (e["centralised"]["u"][0] == history.metrics["error_u"][-1, history.rows["centralised", None, 3]]).all()


def test_divergence_is_the_relative_distance_of_the_matrices(study):
    *_, history = study
    apart = reaction.divergence(history)
    assert {name: values.shape for name, values in apart.items()} == {"u": (2, 2, 4), "k": (2, 2, 4)}
    fed, central = (
        as_dict(reaction.Pair(), history.model(*key, 1)) for key in (("federated", 8), ("centralised", None))
    )
    second = [name for name in fed if name.startswith("k.") and name.endswith("weight")][1]
    expected = (fed[second] - central[second]).norm() / central[second].norm()
    assert apart["k"][1, 1, 1] == pytest.approx(float(expected), rel=1e-5)


def test_where_u_is_weak_and_what_k_is_worth_there(study):
    *_, history = study
    np.testing.assert_array_equal(reaction.weak(np.array([0.0, 1, -5, 0.9, -1.1])), [True, False, False, True, False])
    truth = {name: values[0].numpy() for name, values in reaction.reaction_test(1).items()}
    errors, (k,) = reaction.k_errors(history, truth), history.last("k", kind="centralised", seed=3).values
    other = history.last("k", kind="centralised", seed=1).values[0]
    at = np.abs(truth["u"]) < 0.2 * np.abs(truth["u"]).max()
    each = [100 * np.linalg.norm(row[at] - truth["k"][at]) / np.linalg.norm(truth["k"][at]) for row in (k, other)]
    assert errors["u small"] == pytest.approx(np.mean(each)) and errors["u small"] != errors["u large"]


def test_the_share_of_the_ends_is_a_part_of_the_loss(study):
    *_, history = study
    shares, known = reaction.share_of_ends(history, 8), reaction.reaction_constants(reaction.reaction_points(8))
    net = load(reaction.Pair().double(), history.model("centralised", None, 1).double())
    r2 = reaction.reaction_residual(net, known).detach() ** 2
    assert len(shares) == 2 and shares[1] == pytest.approx(float((r2[[0, -1]]).sum() / r2.sum()), rel=1e-3)
