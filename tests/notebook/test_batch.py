"""Unattended runs: strict parameters, resume, a broken notebook beside a sound one, a kill in the middle."""

import json
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from fedlib.__main__ import main
from fedlib.files import ROOT
from fedlib.notebook import profiles, worker
from fedlib.notebook.hashes import closure, content_hash
from fedlib.notebook.report import report

CODE = """
import os, time
import numpy as np
from fedlib.notebook.run import Run
from fedlib.streams import stream
run = Run("{name}", profile, {{"seed": seed, "n": n, "scale": scale}})
time.sleep(pause)
open(os.environ.get("FEDLIB_TEST_LOG", os.devnull), "a").write("{name}\\n")
"""


LIGHT = """
import json, os, time
from pathlib import Path
class run:  # what the runner sees of the real one, without its imports
    out = Path(os.environ.get("FEDLIB_OUTPUT", "."))
    def figure(name):
        for suffix in ("png", "svg"):
            (run.out / f"{{name}}.{{suffix}}").write_text(name)
    def finish(**metrics):
        keys = "notebook profile parameters environment wall_s measured claims label".split()
        result = dict.fromkeys(keys, {{}}) | {{"notebook": "{name}", "label": "light", "profile": "quick"}}
        result |= {{"metrics": metrics, "measured": {{}}, "wall_s": 1.0}}
        result["environment"] = {{"hardware": {{"threads": 1, "cpu": "", "accelerator": None}}}}
        (run.out / "result.json").write_text(json.dumps(result))
open(os.environ.get("FEDLIB_TEST_LOG", os.devnull), "a").write("{name}\\n")
"""


def write_notebook(folder, name, last="run.finish(mean=scale * stream(seed, 'x').normal(size=n).mean())", code=CODE):
    parameters = 'profile: str = "quick"\nseed: int = 0\nn: int = 5\nscale: float = 1.0\npause: float = 0.0'
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
    (source / "parameters").mkdir(parents=True)
    write_notebook(source, "sound")
    (source / "parameters" / "sound.long.yaml").write_text("n: 50\n")
    monkeypatch.setenv("FEDLIB_TEST_LOG", str(tmp_path / "log"))
    return source, tmp_path / "figures", tmp_path / "log"


def command(project, *arguments):
    return main(["run", "--source", str(project[0]), "--figures", str(project[1]), "--jobs", "2", *arguments])


def result(project, name="sound", profile="quick"):
    """Of a profile, or of the only custom run."""
    (path,) = (project[1] / name).glob(f"{'custom-*' if profile == 'custom' else profile}/result.json")
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
    assert result(project)["stamp"]
    assert not (figures / "broken" / "quick").exists()
    assert log.read_text().split().count("sound") == 1

    write_light(source, "broken")  # mended: only what is missing runs
    write_light(source, "silent")
    assert command(project) == 0
    assert "skipped  sound" in capsys.readouterr().out
    assert sorted(log.read_text().split()) == ["broken", "broken", "silent", "silent", "sound"]


def test_a_new_run_keeps_the_trainings_of_a_notebook(project):
    write_light(project[0], "sound")
    kept = project[1] / "sound/quick/trainings"
    kept.mkdir(parents=True)
    (kept / "poisson.nc").write_text("years of work")
    (kept / ".poisson.nc.lock").touch()
    assert command(project, "sound") == 0 and result(project)["metrics"] == {"mean": 0}
    assert [path.name for path in kept.iterdir()] == ["poisson.nc"]
    assert "trainings/poisson.nc" in result(project)["outputs"]


def test_profile_parameters_and_overrides_reach_the_notebook(project):
    assert command(project, "--profile", "long", "sound") == 0
    assert result(project, profile="long")["parameters"] == {"seed": 0, "n": 50, "scale": 1}
    assert command(project, "--profile", "long", "-p", "scale=2", "sound") == 0
    assert result(project, profile="custom")["parameters"] == {"seed": 0, "n": 50, "scale": 2}
    assert result(project, profile="custom")["profile"] == "long"
    assert result(project, profile="custom")["label"] == "custom (long profile): scale=2"


def test_changed_parameters_go_to_a_folder_of_their_own(project, capsys):
    _, figures, log = project
    assert command(project) == 0
    first, kept = result(project), (figures / "sound/quick/result.json").stat().st_mtime_ns
    capsys.readouterr()
    assert command(project, "-p", "seed=1") == 0
    custom = result(project, profile="custom")
    assert custom["label"] == "custom: seed=1"
    assert custom["metrics"] != first["metrics"]
    assert (figures / "sound/quick/result.json").stat().st_mtime_ns == kept
    (folder,) = (figures / "sound").glob("custom-*")
    out = capsys.readouterr().out
    assert out.endswith(f"Figures and results: {folder}\n")
    assert "sound, custom: seed=1" in out
    assert "quick profile" not in out
    assert command(project, "-p", "seed=1") == 0
    assert command(project, "-p", "seed=0", "-p", "n=5") == 0  # the defaults, spelt out
    assert len(log.read_text().split()) == 2


