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
        "tests/notebook/test_batch.py": "one_broken|names_may|misspelt|study_whose|literals|types_of|names_a_damaged",
        "tests/notebook/test_faults.py": r"main_is_killed_alone\[9|every_number",
        "tests/trainings/test_faults.py": r"^(?!test_a_kill_at_any_point(?!.*in the file))",
    },
    "text": {
        "tests/notebook/test_pictures.py": r"^(?!test_the_explorer)",
        "tests/pages/test_lessons.py": "",
        "tests/test_lessons.py": r"^(?!test_\d\d)",
    },
    "commands": {
        "tests/machines/test_arriving.py": r"^(?!test_nonsense_by)",
        "tests/machines/test_own_tables.py": r"^test_(?!worse|other|nobody|the_file|two|clients)",
        "tests/notebook/test_style.py": r"^(?!test_an_import|test_a_matplotlibrc)",
        "tests/test_docs.py": r"^(?!test_the_example_for)",
        "tests/test_packaging.py": r"^(?!test_small_models)",
        "tests/test_readme.py": "exist",
        "tests/test_wheel.py": "",
    },
    "solutions": {},
    "replay": {"tests/trainings/test_replay.py": "^test_(what|another)"},
    "xla": {
        "tests/benchmarks/test_common.py": "",
        "tests/benchmarks/test_ways.py": "",
        "tests/federated/test_operations.py": r"^(?!test_an_operation_is_done)",
        "tests/federated/test_xla.py": r"^(?!test_whole_rounds|test_slices_of|test_personal|test_noise_comes)",
        "tests/federated/test_refused.py": r"^(?!test_xla_is_eager|test_a_weight_that|test_an_index_beyond)",
        "tests/federated/test_backends.py": r"^(?!test_few_steps_are_written|test_nothing_is_measured)",
        "tests/golden/test_golden.py": r"^(?!test_xla.*(08|all data|07|square|Allen|FedProx|01|Mime))",
    },
    "laws": {
        "tests/federated/test_sums.py": r"^(?!test_private_sums_withstand.*\[(1|10)\]|test_who_owns|.*(30|20).*roots)",
        "tests/papers/beyond/projection/test_algorithm.py": r"^(?!test_an_equation_goes.*helmholtz|test_an_evaluation)",
        "tests/federated/test_rules.py": r"^(?!test_the_rules_are_different|test_rules_among)",
        "tests/numerics/test_solutions.py": r"^(?!test_pendulum_agrees)",
        "tests/papers/beyond/projection/test_study.py": "",
        "tests/papers/feddro/digits/test_study.py": r"^(?!test_readings|test_results)",
        "tests/papers/fedstnn/as_coded/test_problem.py": r"^(?!test_as_coded_loop)",
        "tests/papers/fedstnn/test_network.py": r"^(?!test_the_energy_score)",
        "tests/trainings/test_over.py": r"^(?!test_a_price|test_a_longer|test_a_share)",
    },
    "browsers": {
        "tests/test_lab.py": "",
        "tests/live/test_views.py": "",
        "tests/pages/test_built.py": "",
        "tests/pages/test_site_browser.py": "",
    },
    "environment": {"tests/test_environment.py": ""},
    "engines": {},
    "cpus": {},
}
"""A stage -> file -> which of its tests stay in `make test`; "": none."""

MINUTES = {
    "faults": 5, "text": 5, "commands": 6, "solutions": 5, "replay": 5, "xla": 6, "laws": 5, "browsers": 7,
    "environment": 4, "engines": 9, "cpus": 6,
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
        "browsers": [["make", ".venv/site/ready"], ["bash", "-c", SITE], files],
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
