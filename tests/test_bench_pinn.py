"""The ways of a PINN round do the same work, and the jets are not slower than nested autograd."""

import torch

from fedlib import bench_pinn
from fedlib.bench import in_own_process


def test_the_ways_compute_the_same_model():
    ways = bench_pinn.ways(2, compiled=False)
    nested, eager = ways["nested autograd"](), ways["jets, eager"]()
    torch.testing.assert_close(eager, nested, rtol=0, atol=2e-4)  # float32; Adam's first steps are signs of gradients
    assert (eager - nested).abs().mean() < 1e-5


def test_compiled_jets_beat_nested_autograd():
    """A loose bound that does not flake: the measured ratio is above 4 (`python -m fedlib bench pinn`)."""
    ms = in_own_process(bench_pinn.time_rounds, 3, 2)["ms_per_round"]
    assert ms["nested autograd"] > 1.5 * ms["jets, compiled"]