def test_a_cell_with_an_unknown_profile(project, capsys):
    path = project[0] / "sound.ipynb"
    path.write_text(path.read_text().replace('profile: str = \\"quick', 'profile: str = \\"mine'))
    assert command(project) == 2
    assert "sound has no profile 'mine'; known: quick, long" in capsys.readouterr().err


@pytest.mark.fault("survived")
def test_a_truncated_result_runs_again(project):
    source, figures, log = project
    write_light(source, "sound")
    assert command(project) == 0
    first, path = result(project), figures / "sound" / "quick" / "result.json"
    path.write_text(path.read_text()[:100])
    assert command(project) == 0
    assert result(project)["metrics"] == first["metrics"]
    assert len(log.read_text().split()) == 2


def test_names_may_be_short_or_paths(project, monkeypatch):
    source, _, log = project
    write_light(source, "sound")
    write_light(source, "sounder")
    monkeypatch.chdir(source.parent)
    names = ["sound", "sound.ipynb", "notebooks/sound.ipynb", str(source / "sound.ipynb"), "./notebooks/sound"]
    assert command(project, *names) == 0
    assert command(project, "sounde") == 0
    assert log.read_text().split() == ["sound", "sounder"]


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "sede=1"], "no parameter 'sede'; did you mean 'seed'?"),
        (["-p", "seed=one"], "seed = 'one'; expected int"),
        (["-p", "n=2.5"], "n = 2.5; expected int"),
        (["-p", "seed"], "expected name=value"),
        (["-p", "sizes=3"], "sizes = 3; expected list[int]; did you mean sizes=[3]?"),
        (["-p", "sizes=many"], "sizes = 'many'; expected list[int]\n"),
        (["-p", "sizes=[1"], "-p 'sizes=[1': expected ',' or ']'"),
        (["-p", "scale=1e-3", "-p", "n=1e3"], "n = 1000.0; expected int"),  # 1e-3 is a number, though not in YAML
        (["--jobs", "0"], "jobs = 0: expected 1 or more"),
        (["elsewhere/sound.ipynb"], "no notebook 'elsewhere/sound.ipynb'"),
        (["so"], "known or near: solo, sound"),
        (["--profile", "lnog", "sound"], "known: quick, long"),
        (["sonud"], "no notebook 'sonud'"),
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
    assert f"cannot write to {project[1] / 'sound'} (Not a directory); name" in capsys.readouterr().err
    assert not project[2].exists()


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("profile", ["nope", "../..", "", ".hidden"])
def test_report_knows_its_profiles(project, profile, capsys):
    (project[1] / ".hidden").mkdir(parents=True)
    assert main(["report", "--profile", profile, "--figures", str(project[1])]) == 2
    said, known = capsys.readouterr().err.rstrip("\n").split("; known: ")
    assert said == f"fedlib: there is no profile {profile!r}"
    assert {"paper", "quick", "seeds"} <= set(known.split(", ")) and ".hidden" not in known


def percents(text):
    return [int(p) for p in re.findall(r"(\d+)%\|", text)]


def test_the_bar_starts_at_zero_and_is_full_only_after_success(project, capsys):
    write_light(project[0], "silent", last="pass")  # all cells end well, but it leaves no result
    assert command(project, "silent") == 1
    seen = percents(capsys.readouterr().err)
    assert seen[0] == 0
    assert max(seen) < 100
    (partial,) = (project[1] / "silent/.work/quick").glob("partial-*/silent.ipynb")
    assert worker.cells_done(partial) == 4
    write_light(project[0], "silent")
    assert command(project, "silent") == 0
    assert not partial.exists()
    seen = percents(capsys.readouterr().err)
    assert (seen[0], seen[-1]) == (0, 100)


def test_parameters_cell_holds_literals_only(project):
    path = project[0] / "sound.ipynb"
    notebook = nbformat.read(path, 4)
    notebook.cells[0].source += "\nderived: int = n + 1"
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match=r"'derived: int = n \+ 1'; expected 'name: type = literal'"):
        profiles.parameters_of(path)
    notebook.cells[0].metadata["tags"] = []
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match="0 cells tagged 'parameters'"):
        profiles.parameters_of(path)


ONCE = """
path = run.checkpoint("state").path
if not path.exists():
    path.parent.mkdir(parents=True)
    path.write_text("half of the work")
    1 / 0
run.finish(found=path.read_text())
"""


