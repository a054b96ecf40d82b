"""python -m fedlib run | report | defaults | bench"""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path

import yaml

from . import batch, profiles

BENCHMARKS = {
    "pendulum": (".bench", "bench"),
    "sweep": (".bench_sweep", "bench_sweep"),
    "pinn": (".bench_pinn", "bench_pinn"),
    "operators": (".bench_operators", "bench_operators"),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("fedlib", description="A companion to four papers on federated scientific ML.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run notebooks through papermill and write figures and results")
    run.add_argument("notebooks", nargs="*", help="names such as 01_pendulum; all by default")
    run.add_argument("--profile", default="quick", help="quick (default) or paper")
    run.add_argument("--jobs", type=int, help="notebooks at a time (default: one per core)")
    run.add_argument("-p", action="append", default=[], metavar="name=value", help="change a parameter")
    report = commands.add_parser("report", help="print the table paper | ours | verdict")
    report.add_argument("--profile", default="paper")
    for command in (run, report):
        command.add_argument("--figures", type=Path, default=batch.FIGURES, help="output folder")
    defaults = commands.add_parser("defaults", help="write the quick profiles' files from the parameters cells")
    for command in (run, defaults):
        command.add_argument("--source", type=Path, default=batch.NOTEBOOKS, help="folder of notebooks")
    bench = commands.add_parser("bench", help="time the engine against plain loops and DeepXDE; prints JSON")
    bench.add_argument("what", nargs="?", default="pendulum", choices=BENCHMARKS, help="default: pendulum")
    bench.add_argument("--quick", action="store_true", help="fewer repetitions")
    given = parser.parse_args(arguments)

    if given.command == "report":
        print(batch.report(given.profile, given.figures))
        return 0
    if given.command == "defaults":
        for path in sorted(given.source.glob("*.ipynb")):
            print(profiles.write_defaults(path))
        return 0
    if given.command == "bench":
        module, function = BENCHMARKS[given.what]
        print(json.dumps(getattr(import_module(module, "fedlib"), function)(given.quick), indent=1))
        return 0
    try:
        overrides = {}
        for text in given.p:
            name, equals, value = text.partition("=")
            if not equals:
                raise ValueError(f"-p {text!r}: expected name=value")
            overrides[name] = yaml.safe_load(value)
        outcomes = batch.run(given.notebooks, given.profile, given.jobs, overrides, given.source, given.figures)
    except ValueError as error:
        print(f"fedlib: {error}", file=sys.stderr)
        return 2
    print("\n" + batch.report(given.profile, given.figures) + "\n")
    for o in outcomes:
        print(f"{o.status:8} {o.notebook:28} {o.seconds:6.1f} s  {o.message}".rstrip())
    print(f"Figures and results: {given.figures / given.profile}")
    return int(any(o.status == "failed" for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
