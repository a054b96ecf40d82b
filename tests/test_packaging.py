"""One environment in environment.yml, pyproject.toml, requirements.lock and Makefile; citation and licences."""

import ast
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from fnmatch import fnmatch
from importlib.metadata import packages_distributions, requires
from itertools import product

import psutil
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from fedlib.files import ROOT
from fedlib.notebook.batch import kernel_environment
from fedlib.papers.fedsciml.forward import study as forward
from fedlib.trainings.environment import git
from fedlib.trainings.store import stored
from tools.archive import WITH_THEM, digest, main, write_archive


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def lock():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return {canonical(n): v for n, v in (line.split("==") for line in lines if line and not line.startswith("#"))}


def project():
    meta = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = meta["dependencies"] + meta["optional-dependencies"]["dev"]
    return {canonical(re.match(r"[\w.-]+", r)[0]): r for r in requirements}


def version(text):
    return tuple(int(x) for x in re.findall(r"\d+", text)[:3])


def test_every_requirement_is_locked_at_an_allowed_version():
    for name, requirement in project().items():
        lower = requirement.split(">=")[1]
        assert version(lock()[name]) >= version(lower), requirement


UNUSED = {"aiohttp"}  # papermill 2.7.0 asks for it with Python 3.12, and imports it nowhere


