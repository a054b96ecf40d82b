"""What ran: versions, hardware, and the commit of the code."""

import os
import platform
import re
import subprocess
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import torch

from ..federated.train import RAN
from ..files import ROOT


def environment() -> dict:
    """Versions and hardware of this process, and the backends that computed its trainings."""
    cpu = platform.processor()
    with suppress(OSError, IndexError):  # Linux says more there
        cpu = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))[0].strip()
    packages = ("fedlib", "torch", "jax", "numpy", "scipy", "POT", "matplotlib", "papermill")
    return {
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "hardware": {
            "cpu": cpu,
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
            "system": platform.platform(),
        },
        "backends": sorted(RAN),
    }


def commit() -> str:
    """The commit of the code that ran; empty where there is no git."""
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return asked.stdout.strip()