@pytest.mark.fault("survived")
def test_checkpoints_outlive_a_failed_run_of_the_same_code_and_nothing_else(project):
    write_notebook(project[0], "twice", last=ONCE)
    kept = project[1] / "twice" / ".work" / "quick"
    assert command(project, "twice") == 1
    write_notebook(project[0], "twice", last=ONCE + "other = True")
    assert command(project, "twice") == 1  # does not find another's state
    assert len(list(kept.glob("checkpoints-*"))) == 2
    write_notebook(project[0], "twice", last=ONCE)
    assert command(project, "twice") == 0
    assert result(project, "twice")["metrics"] == {"found": "half of the work"}
    assert not list(kept.glob("*-*"))


@pytest.mark.fault("clear error")
def test_report_names_a_damaged_file(project, capsys):
    assert command(project) == 0
    path = project[1] / "sound" / "quick" / "result.json"
    path.write_text("{")
    assert "truncated or damaged" in report("quick", project[1])


@pytest.mark.parametrize(
    ("value", "hint", "fits"),
    [
        (1, "int", True), (True, "int", False), (1, "float", True), ("a", "float", False),
        ([1, 2.0], "list[float]", True), ([1, "a"], "list[int]", False),
        (None, "float | None", True), ("x", "str", True), (True, "bool", True),
    ],
)  # fmt: skip
def test_types_of_parameters(value, hint, fits):
    assert profiles.has_type(value, hint) is fits


PACKAGE = {
    "__init__.py": 'WHERE = {"train": "engine.train"}\n',
    "engine/__init__.py": "",
    "engine/train.py": "from ..streams import draw\n\n\ndef train():\n    return draw()\n",
    "streams.py": '"""Numbers."""\n\n\ndef draw():\n    """One number."""\n    return 4\n',
    "unrelated.py": "X = 1\n",
    "plots/style.py": "def colour():\n    from .. import unrelated_to_all\n",
}


@pytest.fixture
def library(tmp_path):
    """A small fedlib with data and a lock, and a notebook that imports from it; (folder, its hash now)."""
    write_notebook(tmp_path, "nb", last="from fedlib import train\ntrain()\nrun.measure('p1.a', 1)")
    cells = [c for c in nbformat.read(tmp_path / "nb.ipynb", 4).cells if "fedlib.notebook" not in c.source]
    nbformat.write(new_notebook(cells=cells), tmp_path / "nb.ipynb")
    for name, text in PACKAGE.items():
        (tmp_path / "fedlib" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fedlib" / name).write_text(text)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/paper_numbers.yaml").write_text("papers: {}\nnumbers: {p1.a: {value: 1}, p2.a: {value: 1}}\n")
    (tmp_path / "requirements.lock").write_text("torch==2\n")
    return tmp_path, lambda **parameters: content_hash(tmp_path / "nb.ipynb", parameters, root=tmp_path)


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("fedlib/streams.py", "return 4", "return 5", True),  # imported by what a lazy export stands for
        ("fedlib/engine/train.py", "draw()", "2 * draw()", True),
        ("fedlib/streams.py", "return 4", "return 4  # chosen by a fair roll of dice", False),
        ("fedlib/streams.py", '"""One number."""', '"""Another word."""', False),
        ("fedlib/unrelated.py", "X = 1", "X = 2", False),
        ("fedlib/plots/style.py", "colour", "shade", False),
        ("fedlib/__init__.py", '"train"', '"other": "unrelated", "train"', False),
        ("fedlib/engine/__init__.py", "", "import os\n", True),
        ("data/paper_numbers.yaml", "p1.a: {value: 1}", "p1.a: {value: 2}", True),
        ("data/paper_numbers.yaml", "p2.a: {value: 1}", "p2.a: {value: 2}", False),
        ("requirements.lock", "torch==2", "torch==3", True),
        ("nb.ipynb", "n: int = 5", "n: int = 5  # a help", False),
        ("nb.ipynb", "train()\\n", "train(), 1\\n", True),
    ],
)
def test_a_stamp_is_that_of_what_the_notebook_imports(library, file, old, new, changes):
    folder, stamp = library
    before, path = stamp(n=1), folder / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1) if old else new)
    assert (stamp(n=1) != before) is changes
    assert stamp(n=1) != stamp(n=2)


def test_a_notebook_imports_the_rooms_that_it_names():
    """Of the true library: what notebook 09 imports by name, through the lazy exports and in turn, and no more."""
    cells = [c.source for c in nbformat.read(profiles.NOTEBOOKS / "09_stochastic_image.ipynb", 4).cells]
    names = {path.relative_to(ROOT / "fedlib").as_posix() for path in closure(cells, ROOT)}
    assert {
        "notebook/run.py",
        "notebook/verdicts.py",
        "federated/federation.py",
        "models/stochastic.py",
        "streams.py",
    } <= names
    assert not {n for n in names if n.startswith("pages/")} | names & {"problems/flow.py", "__main__.py", "__init__.py"}
