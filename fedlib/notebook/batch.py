"""Unattended runs: notebooks by papermill, each in a process of its own, several at once, nothing half-written.

What is finished does not run again while nothing that it is made of is newer, as with make.
``python -m fedlib.notebook.batch JOB`` is such a process; its parent keeps its standard input open as long as it lives.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from filelock import FileLock, Timeout

from ..files import ROOT, check_writable, code_path
from ..refusals import hint
from ..trainings.settings import (
    FIGURES,
    NOTEBOOKS,
    START,
    changed,
    check_parameters,
    folder_of,
    foreign,
    read_result,
    settings_of,
)
from . import cluster

EVERY = 0.5  # s between two looks at what runs
LETTERS = 4000  # of a failure's words: more than a pipe holds would keep a process from its end
GRACE = 5.0  # s that a process has to end when its parent lets go of it, and a run waits for one that is being killed


class Job(NamedTuple):
    """A notebook to run, all its parameters, the folder of its figures."""

    notebook: Path
    parameters: dict
    target: Path

    @property
    def workshop(self) -> Path:
        """Where runs into the target keep what is not done: a lock, a log, their own folders."""
        return self.target.parent / ".work" / self.target.name


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
    if overrides and not names:
        paths.pop(START, None)  # it has no parameters
    others = {} if names else {stem: why for stem, path in paths.items() if (why := foreign(path))}
    for why in others.values():
        print(f"fedlib: left out: {why}", file=sys.stderr)
    if len(others) == len(paths):
        raise ValueError(f"{notebooks} has no notebooks to run; name their folder with --source")
    chosen = dict.fromkeys(find(name, paths, notebooks) for name in names or paths if name not in others)
    every = [job_of(paths[name], overrides or {}, figures) for name in chosen]
    outcomes = [Outcome(job.notebook.stem, job.target, "skipped", 0.0, "up to date") for job in every if is_done(job)]
    todo = [job for job in every if job.target not in {outcome.folder for outcome in outcomes}]
    for folder in {job.target.parent for job in todo}:
        check_writable(folder, "name a folder with --figures")
    for outcome in outcomes:
        print(outcome, flush=True)
    machines = cluster.connected(scheduler, run_one) if scheduler else this_machine(jobs or os.cpu_count() or 1)
    with machines as (executor, function):
        running = {executor.submit(function, job, limit): job for job in todo}
        for future in as_completed(running):
            outcomes.append(outcome_of(future, running[future]))
            print(f"{outcomes[-1]}  ({len(outcomes)} of {len(every)})", flush=True)
    return sorted(outcomes)


def find(name: str, paths: Mapping[str, Path], notebooks: Path) -> str:
    """The notebook that is meant: by its name, file, path, or the beginning of its name, such as "01"; a copy beside
    it (X-Copy1) is another one only where all of its name is said."""
    stem = Path(name).name.removesuffix(".ipynb")
    fits = [k for k in paths if stem and k.startswith(stem)]
    whole = [k for k in fits if all(other.startswith(k) for other in fits)]
    if whole and Path(name).parent.resolve() in (Path.cwd(), notebooks.resolve()):
        return whole[0]
    near = ", ".join(fits or paths) or "none"
    raise ValueError(f"there is no notebook {name!r} in {notebooks}; known or near: {near}{hint(stem, paths)}")


def job_of(notebook: Path, overrides: Mapping, figures: Path = FIGURES) -> Job:
    """What a run of a notebook is: its checked parameters and its folder; ValueError for a wrong parameter."""
    parameters = check_parameters(notebook, overrides)
    target = folder_of(notebook.stem, changed(parameters, settings_of(notebook)), figures)
    return Job(notebook.resolve(), parameters, target.resolve())


def is_done(job: Job) -> bool:
    """Whether its result is there, and newer than what it is made of: notebook, fedlib, data, trainings."""
    made_of = [job.notebook, *(ROOT / "data").glob("*.yaml")]
    made_of += (ROOT / "figures" / job.notebook.stem).glob("trainings/*.nc")
    made_of += [path for kind in ("py", "yaml") for path in (ROOT / "fedlib").rglob(f"*.{kind}")]
    result = job.target / "result.json"
    try:
        read_result(result)
        return result.stat().st_mtime_ns > max(path.stat().st_mtime_ns for path in made_of if path.exists())
    except (OSError, ValueError):
        return False


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


def outcome_of(future: Future, job: Job) -> Outcome:
    """What a future says, or why it cannot say it: a cluster gave its notebook up, or is gone."""
    try:
        return future.result()
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}; the same command runs it again"
        return Outcome(job.notebook.stem, job.target, "failed", 0.0, why)


# the parent of a notebook's process


def kernel_environment() -> dict[str, str]:
    """What a kernel gets: one thread unless OMP_NUM_THREADS says more, and memory that glibc keeps for reuse.

    Without the two MALLOC settings every large temporary is mapped and unmapped anew: 10 to 25 % of a step, and with
    thousands of points per client nearly half (Allen-Cahn, 5 200 points: 37 instead of 21 ms).
    """
    keep = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), "4000000000")
    return keep | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS") or "1"}


def run_one(job: Job, limit: float | None = None, stop: Callable[[], str] = lambda: "") -> Outcome:
    """Run a notebook in a process of its own, no longer than the limit, s, and until ``stop`` says why not.

    Nothing of it is left running.
    """
    began, why, below = time.monotonic(), "", set()
    command = [sys.executable, "-m", "fedlib.notebook.batch", json.dumps(job, default=str)]
    environment = os.environ | kernel_environment() | {"PYTHONPATH": code_path()}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    try:
        job.workshop.mkdir(parents=True, exist_ok=True)
        with (job.workshop / "log").open("ab") as log:  # a session of its own: Ctrl-C is for us alone
            process = subprocess.Popen(command, **pipes, stderr=log, env=environment, start_new_session=True)
    except OSError as error:  # its log cannot be written
        return Outcome(job.notebook.stem, job.target, "failed", 0.0, in_words(error, job))
    with process:
        try:
            while not why and process.poll() is None:
                with suppress(psutil.NoSuchProcess):  # now, for nobody knows whose they were once it is killed
                    below |= {*psutil.Process(process.pid).children(recursive=True)}
                if limit is not None and time.monotonic() - began > limit:
                    why = f"it took longer than the limit of {limit:g} s"
                elif not (why := stop()):
                    time.sleep(EVERY)
        finally:
            process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            process.kill()
            for child in below:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
            message = process.stdout.read().decode()
    code, status = process.returncode, "failed" if process.returncode else "done"
    if code and (why or not message):
        killed = "killed, as the system does when memory runs out" if code == -9 else f"ended with status {code}"
        message = f"cell {cells_done(job)}: {why or f'its process was {killed}'} (log: {job.workshop / 'log'})"
    return Outcome(job.notebook.stem, job.target, status, time.monotonic() - began, message)


# a notebook's process


def execute(job: Job) -> None:
    """Run a notebook in a folder of this process, and move what it made into the job's target when it has succeeded.

    Raises:
        papermill.exceptions.PapermillExecutionError: a cell failed. ValueError: another run is at work, or no result.
        OSError: a folder that cannot be written, a full disk. Whatever a dead kernel raises.
    """
    sys.modules["rfc3987_syntax"] = None  # jsonschema would build a parser of addresses, a second for nothing
    import papermill

    with alone(job.workshop):
        for orphan in job.workshop.glob("partial-*"):  # of a run that was killed or failed
            shutil.rmtree(orphan, ignore_errors=True)
        if job.target.exists() and not job.target.is_dir():
            raise NotADirectoryError(20, "a file is in the way", str(job.target))
        if is_done(job):  # by the run that was waited for
            return
        # what an older run that is not quite dead writes is not in it
        partial = Path(tempfile.mkdtemp(prefix=f"partial-{os.getpid()}-", dir=job.workshop))
        began = time.time()
        os.environ["FEDLIB_OUTPUT"] = str(partial)
        with (job.workshop / "cells").open("w") as cells:
            papermill.execute_notebook(
                job.notebook, partial / job.notebook.name, job.parameters, cwd=job.notebook.parent,
                kernel_name="python3", log_output=False,
                progress_bar={"file": cells, "bar_format": "{n} ", "mininterval": 0},  # see ``cells_done``
                request_save_on_cell_execute=False,  # else twice for each cell, which takes seconds
                extra_arguments=["--log-level=ERROR"],  # else every kernel says that it is on TCP
            )  # fmt: skip
        if job.parameters:
            read_result(partial / "result.json")
            os.utime(partial / "result.json", (began, began))  # a source that changed since then is newer
            deliver(partial, job.target)
        else:  # it makes nothing, but runs
            shutil.rmtree(partial)
        (job.workshop / "cells").unlink()


def deliver(partial: Path, target: Path) -> None:
    """Files of a run in the place of older ones; stored trainings, and what else is beside them, stay where they are.

    The result goes first and comes last: without it the next run begins anew, and nobody reads what a kill has mixed.
    """
    target.mkdir(parents=True, exist_ok=True)
    for old in [target / "result.json", *target.glob("*.png")]:
        old.unlink(missing_ok=True)
    for new in sorted(partial.iterdir(), key=lambda path: path.name == "result.json"):
        os.replace(new, target / new.name)
    partial.rmdir()


@contextmanager
def alone(workshop: Path) -> Iterator[None]:
    """The only run into a target; ValueError where another one is at work and does not end within ``GRACE``."""
    owner, lock = workshop / "pid", FileLock(workshop / "lock")
    try:
        held = lock.acquire(timeout=GRACE)
    except Timeout:
        raise ValueError(
            f"another run is at work on {workshop.name}, pid {owner.read_text()}; wait for its end, or stop it"
        ) from None
    with held:
        owner.write_text(str(os.getpid()))
        yield


def cells_done(job: Job) -> int:
    """Cells that papermill has finished so far: the last number of its progress bar."""
    try:
        return int((job.workshop / "cells").read_text().split()[-1])
    except (OSError, IndexError):  # it has not begun, or is done
        return 0


def in_words(error: Exception, job: Job) -> str:
    """One line on a failure: the cell, what happened, what to look at."""
    name, cell = type(error).__name__, f"cell {max(0, cells_done(job) - 1)}"  # papermill calls a dying one completed
    if name == "PapermillExecutionError":
        (seen,) = job.workshop.glob(f"partial-{os.getpid()}-*")
        return f"cell {error.cell_index}: {error.ename}: {error.evalue} (see {seen / job.notebook.name})"
    if name == "DeadKernelError":
        return f"{cell}: the kernel died, as it does when memory runs out (log: {job.workshop / 'log'})"
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename or job.workshop}"
    return str(error) if isinstance(error, ValueError) else f"{cell}: {name}: {error}"


def end_with_parent() -> None:
    """Wait for the end of standard input, which comes with the parent's: end then, with all processes below this."""
    os.read(0, 1)
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    os._exit(1)


def main() -> None:
    """Run a job, and say on standard output why it failed, if it did."""
    answer = os.dup(1)
    os.dup2(2, 1)  # what the kernel prints goes to the log
    threading.Thread(target=end_with_parent, daemon=True).start()
    notebook, parameters, target = json.loads(sys.argv[1])
    job = Job(Path(notebook), parameters, Path(target))
    try:
        execute(job)
    except Exception as error:
        os.write(answer, " ".join(in_words(error, job).split())[:LETTERS].encode())
        os._exit(1)


if __name__ == "__main__":
    main()
