"""The ways of a federated round of notebooks 05 and 07 do the same work, and ours is not slower than a plain loop."""

import pytest
import torch

from fedlib.bench import operators, pinn
from fedlib.bench.common import in_own_process

BENCHMARKS = {  # benchmark, its plain loop, the engine eager and compiled
    "pinn": (pinn, "nested autograd", "jets, eager", "jets, compiled"),
    "operators": (operators, "plain loop", "eager", "compiled"),
}


@pytest.mark.parametrize("bench, plain, eager, _", BENCHMARKS.values(), ids=BENCHMARKS)
def test_the_ways_compute_the_same_model(bench, plain, eager, _):
    ways = bench.ways(2, compiled=False)
    expected, found = ways[plain](), ways[eager]()
    torch.testing.assert_close(found, expected, rtol=0, atol=5e-4)  # float32; Adam's first steps are gradients' signs
    assert (found - expected).abs().mean() < 1e-5


@pytest.mark.parametrize("bench, plain, _, compiled", BENCHMARKS.values(), ids=BENCHMARKS)
def test_the_compiled_engine_beats_the_plain_loop(bench, plain, _, compiled):
    """A loose bound that does not flake: the measured ratios are above 3 (`python -m fedlib bench pinn`, operators)."""
    ms = in_own_process(bench.time_rounds, 4, 2)["ms_per_round"]
    assert ms[plain] > 1.5 * ms[compiled]
