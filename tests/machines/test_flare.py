"""The federation on NVIDIA FLARE is the training in one process."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedlib.files import ROOT
from fedlib.machines.model import read_model
from fedlib.machines.plan import load
from fedlib.machines.points import in_one_process
from fedlib.trainings.settings import read_result

from .laboratories import saved

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
    together = in_one_process(load(PATH))
    assert largest_difference(tmp_path, together) < 1e-12
    losses = np.array(read_result(tmp_path / "result.json")["metrics"]["losses"], float)
    np.testing.assert_allclose(losses, together.losses, rtol=1e-5)  # a result file has six digits


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Three tables in a folder that is named from where one stands; FLARE's processes stand elsewhere."""
    (tmp_path / "my tables").mkdir()
    for k in range(3):
        rows = "".join(f"{x},{x * k},{x + k}\n" for x in range(10))
        (tmp_path / "my tables" / f"client-{k}.csv").write_text(f"temperature,concentration,rate\n{rows}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def test_tables_in_a_relative_folder_are_found_and_the_model_is_the_same(tables):
    own, models = str(saved(tables / "laboratories.py")), []
    for engine in ("local", "flare"):
        done = command("simulate", own, "--engine", engine, "--rounds", "2", "--folder", engine, FEDLIB_CSV="my tables")
        assert done.returncode == 0, done.stdout + done.stderr
        models.append(read_model(tables / engine)(np.array([[1.0, 2.0]])))
    assert models[0] == models[1]


@pytest.mark.fault("clear error")
def test_the_last_line_says_what_was_wrong_at_a_site(tables):
    own = str(saved(tables / "laboratories.py"))
    done = command("simulate", own, "--engine", "flare", "--folder", "results", FEDLIB_CSV="none")
    assert done.returncode == 2
    assert f"there is no file {tables / 'none' / 'client-0.csv'}" in done.stderr.strip().splitlines()[-1]
