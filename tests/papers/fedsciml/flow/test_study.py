"""What notebook 06 refuses, what its results are, and that times of Table 2 are those of a plain loop."""

import numpy as np
import pytest
import xarray

from fedlib.papers.fedsciml.flow import study
from fedlib.papers.fedsciml.flow.problem import TRUTH
from fedlib.trainings.store import made


@pytest.fixture(scope="module")
def p():
    """The notebook's parameters, small."""
    return study.PAPER | {"levels": [2, 4], "seeds": [3, 1], "rounds": 4, "lr": 0.01, "observations": 40}


@pytest.fixture(scope="module")
def histories(p):
    return made(study.trainings(p), backend="eager")


def test_of_a_model_without_some_seeds_there_are_the_others(p, histories):
    results = study.results(
        p, {"flow": histories["flow"], "aliased": made(study.trainings(p | {"seeds": [1]}))["aliased"]}
    )
    assert results.C.dims == ("model", "seed", "coefficient", "round") and results.whole == 40_000
    done = study.trained(results.C).sel(model=["n = 2", "aliased, n = 2"], seed=[1, 3])
    assert done.values.tolist() == [[4, 4], [4, 0]] and "centralised, 7000" not in results.C.model
    C = histories["flow"].metric("C2", kind="federated", level=2, seed=3, client=0).values
    np.testing.assert_array_equal(results.C.sel(model="n = 2", seed=3, coefficient="C2"), C)


def test_errors_are_those_of_the_last_round(p, histories):
    results = study.results(p, histories)
    errors = results.errors.sel(model="n = 4", seed=3)
    C = results.C.sel(model="n = 4", seed=3, round=4).values
    np.testing.assert_allclose(errors[:2], 100 * np.abs(C / [*TRUTH.values()] - 1), rtol=1e-5)
    gap = results.fields.sel(model="n = 4", seed=3).values - results.truth
    off = 100 * np.linalg.norm(gap[:, 2]) / np.linalg.norm(results.truth[:, 2])
    assert results.apart == 0
    assert errors.sel(quantity="pressure").item() == pytest.approx(off, rel=1e-4)


# passages


def coefficients(error, rounds=(10, 20, 30, 40, 50)):
    """C [seed, coefficient, round] with these errors of C1 (%); C2 is exact."""
    error = np.array(error, float)
    C = np.stack([1 + error / 100, np.where(np.isnan(error), np.nan, 0.01)], 1)
    return xarray.DataArray(C, {"coefficient": [*TRUTH], "round": [*rounds]}, ("seed", "coefficient", "round"))


def first(passage, within):
    return passage.sel({"coefficient": "C1", "within": within}).values.tolist()


def test_what_is_not_seen_in_fewer_rounds_is_not_never():
    late = [7, 6, 5, 4.5, 3]
    C = coefficients([late, [7, 6, 0.5, np.nan, np.nan], [7, 6, 5, np.nan, np.nan], [np.nan] * 5])
    reached = first(study.reached(C, 50), 1)
    assert reached[:2] == [np.inf, 30] and np.isnan(reached[2:]).all()


def test_passages_of_random_walks_agree_with_a_plain_loop():
    walks = np.cumsum(np.random.default_rng(0).normal(size=(20, 2, 60)), -1) * [[0.05], [5e-4]] + [[0.8], [0.008]]
    C = xarray.DataArray(walks, {"coefficient": [*TRUTH], "round": range(1, 61)}, ("seed", "coefficient", "round"))
    reached = study.reached(C, 60).values
    for s, i, j in np.ndindex(reached.shape):
        off = [abs(c / [*TRUTH.values()][i] - 1) * 100 for c in walks[s, i]]
        near = [r for r, e in enumerate(off, 1) if e <= study.TOLERANCES[j]]
        assert reached[s, i, j] == (near[0] if near else np.inf)
    assert np.isfinite(reached).any() and np.isinf(reached).any()
