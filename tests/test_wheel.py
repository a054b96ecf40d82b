"""What pip installs is whole: a wheel has every module, and runs the documents' example where there is no clone."""

import os
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from fedlib.files import ROOT

from .machines import laboratories

PACKED = "fedlib", "pyproject.toml", "README.md", "LICENSE", "LICENSES"
EXTRAS = {"nvflare", "dask", "distributed", "deepxde", "ngsolve", "sphinx", "myst_nb", "docutils"}
IMPORT_ALL = """
import importlib, pkgutil, fedlib
names = [name for _, name, _ in pkgutil.walk_packages(fedlib.__path__, "fedlib.") if not name.endswith("__main__")]
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] not in {extras!r}:
            raise
print(fedlib.__file__, *names, sep="\\n")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Python of an environment that has the wheel, and by a path file the packages that the project pins, but not its
    sources."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in PACKED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, folder]
    subprocess.run(build, check=True)
    venv.create(folder / "env", symlinks=True)
    python = folder / "env/bin/python"
    (wheel,) = folder.glob("*.whl")
    (site,) = folder.glob("env/lib/*/site-packages")
    install = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-compile", wheel]
    # Where PYTHONPATH has this folder, as make says, pip finds the project's metadata and takes it for installed.
    subprocess.run(install, check=True, env={**os.environ, "PYTHONPATH": ""})
    packages = [p for p in map(Path, sys.path) if p.name in ("site-packages", "dist-packages")]
    (site / "project.pth").write_text("\n".join(map(str, packages)))
    return python


def run(python: Path, code: str, folder: Path) -> str:
    done = subprocess.run([python, "-I", "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_has_every_module(installed, tmp_path):
    where, *names = run(installed, IMPORT_ALL.replace("{extras!r}", repr(EXTRAS)), tmp_path).splitlines()
    assert Path(where).is_relative_to(installed.parents[1])
    sources = {p.relative_to(ROOT).with_suffix("") for p in (ROOT / "fedlib").rglob("*.py")}
    modules = {".".join(p.parts[:-1] if p.name == "__init__" else p.parts) for p in sources}
    assert {*names} == modules - {"fedlib", "fedlib.__main__"}


def test_a_wheel_has_what_is_no_module(installed):
    """Pieces of pages, and settings of studies."""
    (package,) = installed.parents[1].glob("lib/*/site-packages/fedlib")
    files = {p.relative_to(ROOT / "fedlib") for p in (ROOT / "fedlib").rglob("*") if p.is_file()}
    files = {p for p in files if p.suffix not in (".pyc", ".md") and not any(part.startswith(".") for part in p.parts)}
    assert not [path for path in files if not (package / path).is_file()]


def test_a_wheel_runs_the_documents_example(installed, tmp_path):
    """Laboratories with data of their own install it and have no clone."""
    laboratories.saved(tmp_path / "laboratories.py")
    lines = ["import sys", "from fedlib.__main__ import main", "sys.path.insert(0, '')"]
    for language, code in laboratories.blocks():
        if language == "python":
            lines.append(code)
        elif not language:
            lines.append(f"assert main({shlex.split(code.removeprefix('python -m fedlib '))!r}) == 0")
    printed = run(installed, "\n".join(lines), tmp_path)
    assert "centralised" in printed and "temperature,concentration,rate" in printed
