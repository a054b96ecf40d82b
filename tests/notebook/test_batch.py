"""Unattended runs: strict parameters, resume, a broken notebook beside a sound one, a kill in the middle."""

import json
import os
import shutil

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from fedlib import files
from fedlib.__main__ import main
from fedlib.notebook import batch
from fedlib.notebook.report import report
from fedlib.papers.studies import STUDIES
from fedlib.trainings import settings, store

CODE = """
import os, time
import numpy as np
from types import SimpleNamespace
from fedlib.notebook.run import Run
from fedlib.streams import stream
paper = {{"seed": 0, "n": 5, "scale": 1.0, "pause": 0.0, "sizes": [1]}}
run = Run(SimpleNamespace(
    NOTEBOOK="{name}", PAPER=paper, RULES={{}}, check=lambda p: None, trainings=lambda p: {{}}, results=lambda *_: None
))
run.begin(globals())
time.sleep(pause)
open(os.environ.get("FEDLIB_TEST_LOG", os.devnull), "a").write("{name}\\n")
"""


LIGHT = """
import json, os, time
from pathlib import Path
class run:  # what the runner sees of the real one, without its imports
    out = Path(os.environ.get("FEDLIB_OUTPUT", "."))
    def figure(name):
        (run.out / f"{{name}}.png").write_text(name)
    def finish(**metrics):
        keys = "notebook changed parameters environment wall_s measured claims label".split()
        result = dict.fromkeys(keys, {{}}) | {{"notebook": "{name}", "label": "light"}}
        result |= {{"metrics": metrics, "measured": {{}}, "wall_s": 1.0}}
        result["environment"] = {{"hardware": {{"threads": 1, "cpu": "", "accelerator": None}}}}
        (run.out / "result.json").write_text(json.dumps(result))
open(os.environ.get("FEDLIB_TEST_LOG", os.devnull), "a").write("{name}\\n")
"""


def write_notebook(folder, name, last="run.finish(mean=scale * stream(seed, 'x').normal(size=n).mean())", code=CODE):
    parameters = "seed: int = 0\nn: int = 5\nscale: float = 1.0\npause: float = 0.0"
    parameters += "\nsizes: list[int] = [1]"
    cells = [new_code_cell(parameters), new_code_cell(code.format(name=name)), new_code_cell(last)]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), folder / f"{name}.ipynb")


def write_light(folder, name, last="run.finish(mean=seed)"):
    write_notebook(folder, name, last, LIGHT)


@pytest.fixture
def project(tmp_path, monkeypatch):
    source = tmp_path / "notebooks"
    source.mkdir()
    write_notebook(source, "sound")
    monkeypatch.setenv("FEDLIB_TEST_LOG", str(tmp_path / "log"))
    return source, tmp_path / "figures", tmp_path / "log"


def command(project, *arguments):
    return main(["run", "--source", str(project[0]), "--figures", str(project[1]), "--jobs", "2", *arguments])


def result(project, name="sound", changed=False):
    """Of the cell's parameters, or of the only run with changed ones."""
    (path,) = (project[1] / name).glob("changed/*/result.json" if changed else "result.json")
    return json.loads(path.read_text())


@pytest.mark.fault("survived")
def test_one_broken_cell_does_not_stop_the_others(project, capsys):
    source, figures, log = project
    write_light(source, "sound")
    write_light(source, "broken", last="1 / 0")
    write_light(source, "silent", last="pass")  # ends well, but leaves no result
    assert command(project) == 1
    out = capsys.readouterr().out
    assert "failed   broken" in out
    assert "cell 3: ZeroDivisionError: division by zero" in out
    assert "failed   silent" in out
    assert "done     sound" in out
    assert not (figures / "broken/result.json").exists()
    assert log.read_text().split().count("sound") == 1

    write_light(source, "broken")  # mended: only what is missing runs
    write_light(source, "silent")
    assert command(project) == 0
    assert "skipped  sound" in capsys.readouterr().out
    assert sorted(log.read_text().split()) == ["broken", "broken", "silent", "silent", "sound"]


