"""Federations shared out among processes: the result of one process, and an end to all of them when one fails."""

import os
import re
import signal
import subprocess
import sys
import warnings
from pickle import PicklingError

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlib.federated import checkpoints
from fedlib.federated.batches import Local
from fedlib.federated.checkpoints import Checkpoint
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.mixing import isolated, ring
from fedlib.federated.optimizers import sgd
from fedlib.federated.rules import fedadam
from fedlib.federated.train import train
from fedlib.federated.workers import rows, shared_out


def federations(shards):
    """Five federations of three, one and three clients; two share a server."""
    server = fedadam(0.1)
    return {
        ("fed", 0): Federation(shards, lr=0.01, fraction=0.67, server=server, name="first"),
        ("fed", 1): Federation(shards, lr=0.02, seed=1, server=server, name="second"),
        ("ring", 0): Federation(shards, lr=0.01, mixing=ring, decay=0.9),
        ("alone", 0): Federation(shards, lr=0.01, mixing=isolated),
        ("central", 0): centralised(shards, lr=0.01),
    }


def experiment(problem, workers, feds=None, **changes):
    net, loss, pool, shards = problem
    scale = {"fed": 1.0, "ring": 2.0, "alone": 3.0, "central": 4.0}  # a test of its own for each
    settings = dict(
        rounds=5, local=Local(2, "steps", 4), evaluate_every=2, dtype=torch.float64, parts=("kind", "seed"),
        backend="eager",
        evaluate=lambda predict, own: {"u": predict(own["x"])[:, 0], "mean": predict(own["x"]).mean()},
        test=lambda key: {"x": pool["x"][:3] * scale[key[0]]},
    )  # fmt: skip
    return train(net, loss, pool, feds or federations(shards), workers=workers, **(settings | changes))


def below():
    """Processes at work below this one; joblib's tracker ends with us."""
    children = psutil.Process().children(recursive=True)
    return [p for p in children if p.is_running() and not any("resource_tracker" in word for word in p.cmdline())]


def gone():
    """Nothing is left running."""
    return not psutil.wait_procs(below(), 10)[1]


