"""The benchmark compares ways that do the same work, and the engine is not slower than the loop."""

import torch

from fedlib.bench import common

from ..conftest import CountOps


def test_the_ways_compute_the_same_model(monkeypatch):
    monkeypatch.setattr(common, "N", 60)
    monkeypatch.setattr(common, "STEPS", 5)
    ways = common.ways(3)
    plain, eager, compiled = ways["plain"](), ways["eager"]().model(0), ways["compiled"]().model(0)
    torch.testing.assert_close(eager, plain, rtol=0, atol=1e-5)
    torch.testing.assert_close(compiled, plain, rtol=0, atol=1e-5)


def test_a_thousand_clients_fit_into_two_gibibytes():
    assert common.in_own_process(common.peak_memory, 1000)["peak_GiB"] < 2


def test_twenty_clients_cost_less_than_twenty_loops(monkeypatch):
    """Dispatched operations, which no busy machine changes: the loop's grow with the clients, the engine's do not."""
    monkeypatch.setattr(common, "STEPS", 5)
    ops = {}
    for K in (2, 20):
        for name in ("plain", "eager"):
            way = common.ways(K)[name]
            way()  # what is made once
            with CountOps() as count:
                way()
            ops[name, K] = count.n
    assert ops["plain", 20] > 8 * ops["plain", 2]
    assert ops["eager", 20] < 1.1 * ops["eager", 2]
    assert ops["eager", 20] < ops["plain", 20] / 3
