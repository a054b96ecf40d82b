"""What notebook 04 trains, by names that nobody takes apart, and what becomes of it."""

import numpy as np
import pytest
import xarray

from fedlib.federated.experiment import data_of
from fedlib.numerics.metrics import percent
from fedlib.papers.fedsciml.functions import problem, study
from fedlib.papers.fedsciml.functions.study import BLOCKS, CLIENTS, SLABS
from fedlib.trainings import settings
from fedlib.trainings.store import made, stored

from ...small import quick

NOTEBOOK = settings.NOTEBOOKS / f"{study.NOTEBOOK}.ipynb"
QUICK = quick(study)
PAPER = study.PAPER
TINY = QUICK | {
    "seeds": [0, 1], "rounds": 2, "schaffer_rounds": 2, "n_points": 40, "subdomains": [2, 4, 10], "width": 4,
    "what_if_subdomains": [10, 20], "schaffer_points": 60, "partition_points": 60, "slabs": [2, 6],
    "slabs_coded": [2, 6],
    "fall_slabs": [2, 6], "blocks": [3, 4], "lrs_fall": [0.0003], "theorem_E": [1, 2], "theorem_rounds": [1],
}  # fmt: skip


@pytest.fixture(scope="module")
def histories():
    return made(study.trainings(TINY))


@pytest.fixture(scope="module")
def results(histories):
    return study.results(TINY, histories)


def test_what_the_paper_profile_trains():
    calls = study.sweeps(PAPER)
    assert calls["line"].levels == [*study.SUBDOMAINS]
    assert {name if name == "line" else name[0] for name in calls} == {"line", "what_if", "slabs", "fall"}
    texts = [str(call.settings()) for call in calls.values()]
    assert len({*texts}) == len(texts), "two names for one training"
    for name, call in calls.items():
        experiment = call.experiment()
        for level in (min(call.levels), max(call.levels)):
            data_of(experiment, level)
        assert ("centralised" in call.kinds) == (name in ("line", *SLABS, BLOCKS[0])), name
    descent = {name: call.experiment().optimizer for name, call in calls.items() if name[0] == "what_if"}
    assert {name[1] for name, optimizer in descent.items() if optimizer} == {"SGD"} and len(descent) == 6


@pytest.mark.parametrize(
    ("change", "words"),
    [({"subdomains": [2, 500]}, "pieces 500, .*cannot fill"), ({"blocks": [1]}, "a whole number >= 3")],
)
def test_points_that_do_not_allow_a_level_are_refused(change, words):
    study.check(TINY)
    with pytest.raises(ValueError, match=words):
        study.check(TINY | change)


def test_arrays_are_those_of_the_histories(histories, results):
    assert {*results.errors} == {"line", *SLABS, *BLOCKS} and {*results.best} == {"line", *SLABS}
    alone = histories["line"].last("error", kind="isolated", level=10, seed=1)
    line = results.errors["line"][-1].sel(level=10, seed=1)
    for k, kind in enumerate(("client 1 alone", "client 2 alone")):
        assert line.sel(kind=kind).item() == alone.sel(client=k).item()
    assert alone[0] != alone[1] and results.best["line"].kind.values.tolist()[0] == "best client alone"
    assert {name: len(values.level) for name, values in results.divergences.items()} == {"line": 3, SLABS[0]: 2}
    assert all(values.notnull().all() for values in results.divergences.values())
    assert {*results.solutions} == {"line", *SLABS}
    assert [results.walks, results.theorem, results.partitions] == [
        histories[name] for name in ("walks", "theorem", "partitions")
    ]


def test_clients_on_blocks_are_compared_with_the_one_model_that_sees_all(results):
    central = results.errors[BLOCKS[0]].sel(kind="centralised")
    for name, K in zip(BLOCKS, CLIENTS, strict=True):
        errors = results.errors[name]
        assert errors.kind.values.tolist() == ["best client alone", "federated", "centralised"]
        assert errors.name == f"{K} clients on blocks" and errors.attrs["level"] == "blocks per axis"
        np.testing.assert_array_equal(errors.sel(kind="centralised"), central)
    distances = [results.errors[name].distance.values.tolist() for name in BLOCKS]
    assert len({*map(tuple, distances)}) == len(CLIENTS), "each its own"
    assert results.blocks == {name: results.errors[name] for name in BLOCKS}


def test_variants_stand_beside_what_they_vary(results, histories):
    assert next(iter(results.fall)) == ("as above",) and ("rate 3e-4",) in results.fall
    assert next(iter(results.what_if)) == ("Adam", "as above") and ("SGD", "rate 0.03") in results.what_if
    assert {tuple(e.level.values.tolist()) for e in results.what_if.values()} == {(10,)}, "what both have"
    as_above = results.errors["line"][-1].sel(kind="federated", level=[10], drop=True)
    xarray.testing.assert_equal(results.what_if["Adam", "as above"], as_above.transpose("level", "seed"))
    assert results.fall["as above",].seed.values.tolist() == [0] == TINY["fall_seeds"]
    apart = {name: history for name, history in histories.items() if name[0] == "what_if"}
    assert ("Adam", "as above") not in study.variants(apart, "what_if", "line", ("Adam", "as above"))
    assert study.variants({}, "what_if", "line") == {}


def test_the_earlier_run_is_read_as_it_was_stored():
    before = study.results(TINY, {}).earlier
    assert {*before} == {("earlier", *name) for name in (*SLABS, *BLOCKS)}
    two, three = (before["earlier", "blocks", K] for K in (2, 3))
    np.testing.assert_array_equal(two.sel(kind="centralised"), three.sel(kind="centralised"))
    assert three.level.values.tolist() == [3, 5, 11] and three.name == "3 clients on blocks, 1600 points"
    assert (three.distance > 0).all() and study.results(TINY, {}).blocks.keys() == {
        ("earlier", *name) for name in BLOCKS
    }


def test_a_stored_model_has_the_stored_error():
    line = study.results(PAPER, {"line": stored(study, "line")})
    error = line.errors["line"][-1].sel(kind="federated", level=20, seed=0).item()
    shown = line.solutions["line"]
    assert percent(shown.models[20]["federated"], shown.truth) == pytest.approx(error, rel=1e-3)
    assert problem.gramacy_lee().name == line.errors["line"].name
