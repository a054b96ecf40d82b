"""The benchmark of many clients measures what it says."""

from itertools import islice

import pytest

from benchmarks import clients


@pytest.mark.parametrize("K", [100, 1000])
def test_a_hundred_clients_work_in_every_round(K):
    for done in islice(clients.rounds_of(K, "nothing"), 2):
        assert done.loss.shape[1] == clients.ACTIVE and done.losses.shape == (K,)
        assert done.state.optimizer == {} and len(done.state.theta) == 1


def test_ratios_are_those_of_the_fresh_processes(monkeypatch):
    """Memory is measured in a fresh process; here it is made up, as are times."""
    found = {
        10**n: {"clients": 10**n, "ms_per_round": 10.0 + n, "start_s": 0.1, "peak_MiB": 300.0 * n} for n in range(7)
    }
    monkeypatch.setattr(clients, "in_own_process", lambda function, K, keeping, rounds: found[K])
    assert clients.bench_clients(quick=True)["ratio"] == {"ms_per_round": 1.23, "peak_MiB": 2.0}
    assert len(clients.bench_clients()["kept by a client"]["nothing"]) == 5
