"""The federation on NVIDIA FLARE is the training in one process."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedlib.machines.local import in_one_process
from fedlib.notebook.profiles import read_result

PATH = Path(__file__).with_name("shapes.py")
pytestmark = pytest.mark.skipif(
    not importlib.util.find_spec("nvflare"), reason="NVIDIA FLARE is not here: pip install '.[flare]', see make engines"
)


def largest_difference(folder: Path, together) -> float:
    """Between the clients' models that the sites have left in a folder and those of one process."""
    theta, found = together.theta.numpy(), []
    for file in folder.glob("site-*.models.npz"):
        with np.load(file) as left:
            found += [np.abs(left["models"] - theta[left["clients"]]).max()]
    assert len(found) == len({*folder.glob("site-*.pt")}) > 1
    return max(found)


def command(*arguments: str, **environment: str):
    """python -m fedlib federate ...: FLARE's simulator is a process of its own, for it changes what it runs in."""
    return subprocess.run(
        [sys.executable, "-m", "fedlib", "federate", *arguments],
        env=os.environ | environment, capture_output=True, text=True, timeout=400,
    )  # fmt: skip


def test_the_simulator_with_five_sites_equals_one_process(monkeypatch, tmp_path):
    monkeypatch.setenv("FEDLIB_ALONE", "1")
    monkeypatch.setenv("FEDLIB_CASE", "half of the clients")
    done = command("simulate", str(PATH), "--engine", "flare", "--folder", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    together = in_one_process(PATH)
    assert largest_difference(tmp_path, together) < 1e-12
    losses = np.array(read_result(tmp_path / "result.json")["metrics"]["losses"], float)
    np.testing.assert_allclose(losses, together.losses, rtol=1e-12)
