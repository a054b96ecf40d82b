"""What becomes of what notebook 04 trains."""

import numpy as np
import pytest
import xarray

from fedlib.papers.fedsciml.functions import study
from fedlib.papers.fedsciml.functions.study import BLOCKS, CLIENTS
from fedlib.trainings.store import made

from ...small import quick

TINY = quick(study) | {
    "seeds": [0, 1], "rounds": 2, "schaffer_rounds": 2, "n_points": 40, "subdomains": [2, 4, 10], "width": 4,
    "what_if_subdomains": [10, 20], "schaffer_points": 60, "partition_points": 60, "slabs": [2, 6],
    "slabs_coded": [2, 6],
    "fall_slabs": [2, 6], "blocks": [3, 4], "lrs_fall": [0.0003], "theorem_E": [1, 2], "theorem_rounds": [1],
}  # fmt: skip


@pytest.fixture(scope="module")
def histories():
    return made(study.trainings(TINY))


def test_arrays_are_those_of_the_histories(histories):
    results = study.results(TINY, histories)
    alone = histories["line"].last("error", kind="isolated", level=10, seed=1)
    line = results.errors["line"][-1].sel(level=10, seed=1)
    for k, kind in enumerate(("client 1 alone", "client 2 alone")):
        assert line.sel(kind=kind).item() == alone.sel(client=k).item()
    assert results.best["line"].kind.values.tolist()[0] == "best client alone"
    central = results.errors[BLOCKS[0]].sel(kind="centralised")
    for name in BLOCKS:
        np.testing.assert_array_equal(results.errors[name].sel(kind="centralised"), central, "the one that sees all")
    distances = [results.errors[name].distance.values.tolist() for name in BLOCKS]
    assert len({*map(tuple, distances)}) == len(CLIENTS), "each its own"
    assert {tuple(e.level.values.tolist()) for e in results.what_if.values()} == {(10,)}, "what both have"
    as_above = results.errors["line"][-1].sel(kind="federated", level=[10], drop=True)
    xarray.testing.assert_equal(results.what_if["Adam", "as above"], as_above.transpose("level", "seed"))
    apart = {name: history for name, history in histories.items() if name[0] == "what_if"}
    assert ("Adam", "as above") not in study.variants(apart, "what_if", "line", ("Adam", "as above"))
