"""The same verdict on every CPU: what computes, tested with the kernels that other machines would take.

``python -m tools.cpus`` runs all four settings, ``python -m tools.cpus "another CPU"`` one of them. The table says how
many tests passed, and how far the numbers moved, in tolerances.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

import torch

SETTINGS = {
    "this machine": {},
    "another CPU": {
        "ATEN_CPU_CAPABILITY": "default",  # torch's own kernels without vectors
        "MKL_CBWR": "COMPATIBLE",  # torch's BLAS and LAPACK
        "OPENBLAS_CORETYPE": "Haswell",  # numpy's
        "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
    },
    "AVX2": {"MKL_CBWR": "AVX2"},
    "two threads": {"OMP_NUM_THREADS": "2"},
}
"""Name -> environment variables. What they move was tried one by one: torch's capability "avx2" and XLA's AVX2 moved
nothing, OPENBLAS_CORETYPE nothing in torch."""

COMPUTES = (  # golden values, twins and sums: what else computes stands on them
    "tests/golden",
    *(f"tests/federated/test_{name}.py" for name in ("train", "rules", "xla", "sums")),
    "tests/papers/beyond/projection/test_algorithm.py",
    "tests/numerics",
    "tests/models",
)
MOVED = "golden", "XLA"  # what tests record of themselves, in tolerances


def lacks(variables: dict[str, str]) -> str:
    """What this machine lacks for a setting; empty if nothing."""
    if "MKL_CBWR" not in variables:
        return ""
    if not torch.backends.mkl.is_available():
        return "a torch with MKL"
    return "" if "AVX" in torch.backends.cpu.get_cpu_capability() else "a processor with AVX2"


def main(names: list[str]) -> int:
    if unknown := [name for name in names if name not in SETTINGS]:
        sys.exit(f"no setting {unknown[0]!r}; expected some of {', '.join(map(repr, SETTINGS))}")
    status, lines = 0, []
    for name in names or SETTINGS:
        if lack := lacks(SETTINGS[name]):
            lines.append(f"{name:14} skipped: it needs {lack}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            report, began = Path(folder, "report.xml"), time.monotonic()
            command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count()), "--dist", "loadgroup"]
            environment = os.environ | {"OMP_NUM_THREADS": "1"} | SETTINGS[name]
            print(f"\n{name}: {SETTINGS[name] or 'as it is'}", flush=True)
            done = subprocess.run([*command, f"--junitxml={report}", *COMPUTES], env=environment)
            status = status or done.returncode
            lines.append(f"{name:14} {row(report)}   {time.monotonic() - began:5.0f} s")
    print(f"\n{'':14} passed failed skipped   moved, in tolerances: {', '.join(MOVED)}", *lines, sep="\n")
    return status


def row(report: Path) -> str:
    """Counts, and the largest movement of each sort."""
    suite = ElementTree.parse(report).getroot().find("testsuite")
    counts = {what: int(suite.get(what)) for what in ("tests", "failures", "errors", "skipped")}
    failed = counts["failures"] + counts["errors"]
    moved = {what: 0.0 for what in MOVED}
    for entry in suite.iter("property"):
        if (what := entry.get("name").removeprefix("moved, ")) in moved:
            moved[what] = max(moved[what], float(entry.get("value")))
    passed = counts["tests"] - failed - counts["skipped"]
    return f"{passed:6} {failed:6} {counts['skipped']:7}   " + "  ".join(f"{share:8.1g}" for share in moved.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
