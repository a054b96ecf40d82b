"""One notebook of a batch in a process of its own: apart from other runs, moved whole, gone with its parent.

``python -m fedlib.notebook.worker`` takes a job as a line of JSON on its standard input, which its parent keeps open.
"""

import contextlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from ..files import write_atomically
from .outputs import inventory, is_done, read_result

PATIENCE = 5.0  # s that a run waits for one that is being killed


def workshop(target: Path) -> Path:
    """Where runs into this folder keep what is not done: the lock, logs, partial results, checkpoints per stamp."""
    return target.parent / ".work" / target.name


def partial_folder(target: Path, pid: int) -> Path:
    """A run's own: what an older one that is not quite dead yet still writes never gets into it."""
    return workshop(target) / f"partial-{pid}"


@contextlib.contextmanager
def alone(target: Path) -> Iterator[None]:
    """The only run into this folder; ValueError where another one is at work and does not end within ``PATIENCE``."""
    owner, lock = workshop(target) / "pid", FileLock(workshop(target) / "lock")
    try:
        held = lock.acquire(timeout=PATIENCE)
    except Timeout:
        raise ValueError(
            f"another run is at work on {target.name}, pid {owner.read_text()}; wait for its end, or stop it"
        ) from None
    with held:
        owner.write_text(str(os.getpid()))
        yield


def execute(notebook: Path, parameters: Mapping, stamp: str, target: Path) -> str:
    """Run a notebook in a folder of this run; stamp its result and move the folder to ``target`` on success.

    Returns:
        "done", or "skipped" where another run has just done the same.

    Raises:
        papermill.exceptions.PapermillExecutionError: a cell failed. ValueError: another run is at work, or no result.
        OSError: a folder that cannot be written, a full disk. Whatever a dead kernel raises.
    """
    import papermill

    here, partial = workshop(target), partial_folder(target, os.getpid())
    here.mkdir(parents=True, exist_ok=True)
    with alone(target):
        for orphan in here.glob("partial-*"):  # of a run that was killed or failed
            shutil.rmtree(orphan, ignore_errors=True)
        if (here / "before").exists() and not target.exists():  # it was killed between the two moves below
            os.replace(here / "before", target)
        if target.exists() and not target.is_dir():
            raise NotADirectoryError(20, "a file is in the way", str(target))
        if is_done(target, stamp):
            return "skipped"
        partial.mkdir()
        checkpoints = here / f"checkpoints-{stamp[:16]}"  # they belong to this code and no other
        os.environ |= {"FEDLIB_OUTPUT": str(partial.resolve()), "FEDLIB_CHECKPOINTS": str(checkpoints.resolve())}
        papermill.execute_notebook(
            notebook, partial / notebook.name, dict(parameters), cwd=notebook.parent,
            kernel_name="python3", progress_bar=False, log_output=False,
            extra_arguments=["--log-level=ERROR"],  # else every kernel says that it is on TCP
        )  # fmt: skip
        if (target / "trainings").is_dir():  # what figures are drawn from stays
            shutil.copytree(target / "trainings", partial / "trainings", ignore=shutil.ignore_patterns(".*"))
        result = read_result(partial / "result.json") | {"stamp": stamp, "outputs": inventory(partial)}
        write_atomically(partial / "result.json", json.dumps(result, indent=1, allow_nan=False) + "\n")
        if target.exists():
            os.replace(target, here / "before")
        os.replace(partial, target)
        for old in (here / "before", *here.glob("checkpoints-*")):
            shutil.rmtree(old, ignore_errors=True)
    return "done"


def end_with_parent() -> None:
    """Wait for the end of standard input, which comes with the parent's: end then, with all processes below this."""
    os.read(sys.stdin.fileno(), 1)
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    os._exit(1)


def cells_done(path: Path) -> int:
    """Cells that papermill has finished so far, read from its growing output."""
    try:
        cells = json.loads(path.read_text())["cells"]
    except (OSError, ValueError):
        return 0
    return sum(c["metadata"].get("papermill", {}).get("status") == "completed" for c in cells)


def words(error: Exception, output: Path) -> str:
    """One line on a failure: the cell, what happened, what to look at. output: the notebook as far as it came."""
    name, cell = type(error).__name__, f"cell {max(0, cells_done(output) - 1)}"  # papermill calls a dying one completed
    if name == "PapermillExecutionError":
        return f"cell {error.cell_index}: {error.ename}: {error.evalue} (see {output})"
    if name == "DeadKernelError":
        return f"{cell}: the kernel died, as it does when memory runs out (log: {output.parent.parent / 'log'})"
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename or output.parent}"
    return str(error) if isinstance(error, ValueError) else f"{cell}: {name}: {error}"


def main() -> None:
    """The job's outcome, [status, message], goes to its workshop: outcome-<pid>.json."""
    line = b""
    while not line.endswith(b"\n"):  # unbuffered: what comes later is for the watch
        line += os.read(sys.stdin.fileno(), 1)
    threading.Thread(target=end_with_parent, daemon=True).start()
    job = json.loads(line)
    notebook, target = Path(job["notebook"]), Path(job["target"])
    try:
        outcome = execute(notebook, job["parameters"], job["stamp"], target), ""
    except Exception as error:
        outcome = "failed", words(error, partial_folder(target, os.getpid()) / notebook.name)
    write_atomically(workshop(target) / f"outcome-{os.getpid()}.json", json.dumps(outcome))


if __name__ == "__main__":
    main()
