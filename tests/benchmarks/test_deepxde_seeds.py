"""The authors' way beside ours, seed by seed."""

import numpy as np
import pytest

from benchmarks import deepxde_seeds, deepxde_way, peer_deepxde, ways


def test_two_samples_of_one_law_are_told_from_two_laws():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 0.1, (2, 10))
    same, other = deepxde_seeds.compared(a, b), deepxde_seeds.compared(a, b + 1)
    assert min(same["p_kolmogorov_smirnov"], same["p_mann_whitney"]) > 0.05
    assert max(other["p_kolmogorov_smirnov"], other["p_mann_whitney"]) < 1e-3
    assert same["median"]["DeepXDE"] == np.median(a) and same["range"]["ours"] == [b.min(), b.max()]


@pytest.mark.parametrize("name", deepxde_seeds.CASES)
def test_deepxde_federates_too(name):
    if not ways.installed(peer_deepxde):
        pytest.skip("DeepXDE is not installed (extra deepxde)")
    case = deepxde_seeds.CASES[name]
    found = deepxde_way.THEIRS[name](case.n, 1, 0)
    assert set(found) == set(case.errors) and all(np.isfinite(e) for e in found.values())


def test_what_differs_is_named_with_all_tests_in_mind():
    pairs = {"same": 0.03, "other": 0.001}  # 0.05 / 4 lies between
    found = {name: {"compared": {"u": {"p_kolmogorov_smirnov": p, "p_mann_whitney": 0.5}}} for name, p in pairs.items()}
    assert deepxde_seeds.differ({"problems": found}) == ["other, u"]
