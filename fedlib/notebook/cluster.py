"""The batch on other machines: each notebook is a task of a dask cluster, whose threads take one each."""

import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Worker

    from .batch import Job

PATIENCE = 10.0  # s that a scheduler may take to answer


@contextmanager
def connected(scheduler: str, run_one: Callable) -> Iterator[tuple[Executor, Callable]]:
    """The cluster of a scheduler as an executor, and what its workers do with a job; says so while there are none.

    A worker that is killed is no failure: dask runs its notebook again elsewhere, from its checkpoints, three times.

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
    with client, client.get_executor(pure=False) as executor:
        if not client.ncores():
            print(f"fedlib: no worker at {scheduler} yet; waiting for `dask worker {scheduler}`", file=sys.stderr)
        yield executor, partial(carry_out, run_one)


def carry_out(run_one: Callable, job: "Job", limit: float | None):
    """At a worker: the notebook in a process of its own, as long as the caller waits for it."""
    from distributed import get_worker

    for path in (job.notebook, job.target.parent):
        if not path.exists():
            raise ValueError(
                f"{path} is not there on {socket.gethostname()}; expected a folder that all machines share"
            )
    worker = get_worker()
    return run_one(job, limit, partial(unwanted, worker, worker.get_current_task()))


def unwanted(worker: "Worker", key: str) -> str:
    """Why the caller waits no more: dask does not interrupt a task, it only notes that it was cancelled."""
    task = worker.state.tasks.get(key)
    wanted = task is not None and task.state != "cancelled" and worker.status.name not in ("closing", "closed")
    return "" if wanted else "nobody wants it any more"
