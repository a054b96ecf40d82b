"""What the benchmark counts: operations of torch, floating-point operations, memory, turns. Nothing here is timed."""

import pytest

from benchmarks import common, problems, ways

from ..conftest import CountOps


def operations(way: str, K: int) -> int:
    """Dispatched by torch in a round, after what is made once; no busy machine changes it."""
    problem = problems.line(K)
    run = ways.ways_of(problem)[way](problem)
    run(1)
    with CountOps() as count:
        run(1)
    return count.n


def test_operations_of_an_eager_round_do_not_grow_with_the_clients():
    two, forty = operations("eager", 2), operations("eager", 40)
    assert forty <= two  # forty clients with 100 points are still one block
    assert two < 1000  # 5 steps; 814 in November 2026
    assert operations("plain loop", 40) > 15 * operations("plain loop", 2)


def test_an_xla_round_is_a_handful_of_operations():
    two, forty = operations("xla", 2), operations("xla", 40)
    assert forty <= two < 100


def test_a_thousand_clients_fit_into_two_gibibytes():
    assert common.in_own_process(common.peak_memory, "pendulum", (1000,), "eager") < 2048


def test_floating_point_operations_of_a_network():
    """A layer costs 2 n a b forward, as much for its weights, and as much for its inputs unless these are the data."""
    n, clients, steps = 100, 2, 5
    products = [2 * n * a * b for a, b in ((1, 64), (64, 64), (64, 64), (64, 1))]
    assert common.flops(problems.line(2)) == clients * steps * (3 * sum(products) - products[0])


def test_a_turn_lasts_as_long_as_asked_and_the_fastest_counts(monkeypatch):
    """On a clock that each way moves by what a round of it costs; the second turn is disturbed."""
    problem, clock, played = problems.line(2), [0.0], []
    models = ways.plain_loop(problem)(2)

    def way(cost):
        def run(n):
            played.append(n)
            clock[0] += n * cost * (1 + (len(played) > 8))
            return models

        return lambda problem: run

    monkeypatch.setattr(common, "cpu_seconds_of", lambda f, *a: -clock[0] + (f(*a), clock[0])[1])
    monkeypatch.setattr(common, "products", lambda problem: [(lambda: clock.__setitem__(0, clock[0] + 1), 10**9)])
    found = common.take_turns(problem, {"plain loop": way(0.01), "fast": way(0.002)}, 2, 0.1)
    assert played == [1, 1, 1, 1, 1, 1, 10, 50, 10, 50]
    assert [way["ms_per_round"] for way in found["ways"].values()] == pytest.approx([10, 2])
    assert found["ways"]["fast"]["times_plain"] == 5
    assert found["matrix_gflop_per_s"] == 1
