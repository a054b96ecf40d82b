"""What the benchmark of workers reports; nothing here is timed."""

import os
import time

from benchmarks import problems, workers


def test_one_and_two_workers_are_compared(monkeypatch):
    monkeypatch.setattr(workers, "sweep", lambda: problems.sweep(seeds=1, levels=(1,)))
    found = workers.measure("eager", (1, 2), rounds=20, turns=1)
    assert found["federations"] == 3 and list(found["workers"]) == [1, 2]
    assert found["workers"][1]["times_wall"] == found["workers"][1]["times_cpu"] == 1


def test_the_time_that_a_process_computes_is_counted():
    before, start = workers.busy()[os.getpid()], time.process_time()
    while time.process_time() < start + 0.1:
        pass
    assert 0.05 < workers.busy()[os.getpid()] - before < 1
