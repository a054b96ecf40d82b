"""A notebook of a batch that runs in a process of its own, as its parent sees it."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from .worker import cells_done, partial_folder, workshop

GRACE = 5.0  # s that a process has to end when its parent lets go of it


@dataclass(frozen=True)
class Outcome:
    """How one notebook ended, and the folder of its figures. status: "done", "skipped" or "failed"."""

    notebook: str
    folder: Path
    status: str
    seconds: float
    message: str = ""


@dataclass(eq=False)
class Job:
    """A notebook to run; its process and all that this has started, once it runs.

    environment: what its kernel gets beside the process's own, here as on another machine.
    """

    notebook: Path
    parameters: Mapping
    stamp: str
    target: Path
    process: subprocess.Popen | None = None
    below: set[psutil.Process] = field(default_factory=set)
    started: float = 0.0
    environment: Mapping = field(default_factory=lambda: kernel_environment())

    def start(self) -> None:
        here = workshop(self.target)
        here.mkdir(parents=True, exist_ok=True)
        job = {"notebook": str(self.notebook.resolve()), "parameters": dict(self.parameters), "stamp": self.stamp}
        with (here / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fedlib.notebook.worker"], stdin=subprocess.PIPE, stdout=log, stderr=log,
                env=os.environ | self.environment, start_new_session=True,  # Ctrl-C is for us alone
            )  # fmt: skip
        self.process.stdin.write(json.dumps(job | {"target": str(self.target.resolve())}).encode() + b"\n")
        self.process.stdin.flush()  # and open as long as we live
        self.started = time.time()

    def output(self) -> Path:
        """The notebook as far as it has come."""
        return partial_folder(self.target, self.process.pid) / self.notebook.name

    def ended(self) -> bool:
        """Whether it has; else take note of its processes, for nobody knows whose they were once it is killed."""
        if self.process.poll() is None:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.below |= {*psutil.Process(self.process.pid).children(recursive=True)}
            return False
        return True

    def late(self, limit: float | None) -> str:
        """Why to stop it, once it has had its seconds."""
        late = limit is not None and time.time() - self.started > limit
        return f"it took longer than the limit of {limit:g} s" if late else ""

    def stop(self) -> None:
        """End it, if it has not, and what it has left running."""
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        self.process.kill()
        for process in self.below:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def outcome(self, why: str = "") -> Outcome:
        """How it went; why: it was stopped."""
        path = workshop(self.target) / f"outcome-{self.process.pid}.json"
        self.stop()
        if (code := self.process.wait()) == 0:  # else what is there may be of an older process with this number
            status, message = json.loads(path.read_text())
            path.unlink()
        else:
            killed = "killed, as the system does when memory runs out" if code == -9 else f"ended with status {code}"
            log = workshop(self.target) / "log"
            status = "failed"
            message = f"cell {cells_done(self.output())}: {why or f'its process was {killed}'} (log: {log})"
        return Outcome(self.notebook.stem, self.target, status, time.time() - self.started, message)


def threads() -> int:
    """Per kernel: one, unless OMP_NUM_THREADS says more; part of a result's stamp, whatever else is left to run."""
    return int(os.environ.get("OMP_NUM_THREADS") or 1)


def kernel_environment() -> dict[str, str]:
    """What a kernel gets: its threads, and memory that glibc keeps for reuse.

    Without the two MALLOC settings every large temporary is mapped and unmapped anew: 10 to 25 % of a step, and with
    thousands of points per client nearly half (Allen-Cahn, 5 200 points: 37 instead of 21 ms).
    """
    keep = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), "4000000000")
    return keep | {"OMP_NUM_THREADS": str(threads())}
