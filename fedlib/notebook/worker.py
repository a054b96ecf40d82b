"""One notebook of a batch in a process of its own: apart from other runs, delivered whole, gone with its parent.

``python -m fedlib.notebook.worker JOB``; its parent keeps the standard input open as long as it lives.
"""

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from filelock import FileLock, Timeout

from ..files import ROOT
from ..trainings.settings import read_result

PATIENCE = 5.0  # s that a run waits for one that is being killed


class Job(NamedTuple):
    """A notebook to run, all its parameters, the folder of its figures; environment: what its kernel gets besides."""

    notebook: Path
    parameters: dict
    target: Path
    environment: dict

    @property
    def workshop(self) -> Path:
        """Where runs into the target keep what is not done: a lock, a log, their own folders."""
        return self.target.parent / ".work" / self.target.name


def is_done(job: Job) -> bool:
    """Whether its result is there, and newer than what it is made of: notebook, fedlib, data, trainings."""
    made_of = [
        job.notebook,
        *(ROOT / "data").glob("*.yaml"),
        *(ROOT / "figures" / job.notebook.stem).glob("trainings/*.nc"),
    ]
    made_of += [path for kind in ("py", "yaml") for path in (ROOT / "fedlib").rglob(f"*.{kind}")]
    result = job.target / "result.json"
    try:
        read_result(result)
        return result.stat().st_mtime_ns > max(path.stat().st_mtime_ns for path in made_of if path.exists())
    except (OSError, ValueError):
        return False


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
        read_result(partial / "result.json")
        os.utime(partial / "result.json", (began, began))  # a source that changed since then is newer
        deliver(partial, job.target)
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
    """The only run into a target; ValueError where another one is at work and does not end within ``PATIENCE``."""
    owner, lock = workshop / "pid", FileLock(workshop / "lock")
    try:
        held = lock.acquire(timeout=PATIENCE)
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


def words(error: Exception, job: Job) -> str:
    """One line on a failure: the cell, what happened, what to look at."""
    name, cell = type(error).__name__, f"cell {max(0, cells_done(job) - 1)}"  # papermill calls a dying one completed
    if name == "PapermillExecutionError":
        (seen,) = job.workshop.glob("partial-*")
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
    job = Job(Path(notebook), parameters, Path(target), {})
    try:
        execute(job)
    except Exception as error:
        os.write(answer, words(error, job).encode())
        os._exit(1)


if __name__ == "__main__":
    main()
