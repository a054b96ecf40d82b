"""What notebook 06 trains follows from its parameters; times of Table 2 are those of a plain loop."""

import numpy as np
import pytest
import xarray

from fedlib.papers.fedsciml.flow import study
from fedlib.papers.fedsciml.flow.problem import TRUTH
from fedlib.trainings.store import made

from ...small import quick


@pytest.fixture(scope="module")
def p():
    """The notebook's parameters, small."""
    small = {"levels": [2, 4], "seeds": [3, 1], "rounds": 4, "drop_after": 3, "lr": 0.01}
    small |= {"observations": 40, "many": 60, "residual": [7, 4, 3], "widths": [3, 8, 8, 3]}
    return quick(study) | small | {"readings": [*study.READINGS], "long_readings": ["both"], "long_rounds": 6}


@pytest.fixture(scope="module")
def histories(p):
    return made(study.trainings(p), backend="eager")


def test_every_training_says_what_it_is(p):
    calls = study.trainings(p)
    assert {name: (call.levels, [*call.kinds], [*call.seeds]) for name, call in calls.items()} == {
        "flow": ([2, 4], ["federated", "centralised"], [3, 1]),
        "many": ([2], ["centralised"], [3, 1]),
        "aliased": ([2], ["federated"], [3, 1]),
        **{("readings", name): ([2], ["federated"], [3, 1]) for name in study.READINGS},
        ("long", "both"): ([2], ["federated"], [3]),
    }
    assert calls["long", "both"].changes["rounds"] == 6
    assert all(call.changes["evaluations"] == call.changes["rounds"] and call.apart for call in calls.values())
    assert calls["aliased"].arguments["aliased"] and calls["many"].arguments["observations"] == 60
    divided, starts, reset, both = (calls["readings", name] for name in study.READINGS)
    assert divided.arguments["divided"] and not starts.experiment().common_init and reset.experiment().reset_moments
    assert not both.experiment().common_init and both.experiment().reset_moments
    none = study.trainings(p | {"aliased": [], "readings": [], "long_readings": []})
    assert [*none] == ["flow", "many"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"residual": [3, 2]}, "expected three"),
        ({"many": 40}, "more than observations"),
        ({"aliased": [6]}, "6 is compared with its mean"),
        ({"readings": ["other"]}, "'other' is no entry"),
        ({"levels": [2, 3]}, "3 subdomains cannot be dealt"),
        ({"widths": [2, 3]}, "hidden layers"),
    ],
)
def test_what_no_parameter_tells_alone_is_refused(p, wrong, message):
    study.check(p)
    with pytest.raises(ValueError, match=message):
        study.check(p | wrong)


def test_the_longer_training_of_a_model_counts(p, histories):
    results = study.results(p, histories)
    assert results.C.dims == ("model", "seed", "coefficient", "round") and results.whole == 6
    done = study.trained(results.C)
    of_model = {label: done.sel(model=label).values.tolist() for label in done.model.values}
    assert of_model["n = 2"] == of_model["aliased, n = 2"] == of_model["moments reset"] == [4, 4]
    assert of_model["both"] == [4, 6], "the first seed goes on"
    C = histories["long", "both"].metric("C2", kind="federated", level=2, seed=3, client=0).values
    np.testing.assert_array_equal(results.C.sel(model="both", seed=3, coefficient="C2"), C)
    before = histories["readings", "both"].metric("C2", kind="federated", level=2, seed=3, client=0).values
    np.testing.assert_allclose(C[:4], before, rtol=1e-5)


def test_errors_are_those_of_the_last_round(p, histories):
    results = study.results(p, histories)
    assert (
        [*results.errors.model.values] == [*results.fields.model.values] == [*study.federated(p), *study.centralised(p)]
    )
    errors = results.errors.sel(model="n = 4", seed=3)
    C = results.C.sel(model="n = 4", seed=3, round=4).values
    np.testing.assert_allclose(errors[:2], 100 * np.abs(C / [*TRUTH.values()] - 1), rtol=1e-5)
    gap = results.fields.sel(model="n = 4", seed=3).values - results.truth
    off = 100 * np.linalg.norm(gap[:, 2]) / np.linalg.norm(results.truth[:, 2])
    assert results.apart == 0
    assert errors.sel(quantity="pressure").item() == pytest.approx(off, rel=1e-4)


