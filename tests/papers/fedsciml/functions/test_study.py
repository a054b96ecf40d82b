"""What becomes of what notebook 04 trains."""

import numpy as np
import pytest

from fedlib.papers.fedsciml.functions import study
from fedlib.papers.fedsciml.functions.study import BLOCKS
from fedlib.trainings.store import made

from ...small import quick

TINY = quick(study) | {
    "seeds": [0, 1], "rounds": 2, "n_points": 40, "subdomains": [2, 4, 10], "width": 4, "schaffer_points": 60,
    "blocks_points": 60, "slabs": [2, 6], "slabs_coded": [2, 6], "blocks": [3, 4],
}  # fmt: skip


@pytest.fixture(scope="module")
def histories():
    return made(study.sweeps(TINY))


def test_arrays_are_those_of_the_histories(histories):
    results = study.results(TINY, histories)
    alone = histories["line"].last("error", kind="isolated", level=10, seed=1)
    line = results.errors["line"][-1].sel(level=10, seed=1)
    for k, kind in enumerate(("client 1 alone", "client 2 alone")):
        assert line.sel(kind=kind).item() == alone.sel(client=k).item()
    assert results.best["line"].kind.values.tolist()[0] == "best client alone"
    blocks = [results.best[name] for name in BLOCKS]
    for K, values in enumerate(blocks, 2):
        central = values.sel(kind="centralised")
        np.testing.assert_array_equal(central, blocks[0].sel(kind="centralised"), "the one that sees all")
        assert values.name == f"{K} clients on blocks" and values.seed.values.tolist() == [0, 1]
    assert len({tuple(values.distance.values) for values in blocks}) == len(BLOCKS), "each its own"
    assert results.descent.rate.values.tolist() == [0.01, 0.03, 0.1] and results.descent.level.values.tolist() == [
        2,
        10,
    ]
    slow = histories["descent", 0.01].last("error", kind="federated", level=10, seed=1)
    assert results.descent.sel(rate=0.01, level=10, seed=1).item() == slow.mean()


def test_without_two_clients_nobody_has_the_centralised_model(histories):
    """Which is trained once, with them."""
    some = {name: history for name, history in histories.items() if name != BLOCKS[0]}
    assert study.results(TINY, some).best[BLOCKS[1]].kind.values.tolist() == ["best client alone", "federated"]
