"""The batch on other machines: each notebook is a task of a dask cluster, and a Job there as it would be here.

Futures, not joblib's dask backend: when dask gives a task up, because four workers died over it, joblib 1.6 is never
told and waits for ever.
"""

import contextlib
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from .hashes import content_hash
from .jobs import Job, Outcome
from .worker import words

if TYPE_CHECKING:
    from distributed import Client, Future, Worker

EVERY = 0.5  # s between two looks at a notebook, at its worker
PATIENCE = 10.0  # s that a scheduler may take to answer


@contextlib.contextmanager
def connected(scheduler: str) -> Iterator["Client"]:
    """A client of the scheduler at this address; says so while there is no worker yet, for queues are long.

    Raises:
        ValueError: dask is not installed, or no scheduler answers there.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            f"--scheduler {scheduler}: dask is not installed here; expected the extra: pip install '.[dask]'"
        ) from None
    try:
        client = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError, TypeError) as error:  # nobody, no name of a machine, no address
        raise ValueError(
            f"--scheduler {scheduler}: no dask scheduler answers ({' '.join(str(error).split())}); expected an address "
            "such as tcp://node1:8786, as `dask scheduler` prints it; start one there, or open its port"
        ) from None
    with client:
        if not client.ncores():
            print(f"fedlib: no worker at {scheduler} yet; waiting for `dask worker {scheduler}`", file=sys.stderr)
        yield client


def together(client: "Client", work: Sequence[Job], jobs: int | None, limit: float | None) -> Iterator[tuple]:
    """(job, outcome) as each ends, so many at a time (as many as there are threads of workers by default).

    A worker that is killed is no failure: dask runs its notebook again elsewhere, from its checkpoints, three times.
    When the caller ends, however it does, the workers stop what they run for it.
    """
    from distributed import as_completed

    waiting, jobs_of = iter(work), {}

    def submit(job: Job) -> "Future":
        there = replace(job, notebook=job.notebook.resolve(), target=job.target.resolve())
        future = client.submit(carry_out, there, limit, pure=False)
        jobs_of[future] = job
        return future

    ended = as_completed([submit(job) for job in islice(waiting, jobs)])
    for future in ended:
        job = jobs_of.pop(future)
        yield job, replace(outcome_of(future, job), folder=job.target)
        for following in islice(waiting, 1):
            ended.add(submit(following))


def outcome_of(future: "Future", job: Job) -> Outcome:
    """What the worker says, or why it cannot say it."""
    if future.status == "finished":
        return future.result()
    if future.status == "error":
        error = future.exception()
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
    else:
        why = "the scheduler is gone"
    return Outcome(job.notebook.stem, job.target, "failed", 0.0, f"{why}; the same command runs it again")


def carry_out(job: Job, limit: float | None) -> Outcome:
    """At the worker: the notebook in a process of its own, as long as the caller wants it."""
    from distributed import get_worker

    worker = get_worker()
    key, host = worker.get_current_task(), socket.gethostname()
    try:
        for path in (job.notebook, job.target.parent):
            if not path.exists():
                raise ValueError(f"{path} is not there on {host}; expected a folder that all machines share")
        if content_hash(job.notebook, job.parameters, int(job.environment["OMP_NUM_THREADS"])) != job.stamp:
            raise ValueError(f"other code on {host} than where the command was given; expected one shared folder")
        job.start()
    except (OSError, ValueError) as error:
        return Outcome(job.notebook.stem, job.target, "failed", 0.0, words(error, job.target))
    try:
        while not job.ended() and not job.late(limit) and wanted(worker, key):
            time.sleep(EVERY)
        return job.outcome(job.late(limit) or "nobody wants it any more")
    finally:
        job.stop()


def wanted(worker: "Worker", key: str) -> bool:
    """Whether the caller still waits: dask does not interrupt a task, it only notes that it was cancelled."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state != "cancelled" and worker.status.name not in ("closing", "closed")
