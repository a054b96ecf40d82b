"""The study of operators: what is trained, where it is stored, and the arrays of it."""

import numpy as np
import pytest

from fedlib.federated.stack import as_dict
from fedlib.numerics.heterogeneity import weight_divergence
from fedlib.papers.fedsciml.operators import problem, study
from fedlib.trainings.store import stored

LINE = "antiderivative"


def test_errors_are_of_all_parts(histories, results):
    last, history = results.last[LINE], histories[LINE, "levels", 8]
    assert last.level.values.tolist() == [5, 6, 10] and {*last.seed.values} == {0, 1, 3}
    assert last.unknown.values.tolist() == [5, 4, 0]
    alone = history.last("error", kind="isolated", level=6, seed=1)
    for k in (0, 1):
        assert last.sel(kind=f"client {k + 1} alone", level=6, seed=1).item() == pytest.approx(alone[k].item())
    assert np.isnan(last.sel(kind="centralised", level=6, seed=1)), "not trained there"
    assert np.isfinite(last.sel(kind="centralised", level=6, seed=0)), "but by the jump"
    assert {*results.last} == {*problem.TITLES} and results.faded < 10 and not results.examples


def test_of_the_papers_examples_there_is_a_longer_training():
    """Of Burgers, at the examples' levels only, with one seed; at other settings there is none."""
    calls = study.trainings(study.PAPER)
    longer = calls["burgers_2", "levels", study.EXAMPLE_STEPS]
    assert (longer.levels, longer.seeds, longer.changes["rounds"]) == ((5, 10), [0], 10_000)
    others = study.trainings(study.PAPER | {"seeds": [1]})
    assert {*calls} - {*others} == {("burgers_2", "levels", study.EXAMPLE_STEPS)}


def test_weights_are_compared_where_both_models_are(histories, results):
    own = results.divergence
    assert own.matrix.values.tolist() == ["branch 1", "branch 2", "trunk 1", "trunk 2"]
    assert own.level.values.tolist() == [5, 10]
    net, key = problem.learn(LINE).net(), (5, 3)
    models = [histories[LINE, part, 8].model(kind, *key)
              for part, kind in (("levels", "federated"), ("central", "centralised"))]  # fmt: skip
    want = [*weight_divergence(*(as_dict(net, row) for row in models)).values()]
    np.testing.assert_allclose(own.sel(level=5, seed=3), want, rtol=1e-6)
    assert study.divergence(histories[LINE, "levels", 8]) is None


def test_local_steps_have_those_of_the_levels_beside_them(results):
    values = results.local[LINE]
    assert values.E.values.tolist() == [1, 2, 4] and values.seed.values.tolist() == [1, 3]
    want = results.last[LINE].sel(kind="federated", seed=[1, 3], level=[5, 6])
    np.testing.assert_allclose(values.sel(E=2, level=[5, 6]), want)
    assert values.level.values.tolist() == [5, 6, 10], "in their order, whichever file they are in"


def test_an_example_is_the_first_function_of_its_stream():
    p, names = study.PAPER | {"problems": [LINE]}, [(LINE, part, 50_000) for part in study.PARTS]
    shown, operator = study.results(p, {name: stored(study, name) for name in names}).examples, problem.learn(LINE)
    assert {*shown} == {(LINE, 6), (LINE, 10)}
    one, first = shown[LINE, 6], problem.draws("forward", 10, 1, 0, "picture")
    np.testing.assert_allclose(one.v, operator.pairs(first)["u"][0], atol=1e-6)
    np.testing.assert_allclose(one.truth, operator.pairs(first)["s"][0], atol=1e-6)
    assert {*one.model.values} == {"client 1 alone", "client 2 alone", "federated", "centralised"}
    off = 100 * np.linalg.norm(one.u - one.truth, axis=1) / np.linalg.norm(one.truth)
    np.testing.assert_allclose(one.error, off, rtol=1e-4)
