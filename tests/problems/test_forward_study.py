"""Studies of forward problems: who trains with whom, and what is measured, against plain loops over the models."""

import numpy as np
import pytest
import torch
import xarray

from fedlib.federated.batches import Local
from fedlib.federated.heterogeneity import mean_pairwise_w1, w1
from fedlib.models import jets
from fedlib.problems import forward, forward_study
from fedlib.problems.forward_study import KINDS, Case

from .test_forward import ALL

SMALL = {"Poisson": (forward.poisson(8), [2, 4]), "Helmholtz": (forward.helmholtz(np.pi, 4, 4), [2, 3])}


def study(problem, levels, seeds=(3, 1), kinds=KINDS):
    return forward_study.study(problem, levels, seeds, kinds, rounds=2, local=Local(2))


@pytest.fixture(scope="module", params=SMALL)
def trained(request):
    problem, levels = SMALL[request.param]
    return problem, levels, study(problem, levels)


def error_of(problem, row):
    """Relative L2 error (%) of one model."""
    exact = problem.solution(torch.as_tensor(problem.test)).numpy()
    return 100 * np.linalg.norm(forward.solve(problem, row) - exact) / np.linalg.norm(exact)


def test_one_centralised_model_serves_all_levels_with_the_same_points():
    for name, one in (("Poisson", True), ("Helmholtz", False)):
        problem, levels = SMALL[name]
        assert forward_study.one_union(problem, levels) == one
        _, _, shards = forward.layout(problem, levels)
        cases = forward_study.federations(problem, shards, [3, 1], lr=0.5)
        assert [c.n for c in cases if c.kind == "centralised" and c.seed == 1] == levels[: 1 if one else 2]
        assert all(fed.lr == 0.5 and fed.seed == case.seed for case, fed in cases.items())
        for case, fed in cases.items():
            together = np.unique(np.concatenate(fed.shards))
            np.testing.assert_array_equal(together, np.unique(np.concatenate(shards[case.n])))
            assert len(fed.shards) == (1 if case.kind == "centralised" else 2)
        only = forward_study.federations(problem, shards, [1], ["isolated"])
        assert {case.kind for case in only} == {"isolated"}


def test_errors_are_those_of_the_models(trained):
    problem, levels, history = trained
    distances = {n: forward_study.heterogeneity(problem, n) for n in levels}
    errors = forward_study.errors(problem, history, distances)
    models = forward_study.trained(history)
    assert errors.name == problem.name
    np.testing.assert_array_equal(errors.w1, list(distances.values()))
    assert set(models) == {Case(kind, n, seed) for kind in KINDS for n in levels for seed in (3, 1)}
    for (kind, n, seed), theta in models.items():
        assert len(theta) == (2 if kind == "isolated" else 1)
        expected = np.mean([error_of(problem, row) for row in theta])
        assert errors.sel(kind=kind, n=n, seed=seed)[-1].item() == pytest.approx(expected, rel=1e-4)
    label = forward_study.labelled(models, levels[1], 3)
    assert list(label) == ["isolated client 1", "isolated client 2", "federated", "centralised"]
    assert torch.equal(label["isolated client 2"], models["isolated", levels[1], 3][1])


def test_divergence_is_that_of_the_weight_matrices(trained):
    problem, levels, history = trained
    models = forward_study.trained(history)
    distances = {n: 1 / n for n in levels}
    values = forward_study.divergence(problem, models, distances)
    assert values.sizes == {"seed": 2, "n": 2, "matrix": 4}
    np.testing.assert_array_equal(values.w1, list(distances.values()))
    own = slice(problem.widths[0] * problem.widths[1])  # the first matrix comes first
    for n in levels:
        a, b = (models[kind, n, 1][0][own] for kind in ("federated", "centralised"))
        expected = ((a - b).norm() / b.norm()).item()
        assert values.sel(n=n, seed=1, matrix=1).item() == pytest.approx(expected, rel=1e-5)


def test_what_grows_with_the_distance():
    distance = {"w1": ("n", [0.3, 0.2, 0.1])}
    assert forward_study.grows(xarray.DataArray([3.0, 2.0, 1.0], distance, ["n"])) is True
    assert forward_study.grows(xarray.DataArray([1.0, 2.0, 3.0], distance, ["n"])) is False
    assert forward_study.grows(xarray.DataArray([1.0], {"w1": ("n", [0.3])}, ["n"])) is None


