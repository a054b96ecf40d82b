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
    "schaffer_points": 60, "partition_points": 60, "slabs": [2, 6],
    "slabs_coded": [2, 6],
    "blocks": [3, 4], "lrs_sgd": [0.1, 0.01], "theorem_E": [1, 2], "theorem_rounds": [1],
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
    central = results.blocks[2].sel(kind="centralised")
    for K, values in results.blocks.items():
        np.testing.assert_array_equal(values.sel(kind="centralised"), central, "the one that sees all")
        assert values.name == f"{K} clients on blocks"
    distances = [values.distance.values.tolist() for values in results.blocks.values()]
    assert len({*map(tuple, distances)}) == len(CLIENTS), "each its own"
    assert results.descent.rate.values.tolist() == [0.1, 0.01] and results.descent.level.values.tolist() == [2, 10]
    slow = histories["descent", 0.01].last("error", kind="federated", level=10, seed=1)
    assert results.descent.sel(rate=0.01, level=10, seed=1).item() == slow.mean()


def test_the_earlier_run_counts_until_all_blocks_are_trained(histories):
    before = study.results(TINY, {}).blocks
    assert before[3].level.values.tolist() == [3, 5, 11] and (before[3].distance > 0).all()
    np.testing.assert_array_equal(before[2].sel(kind="centralised"), before[3].sel(kind="centralised"))
    some = {name: history for name, history in histories.items() if name != BLOCKS[-1]}
    xarray.testing.assert_equal(study.results(TINY, some).blocks[3], before[3])
