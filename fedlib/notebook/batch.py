"""Unattended runs: notebooks through papermill, a process each, resumable, nothing half-written."""

import contextlib
import difflib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

from . import cluster
from .hashes import content_hash
from .jobs import Job, Outcome, threads
from .outputs import is_done
from .profiles import FIGURES, NOTEBOOKS, check_parameters, named, profile_parameters
from .worker import cells_done, words

EVERY = 0.5  # s between two looks at the running processes, and at megabytes of notebooks for the bar


def run(
    names: Sequence[str] = (),
    profile: str = "quick",
    jobs: int | None = None,
    overrides: Mapping | None = None,
    notebooks: Path = NOTEBOOKS,
    figures: Path = FIGURES,
    limit: float | None = None,
    scheduler: str = "",
) -> list[Outcome]:
    """Run notebooks (all by default) and return one outcome each; a failure does not stop the others.

    Figures and results land in figures/<notebook>/<profile>, those of changed parameters beside them in a folder of
    their own, custom-<hash>. All that can be wrong with names, profile, parameters and folders is reported before
    anything runs. jobs: notebooks at a time, one per core by default; limit: seconds that each may take;
    scheduler: the address of a dask scheduler, whose workers run them instead of this machine (docs/cluster.md).
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs = {jobs}: expected 1 or more, or none for one per core")
    if limit is not None and not limit > 0:
        raise ValueError(f"limit = {limit}: expected seconds > 0, or none for as long as it takes")
    known = {p.stem: p for p in sorted(notebooks.glob("*.ipynb"))}
    work, outcomes, cores = [], [], os.cpu_count() or 1
    for name in dict.fromkeys(find(name, known, notebooks) for name in names or known):
        job = job_of(known[name], profile, overrides or {}, figures)
        if is_done(job.target, job.stamp):
            outcomes.append(Outcome(name, job.target, "skipped", 0.0, "up to date"))
        else:
            work.append(job)
    for folder in {job.target.parent for job in work}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise ValueError(f"cannot write to {folder} ({error.strerror}); name a folder with --figures") from None
    outcomes += elsewhere(work, jobs, limit, scheduler) if scheduler else together(work, jobs or cores, limit)
    return sorted(outcomes, key=lambda o: o.notebook)


def job_of(notebook: Path, profile: str, overrides: Mapping, figures: Path = FIGURES) -> Job:
    """What a run of a notebook is: its checked parameters, its stamp, its folder; ValueError for a wrong parameter."""
    parameters = check_parameters(notebook, profile_parameters(notebook, profile) | dict(overrides))
    _, where = named(notebook.stem, parameters.get("profile", profile), parameters, notebook.parent)
    return Job(notebook, parameters, content_hash(notebook, parameters, threads()), figures / where)


def together(work: Sequence[Job], jobs: int, limit: float | None) -> Iterator[Outcome]:
    """So many at a time, in their order; an outcome for each as it ends. None is left running, however this ends."""
    waiting, running = list(work), []
    with bar(work) as show:
        try:
            while waiting or running:
                for job in list(running):
                    late = job.late(limit)
                    if job.ended() or late:
                        running.remove(job)
                        yield show(job, job.outcome(late))
                while waiting and len(running) < jobs:
                    job = waiting.pop(0)
                    try:
                        job.start()
                        running.append(job)
                    except OSError as error:  # its log cannot be written
                        message = words(error, job.target)
                        yield show(job, Outcome(job.notebook.stem, job.target, "failed", 0.0, message))
                show()
                time.sleep(EVERY)
        finally:
            for job in running:
                job.stop()


def elsewhere(work: Sequence[Job], jobs: int | None, limit: float | None, scheduler: str) -> Iterator[Outcome]:
    """The same on a dask cluster; nothing is left running there, either."""
    with cluster.connected(scheduler) as client, bar(work) as show:
        for job, outcome in cluster.together(client, work, jobs, limit):
            yield show(job, outcome)


def find(name: str, known: Mapping[str, Path], notebooks: Path) -> str:
    """The notebook that is meant: by its name, file, path, or the beginning of its name, such as "01"."""
    stem = Path(name).name.removesuffix(".ipynb")
    fits = [stem] if stem in known else [k for k in known if stem and k.startswith(stem)]
    if len(fits) == 1 and Path(name).parent.resolve() in (Path.cwd(), notebooks.resolve()):
        return fits[0]
    near = fits or difflib.get_close_matches(stem, known, 1) or known
    raise ValueError(f"there is no notebook {name!r} in {notebooks}; known or near: {', '.join(near) or 'none'}")


@contextlib.contextmanager
def bar(work: Sequence[Job]) -> Iterator[Callable]:
    """One progress bar over all cells of all notebooks; yields show(job, outcome) -> outcome, show() for a look.

    The last step of each is its success: a failure never looks like the whole.
    """
    cells = {job: len(json.loads(job.notebook.read_text())["cells"]) + 1 for job in work}  # papermill injects one cell
    seen = dict.fromkeys(work, 0)
    with tqdm(total=sum(cells.values()), unit="cell", desc=f"{len(work)} notebooks", disable=not work) as progress:

        def show(job: Job | None = None, outcome: Outcome | None = None) -> Outcome | None:
            for other in work:
                if other.process and other.process.returncode is None:
                    seen[other] = max(seen[other], min(cells[other] - 1, cells_done(other.output())))
            if outcome and outcome.status != "failed":
                seen[job] = cells[job]
            progress.update(sum(seen.values()) - progress.n)
            return outcome

        yield show
