"""The study of operators: what is trained, where it is stored, and the arrays of it."""

import numpy as np
import pytest

from fedlib.federated.stack import as_dict
from fedlib.numerics.heterogeneity import weight_divergence
from fedlib.papers.fedsciml.operators import problem, study


def test_errors_are_of_all_parts(p, histories, results):
    errors = results.errors["antiderivative"]
    assert errors.level.values.tolist() == [5, 6, 10] and {*errors.seed.values} == {0, 1, 3}
    last, history = results.last["antiderivative"], histories["antiderivative", "levels", 8]
    alone = history.last("error", kind="isolated", level=6, seed=1)
    for k in (0, 1):
        assert last.sel(kind=f"client {k + 1} alone", level=6, seed=1).item() == pytest.approx(alone[k].item())
    assert np.isnan(last.sel(kind="centralised", level=6, seed=1)), "not trained there"
    assert np.isfinite(last.sel(kind="centralised", level=6, seed=0)), "but by the jump"


def test_examples_are_of_their_own_number_of_steps(p, histories, results):
    """The longer training of Burgers has the paper's examples only, with one seed."""
    assert histories["burgers_2", "levels", 4].labels("level") == [5, 10]
    assert {n for name, n in results.examples if name == "burgers_2"} == {5, 10}
    assert results.errors["burgers_2"].level.values.tolist() == [2, 10]


def test_the_way_is_of_seeds_that_both_ends_have(results):
    way = results.way["antiderivative"]
    assert way.level.values.tolist() == [5, 10] and {*way.seed.values} == {1, 3} and way.sizes["round"] > 1


def test_weights_are_compared_where_both_models_are(histories, results):
    own = results.divergence
    assert own.matrix.values.tolist() == ["branch 1", "branch 2", "trunk 1", "trunk 2"]
    assert own.level.values.tolist() == [5, 10]
    net, key = problem.learn("antiderivative").net(), (5, 3)
    models = [histories["antiderivative", part, 8].model(kind, *key)
              for part, kind in (("levels", "federated"), ("central", "centralised"))]  # fmt: skip
    want = [*weight_divergence(*(as_dict(net, row) for row in models)).values()]
    np.testing.assert_allclose(own.sel(level=5, seed=3), want, rtol=1e-6)
    assert study.divergence([histories["antiderivative", "levels", 8]]) is None


def test_local_steps_have_those_of_the_levels_beside_them(results):
    values = results.local["antiderivative"]
    assert values.E.values.tolist() == [1, 2, 4] and values.seed.values.tolist() == [1]
    want = results.last["antiderivative"].sel(kind="federated", seed=1, level=[5, 6])
    np.testing.assert_allclose(values.sel(E=2, seed=1, level=[5, 6]), want)
    assert values.level.values.tolist() == [5, 6, 10], "in their order, whichever file they are in"


def test_an_example_is_the_first_function_of_its_stream(p, results):
    one = results.examples["antiderivative", 6]
    operator = problem.learn("antiderivative")
    first = problem.draws("forward", 10, 1, 3, "picture")
    np.testing.assert_allclose(one.v, operator.pairs(first)["u"][0], atol=1e-6)
    np.testing.assert_allclose(one.truth, operator.pairs(first)["s"][0], atol=1e-6)
    assert [*one.model.values] == ["client 1 alone", "client 2 alone", "federated"] and one.sizes["function"] == 5
    off = 100 * np.linalg.norm(one.u - one.truth, axis=1) / np.linalg.norm(one.truth)
    np.testing.assert_allclose(one.error[:, 0], off, rtol=1e-4)
