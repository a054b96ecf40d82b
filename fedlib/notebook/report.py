"""What all notebooks found: numbers, claims, a line per notebook and per paper."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .claims import all_claims, count, find, titled
from .hashes import content_hash
from .outputs import read_result
from .pages import columns
from .profiles import FIGURES, NOTEBOOKS, check_parameters, profile_parameters, profiles_of
from .reduced import still_reduced
from .run import rows_of
from .verdicts import CONSISTENT, HIGHER, LOWER, Row, summary, table


def report(profile: str = "quick", figures: Path = FIGURES, folders: Sequence[Path] | None = None) -> str:
    """Numbers (paper | ours | verdict) and claims of all result files of a profile; "custom": tables for each run.

    For the paper profile also a summary, in whole and per paper; claims that only an extra profile runs (Allen-Cahn,
    diffusion-reaction) count with that one's result. folders: only these runs.

    Raises:
        ValueError: no notebook and no folder of ``figures`` has this profile.
    """
    known = sorted(
        {p for notebook in NOTEBOOKS.glob("*.ipynb") for p in profiles_of(notebook)} | profiles_in(figures) | {"custom"}
    )
    if profile not in known:
        raise ValueError(f"there is no profile {profile!r}; known: {', '.join(known)}")
    results, notes = results_of(runs_of(profile, figures) if folders is None else folders)
    full = [] if profile == "paper" else [c for r in paper_results() for c in rows_of(r)]
    notes += [note(r, profile) for r in results]
    if not results:
        hint = "" if profile == "custom" else f"; run `python -m fedlib run --profile {profile}`"
        return "\n".join([f"no results of this profile in {figures}{hint}", *notes])
    if profile == "custom":
        tables = [f"{r['notebook']}, {r['label']}\n{columns(table(rows_of(r), profile, full))}" for r in results]
        return "\n\n".join([*(t + listed(r.get("claims", {})) for t, r in zip(tables, results, strict=True)), *notes])
    rows = [c for r in results for c in rows_of(r)]
    every = [*results, *extra_results(figures)] if profile == "paper" else results
    found = all_claims(every, profile == "paper")
    summaries = [summary(rows), *per_paper(rows, found), ""] if profile == "paper" else []
    short = still_reduced(every) if profile == "paper" else []
    short = ["What is still reduced against the paper's settings:", *short, ""] if short else []
    return "\n".join([columns(table(rows, profile, full)), listed(found), *summaries, *short, *notes])


def listed(found: Mapping[str, Mapping]) -> str:
    """Claims as lines (verdict, id, text [place]: numbers), sorted by id; nothing where there are none."""
    claims = [(find(id), said) for id, said in sorted(found.items())]
    lines = [
        [c.verdict(said["holds"]), c.id, titled(c) + (f": {said['why']}" if said["why"] else "")] for c, said in claims
    ]
    return "\n" + columns([["verdict", "id", "claim"], *lines]) + "\n" if lines else ""


def per_paper(rows: Sequence[Row], found: Mapping[str, Mapping]) -> list[str]:
    """A line per paper: how many numbers could be one more run of ours or not, how many claims hold."""
    claims = [(find(id), said["holds"]) for id, said in found.items()]
    counted = [(row.number.id.split(".")[0], row) for row in rows if not row.number.same_as]
    lines = []
    for paper in dict.fromkeys([paper for paper, _ in counted] + [c.paper for c, _ in claims]):
        n = Counter(row.verdict.split(" (")[0] for at, row in counted if at == paper)
        numbers = f"{n[CONSISTENT]} consistent, {n[LOWER]} lower, {n[HIGHER]} higher"
        lines.append(f"  {paper}: {numbers}; {count([(c, h) for c, h in claims if c.paper == paper])}")
    return lines


def note(result: Mapping, profile: str) -> str:
    """One line on a result: how long it took on what, and whether the code that made it is the current one."""
    hardware = result["environment"]["hardware"]
    device = hardware["accelerator"] or f"{hardware['threads']} threads of {hardware['cpu']}"
    line = f"  {result['notebook']}: {result['wall_s']:.0f} s on {device}"
    notebook = NOTEBOOKS / f"{result['notebook']}.ipynb"
    if profile == "custom" or not notebook.exists() or profile not in profiles_of(notebook):
        return line
    parameters = check_parameters(notebook, profile_parameters(notebook, profile))
    current = content_hash(notebook, parameters, hardware["threads"])
    return f"{line}; {'the current code' if result.get('stamp') == current else 'older code'}"


def runs_of(profile: str, figures: Path) -> list[Path]:
    """Folders of a profile's runs, one per notebook; "custom": of all custom runs."""
    return sorted(figures.glob(f"[!.]*/{'custom-*' if profile == 'custom' else profile}"))


def profiles_in(figures: Path) -> set[str]:
    """Names of the profiles that have results."""
    return {path.parent.name.split("-")[0] for path in figures.glob("[!.]*/[!.]*/result.json")}


def paper_results() -> list[dict]:
    """The committed ones."""
    return results_of(runs_of("paper", FIGURES))[0]


def extra_results(figures: Path) -> list[dict]:
    """Those of profiles that run what the paper profile leaves out."""
    names = sorted(profiles_in(figures) - {"paper", "quick", "custom"})
    return results_of(folder for name in names for folder in runs_of(name, figures))[0]


def results_of(folders: Iterable[Path]) -> tuple[list[dict], list[str]]:
    """(results, complaints about damaged files) of the runs in these folders."""
    results, complaints = [], []
    for path in (folder / "result.json" for folder in folders):
        try:
            if path.exists():
                results.append(read_result(path))
        except ValueError as error:
            complaints.append(f"  ! {error}")
    return results, complaints
