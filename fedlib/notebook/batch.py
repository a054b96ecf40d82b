"""Unattended runs: notebooks by papermill, each in a process of its own, several at once, nothing half-written.

What is finished does not run again while nothing that it is made of is newer, as with make.
"""

import difflib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from tqdm import tqdm

from ..files import check_writable, code_path
from ..trainings.settings import (
    FIGURES,
    NOTEBOOKS,
    cells_of,
    changed,
    check_parameters,
    folder_of,
    foreign,
    paper,
    parameters_of,
)
from . import cluster
from .worker import Job, cells_done, is_done, words

EVERY = 0.5  # s between two looks at what runs
GRACE = 5.0  # s that a process has to end when its parent lets go of it


class Outcome(NamedTuple):
    """How one notebook ended, and the folder of its figures. status: "done", "skipped" or "failed"."""

    notebook: str
    folder: Path
    status: str
    seconds: float = 0.0
    message: str = ""

    def __str__(self) -> str:
        return f"{self.status:8} {self.notebook:28} {self.seconds:6.1f} s  {self.message}".rstrip()


def run(
    names: Sequence[str] = (),
    jobs: int | None = None,
    overrides: Mapping | None = None,
    notebooks: Path = NOTEBOOKS,
    figures: Path = FIGURES,
    limit: float | None = None,
    scheduler: str = "",
) -> list[Outcome]:
    """Run notebooks (all by default), print a line for each, and return one outcome each; a failure does not stop the
    others.

    Figures and results land in figures/<notebook>, those of changed parameters in changed/<hash> below it. All that can
    be wrong with names, parameters and folders is reported before anything runs.
    jobs: notebooks at a time, one per core by default. limit: seconds that each may take. scheduler: the address of a
    dask scheduler, whose workers run them instead of this machine (docs/cluster.md).

    Raises:
        ValueError: an argument is wrong; nothing has run.
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs = {jobs}: expected 1 or more, or none for one per core")
    if limit is not None and not limit > 0:
        raise ValueError(f"limit = {limit}: expected seconds > 0, or none for as long as it takes")
    paths = {path.stem: path for path in sorted(notebooks.glob("*.ipynb"))}
    others = {} if names else {stem: why for stem, path in paths.items() if (why := foreign(path))}
    for why in others.values():
        print(f"fedlib: left out: {why}", file=sys.stderr)
    if len(others) == len(paths):
        raise ValueError(f"{notebooks} has no notebooks to run; name their folder with --source")
    chosen = dict.fromkeys(find(name, paths, notebooks) for name in names or paths if name not in others)
    todo, outcomes = [], []
    for job in [job_of(paths[name], overrides or {}, figures) for name in chosen]:
        if is_done(job):
            outcomes.append(Outcome(job.notebook.stem, job.target, "skipped", 0.0, "up to date"))
        else:
            todo.append(job)
    for folder in {job.target.parent for job in todo}:
        check_writable(folder, "name a folder with --figures")
    print(*outcomes, sep="\n" if outcomes else "", end="\n" if outcomes else "", flush=True)
    machines = cluster.connected(scheduler, run_one) if scheduler else this_machine(jobs or os.cpu_count() or 1)
    with machines as (executor, function):
        outcomes += together(executor, function, todo, limit)
    return sorted(outcomes)


def find(name: str, paths: Mapping[str, Path], notebooks: Path) -> str:
    """The notebook that is meant: by its name, file, path, or the beginning of its name, such as "01"; a copy beside
    it (X-Copy1) is another one only where all of its name is said."""
    stem = Path(name).name.removesuffix(".ipynb")
    fits = [k for k in paths if stem and k.startswith(stem)]
    whole = [k for k in fits if all(other.startswith(k) for other in fits)]
    if whole and Path(name).parent.resolve() in (Path.cwd(), notebooks.resolve()):
        return whole[0]
    near = fits or difflib.get_close_matches(stem, paths, 1) or paths
    raise ValueError(f"there is no notebook {name!r} in {notebooks}; known or near: {', '.join(near) or 'none'}")


def job_of(notebook: Path, overrides: Mapping, figures: Path = FIGURES) -> Job:
    """What a run of a notebook is: its checked parameters and its folder; ValueError for a wrong parameter."""
    parameters = check_parameters(notebook, overrides)
    settings = paper(notebook.stem) or {name: value for name, (_, value) in parameters_of(notebook).items()}
    target = folder_of(notebook.stem, changed(parameters, settings), figures)
    environment = kernel_environment() | {"PYTHONPATH": code_path()}
    return Job(notebook.resolve(), parameters, target.resolve(), environment)


def kernel_environment() -> dict[str, str]:
    """What a kernel gets: one thread unless OMP_NUM_THREADS says more, and memory that glibc keeps for reuse.

    Without the two MALLOC settings every large temporary is mapped and unmapped anew: 10 to 25 % of a step, and with
    thousands of points per client nearly half (Allen-Cahn, 5 200 points: 37 instead of 21 ms).
    """
    keep = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), "4000000000")
    return keep | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS") or "1"}


@contextmanager
def this_machine(jobs: int) -> Iterator[tuple[Executor, Callable]]:
    """So many at a time on this machine; however the caller ends, none is left running."""
    ended = threading.Event()
    with ThreadPoolExecutor(jobs) as executor:
        try:
            yield executor, lambda job, limit: run_one(job, limit, lambda: "the batch was ended" * ended.is_set())
        finally:
            ended.set()
            executor.shutdown(cancel_futures=True)


def together(executor: Executor, function: Callable, todo: Sequence[Job], limit: float | None) -> Iterator[Outcome]:
    """An outcome for each job as it ends, with a line that says how far all of them are; on a terminal a bar, too."""
    cells = {job.target: len(cells_of(job.notebook)) + 1 for job in todo}  # papermill injects one
    done, began = dict.fromkeys(cells, 0), time.monotonic()
    running = {executor.submit(function, job, limit): job for job in todo}
    with tqdm(total=sum(cells.values()), unit="cell", disable=None if todo else True, leave=False) as bar:
        while running:
            ended, _ = wait(running, EVERY, FIRST_COMPLETED)
            for job in running.values():  # the last step of each is its success: a failure never looks like the whole
                done[job.target] = max(done[job.target], min(cells_done(job), cells[job.target] - 1))
            for future in ended:
                outcome = outcome_of(future, job := running.pop(future))
                if outcome.status == "done":
                    done[job.target] = cells[job.target]
                share = sum(done.values()) / sum(cells.values())
                left = (time.monotonic() - began) * (1 / max(share, 1e-3) - 1) / 60
                with bar.external_write_mode():
                    print(
                        outcome, f" ({share:.0%} of all cells, about {left:.0f} min left)" * bool(running), flush=True
                    )
                yield outcome
            bar.update(sum(done.values()) - bar.n)


def outcome_of(future, job: Job) -> Outcome:
    """What a future says, or why it cannot say it: a cluster gave its notebook up, or is gone."""
    try:
        return future.result()
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}; the same command runs it again"
        return Outcome(job.notebook.stem, job.target, "failed", 0.0, why)


def run_one(job: Job, limit: float | None = None, stop: Callable[[], str] = lambda: "") -> Outcome:
    """Run a notebook in a process of its own, no longer than the limit, s, and until ``stop`` says why not.

    Nothing of it is left running.
    """
    began, why, below = time.monotonic(), "", set()

    def outcome(status: str, message: str = "") -> Outcome:
        return Outcome(job.notebook.stem, job.target, status, time.monotonic() - began, message)

    try:
        job.workshop.mkdir(parents=True, exist_ok=True)
        with (job.workshop / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "fedlib.notebook.worker", json.dumps(job[:3], default=str)],
                stdin=subprocess.PIPE,  # open as long as we live
                stdout=subprocess.PIPE, stderr=log, env=os.environ | job.environment,
                start_new_session=True,  # Ctrl-C is for us alone
            )  # fmt: skip
    except OSError as error:  # its log cannot be written
        return outcome("failed", words(error, job))
    try:
        while not why and process.poll() is None:
            with suppress(psutil.NoSuchProcess):  # now, for nobody knows whose they were once it is killed
                below |= {*psutil.Process(process.pid).children(recursive=True)}
            if limit is not None and time.monotonic() - began > limit:
                why = f"it took longer than the limit of {limit:g} s"
            elif not (why := stop()):
                time.sleep(EVERY)
    finally:
        message = end(process, below)
    if process.returncode == 0:
        return outcome("done")
    if message:
        return outcome("failed", message)
    code = process.returncode
    killed = "killed, as the system does when memory runs out" if code == -9 else f"ended with status {code}"
    place = f"cell {cells_done(job)}: {why or f'its process was {killed}'}"
    return outcome("failed", f"{place} (log: {job.workshop / 'log'})")


def end(process: subprocess.Popen, below: set[psutil.Process]) -> str:
    """End a notebook's process, if it has not ended, and what it has left running; what it said."""
    with process:
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        process.kill()
        for child in below:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        return process.stdout.read().decode()


class Running:
    """A job at work in the background of this process, for who looks at it now and then."""

    def __init__(self, job: Job):
        self.job, self.started, self.why = job, time.time(), ""
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        self.result = run_one(self.job, stop=lambda: self.why)

    def ended(self) -> bool:
        return not self.thread.is_alive()

    def outcome(self, why: str = "") -> Outcome:
        """How it went; why: it is ended now."""
        self.why = why
        self.thread.join()
        return self.result
