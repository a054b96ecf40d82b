"""What `make test` leaves to `make test-all`: what seldom finds a fault that nothing else does, in stages by worth.

``python -m tests.stages [--minutes 14]`` runs them. Where time is short a stage only begins if it will end in time;
which one comes first moves on with the number of commits, so that none is always left.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from fedlib.trainings.environment import git

ROOT = Path(__file__).parents[1]

STAGES = {
    "faults": {
        "tests/notebook/test_batch.py": "one_broken_cell|names_may|misspelt|study_whose|literals|types_of|damaged",
        "tests/notebook/test_faults.py": r"main_is_killed_alone\[9|every_number",
        "tests/trainings/test_faults.py": r"^(?!test_a_kill_at_any_point(?!.*in the file))",
    },
    "text": {"tests/test_lessons.py": r"^(?!test_\d\d)", "tests/pages/test_lessons.py": ""},
    "commands": {
        "tests/test_readme.py": "exist|something",
        "tests/test_wheel.py": "",
    },
    "solutions": {},
    "replay": {"tests/trainings/test_replay.py": "^test_(what|another)"},
    "browsers": {
        "tests/test_lab.py": "",
        "tests/live/test_views.py": "",
        "tests/pages/test_built.py": "",
        "tests/pages/test_site_browser.py": "",
        "tests/pages/test_browser.py": "",
    },
    "engines": {},
    "cpus": {},
}
"""A stage -> file -> which of its tests stay in `make test`; "": none."""

MINUTES = {
    "faults": 5, "text": 4, "commands": 4, "solutions": 5, "replay": 5, "browsers": 7, "engines": 9, "cpus": 6,
}  # fmt: skip
"""A stage -> what it takes at most on two cores."""

SITE = "if [ -e .venv/site/ready ]; then make site; fi"  # its packages can be had


def staying(path: Path) -> str | None:
    """Which tests of a file stay in `make test`; None: all."""
    name = Path(path).relative_to(ROOT).as_posix() if Path(path).is_relative_to(ROOT) else ""
    return next((files[name] for files in STAGES.values() if name in files), None)


def is_of(stage: str, path: Path, test: str) -> bool:
    """Whether a test belongs to a stage, or to what `make test` runs ("first")."""
    stays = staying(path)
    first = stays is None or bool(stays and re.search(stays, test))
    return first if stage == "first" else not first


def commands(stage: str) -> list[list[str]]:
    """What a stage runs; it has failed if one of them has."""
    jobs = os.environ.get("JOBS") or str(os.cpu_count())
    files = [sys.executable, "-m", "pytest", "-q", "-n", jobs, "--dist", "loadgroup", "--stage", stage, *STAGES[stage]]
    return {
        "solutions": [["make", "solutions"]],
        "browsers": [["make", ".venv/site/ready"], ["bash", "-c", SITE], ["make", "test-app"], files],
        "engines": [["make", "test-bench", "test-flare", "test-dask", "ONLY=equal"]],
        "cpus": [["make", "test-cpus", "SETTING=another CPU"]],
    }.get(stage, [files])


def in_turn() -> list[str]:
    """All stages, another one first after each commit."""
    first = int(git("rev-list", "--count", "HEAD") or 0) % len(STAGES)
    return [*STAGES][first:] + [*STAGES][:first]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stages", description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", help="some of them, in this order; all by default")
    parser.add_argument("--minutes", type=float, help="what there is for all of them; as long as it takes by default")
    given = parser.parse_args()
    if unknown := {*given.stages} - {*STAGES}:
        parser.error(f"no stage {', '.join(unknown)}; known: {', '.join(STAGES)}")
    began, took, failed, left = time.monotonic(), {}, [], []
    for stage in given.stages or in_turn():
        start = time.monotonic()
        if given.minutes is not None and (start - began) / 60 + MINUTES[stage] > given.minutes:
            left.append(stage)
            continue
        print(f"\n{stage}", flush=True)
        if any([subprocess.run(command, cwd=ROOT).returncode for command in commands(stage)]):
            failed.append(stage)
        took[stage] = (time.monotonic() - start) / 60
    print("\n" + "\n".join(f"{stage:12} {minutes:4.1f} min" for stage, minutes in took.items()))
    print(f"failed: {', '.join(failed) or 'none'}; left for want of time: {', '.join(left) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
