"""What notebook 04 trains, by names that nobody takes apart, and what becomes of it."""

import numpy as np
import pytest
import xarray

from fedlib.papers.fedsciml.functions import study
from fedlib.papers.fedsciml.functions.study import BLOCKS, CLIENTS
from fedlib.trainings import settings
from fedlib.trainings.store import made

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


@pytest.mark.parametrize(
    ("change", "words"),
    [({"subdomains": [2, 500]}, "pieces 500, .*cannot fill"), ({"blocks": [1]}, "a whole number >= 3")],
)
def test_points_that_do_not_allow_a_level_are_refused(change, words):
    study.check(TINY)
    with pytest.raises(ValueError, match=words):
        study.check(TINY | change)


def test_arrays_are_those_of_the_histories(histories, results):
    alone = histories["line"].last("error", kind="isolated", level=10, seed=1)
    line = results.errors["line"][-1].sel(level=10, seed=1)
    for k, kind in enumerate(("client 1 alone", "client 2 alone")):
        assert line.sel(kind=kind).item() == alone.sel(client=k).item()
    assert alone[0] != alone[1] and results.best["line"].kind.values.tolist()[0] == "best client alone"


def test_clients_on_blocks_are_compared_with_the_one_model_that_sees_all(results):
    central = results.errors[BLOCKS[0]].sel(kind="centralised")
    for name in BLOCKS:
        errors = results.errors[name]
        assert errors.kind.values.tolist() == ["best client alone", "federated", "centralised"]
        np.testing.assert_array_equal(errors.sel(kind="centralised"), central)
    distances = [results.errors[name].distance.values.tolist() for name in BLOCKS]
    assert len({*map(tuple, distances)}) == len(CLIENTS), "each its own"


def test_variants_stand_beside_what_they_vary(results, histories):
    assert {tuple(e.level.values.tolist()) for e in results.what_if.values()} == {(10,)}, "what both have"
    as_above = results.errors["line"][-1].sel(kind="federated", level=[10], drop=True)
    xarray.testing.assert_equal(results.what_if["Adam", "as above"], as_above.transpose("level", "seed"))
    apart = {name: history for name, history in histories.items() if name[0] == "what_if"}
    assert ("Adam", "as above") not in study.variants(apart, "what_if", "line", ("Adam", "as above"))


def test_the_earlier_run_is_read_as_it_was_stored():
    before = study.results(TINY, {}).earlier
    two, three = (before["earlier", "blocks", K] for K in (2, 3))
    np.testing.assert_array_equal(two.sel(kind="centralised"), three.sel(kind="centralised"))
    assert three.level.values.tolist() == [3, 5, 11] and (three.distance > 0).all()
