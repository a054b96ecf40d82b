"""Unattended runs: notebooks through papermill, in processes, resumable, nothing half-written."""

import difflib
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from tqdm import tqdm

from ..files import write_atomically
from .hashes import content_hash
from .profiles import FIGURES, NOTEBOOKS, check_parameters, named, profile_parameters
from .results import read_result


@dataclass(frozen=True)
class Outcome:
    """How one notebook ended, and the folder of its figures. status: "done", "skipped" or "failed"."""

    notebook: str
    folder: Path
    status: str
    seconds: float
    message: str = ""


@contextmanager
def kernel_environment(threads: int, **extra: str):
    """Environment that a kernel inherits: its share of the cores, and memory that glibc keeps for reuse.

    Without the two MALLOC settings every large temporary is mapped and unmapped anew: 10 to 25 % of a step, and with
    thousands of points per client nearly half (Allen-Cahn, 5 200 points: 37 instead of 21 ms).
    """
    keep = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), "4000000000")
    old = dict(os.environ)
    os.environ.update(keep | {"OMP_NUM_THREADS": str(threads)} | extra)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(old)


def execute(notebook: Path, parameters: Mapping, stamp: str, target: Path, threads: int) -> Outcome:
    """Run one notebook in a folder of its own; stamp its result and move the folder to ``target`` on success."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    started, partial = time.time(), partial_folder(target)
    partial.mkdir(parents=True, exist_ok=True)
    checkpoints = target.with_name(f".{target.name}.checkpoints")  # per stamp: they belong to this code and no other
    folders = {"FEDLIB_OUTPUT": partial, "FEDLIB_CHECKPOINTS": checkpoints / stamp[:16]}
    try:
        with kernel_environment(threads, **{name: str(folder.resolve()) for name, folder in folders.items()}):
            papermill.execute_notebook(
                notebook, partial / notebook.name, dict(parameters), cwd=notebook.parent,
                kernel_name="python3", progress_bar=False, log_output=False,
                extra_arguments=["--log-level=ERROR"],  # else every kernel says that it is on TCP, across the bar
            )  # fmt: skip
        result = read_result(partial / "result.json")
    except PapermillExecutionError as error:
        cell = f"cell {error.cell_index}: {error.ename}: {error.evalue}"
        return Outcome(
            notebook.stem, target, "failed", time.time() - started, f"{cell} (see {partial / notebook.name})"
        )
    except Exception as error:  # a dead kernel, a missing result: papermill's metadata would call it finished
        return Outcome(notebook.stem, target, "failed", time.time() - started, f"{type(error).__name__}: {error}")
    write_atomically(partial / "result.json", json.dumps(result | {"stamp": stamp}, indent=1) + "\n")
    shutil.rmtree(target, ignore_errors=True)
    os.replace(partial, target)
    shutil.rmtree(checkpoints, ignore_errors=True)
    return Outcome(notebook.stem, target, "done", time.time() - started)


def partial_folder(target: Path) -> Path:
    return target.with_name(f".{target.name}.partial")


def is_done(target: Path, stamp: str) -> bool:
    """Trust only the stamp that ``execute`` writes after success."""
    try:
        return read_result(target / "result.json").get("stamp") == stamp
    except (OSError, ValueError):
        return False


def cells_done(path: Path) -> int:
    """Cells that papermill has finished so far, read from its growing output."""
    try:
        cells = json.loads(path.read_text())["cells"]
    except (OSError, ValueError):
        return 0
    return sum(c["metadata"].get("papermill", {}).get("status") == "completed" for c in cells)


def run(
    names: Sequence[str] = (),
    profile: str = "quick",
    jobs: int | None = None,
    overrides: Mapping | None = None,
    notebooks: Path = NOTEBOOKS,
    figures: Path = FIGURES,
) -> list[Outcome]:
    """Run notebooks (all by default) and return one outcome each; a failure does not stop the others.

    Figures and results land in figures/<profile>/<notebook>, those of changed parameters in a folder of their own
    below figures/custom. Everything that can be wrong with names, profile, parameters and folders is reported before
    anything runs.
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs = {jobs}: expected 1 or more, or none for one per core")
    known = {p.stem: p for p in sorted(notebooks.glob("*.ipynb"))}
    work, outcomes = [], []
    for name in dict.fromkeys(find(name, known, notebooks) for name in names or known):
        parameters = check_parameters(known[name], profile_parameters(known[name], profile) | dict(overrides or {}))
        _, where = named(name, parameters.get("profile", profile), parameters, notebooks)
        stamp, target = content_hash(known[name], parameters), figures / where
        if is_done(target, stamp):
            outcomes.append(Outcome(name, target, "skipped", 0.0, "up to date"))
        else:
            work.append((known[name], parameters, stamp, target))
    for folder in {target.parent for *_, target in work}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise ValueError(f"cannot write to {folder} ({error.strerror}); name a folder with --figures") from None
    for *_, target in work:  # of a run that was killed or failed
        shutil.rmtree(partial_folder(target), ignore_errors=True)
    cores = os.cpu_count() or 1
    jobs = max(1, min(jobs or cores, len(work)))
    threads = int(os.environ.get("OMP_NUM_THREADS") or max(1, cores // jobs))
    with bar(work) as finished:
        try:
            results = Parallel(jobs, backend="loky", return_as="generator_unordered")(
                delayed(execute)(*job, threads) for job in work
            )
            for outcome in results:
                outcomes.append(outcome)
                if outcome.status == "done":
                    finished.add(outcome.notebook)
        except TerminatedWorkerError as error:
            missing = {job[0].stem: job[-1] for job in work if job[0].stem not in {o.notebook for o in outcomes}}
            message = f"a worker process was killed: {error}"
            outcomes += [Outcome(name, target, "failed", 0.0, message) for name, target in missing.items()]
    return sorted(outcomes, key=lambda o: o.notebook)


def find(name: str, known: Mapping[str, Path], notebooks: Path) -> str:
    """The notebook that is meant: by its name, file, path, or the beginning of its name, such as "01"."""
    stem = Path(name).name.removesuffix(".ipynb")
    fits = [stem] if stem in known else [k for k in known if stem and k.startswith(stem)]
    if len(fits) == 1 and Path(name).parent.resolve() in (Path.cwd(), notebooks.resolve()):
        return fits[0]
    near = fits or difflib.get_close_matches(stem, known, 1) or known
    raise ValueError(f"there is no notebook {name!r} in {notebooks}; known or near: {', '.join(near) or 'none'}")


@contextmanager
def bar(work):
    """One progress bar over all cells of all notebooks; yields the set of finished notebooks, to be filled.

    The last step of each is its success: a failure never looks like the whole.
    """
    cells = {job[0].stem: len(nbformat.read(job[0], 4).cells) + 1 for job in work}  # papermill injects one cell
    outputs = {job[0].stem: partial_folder(job[-1]) / job[0].name for job in work}
    finished, stop = set(), threading.Event()
    with tqdm(total=sum(cells.values()), unit="cell", desc=f"{len(work)} notebooks", disable=not work) as progress:

        def show():
            done = sum(n if name in finished else min(n - 1, cells_done(outputs[name])) for name, n in cells.items())
            progress.update(max(0, done - progress.n))

        def watch():
            while not stop.wait(0.5):
                show()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield finished
        finally:
            stop.set()
            watcher.join()
            show()
