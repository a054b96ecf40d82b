"""The labelled arrays that notebook 06b makes of what it trains."""

import numpy as np
import pytest

from fedlib.federated.stack import as_dict, load
from fedlib.federated.sweep import errors
from fedlib.papers.fedsciml.reaction import problem, study


def test_errors_have_a_field_and_stand_only_where_all_levels_are(p, results, histories):
    assert results.judged == "4 inner" and [*results.errors] == ["4 inner", "3 inner and 2 end"]
    more = study.results(p | {"levels": [8, 2, 4]}, histories)
    assert not more.errors and more.many
    array = results.errors["4 inner"]
    assert array.dims == ("field", "round", "kind", "level", "seed") and array["round"].values.tolist() == [1, 2, 3]
    for f in "uk":
        expected = errors(histories["inside_4", "levels"], f"error_{f}")
        np.testing.assert_array_equal(array.sel(field=f), expected)


def test_models_answer_at_the_test_points(results, histories):
    """Their errors are those that were measured."""
    for name, answers in results.answers.items():
        last = results.last[name]
        for f in "uk":
            one = answers.sel(field=f, level=8, seed=1)
            off = 100 * np.linalg.norm(one - one.truth, axis=1) / np.linalg.norm(one.truth)
            expected = [last.sel(field=f, level=8, seed=1, kind=kind).item() for kind in ("federated", "centralised")]
            np.testing.assert_allclose(off[2:], expected, rtol=1e-4)
            alone = last.sel(field=f, level=8, seed=1, kind="isolated").item()
            assert off[:2].mean() == pytest.approx(alone, rel=1e-4) and off[0] != off[1]
    assert (results.answers["4 inner"].sel(field="u", x=[0, 1]) == 0).all()


def test_divergences_of_both_networks(results, histories):
    history = histories["inside_4", "levels"]
    apart = results.divergences["4 inner"]
    assert apart.dims == ("field", "seed", "level", "matrix") and apart.matrix.values.tolist() == [1, 2, 3, 4]
    both = [as_dict(problem.Pair(), history.model(kind, 8, 1)) for kind in ("federated", "centralised")]
    for f in "uk":
        second = [name for name in both[0] if name.startswith(f"{f}.") and name.endswith("weight")][1]
        expected = (both[0][second] - both[1][second]).norm() / both[1][second].norm()
        assert apart.sel(field=f, seed=1, level=8, matrix=2).item() == pytest.approx(float(expected), rel=1e-5)


def test_the_squared_residual_is_a_part_of_the_loss(results, histories, p):
    history, points = histories["ends_3", "levels"], study.Points(3, True)
    squares = results.squares[str(points)]
    net = load(problem.Pair().double(), history.model("centralised", 2, 1).double())
    expected = problem.residual(net, problem.reaction(**study.arguments(p, points)).constants).detach() ** 2
    np.testing.assert_allclose(squares.sel(seed=1), expected, rtol=1e-3)
    assert squares.x.values[[0, -1]].tolist() == [0, 1]
