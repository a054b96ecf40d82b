"""``python -m benchmarks``: measures, writes one JSON per kind of machine, and draws the figure."""

import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from matplotlib import rc_context

from fedlib.files import replacing, write_atomically
from fedlib.notebook import style
from fedlib.trainings.settings import CHANGED, FIGURES

from .clients import bench_clients
from .common import in_own_process, load, machine, one_thread, peak_memory, time_problem
from .figure import draw_speed
from .problems import PROBLEMS
from .ways import PEERS, installed, ways_of

CASES = [
    ("line", 2), ("line", 20), ("line", 384), ("pendulum", 2), ("pendulum", 20), ("pendulum", 100),
    ("sweep",), ("Helmholtz",), ("antiderivative",), ("stochastic",),
]  # fmt: skip
QUICK = [("line", 2), ("line", 20)]
MEMORY = ("line", 384)
CACHES = ("XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR")
"""Where "auto" and torch's compiler remember: a first run is what is measured."""


def bench(quick: bool = False) -> dict:
    """All measurements. quick: the line with few clients, without torch's compiler and without memory."""
    for name in (name for name, peer in PEERS.items() if not installed(peer)):
        say(f"{name} is not installed and is left out (`make bench` installs it, pip by the extra `bench`)")
    started = time.time()
    result = one_thread("float32, rounds of local Adam steps and the mean; CPU time, best of several turns")
    result["problems"] = []
    with TemporaryDirectory() as cold, patch.dict(os.environ, dict.fromkeys(CACHES, cold)):  # nothing is remembered
        for name, *arguments in QUICK if quick else CASES:
            turns, seconds = (3, 0.1) if quick else (3, 0.2)
            result["problems"].append(in_own_process(time_problem, name, tuple(arguments), turns, seconds))
            say(summary(result["problems"][-1]))
    if not quick:
        result["peak_memory_MiB"] = memory(*MEMORY)
        say(f"peak memory (MiB), {MEMORY}: {result['peak_memory_MiB']}")
    result["clients"] = bench_clients(quick)
    return result | {"load_at_the_end": load(), "seconds": round(time.time() - started)}


def memory(name: str, *arguments) -> dict[str, float]:
    """Peak memory of each way beyond that of a process with nothing but the imports and the data, in MiB."""
    ways = [way for way in ways_of(PROBLEMS[name](*arguments)) if way != "auto"]  # it is one of the others
    idle = in_own_process(peak_memory, name, arguments, None)
    return {"idle": idle} | {way: in_own_process(peak_memory, name, arguments, way) - idle for way in ways}


def summary(found: dict) -> str:
    """A line about a problem."""
    ms = ", ".join(f"{way} {numbers['ms_per_round']:g}" for way, numbers in found["ways"].items())
    return f"{found['problem']}, {found['clients']} clients, ms per round: {ms} (limit {found['limit_ms']:g})"


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(quick: bool = False, folder: Path = FIGURES) -> Path:
    """Measure, write and draw; returns the JSON's path. A quick run leaves the committed numbers alone."""
    target = folder / "speed" / (CHANGED * quick) / f"{machine()}.json"
    result = bench(quick)
    write_atomically(target, json.dumps(result, indent=1) + "\n")
    with replacing(target.with_suffix(".png")) as partial, rc_context():
        style.use("page")
        draw_speed(result).savefig(partial, format="png", dpi=150)
    return target
