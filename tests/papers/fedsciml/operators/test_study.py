"""The study of operators: what is trained, where it is stored, and the arrays of it."""

import numpy as np
import pytest
import torch
import xarray

from fedlib.federated.stack import as_dict
from fedlib.numerics.heterogeneity import weight_divergence
from fedlib.papers.fedsciml.operators import problem, study
from fedlib.trainings.calls import Call
from fedlib.trainings.store import calls_of, file_of, folder_of


def test_what_is_trained_of_which_operator(p):
    calls = study.trainings(p)
    names = {name for name in calls if name != "earlier"}
    parts = ("levels", "central", "jump", "apart", "local steps", "extremes")
    line = {("antiderivative", part, 8) for part in parts}
    fields = {("diffusion_reaction", part, 2) for part in ("levels", "central")}
    assert names == line | fields | {("burgers_2", "levels", T) for T in (4, 2)} | {("burgers_3", "levels", 2)}
    keys = {name: {*calls[name].keys()} for name in names}
    assert keys["antiderivative", "central", 8] == {("centralised", n, s) for n in (10, 5) for s in (3, 1)}
    assert keys["antiderivative", "local steps", 8] == {("federated", n, 1, E) for n in (6, 5) for E in (4, 1)}
    assert keys["antiderivative", "extremes", 8] == {("federated", 10, 1, E) for E in (4, 1)}
    assert calls["antiderivative", "apart", 8].experiment().common_init is False
    for E, changes in calls["antiderivative", "local steps", 8].over["E"].items():
        assert changes["rounds"] * changes["local"].updates == 8 and changes["local"].updates == E
    assert calls["burgers_2", "levels", 2].changes["rounds"] == 1
    assert {*keys["burgers_2", "levels", 4]} == {(kind, n, 3) for kind in ("isolated", "federated") for n in (5, 10)}
    assert {key[2] for key in keys["diffusion_reaction", "levels", 2]} == {3}, "it is dear"
    assert "examples" in calls_of(study), "of the paper's settings only"
    assert calls["burgers_2", "levels", 2].apart and not calls["antiderivative", "levels", 8].apart


def test_a_row_of_more_seeds_is_the_same_row(p):
    """So that nothing is trained twice, and its models are kept whoever trains it first."""
    calls = study.trainings(p | {"jump_seeds": [3, 1, 7]})
    jump, levels, central = (calls["antiderivative", part, 8] for part in ("jump", "levels", "central"))
    assert jump.settings() == levels.settings() == central.settings()
    for kind, seeds in jump.models.items():
        assert seeds == {**levels.models, **central.models}[kind]


def test_errors_are_of_all_parts(p, histories, results):
    errors = results.errors["antiderivative"]
    assert errors.level.values.tolist() == [5, 6, 10] and {*errors.seed.values} == {0, 1, 3}
    assert [*errors.kind.values] == ["client 1 alone", "client 2 alone", "federated", "centralised"]
    last, history = results.last["antiderivative"], histories["antiderivative", "levels", 8]
    alone = history.last("error", kind="isolated", level=6, seed=1)
    for k in (0, 1):
        assert last.sel(kind=f"client {k + 1} alone", level=6, seed=1).item() == pytest.approx(alone[k].item())
    assert np.isnan(last.sel(kind="centralised", level=6, seed=1)), "not trained there"
    assert np.isfinite(last.sel(kind="centralised", level=6, seed=0)), "but by the jump"
    assert {name: e.sizes["kind"] for name, e in results.last.items()} == {
        "antiderivative": 4, "diffusion_reaction": 4, "burgers_2": 3, "burgers_3": 4,
    }  # fmt: skip


def test_of_several_numbers_of_steps_the_one_with_most_rows_is_shown(p, histories):
    few = {name: history for name, history in histories.items() if name != ("burgers_2", "levels", 4)}
    assert study.results(p, histories).steps["burgers_2"] == 2, "the longer one has one seed"
    assert [*study.results(p, histories).fewer] == [("burgers_2", 4)]
    assert study.results(p, few).steps["burgers_2"] == 2
    assert study.results(p, {"earlier": xarray.Dataset()}).errors == {}


def test_the_error_is_that_on_the_whole_grid(p, histories):
    """Also where the loss sees some lines of it."""
    history, operator = histories["burgers_2", "levels", 2], problem.learn("burgers_2")
    pairs = operator.pairs(problem.draws("forward", 10, 2, 3, "test"))
    net, y = operator.net(), torch.as_tensor(operator.points).float()
    torch.nn.utils.vector_to_parameters(history.model("federated", 2, 3), net.parameters())
    gap = net(pairs["u"], y).detach() - pairs["s"]
    want = 100 * float(gap.norm() / pairs["s"].norm())
    assert history.last("error", kind="federated", level=2, seed=3)[0].item() == pytest.approx(want, rel=1e-4)


