"""What pip installs is whole: a wheel has every module, and runs what the pages say where there is no clone.

``make bare`` asks the same of an environment of its own, with whatever pip finds for it: BARE is its Python.
"""

import os
import re
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
PAGES = {
    "own_data": "temperature,concentration,rate",
    "own_experiment": "% with SCAFFOLD",
    "machines": "after 200 rounds",
    "sums": "lab 4 is off",
}
"""Pages of docs/ for who has no clone -> what they print, among other things."""

BEFORE = {"machines": ["own_data"]}
"""A page -> another one, whose tables and whose file it goes on with."""

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
    sources; BARE where ``make bare`` has made one."""
    if python := os.environ.get("BARE"):
        return Path(python)
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
    done = subprocess.run([python, "-I", "-X", "utf8", "-c", code], cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_has_every_module(installed, tmp_path):
    where, *names = run(installed, IMPORT_ALL.replace("{extras!r}", repr(EXTRAS)), tmp_path).splitlines()
    assert Path(where).is_relative_to(installed.parents[1])
    sources = {p.relative_to(ROOT).with_suffix("") for p in (ROOT / "fedlib").rglob("*.py")}
    modules = {".".join(p.parts[:-1] if p.name == "__init__" else p.parts) for p in sources}
    assert {*names} == modules - {"fedlib", "fedlib.__main__"}


def test_a_wheel_has_what_is_no_module(installed, tmp_path):
    """Pieces of pages, and settings of studies."""
    package = Path(run(installed, "import fedlib; print(fedlib.__path__[0])", tmp_path).strip())
    files = {p.relative_to(ROOT / "fedlib") for p in (ROOT / "fedlib").rglob("*") if p.is_file()}
    files = {p for p in files if p.suffix not in (".pyc", ".md") and not any(part.startswith(".") for part in p.parts)}
    assert not [path for path in files if not (package / path).is_file()]


def lines_of(page: str) -> list[str]:
    """A page as a program: its files are saved, blocks of Python run in turn, and so do commands; ``sh`` is for other
    machines."""
    lines = []
    for language, code in laboratories.blocks(ROOT / f"docs/{page}.md"):
        if language == "python" and (name := re.match(r"# (\w+\.py)\n", code)):
            lines.append(f"Path({name[1]!r}).write_text({code!r}, encoding='utf-8')")
        elif language == "python":
            lines.append(code)
        elif not language:
            lines.append(f"assert main({shlex.split(code.removeprefix('python -m fedlib '))!r}) == 0")
    return lines


@pytest.mark.parametrize(("page", "printed"), PAGES.items())
def test_a_page_runs_without_a_clone(installed, tmp_path, page, printed):
    """Laboratories with data of their own install the wheel, and have nothing else."""
    lines = ["import sys", "from pathlib import Path", "from fedlib.__main__ import main", "sys.path.insert(0, '')"]
    for earlier in BEFORE.get(page, []):
        lines += lines_of(earlier)[:2]  # its tables, its file
    done = run(installed, "\n".join([*lines, "print('HERE')", *lines_of(page)]), tmp_path)
    assert printed in done.split("HERE\n")[1]


def test_every_page_with_something_to_run_is_run():
    """Or is about the repository: notebooks, clusters, how fast."""
    with_blocks = {path.stem for path in (ROOT / "docs").glob("*.md") if laboratories.blocks(path)}
    assert with_blocks == {*PAGES, "cluster", "running", "speed"}