def test_a_notebook_without_a_room_runs_leaves_nothing_and_has_no_parameters(project, capsys):
    write_light(project[0], "sound")
    start = (settings.NOTEBOOKS / f"{settings.START}.ipynb").read_text()
    (project[0] / f"{settings.START}.ipynb").write_text(start)
    assert command(project, "-p", "seed=3") == 0 and settings.START not in capsys.readouterr().out
    assert command(project, settings.START, "-p", "seed=3") == 2
    assert command(project) == 0 and f"done     {settings.START}" in capsys.readouterr().out
    assert not (project[1] / settings.START).exists() and not [*project[1].glob(".work/*/partial-*")]
    (project[0] / f"{settings.START}.ipynb").write_text(start.replace("import numpy", "import nympy"))
    assert command(project, "00") == 1 and "ModuleNotFoundError" in capsys.readouterr().out


def test_trainings_of_before_and_of_meanwhile_stay(project):
    """Somebody trains beside it: a new stack is written while the notebook is at work."""
    kept = project[1] / "sound/trainings"
    kept.mkdir(parents=True)
    (kept / "poisson.nc").write_text("years of work")
    write_light(project[0], "sound", last=f"Path({str(kept)!r}, 'beam.nc').write_text('new')\nrun.finish(mean=0)")
    assert command(project, "sound") == 0 and result(project)["metrics"] == {"mean": 0}
    assert [(kept / name).read_text() for name in ("poisson.nc", "beam.nc")] == ["years of work", "new"]


@pytest.mark.fault("survived")
@pytest.mark.parametrize("moved", [0, 1])
def test_a_kill_while_files_are_moved_leaves_no_result_and_no_old_file(project, tmp_path, monkeypatch, moved):
    """Stored trainings are not touched; what was moved is replaced by the next run."""
    write_light(project[0], "sound", last="run.figure('early')\nrun.finish(mean=0)")
    assert command(project) == 0
    target, partial = project[1] / "sound", tmp_path / "partial"
    (target / "trainings").mkdir()
    (target / "trainings/poisson.nc").write_text("years of work")
    (target / "gone.png").write_text("old")
    partial.mkdir()
    (partial / "late.png").write_text("new")
    (partial / "result.json").write_text("{}")
    replace, paths = os.replace, []

    def replaced(*pair):
        if len(paths) == moved:
            raise KeyboardInterrupt
        paths.append(replace(*pair))

    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(batch.os, "replace", replaced)
        batch.deliver(partial, target)
    left = {path.name for path in target.iterdir()} - {"sound.ipynb"}
    assert left == {"trainings", *["late.png"][:moved]}
    assert command(project) == 0 and result(project)["metrics"] == {"mean": 0}
    assert (target / "trainings/poisson.nc").read_text() == "years of work" and (target / "early.png").exists()


@pytest.mark.parametrize("what", ["notebook", "training", "library"])
def test_what_is_finished_runs_again_only_when_something_it_is_made_of_is_newer(project, what, tmp_path, monkeypatch):
    for folder in ("fedlib", "data"):
        (tmp_path / folder).mkdir()
    (tmp_path / "fedlib/one.py").touch()
    training = tmp_path / "figures/sound/trainings/poisson.nc"
    training.parent.mkdir(parents=True)
    training.touch()
    write_light(project[0], "sound")
    job = batch.job_of(project[0] / "sound.ipynb", {}, project[1])
    monkeypatch.setattr(batch, "ROOT", tmp_path)
    (job.target / "result.json").write_text(json.dumps({name: {} for name in settings.REQUIRED}))
    assert batch.is_done(job)
    parts = {"notebook": job.notebook, "training": training}
    later = (job.target / "result.json").stat().st_mtime + 10
    os.utime(parts.get(what, tmp_path / "fedlib/one.py"), (later, later))
    assert not batch.is_done(job)