def assert_equal(a, b, rtol=0.0):
    assert list(a.rows) == list(b.rows) and a.rounds == b.rounds and [*a.metrics] == [*b.metrics]
    np.testing.assert_allclose(a.theta, b.theta, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(a.losses, b.losses, rtol=rtol)
    for name in a.metrics:
        np.testing.assert_allclose(a.metrics[name], b.metrics[name], rtol=rtol, atol=rtol)


@pytest.fixture(scope="module", autouse=True)
def no_process_stays():
    yield
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(kill_workers=True)
    assert gone()


@pytest.mark.parametrize(
    "local", [Local(3), Local(5, "steps", 4), Local(2, "epochs", 4)], ids=["full", "steps", "epochs"]
)
def test_two_workers_find_what_one_finds(problem, local):
    """To rounding, for the clients are ragged: who stands beside whom decides how long their padded sums are."""
    one, two = (experiment(problem, n, local=local) for n in (1, 2))
    assert_equal(one, two, rtol=1e-12)


def test_without_padding_they_are_equal_to_the_last_bit(problem):
    shards = [np.arange(0, 8), np.arange(8, 16), np.arange(16, 24)]
    feds = {key: fed for key, fed in federations(shards).items() if key[0] != "central"}
    one, two = (experiment(problem, n, feds, local=Local(3)) for n in (1, 2))
    assert_equal(one, two)


def test_a_worker_has_one_thread(problem):
    def threads(predict, own):
        return {"threads": predict(own["x"]).sum() * 0 + torch.get_num_threads()}

    assert (experiment(problem, 2, evaluate=threads).metrics["threads"] == 1).all()


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=3), min_size=1, max_size=12), st.integers(1, 5))
def test_work_is_shared_out_evenly(sizes, workers):
    """Each federation once; no part has more than the lightest one and a federation on top."""
    feds = [Federation([np.arange(n) for n in own]) for own in sizes]
    parts = shared_out(feds, Local(3, "epochs", 2), workers)
    assert len(parts) == min(workers, len(feds)) and all(parts)
    assert sorted(f for part in parts for f in part) == list(range(len(feds)))
    work = [sum(3 * -(-n // 2) * min(n, 2) for n in own) for own in sizes]  # steps x points
    loads = [sum(work[f] for f in part) for part in parts]
    assert max(loads) - min(loads) <= max(work)


def test_who_takes_part_less_often_has_less_work():
    shards = [np.arange(8)] * 4
    feds = [Federation(shards), *[Federation(shards, fraction=0.25)] * 4]
    assert shared_out(feds, Local(1), 2) == [[0], [1, 2, 3, 4]]


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("workers", [0, True, 1.5, "2"])
def test_bad_numbers_of_workers_are_refused(problem, workers):
    with pytest.raises(ValueError, match=re.escape(f"workers = {workers!r}: expected a whole number >= 1")):
        experiment(problem, workers)


def test_a_test_that_all_share_is_not_copied():
    shared = torch.arange(3.0).expand(5, 3)
    assert rows(shared, [0, 3]).data_ptr() == shared.data_ptr()
    assert torch.equal(rows(shared, [0, 3]), shared[:2])
    own = torch.arange(15.0).reshape(5, 3)
    assert torch.equal(rows(own, [0, 3]), own[[0, 3]])


def test_what_learns_nothing_is_named_once(problem):
    """A federation without a warning stands between two with one; they come from two processes."""
    feds = {name: Federation(problem[3], lr=lr) for name, lr in (("a", 1e6), ("b", 0.01), ("c", 1e6))}
    how = dict(rounds=30, local=Local(2), parts=None, test=None, evaluate=None)
    for workers in (1, 2):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            experiment(problem, workers, feds, **how)
        assert [str(w.message).split(":")[0] for w in said] == ["'a'", "'c'"], workers
        assert said[0].filename == __file__


@pytest.mark.fault("survived")
def test_a_stopped_training_goes_on_in_all_its_parts(problem, tmp_path):
    mine, calls = Checkpoint(tmp_path / "state.pt", "mine"), []

    def stops(predict, own):
        checkpoints.SECONDS = 0.0  # in the worker: a file after every round
        calls.append(1)  # there, too
        if len(calls) == 5:  # the first one is dry
            raise KeyboardInterrupt
        return {"u": predict(own["x"])[:, 0], "mean": predict(own["x"]).mean()}

    whole = experiment(problem, 1, evaluate_every=1)
    with pytest.raises(KeyboardInterrupt):
        experiment(problem, 2, checkpoint=mine, evaluate=stops, evaluate_every=1)
    assert gone()
    kept = {path.name: torch.load(path)["state"][0] for path in tmp_path.glob("state*.pt")}
    assert {*kept} <= {"state-part1of2.pt", "state-part2of2.pt"} and max(kept.values()) == 3
    assert_equal(whole, experiment(problem, 2, checkpoint=mine, evaluate_every=1), rtol=1e-12)
    calls += [1, 1, 1]  # there is nothing left to do, so nothing stops
    assert_equal(whole, experiment(problem, 2, checkpoint=mine, evaluate=stops, evaluate_every=1), rtol=1e-12)
    with pytest.raises(ValueError, match=r"part[12]of2\.pt belongs to a training with other data"):
        experiment(problem, 2, checkpoint=mine, rounds=6, evaluate_every=1)


@pytest.mark.fault("clear error")
def test_a_killed_worker_is_an_error_and_ends_the_others(problem):
    here = os.getpid()

    def deadly(predict, own):
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"u": predict(own["x"])}

    with pytest.raises(Exception, match=r"worker process .* was unexpectedly terminated"):  # joblib says so
        experiment(problem, 2, evaluate=deadly, rounds=30_000, evaluate_every=3)
    assert gone()


@pytest.mark.fault("clear error")
def test_where_all_diverge_it_is_an_error(problem):
    feds = federations(problem[3])
    feds = {key: Federation(problem[3], lr=1e200, name="steep", seed=i) for i, key in enumerate(feds)}
    for workers in (1, 2):
        with pytest.raises(FloatingPointError, match=r"steep: .* at client \d in round \d+, local step"):
            experiment(problem, workers, feds, rounds=300, optimizer=sgd())


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("backend", ["eager", "auto", "xla"])
@pytest.mark.parametrize("workers", [1, 2])
def test_one_that_diverges_does_not_end_the_others(problem, workers, backend):
    """Its row is NaN and named; the others are what they are without it."""
    feds = federations(problem[3])
    feds["fed", 1] = Federation(problem[3], lr=1e200, name="second")
    args = dict(rounds=8, optimizer=sgd(), backend=backend)
    with pytest.warns(UserWarning, match=r"\('fed', 1\) is NaN .* second: .* at client \d in round \d+, local step"):
        both = experiment(problem, workers, feds, **args)
    alone = experiment(problem, 1, {key: fed for key, fed in feds.items() if key != ("fed", 1)}, **args)
    assert [*both.diverged] == [("fed", 1)] and both.models("fed", 1).isnan().all()
    assert np.isnan(both.losses[-1, both.rows["fed", 1]]).all() and np.isnan(both.metrics["mean"][-1, 3:6]).all()
    for key, rows_alone in alone.rows.items():
        for one, other in ((both.theta, alone.theta), (both.losses.T, alone.losses.T)):
            np.testing.assert_allclose(one[both.rows[key]], other[rows_alone], rtol=0, atol=1e-12)
        for name, values in alone.metrics.items():
            np.testing.assert_allclose(both.metrics[name][:, both.rows[key]], values[:, rows_alone], rtol=0, atol=1e-12)


@pytest.mark.fault("clear error")
def test_what_cannot_be_sent_is_named(problem, tmp_path):
    with (tmp_path / "log").open("w") as log, pytest.raises(PicklingError, match="Could not pickle the task"):
        experiment(problem, 2, evaluate=lambda predict, test: log.write("here"))
    assert gone()


SCRIPT = """
import sys
import numpy as np
import torch
from fedlib import Federation, Local, train
from fedlib.models.networks import mlp

def loss(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["x"][:, 0]) ** 2).sum()

def trained(workers):
    pool, feds = {"x": torch.linspace(0, 1, 8)[:, None]}, [Federation([np.arange(8)], seed=s) for s in range(2)]
    return train(mlp((1, 4, 1), torch.nn.Tanh), loss, pool, feds, rounds=2, local=Local(2), workers=workers).theta

one = trained(1)
assert "joblib" not in sys.modules
print("equal:", torch.equal(one, trained(2)))
"""


def test_functions_of_a_script_are_sent_and_one_worker_needs_no_joblib():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert done.stdout == "equal: True\n", done.stderr