def test_a_study_evaluates_so_often_and_shares_points_or_not():
    problem, levels = SMALL["Helmholtz"]
    how = dict(levels=levels[:1], seeds=[1], kinds=["federated"], rounds=4, local=Local(1))
    a, b = (forward_study.study(problem, share=share, evaluations=2, **how) for share in (True, False))
    assert a.rounds == [2, 4]
    assert not torch.equal(a.theta, b.theta)
    still = [forward_study.study(problem, lr=1e-30, **how | {"rounds": rounds}).theta for rounds in (1, 4)]
    torch.testing.assert_close(*still, rtol=0, atol=1e-20)


PARAMETERS = {f"helmholtz_{name}": v for name, v in {"k0": 1.5, "side": 6, "boundary": 8}.items()}
PARAMETERS |= dict(allen_cahn_lines=12, allen_cahn_times=5, allen_cahn_boundary=4, allen_cahn_initial=3)
PARAMETERS |= dict(allen_cahn_d=0.02, allen_cahn_k=2.0)


def test_problems_by_name_have_the_settings_of_their_family():
    expected = {
        "poisson": forward.poisson(),
        "helmholtz": forward.helmholtz(1.5 * np.pi, 6, 8),
        "allen_cahn_2": forward.allen_cahn(2, 12, 5, 4, 3, 0.02, 2.0, jets.Sine),
        "allen_cahn_3": forward.allen_cahn(3, 12, 5, 4, 3, 0.02, 2.0, jets.Sine),
        "beam": forward.euler_beam(),
    }
    assert tuple(expected) == forward_study.NAMES
    u = dict.fromkeys(("", "t", "xx", "xx+yy", "xxxx"), torch.tensor([0.3]))
    for name, problem in expected.items():
        found = forward_study.named(name, PARAMETERS | {"allen_cahn_activation": "sine"})
        assert (found.name, found.activation, found.clients) == (problem.name, problem.activation, problem.clients)
        np.testing.assert_array_equal(found.shared, problem.shared)
        np.testing.assert_array_equal(found.points(6)[0], problem.points(6)[0])
        assert found.operator(u) == problem.operator(u)
    assert (
        forward_study.named("allen_cahn_2", PARAMETERS | {"allen_cahn_activation": "tanh"}).activation is torch.nn.Tanh
    )


def test_levels_are_sorted_and_checked():
    assert forward_study.levels_of(forward.poisson(), [32, 2, 2]) == [2, 32]
    with pytest.raises(ValueError, match=r"Poisson: levels = \[2, 3\] has 3: 3 subdomains cannot be dealt"):
        forward_study.levels_of(forward.poisson(), [2, 3])


W1 = {
    "Poisson": {2: 1.6215, 4: 0.8107, 6: 0.4814, 8: 0.4054, 10: 0.2914, 16: 0.2027, 32: 0.1013},
    "Helmholtz": {2: 0.3337, 4: 0.1216, 6: 0.0772, 8: 0.0609, 10: 0.0506, 12: 0.0415, 24: 0.0417},
    "Allen-Cahn 2": {2: 1.0127, 4: 0.5063, 6: 0.3215, 8: 0.2532, 10: 0.2025, 20: 0.1013, 32: 0.0456, 40: 0.0506},
    "Allen-Cahn 3": {n: 4 / 3 * 2 / n for n in (3, 6, 9, 12, 15, 18, 30, 60)},  # 4 h / 3, h = 2 / n
}


@pytest.mark.parametrize("name", W1)
def test_w1_of_the_fact_page(name):
    for level, expected in W1[name].items():
        assert forward_study.heterogeneity(ALL[name], level) == pytest.approx(expected, abs=6e-5), level


@pytest.mark.parametrize("K", [2, 3])
def test_w1_of_slabs_is_that_of_the_cut_coordinate(K):
    problem = forward.allen_cahn(K, lines=24, times=5)
    x, own = problem.points(2 * K)
    whole = mean_pairwise_w1([x[s] for s in own])
    assert forward_study.heterogeneity(problem, 2 * K) == pytest.approx(whole, rel=1e-9)
    assert w1(x[own[0]], x[own[1]]) > 0


def test_verdicts_rest_on_the_papers_levels():
    assert forward_study.printed("poisson", [2, 4, 6, 8, 32]) == [6, 8, 32]
    assert forward_study.printed("poisson", [4]) == []
    assert forward_study.printed("helmholtz", [2, 4]) == [2, 4]


def test_a_level_has_a_word(trained):
    problem, levels, history = trained
    word = {"Poisson": "subdomains n", "Helmholtz": "blocks per axis"}[problem.name]
    w1 = {n: forward_study.heterogeneity(problem, n) for n in levels}
    assert forward_study.errors(problem, history, w1).attrs["level"] == word
    assert forward_study.divergence(problem, forward_study.trained(history), w1).attrs["level"] == word