@pytest.mark.fault("survived")
def test_what_changes_during_a_run_is_newer_than_its_result_and_a_damaged_one_is_none(project):
    write_light(project[0], "sound", last="Path('sound.ipynb').touch()\nrun.finish(mean=0)")
    assert command(project) == command(project) == 0
    assert len(project[2].read_text().split()) == 2
    write_light(project[0], "sound")
    assert command(project) == 0
    path = project[1] / "sound/result.json"
    path.write_text(path.read_text()[:100])
    assert command(project) == 0 and result(project)["metrics"] == {"mean": 0}
    assert len(project[2].read_text().split()) == 4


def test_changed_parameters_go_to_a_folder_of_their_own(project, capsys):
    _, figures, log = project
    assert command(project) == 0
    first, kept = result(project), (figures / "sound/result.json").stat().st_mtime_ns
    capsys.readouterr()
    assert command(project, "-p", "seed=1") == 0
    other = result(project, changed=True)
    assert other["label"] == "seed 1 instead of 0" and other["changed"] == {"seed": 1}
    assert other["metrics"] != first["metrics"]
    assert (figures / "sound/result.json").stat().st_mtime_ns == kept
    (folder,) = (figures / "sound/changed").glob("[!.]*")
    assert f"Figures: 0 in {folder}\n" in capsys.readouterr().out
    assert command(project, "-p", "seed=1") == 0
    assert command(project, "-p", "seed=0", "-p", "n=5") == 0  # the defaults, spelt out
    assert len(log.read_text().split()) == 2


def test_names_may_be_short_or_paths(project, monkeypatch):
    source = project[0]
    paths = {name: source / f"{name}.ipynb" for name in ("sound", "sounder")}
    monkeypatch.chdir(source.parent)
    for name in ("sound", "sound.ipynb", "notebooks/sound.ipynb", str(source / "sound.ipynb"), "./notebooks/sound"):
        assert batch.find(name, paths, source) == "sound"
    assert batch.find("sounde", paths, source) == "sounder"


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "sede=1"], "no parameter 'sede'; did you mean 'seed'?"),
        (["-p", "seed=one"], "seed = 'one'; expected int"),
        (["-p", "seed"], "expected name=value"),
        (["-p", "sizes=3"], "sizes = 3; expected list[int]; did you mean sizes=[3]?"),
        (["-p", "sizes=[1"], "-p 'sizes=[1': expected ',' or ']'"),
        (["-p", "scale=1e-3", "-p", "n=1e3"], "n = 1000.0; expected int"),  # 1e-3 is a number, though not in YAML
        (["--jobs", "0"], "jobs = 0: expected 1 or more"),
        (["elsewhere/sound.ipynb"], "no notebook 'elsewhere/sound.ipynb'"),
        (["so"], "known or near: solo, sound"),
    ],
)
def test_misspelt_arguments_are_refused_before_anything_runs(project, arguments, message, capsys):
    write_notebook(project[0], "solo")
    assert command(project, *arguments) == 2
    red = capsys.readouterr().err
    assert message in red
    assert red.count("\n") == 1
    assert not project[1].exists()
    assert not project[2].exists()


@pytest.mark.fault("clear error")
def test_a_folder_that_cannot_be_written(project, capsys):
    project[1].write_text("a file, not a folder")
    assert command(project) == 2
    assert f"cannot write to {project[1]} (File exists); name" in capsys.readouterr().err
    assert not project[2].exists()


def test_a_run_ends_in_ten_lines_that_say_what_was_made_and_judge_nothing(project, capsys):
    write_light(project[0], "sound", last="run.figure('early')\nrun.finish()")
    write_light(project[0], "broken", last="1 / 0")
    assert command(project) == 1
    made, end = capsys.readouterr().out.split("\n\n")
    assert len(made.splitlines()) == 2 and "(1 of 2)" in made and "(2 of 2)" in made
    assert len(end.splitlines()) <= 10
    assert "2 notebooks in 0 min" in end and "1 done, 1 failed (broken)\n" in end
    assert f"Figures: 1 in {project[1] / 'broken'}, {project[1] / 'sound'}" in end
    assert str(project[1] / "index.html") in end and (project[1] / "index.html").exists()


