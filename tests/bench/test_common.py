"""The benchmark compares ways that do the same work, and the engine is not slower than the loop."""

import torch

from fedlib.bench import common


def test_the_ways_compute_the_same_model(monkeypatch):
    monkeypatch.setattr(common, "N", 60)
    monkeypatch.setattr(common, "STEPS", 5)
    ways = common.ways(3)
    plain, eager, compiled = ways["plain"](), ways["eager"]().model(0), ways["compiled"]().model(0)
    torch.testing.assert_close(eager, plain, rtol=0, atol=1e-5)
    torch.testing.assert_close(compiled, plain, rtol=0, atol=1e-5)


def test_a_thousand_clients_fit_into_two_gibibytes():
    assert common.in_own_process(common.peak_memory, 1000)["peak_GiB"] < 2


def test_twenty_clients_cost_less_than_twenty_loops():
    """A loose bound that does not flake: the measured ratio is above 3 (`python -m fedlib bench`)."""
    speed = common.in_own_process(common.time_ways, 20, 1)
    assert speed["plain / eager"] > 1.2
