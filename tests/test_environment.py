"""environment.yml, as conda hands it to pip, in an environment that has nothing: it resolves, and runs a notebook.

conda itself is asked by .github/workflows/test.yml. And the lock on systems that are not here: every package has a
build for them.
"""

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest
import yaml

from fedlib.files import ROOT

NEEDED = "fedlib", "pyproject.toml", "README.md", "LICENSE", "requirements.lock", "environment.yml", "data", "notebooks"
NOTEBOOK = "10_transport"


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Iterator[tuple[Path, Path]]:
    """Its Python, and a folder with the project, without this one's packages."""
    folder = tmp_path_factory.mktemp("environment")
    for name in (*NEEDED, f"figures/{NOTEBOOK}"):
        (folder / name).parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "-r", ROOT / name, folder / name], check=True)
    entries = yaml.safe_load((folder / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (pip,) = (entry["pip"] for entry in entries if isinstance(entry, dict))
    (folder / "requirements.txt").write_text("\n".join(pip), encoding="utf-8")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env/bin/python"
    install = [python, "-m", "pip", "install", "-q", "--no-compile", "-r", "requirements.txt"]
    done = subprocess.run(install, cwd=folder, env=os.environ | {"PYTHONPATH": ""}, capture_output=True, text=True)
    if "No matching distribution found for jupyterlab" in done.stderr:
        pytest.skip("no index of packages can be reached")
    assert not done.returncode, done.stderr
    yield python, folder
    rmtree(folder / "env")  # some GB


def test_it_has_the_versions_of_the_lock(environment):
    python, _ = environment
    command = [python, "-m", "pip", "freeze", "--all"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.lower()
    for package in ("torch==2.13.0", "numpy==", "jupyterlab=="):
        (line,) = (n for n in (ROOT / "requirements.lock").read_text().lower().split() if n.startswith(package))
        assert line in found


def test_it_runs_a_notebook(environment):
    python, folder = environment
    command = [python, "-m", "fedlib", "run", NOTEBOOK]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": ""}, capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    assert (folder / f"figures/{NOTEBOOK}/result.json").exists()


UV = Path(sys.executable).parent / "uv"


@pytest.mark.skipif(not UV.exists(), reason="uv is not here, which resolves for other systems")
@pytest.mark.parametrize("python", ["3.11", "3.13"])
@pytest.mark.parametrize(
    "system",
    ["x86_64-pc-windows-msvc", "aarch64-apple-darwin", "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"],
)
def test_every_package_of_the_lock_has_a_build_for(system, python):
    """macOS from 14 on, with Apple silicon: torch has no other builds."""
    command = [UV, "pip", "compile", "-q", "--only-binary", ":all:", "--extra", "dev", "-c", "requirements.lock"]
    command += ["--python-platform", system, "--python-version", python, "pyproject.toml"]
    variables = os.environ | {"MACOSX_DEPLOYMENT_TARGET": "14.0"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    if "error sending request" in done.stderr:
        pytest.skip("no index of packages can be reached")
    assert not done.returncode, done.stderr
    assert "torch==2.13.0" in done.stdout
