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


def git(*words: str) -> str:
    """What git says of the project's own repository; empty where there is none, or no git. A repository around the
    project's folder (an unpacked zip in one's homework) is another one."""
    variables = os.environ | {"GIT_CEILING_DIRECTORIES": str(ROOT.parent)}
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, env=variables, capture_output=True, encoding="utf-8")
    except OSError:  # git is not installed
        return ""
    return "" if done.returncode else done.stdout.strip()


def commit() -> str:
    """The commit of the code that ran, such as "1a2b3c4d", or "1a2b3c4d+changes" where code or data were changed
    since; empty where git knows none."""
    number = git("rev-parse", "--short", "HEAD")
    return number + "+changes" * bool(number and git("status", "--porcelain", "fedlib", "data"))
