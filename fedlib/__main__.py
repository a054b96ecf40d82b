"""python -m fedlib run | missing | train | report | federate"""

import argparse
import ast
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import yaml

from .files import ROOT
from .notebook import batch

WORDS = {"done": "done", "skipped": "up to date", "failed": "failed"}


def main(arguments: list[str] | None = None) -> int:
    if (arguments := sys.argv[1:] if arguments is None else arguments)[:1] == ["federate"]:
        from .machines.command import main as federate

        return federate(arguments[1:])
    parser = argparse.ArgumentParser("fedlib", description="A companion to four papers on federated scientific ML.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run notebooks through papermill and write figures and results")
    run.add_argument(
        "notebooks",
        nargs="*",
        help="01_pendulum, its path, or just 01; by default all",
    )
    run.add_argument("--jobs", type=int, help="notebooks at a time (default: one per core)")
    run.add_argument("--limit", type=float, metavar="SECONDS", help="the longest that a notebook may take")
    run.add_argument(
        "-p", action="append", default=[], metavar="name=value", help="change a parameter, such as backend=xla"
    )
    run.add_argument(
        "--scheduler", default="", metavar="ADDRESS", help="of a dask cluster to run them on (docs/cluster.md)"
    )
    todo = commands.add_parser("missing", help="what is not trained yet, with core-hours, the cheapest first")
    train = commands.add_parser("train", help="train what is missing of a notebook, and store it")
    for command in (todo, train):
        command.add_argument(
            "notebook", nargs="?" if command is todo else None, default="", help="05_pinn_forward, or 05"
        )
    train.add_argument("--hours", type=float, help="stop then; the same command goes on from there")
    train.add_argument("--only", default="", metavar="NAME", help="trainings whose names begin so")
    train.add_argument("--device", default="auto", help="cuda, cpu, or auto: an accelerator where there is one")
    again = commands.add_parser("again", help="train stored rows from nothing, the cheapest first, and compare")
    again.add_argument("notebook", nargs="?", default="", help="05_pinn_forward, or 05; by default all")
    again.add_argument("--minutes", type=float, help="no further row is begun then (default: one row)")
    again.add_argument("--only", default="", metavar="NAME", help="trainings whose names begin so")
    report = commands.add_parser("report", help="print numbers and claims: paper | ours | verdict")
    run.add_argument("--source", type=Path, default=batch.NOTEBOOKS, help="folder of notebooks")
    commands.add_parser(
        "federate",
        help="a federation of sites: federate simulate|server|site EXPERIMENT, predict FOLDER TABLE",
        add_help=False,
    )
    for command in (run, report):
        command.add_argument("--figures", type=Path, default=batch.FIGURES, help="output folder")
    args = parser.parse_args(arguments)

    try:
        if not batch.NOTEBOOKS.is_dir():
            raise ValueError(
                f"{args.command} needs a clone, with notebooks and data, but {ROOT} has the package alone: git clone "
                "the repository, and run this in its folder"
            )
        if args.command in ("missing", "train", "again"):
            return trainings(args)
        if args.command == "report":
            from .notebook.report import report as report_of

            print(report_of(args.figures))
            return 0
        began = time.monotonic()
        outcomes = batch.run(
            args.notebooks, args.jobs, dict(override(text) for text in args.p), args.source, args.figures,
            args.limit, args.scheduler,
        )  # fmt: skip
    except KeyboardInterrupt:
        print("\nfedlib: interrupted; what is done is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    except ValueError as error:
        print(f"fedlib: {error}", file=sys.stderr)
        return 2
    print("", *summary(outcomes, args.figures, args.source, time.monotonic() - began), sep="\n")
    return int(any(o.status == "failed" for o in outcomes))


def summary(outcomes: Sequence[batch.Outcome], figures: Path, notebooks: Path, seconds: float) -> list[str]:
    """The end of a run in a few lines: how long, what was made, where it is, what to do next."""
    from .notebook.report import write_gallery

    count = Counter(o.status for o in outcomes)
    counts = ", ".join(f"{count[status]} {word}" for status, word in WORDS.items() if count[status])
    pictures = sum(len([*o.folder.glob("*.png")]) for o in outcomes if o.status != "failed")
    if failed := [o.notebook for o in outcomes if o.status == "failed"]:
        counts += f" ({', '.join(failed)})"
    folders = [str(o.folder) for o in outcomes]
    where = ", ".join(folders) if len(folders) < 3 else f"{figures}/<notebook>"
    return [
        f"{len(outcomes)} notebook{'s' * (len(outcomes) != 1)} in {seconds // 60:.0f} min {seconds % 60:.0f} s: "
        + counts,
        f"Figures: {pictures} in {where}",
        f"Those of the papers' settings, and printed numbers beside ours: {write_gallery(figures, notebooks)}",
        "Printed numbers beside ours, and claims: make report",
        "Next: open that page in a browser; then make lab",
    ]


def trainings(args: argparse.Namespace) -> int:
    """``fedlib missing``, ``fedlib train`` and ``fedlib again``."""
    os.environ.setdefault("NVIDIA_TF32_OVERRIDE", "0")  # float32 is float32, on an accelerator, too
    from .papers.studies import STUDIES
    from .trainings import again, missing

    wanted = "" if args.notebook == "all" else args.notebook
    chosen = {name: study for name, study in STUDIES.items() if name.startswith(wanted)}
    if not chosen:
        raise ValueError(f"no room has a notebook {args.notebook!r}; there are {', '.join(STUDIES)}")
    if args.command == "again":
        differs = False
        for row in again.whole_rows(chosen.values(), args.minutes, args.only):
            print(row, flush=True)
            differs |= "DIFFERS" in row
        return int(differs)
    for study in chosen.values():
        if args.command == "missing":
            print(*missing.lines(study), sep="\n")
        else:
            print(missing.train(study, args.hours, args.only, device=args.device))
    return 0


def override(text: str) -> tuple[str, object]:
    """name=value as (name, value); the value is a Python literal or else YAML."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"-p {text!r}: expected name=value")
    try:
        return name, ast.literal_eval(value)  # YAML alone reads 1e-3 as a text
    except (ValueError, SyntaxError):
        pass
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", error)
        raise ValueError(f"-p {text!r}: {problem}; expected a value such as 5, '[1, 2]' or text") from None


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # asked to end, we take our processes with us
    sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that has no Greek letters shows their numbers
    sys.exit(main())