def test_the_way_is_of_seeds_that_both_ends_have(results):
    way = results.way["antiderivative"]
    assert way.level.values.tolist() == [5, 10] and {*way.seed.values} == {1, 3} and way.sizes["round"] > 1
    assert results._replace(errors={"a": results.errors["burgers_3"].isel(round=[-1])}).way == {}


def test_weights_are_compared_where_both_models_are(histories, results):
    own = results.divergences["antiderivative"]
    assert own.matrix.values.tolist() == ["branch 1", "branch 2", "trunk 1", "trunk 2"]
    assert own.level.values.tolist() == [5, 6, 10]
    net, key = problem.learn("antiderivative").net(), (5, 3)
    models = [histories["antiderivative", part, 8].model(kind, *key)
              for part, kind in (("levels", "federated"), ("central", "centralised"))]  # fmt: skip
    want = [*weight_divergence(*(as_dict(net, row) for row in models)).values()]
    np.testing.assert_allclose(own.sel(level=5, seed=3), want, rtol=1e-6)
    assert results.apart.level.values.tolist() == [10]
    assert (results.apart > own.sel(level=[10], seed=results.apart.seed)).all(), "unrelated networks are far apart"
    assert results.divergences["diffusion_reaction"].sizes == {"seed": 1, "level": 1, "matrix": 6}


def test_what_an_earlier_run_left_counts_where_no_model_is_kept(p, histories):
    matrices = ["branch 1", "branch 2", "branch 3"]
    table = xarray.DataArray(np.full((1, 2, 1, 2, 3), 0.5), {
        "problem": ["antiderivative"], "start": ["common", "apart"], "seed": [0], "level": [1, 10], "matrix": matrices,
    }, ("problem", "start", "seed", "level", "matrix"))  # fmt: skip
    table.loc[{"matrix": "branch 3"}] = np.nan
    old = xarray.Dataset({"divergence": table})
    levels = {key: histories[key] for key in [("antiderivative", "levels", 8)]}
    results = study.results(p, levels | {"earlier": old})
    assert results.divergences["antiderivative"].shape == (1, 2, 2) and results.apart.shape == (1, 2, 2)
    assert results.examples and not study.results(p, histories | {"earlier": old}).apart.equals(results.apart)


def test_local_steps_have_those_of_the_levels_beside_them(results):
    values = results.local["antiderivative", 8]
    assert values.E.values.tolist() == [1, 2, 4] and values.seed.values.tolist() == [1]
    want = results.last["antiderivative"].sel(kind="federated", seed=1, level=[5, 6])
    np.testing.assert_allclose(values.sel(E=2, seed=1, level=[5, 6]), want)
    assert values.level.values.tolist() == [5, 6, 10], "in their order, whichever file they are in"


def test_an_example_is_the_first_function_of_its_stream(p, results):
    assert [*results.examples] == [("antiderivative", 6), ("antiderivative", 10), ("diffusion_reaction", 10),
                                   ("burgers_2", 5), ("burgers_2", 10), ("burgers_3", 2)]  # fmt: skip
    one = results.examples["antiderivative", 6]
    operator = problem.learn("antiderivative")
    first = problem.draws("forward", 10, 1, 3, "picture")
    np.testing.assert_allclose(one.v, operator.pairs(first)["u"][0], atol=1e-6)
    np.testing.assert_allclose(one.truth, operator.pairs(first)["s"][0], atol=1e-6)
    assert [*one.model.values] == ["client 1 alone", "client 2 alone", "federated"] and one.sizes["function"] == 5
    off = 100 * np.linalg.norm(one.u - one.truth, axis=1) / np.linalg.norm(one.truth)
    np.testing.assert_allclose(one.error[:, 0], off, rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"levels": {"antiderivative": [1]}}, "has no 'diffusion_reaction'"),
        ({"levels": {"burgers_3": [5]}, "problems": ["burgers_3"]}, "even for the middle"),
        ({"E_values": {"antiderivative": [9]}}, "at most all 8 steps"),
        ({"diffusion_reaction_every": [5]}, "two numbers"),
        ({"jump_levels": [11]}, "jump_levels"),
    ],
)
def test_what_cannot_be_is_refused(p, change, words):
    with pytest.raises(ValueError, match=words):
        study.check(p | change)


def test_the_paper_profile_is_stored_at_every_level_of_the_antiderivative():
    calls, folder = calls_of(study), folder_of(study.NOTEBOOK)
    name = ("antiderivative", "levels", 50_000)
    assert isinstance(calls[name], Call) and not calls[name].read(file_of(folder, name), earlier=True).absent