def test_the_stored_paper_profile_needs_no_more_than_its_parameters():
    p = study.PAPER
    study.check(p)
    assert (p["levels"], p["observations"], p["many"], len(p["seeds"])) == ([2, 6, 10], 700, 7000, 5)


# passages


def coefficients(error, rounds=(10, 20, 30, 40, 50)):
    """C [seed, coefficient, round] with these errors of C1 (%); C2 is exact."""
    error = np.array(error, float)
    C = np.stack([1 + error / 100, np.where(np.isnan(error), np.nan, 0.01)], 1)
    return xarray.DataArray(C, {"coefficient": [*TRUTH], "round": [*rounds]}, ("seed", "coefficient", "round"))


def first(passage, within):
    return passage.sel({"coefficient": "C1", "within": within}).values.tolist()


def test_settled_is_the_first_round_after_the_last_excursion():
    C = coefficients([[4.9, 0.5, 3, 0.9, -0.2], [0.1] * 5, [0, 0, 0, 0, 2.0], [9, 0, 0, 0, 0]])
    settled = study.settled(C)
    assert first(settled, 1) == [40, 10, np.inf, 20] and first(settled, 5) == [10, 10, 10, 20]
    assert (settled.sel(coefficient="C2") == 10).all()


def test_reached_is_the_first_round_inside_whatever_comes_then():
    C = coefficients([[4.9, 0.5, 3, 0.9, -0.2], [0.1] * 5, [7, 6, 4.9, 4.5, 3], [-9, -8, -0.5, 9, 9]])
    reached = study.reached(C, 50)
    assert first(reached, 1) == [20, 10, np.inf, 30] and first(reached, 5) == [10, 10, 30, 30]
    assert (reached.sel(coefficient="C2") == 10).all()


def test_what_is_not_seen_in_fewer_rounds_is_not_never():
    late = [7, 6, 5, 4.5, 3]
    C = coefficients([late, [7, 6, 0.5, np.nan, np.nan], [7, 6, 5, np.nan, np.nan], [np.nan] * 5])
    reached = first(study.reached(C, 50), 1)
    assert reached[:2] == [np.inf, 30] and np.isnan(reached[2:]).all()
    assert first(study.settled(C), 1)[:3] == [np.inf, 30, np.inf]


def test_passages_of_random_walks_agree_with_a_plain_loop():
    """And nothing stays before it comes, nor comes closer before it comes close."""
    walks = np.cumsum(np.random.default_rng(0).normal(size=(20, 2, 60)), -1) * [[0.05], [5e-4]] + [[0.8], [0.008]]
    C = xarray.DataArray(walks, {"coefficient": [*TRUTH], "round": range(1, 61)}, ("seed", "coefficient", "round"))
    reached, settled = (passage.values for passage in (study.reached(C, 60), study.settled(C)))
    for s, i, j in np.ndindex(reached.shape):
        off = [abs(c / [*TRUTH.values()][i] - 1) * 100 for c in walks[s, i]]
        near = [r for r, e in enumerate(off, 1) if e <= study.TOLERANCES[j]]
        assert reached[s, i, j] == (near[0] if near else np.inf)
        away = [r for r, e in enumerate(off, 1) if e > study.TOLERANCES[j]]
        assert settled[s, i, j] == (1 if not away else away[-1] + 1 if away[-1] < 60 else np.inf)
    assert (settled >= reached).all() and (reached[..., 1:] >= reached[..., :-1]).all()
    assert np.isfinite(reached).any() and np.isinf(reached).any()