def test_every_notebook_but_the_first_has_a_study_whose_trainings_are_stored():
    """So that all of them may run at the papers' settings without a name."""
    assert [settings.START, *STUDIES] == sorted(path.stem for path in settings.NOTEBOOKS.glob("*.ipynb"))
    assert all([*store.folder_of(name).glob("*.nc")] for name in STUDIES)


def test_parameters_cell_holds_literals_only(project):
    path = project[0] / "sound.ipynb"
    notebook = nbformat.read(path, 4)
    notebook.cells[0].source += "\nderived: int = n + 1"
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match=r"'derived: int = n \+ 1'; expected 'name: type = literal'"):
        settings.parameters_of(path)
    notebook.cells[0].metadata["tags"] = []
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match="0 cells tagged 'parameters'"):
        settings.parameters_of(path)


@pytest.mark.fault("clear error")
def test_report_names_a_damaged_file(project, capsys):
    path = project[1] / "01_sound/result.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert "truncated or damaged" in report(project[1])


@pytest.mark.parametrize(
    ("value", "hint", "fits"),
    [
        (1, "int", True), (True, "int", False), (1, "float", True), ("a", "float", False),
        ([1, 2.0], "list[float]", True), ([1, "a"], "list[int]", False),
        (None, "float | None", True), ("x", "str", True), (True, "bool", True),
    ],
)  # fmt: skip
def test_types_of_parameters(value, hint, fits):
    assert settings.has_type(value, hint) is fits


CONFLICT = '{\n<<<<<<< HEAD\n "cells": []}'


@pytest.mark.fault("survived")
def test_what_jupyterlab_git_and_nbconvert_leave_beside_the_notebooks_is_left_out_and_named(project, capsys):
    source, figures, _ = project
    write_light(source, "sound")
    for name in ("sound-Copy1", "sound.nbconvert"):
        write_light(source, name)
    for name, text in {"Untitled": '{"cells": []}', "06_empty": "", "07_conflict": CONFLICT}.items():
        (source / f"{name}.ipynb").write_text(text)
        (figures / name).mkdir(parents=True)  # from before
        (figures / name / "old.png").touch()
    assert command(project) == 0 and result(project)["metrics"] == {"mean": 0}
    red = capsys.readouterr().err.splitlines()
    assert [*map(len, [red, [line for line in red if "left out" in line]])] == [5, 5]
    for name in ("sound-Copy1", "sound.nbconvert", "Untitled", "06_empty", "07_conflict"):
        (line,) = [line for line in red if f"{name}.ipynb" in line]
        assert ("merge conflict" in line) == (name == "07_conflict")
    assert command(project, "so") == 0 and "1 notebook " in capsys.readouterr().out
    assert command(project, "sound-Copy1") == 0 and (figures / "sound-Copy1/result.json").exists()
    assert command(project, "07") == 2 and "07_conflict.ipynb" in capsys.readouterr().err


@pytest.mark.fault("clear error")
def test_a_package_without_a_clone_says_what_a_command_needs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(batch, "NOTEBOOKS", tmp_path / "notebooks")
    for name in ("run", "report", "missing", "train 05"):
        assert main(name.split()) == 2
        assert "needs a clone" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_kernels_of_a_copied_project_import_its_own_library(project, tmp_path, monkeypatch):
    """The environment leads to the first folder's."""
    copy = tmp_path / "copy"
    shutil.copytree(files.ROOT / "fedlib", copy / "fedlib", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(files, "ROOT", copy)
    write_light(project[0], "sound", last="import fedlib\nrun.finish(code=fedlib.__file__)")
    assert command(project) == 0
    assert result(project)["metrics"] == {"code": str(copy / "fedlib/__init__.py")}
