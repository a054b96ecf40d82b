"""``make paper DEVICE=cuda``: every notebook in every profile but the quick one, the heaviest last, one at a time."""

import os
import sys
from pathlib import Path
from unittest.mock import patch

from ..federated.rounds import device_of
from .batch import run
from .jobs import Outcome
from .outputs import core_seconds, read_result
from .profiles import FIGURES, NOTEBOOKS, folder_of, profiles_of

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
        return core_seconds(read_result(folder_of(notebook, profile, figures) / "result.json"))
    except (OSError, ValueError):
        return float("inf")


def queue(notebooks: Path = NOTEBOOKS, figures: Path = FIGURES) -> list[tuple[str, str]]:
    """(notebook, profile) of all profiles but "quick", by the time that they took before; new ones come last."""
    pairs = [(p.stem, profile) for p in sorted(notebooks.glob("*.ipynb")) for profile in profiles_of(p)]
    return sorted((pair for pair in pairs if pair[1] != "quick"), key=lambda pair: seconds(*pair, figures))


def order(figures: Path = FIGURES) -> str:
    """What would run, a line each: how long it took before, notebook and profile."""
    pairs = queue(figures=figures)
    return "\n".join(f"{seconds(*pair, figures) / 3600:8.2f} core-hours  {', '.join(pair)}" for pair in pairs)


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