def test_the_lock_has_what_its_packages_need_on_each_system():
    """It is installed with --no-deps: what macOS, or another Python, needs besides must stand in it."""
    pythons = SpecifierSet(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"])
    versions = [f"3.{minor}" for minor in range(20) if f"3.{minor}" in pythons]
    assert versions == ["3.11", "3.12", "3.13"]
    systems = [
        {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"},
        {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"},
    ]
    missing = set()
    for name in {*lock()} - {"torch", "appnope"}:  # one is installed with what it needs, one needs nothing
        for requirement, python, system in product(map(Requirement, requires(name) or []), versions, systems):
            where = {"python_version": python, "python_full_version": f"{python}.1", "extra": ""} | system
            if requirement.marker is None or requirement.marker.evaluate(where):
                missing.add(canonical(requirement.name))
    missing -= {*lock()} | UNUSED
    assert not missing


def test_make_installs_into_the_environment_where_pip_is_told_to_install_for_the_user():
    makefile = f"include {ROOT / 'Makefile'}\nsee:\n\t@echo $$PIP_USER\n"
    command = ["make", "-s", "-f", "-", "see", "PYTHON=true"]
    done = subprocess.run(command, input=makefile, env=os.environ | {"PIP_USER": "1"}, capture_output=True, text=True)
    assert done.stdout == "0\n", done.stderr


def test_what_fedlib_imports_is_required():
    """Also what is imported inside a function; the optional extras count."""
    meta = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = meta["optional-dependencies"]
    kinds = ("bench", "dask", "flare", "ngsolve")
    required = set(project()) | {canonical(re.split("[>=]=", r)[0]) for e in kinds for r in extras[e]}
    known = packages_distributions()
    for path in {*(ROOT / "fedlib").rglob("*.py")}:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            for name in {n.split(".")[0] for n in names} - sys.stdlib_module_names - {"fedlib"}:
                assert required & {canonical(d) for d in known.get(name, [name])}, f"{path.name} imports {name}"


@pytest.mark.parametrize("there", [False, True])
def test_notebooks_are_checked_with_and_without_a_grammar_of_addresses(there, tmp_path):
    """jsonschema builds it in 2.7 s, for a format that no notebook has: not in the lock, but conda's pip takes it."""
    assert not {"rfc3987-syntax", "lark"} & {*lock()}
    hidden = "import sys; sys.modules['rfc3987_syntax'] = None" if not there else "import rfc3987_syntax"
    (tmp_path / "rfc3987_syntax.py").write_text("is_valid_syntax = lambda name, text: True")
    code = f"""{hidden}
import nbformat, papermill
from jupyter_events import EventLogger
from nbformat.v4 import new_code_cell, new_notebook
EventLogger()
nbformat.validate(new_notebook(cells=[new_code_cell("1")]))
try:
    nbformat.validate(new_notebook(cells=[{{"cell_type": "code"}}]))
except nbformat.ValidationError:
    print("looked at")
"""
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "looked at\n", done.stderr


def conda():
    """environment.yml: requirements of conda, and of pip in it."""
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (pip,) = (entry["pip"] for entry in entries if isinstance(entry, dict))
    return [entry for entry in entries if isinstance(entry, str)], pip


def test_environment_yml_has_the_bounds_of_the_project_and_the_versions_of_the_lock():
    python, pip = map(Requirement, conda()[0])
    meta = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert pip.name == "pip" and python.specifier == SpecifierSet(meta["requires-python"])
    first, *named, last = conda()[1]
    assert first == "-c requirements.lock" and last == "-e .[dev]"
    assert len(named) == 9 and all(
        requirement == project()[canonical(Requirement(requirement).name)] for requirement in named
    )


def test_make_gives_kernels_what_batch_runs_give(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    makefile = (ROOT / "Makefile").read_text()
    for target in ("lab", "test", "facts"):
        given = dict(re.findall(rf"^.*\b{target}\b.*: export (\w+) = (\d+)$", makefile, re.MULTILINE))
        assert given == kernel_environment()


@pytest.mark.parametrize(
    "code, chosen, threads",
    [
        ("import fedlib, torch", {}, "1"),
        ("from fedlib.federated import train; import torch", {}, "1"),
        ("import fedlib, torch", {"OMP_NUM_THREADS": "2"}, "2"),
        ("import torch; torch.set_num_threads(2); import fedlib", {}, "2"),
    ],
)
def test_small_models_have_one_thread_unless_somebody_chose(code, chosen, threads):
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | chosen
    command = [sys.executable, "-c", f"{code}; print(torch.get_num_threads())"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == threads


def test_citation():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    meta = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"cff-version", "message", "title", "authors"} <= set(citation)  # required by the format
    newest = re.findall(r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0]
    assert citation["version"] == meta["version"] == newest
    assert citation["license"] == meta["license"]
    assert len(citation["references"]) == 4
    for paper in citation["references"]:
        assert {"type", "title", "authors"} <= set(paper), paper["title"]
        assert "doi" in paper or paper["type"] == "unpublished", paper["title"]


def test_every_file_has_a_licence_and_every_licence_its_text():
    entries = tomllib.loads((ROOT / "REUSE.toml").read_text())["annotations"]

    def licence(path):  # of several matching entries the last one counts
        name = path.relative_to(ROOT).as_posix()
        return [e["SPDX-License-Identifier"] for e in entries if any(fnmatch(name, p) for p in [*e["path"]])][-1]

    shared = [*(ROOT / "figures").glob("*/*.*"), ROOT / "data/cylinder_wake.npz"]
    code = [p for folder in ("fedlib", "notebooks", "tests") for p in (ROOT / folder).rglob("*.*")]
    assert {licence(path) for path in shared} == {"CC-BY-4.0"}
    assert {licence(path) for path in [*code, ROOT / "README.md"]} == {"MIT"}
    assert {p.stem for p in (ROOT / "LICENSES").iterdir()} == {e["SPDX-License-Identifier"] for e in entries}
    assert (ROOT / "LICENSE").read_text() == (ROOT / "LICENSES/MIT.txt").read_text()


TRACKED = [*filter(None, git("ls-files", "-z").split("\0"))]
NO_NAME = re.compile(r'[<>:"|?*\\]|[. ](/|$)|(^|/)(con|prn|aux|nul|com\d|lpt\d)(\.|/|$)', re.IGNORECASE)


@pytest.mark.skipif(not TRACKED, reason="no clone: git knows no file")
def test_names_of_files_are_names_on_every_system():
    """Windows and macOS take a.py and A.py for one file, Windows 260 letters with the folder of the clone."""
    assert len({name.casefold() for name in TRACKED}) == len(TRACKED)
    assert not [name for name in TRACKED if NO_NAME.search(name) or len(name) > 120]


def test_no_file_stays_open_once_it_was_read():
    """Windows replaces no file that somebody has open, not even oneself."""
    stored(forward, "poisson")
    assert not [file.path for file in psutil.Process().open_files() if file.path.endswith(".nc")]


@pytest.mark.skipif(not TRACKED, reason="no clone: git knows no file")
def test_what_git_holds_of_figures_stays_small():
    """Whatever is replaced stays in git's history: who passes this stores less, or takes old figures away."""
    figures = [ROOT / name for name in TRACKED if name.startswith("figures/") and (ROOT / name).exists()]
    sizes = {path: path.stat().st_size / 1e6 for path in figures}
    assert sum(sizes.values()) < 100, "MB in figures/"
    assert not {path.name: size for path, size in sizes.items() if size > 6}, "MB in one file"


def test_an_archive_of_trainings_is_the_same_whoever_makes_it_and_holds_what_was_put_in(tmp_path):
    names, sums = ["figures/05/trainings/a b.nc", "CITATION.cff"], []
    for time, name in enumerate(["here", "there"]):
        for path in map((tmp_path / name).joinpath, names):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(path.name.encode() * 1000)
            os.utime(path, (time, time))
        write_archive(tmp_path / f"{name}.tar", names[:: 1 - 2 * time], tmp_path / name)
        sums.append(digest(tmp_path / f"{name}.tar"))
    assert sums[0] == sums[1] != digest(tmp_path / "here/CITATION.cff")
    subprocess.run(["tar", "xf", tmp_path / "here.tar", "-C", tmp_path / "there"], check=True)
    assert (tmp_path / "there" / names[0]).read_bytes() == b"a b.nc" * 1000
    (tmp_path / "there/CITATION.cff").write_bytes(b"another one")
    write_archive(tmp_path / "there.tar", names, tmp_path / "there")
    assert digest(tmp_path / "there.tar") != sums[0]


@pytest.mark.skipif(not TRACKED, reason="no clone: git knows no file")
def test_the_archive_holds_every_stored_training_and_its_checksum_is_right(tmp_path, capsys):
    main(tmp_path)
    (made,) = tmp_path.glob("fedlib-*-trainings.tar")
    assert (tmp_path / "SHA256SUMS").read_text() == f"{digest(made)}  {made.name}\n" == capsys.readouterr().out
    with tarfile.open(made) as archive:
        held = {*archive.getnames()}
    trainings = {name for name in TRACKED if name.startswith("figures/") and "/trainings/" in name}
    assert held == trainings | {*WITH_THEM} and len(trainings) > 100
    made.unlink()  # pytest keeps the folders of three runs


def test_each_target_of_the_makefile_has_a_rule():
    makefile = (ROOT / "Makefile").read_text()
    named = re.search(r"^\.PHONY:((?:.*\\\n)*.*)", makefile, re.MULTILINE)[1].replace("\\", "").split()
    rules = {name for heads in re.findall(r"^([\w -]+):(?![=:])", makefile, re.MULTILINE) for name in heads.split()}
    assert len(named) > 20 and not {*named} - rules


def test_what_make_mutants_breaks_and_asks_is_there():
    """It runs in a copy, which has no more of the project than its settings name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    asked = [line.removeprefix("--deselect=") for line in settings["pytest_add_cli_args"] if "::" in line]
    copied = settings["source_paths"] + settings["also_copy"]
    for path in settings["only_mutate"] + settings["pytest_add_cli_args_test_selection"] + copied:
        assert (ROOT / path).exists(), path
    for path, name in (one.split("::") for one in asked):
        assert f"def {name}(" in (ROOT / path).read_text()
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    folders = {name for name in re.findall(r"^(?:from|import) (\w+)", sources, re.MULTILINE) if (ROOT / name).is_dir()}
    assert {"fedlib", "tools"} <= folders <= {*copied}
