"""``make paper DEVICE=cuda``: every notebook in every profile but the quick one, the heaviest last, one at a time."""

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

from ..federated.rounds import device_of
from .batch import run
from .jobs import Outcome
from .outputs import read_result
from .profiles import FIGURES, NOTEBOOKS, profiles_of

DEVICES = ("auto", "cpu", "cuda")


def environment_of(device: str) -> dict[str, str]:
    """What processes get, so that a notebook's device "auto" is this one; its parameters stay those of the profile.

    float32 is float32: NVIDIA's libraries round no product to TF32, unless NVIDIA_TF32_OVERRIDE says otherwise.

    Raises:
        ValueError: no such device, or torch finds none.
    """
    if device not in DEVICES:
        raise ValueError(f"device = {device!r}: expected one of {', '.join(DEVICES)}")
    device_of(device)
    precise = {"NVIDIA_TF32_OVERRIDE": os.environ.get("NVIDIA_TF32_OVERRIDE", "0")}
    return precise | ({"CUDA_VISIBLE_DEVICES": "-1"} if device == "cpu" else {})


def seconds(notebook: str, profile: str, figures: Path = FIGURES) -> float:
    """Core-seconds of the result that is there; infinite where there is none."""
    try:
        result = read_result(figures / profile / notebook / "result.json")
    except (OSError, ValueError):
        return float("inf")
    own: Mapping = result["parameters"]
    return result["wall_s"] * max(own.get(name) or 1 for name in ("workers", "processes"))


def queue(notebooks: Path = NOTEBOOKS, figures: Path = FIGURES) -> list[tuple[str, str]]:
    """(notebook, profile) of all profiles but "quick", by the time that they took before; new ones come last."""
    pairs = [(p.stem, profile) for p in sorted(notebooks.glob("*.ipynb")) for profile in profiles_of(p)]
    return sorted((pair for pair in pairs if pair[1] != "quick"), key=lambda pair: seconds(*pair, figures))


def run_all(device: str = "auto", notebooks: Path = NOTEBOOKS, figures: Path = FIGURES) -> list[Outcome]:
    """Run the queue on a device; what is done is skipped, what was interrupted goes on from its checkpoints.

    Raises:
        ValueError: the device is not there; nothing has run.
    """
    outcomes = []
    with patch.dict(os.environ, environment_of(device)):
        for notebook, profile in queue(notebooks, figures):
            print(f"{notebook}, {profile} profile", file=sys.stderr, flush=True)
            outcomes += run([notebook], profile, 1, notebooks=notebooks, figures=figures)
            print(f"  {outcomes[-1].status}, {outcomes[-1].seconds:.0f} s {outcomes[-1].message}".rstrip(), flush=True)
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("fedlib.runs.queue", description=__doc__)
    parser.add_argument("--device", default="auto", help="cuda, cpu, or auto: an accelerator where there is one")
    parser.add_argument("--list", action="store_true", help="say what would run, in order")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="output folder")
    given = parser.parse_args(arguments)
    if given.list:
        for pair in queue(figures=given.figures):
            print(f"{seconds(*pair, given.figures) / 3600:8.2f} core-hours  {', '.join(pair)}")
        return 0
    try:
        return int(any(o.status == "failed" for o in run_all(given.device, figures=given.figures)))
    except KeyboardInterrupt:
        print("\ninterrupted; what is done is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    except ValueError as error:
        print(f"fedlib: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # asked to end, we take our processes with us
    sys.exit(main())
