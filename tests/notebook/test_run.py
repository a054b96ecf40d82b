"""Comparisons with printed numbers, and result files that are whole or refused."""

import json
from types import ModuleType

import matplotlib.figure
import numpy as np
import pytest

from fedlib import files
from fedlib.notebook import run as results
from fedlib.notebook.rules import whole
from fedlib.notebook.run import Run
from fedlib.notebook.style import panels
from fedlib.notebook.verdicts import CONSISTENT, NOT_SEEN, rows_of
from fedlib.papers.fedsciml.forward import study as forward
from fedlib.trainings.settings import NOTEBOOKS, parameters_of, read_result


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path / "out"))
    return Run("nb", "quick", {"seeds": [0]})


@pytest.mark.fault("clear error")
def test_a_study_that_lacks_something_is_refused():
    study = ModuleType("room.study")
    study.NOTEBOOK = "05_pinn_forward"
    with pytest.raises(ValueError, match=r"room.study has no RULES, check; expected NOTEBOOK, RULES, check\(param"):
        Run.begin(study, {})


def test_the_profile_stands_clear_of_the_labels(run):
    fig = matplotlib.figure.Figure((1.5, 1.5), layout="constrained")
    ax = fig.subplots()
    ax.set_xlabel("steps of a long training")
    run.figure(fig, "narrow", alt="an empty panel")
    label, profile = (text.get_window_extent() for text in (ax.xaxis.label, fig.texts[0]))
    assert profile.y1 <= label.y0


def test_a_run_writes_figures_and_result(run):
    fig = matplotlib.figure.Figure()
    fig.subplots().plot([1, 2])
    run.figure(fig, "f", alt="a line")
    run.measure("fed-deeponet.table1.C20", [1.0, 1.2])
    run.measure("fed-deeponet.table1.C50", [1.0, np.inf], "in so few rounds")
    run.finish(error=np.array([1.0, 1.2]), count=np.int64(3))
    path = run.folder / "result.json"
    result = read_result(path)
    assert result["metrics"] == {"error": [1.0, 1.2], "count": 3}
    assert result["measured"]["fed-deeponet.table1.C20"] == {"values": [1.0, 1.2], "why": "", "bound": None}
    assert [row.verdict for row in rows_of(result)] == [CONSISTENT, NOT_SEEN]
    assert json.dumps(result, allow_nan=False)
    assert result["environment"]["versions"]["torch"].startswith("2.13.0")
    assert sorted(p.name for p in path.parent.iterdir()) == ["f.png", "result.json"]
    assert any(text.get_text() == "quick profile" for text in fig.texts)


def test_a_misspelt_number_fails_where_it_is_measured(run):
    with pytest.raises(KeyError, match=r"table1\.C21"):
        run.measure("fed-deeponet.table1.C21", 1.0)


@pytest.mark.fault("clear error")
def test_an_object_that_is_no_number_is_refused_and_nothing_is_left(run):
    with pytest.raises(TypeError, match="Figure cannot stand in a result file"):
        run.finish(figure=matplotlib.figure.Figure())
    assert not run.folder.exists()


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("cut", [0, 10, -3])
def test_truncated_result_file_is_refused(run, cut):
    run.finish(error=1.0)
    path = run.folder / "result.json"
    path.write_text(path.read_text()[:cut])
    with pytest.raises(ValueError, match="truncated or damaged"):
        read_result(path)


@pytest.mark.fault("clear error")
def test_result_file_without_its_fields_is_refused(tmp_path):
    path = tmp_path / "result.json"
    for content in ({"metrics": {}}, [1]):
        path.write_text(json.dumps(content))
        with pytest.raises(ValueError, match="environment, measured"):
            read_result(path)


@pytest.mark.fault("survived")
def test_atomic_write_replaces_or_leaves_alone(tmp_path):
    path = tmp_path / "a" / "x.json"
    files.write_atomically(path, "one")
    files.write_atomically(path, "two")
    assert path.read_text() == "two"
    assert [p.name for p in path.parent.iterdir()] == ["x.json"]


def test_a_changed_parameter_makes_a_custom_run(tmp_path, monkeypatch, page):
    """Its figures have a folder and a stamp of their own, and it may measure what the paper does not print."""
    defaults = {name: default for name, (_, default) in parameters_of(NOTEBOOKS / "01_pendulum.ipynb").items()}
    monkeypatch.setattr(results, "FIGURES", tmp_path)
    assert Run("01_pendulum", "quick", defaults).folder == tmp_path / "01_pendulum/quick"
    run = Run("01_pendulum", "quick", defaults | {"rounds": 5})
    assert run.custom
    assert run.folder.parent == tmp_path / "01_pendulum"
    fig, _ = panels()
    run.figure(fig, "f", alt="an empty panel")
    assert fig.texts[0].get_text() == "custom: rounds=5"
    run.measure("fed-deeponet.table1.C11", [1.0, 3.0])
    run.measure("fed-deeponet.table1.C20", [1.0])
    run.table()
    rows = page[-1][0]["text/plain"].splitlines()
    assert rows[-1].split()[:6] == ["fed-deeponet.table1.C11", "not", "printed", "2.000", "+-", "1.414"]
    assert rows[1].startswith("fed-deeponet.table1.C20 [Table 1")


def test_parameters_are_checked_by_their_rules(run):
    with pytest.raises(ValueError, match="-1 is no entry"):
        Run("nb", "quick", {"seeds": [-1]}).check(seeds=whole(0))


def test_a_notebook_reads_its_committed_result(run):
    committed = Run("01_pendulum", "quick", {}).committed()
    assert committed["notebook"] == "01_pendulum"
    assert committed["profile"] == "paper"
    with pytest.raises(ValueError, match=r"nb has no committed .*git checkout -- figures/nb/paper brings it back"):
        run.committed()


def test_a_run_that_reads_stored_trainings_says_where_these_ran(run):
    about = {"seconds": 2.0, "cpu_seconds": 1.0, "versions": {"torch": "2"}, "hardware": {"cpu": "A", "threads": 1}}
    run.trained = [about | {"backends": ["xla"]}, about | {"hardware": {"cpu": "B", "threads": 1, "gpu": None}}]
    run.finish()
    result = read_result(run.folder / "result.json")
    assert (result["wall_s"], result["core_s"]) == (4.0, 2.0)
    hardware = {"cpu": "A and B", "threads": 1, "gpu": None}
    assert result["environment"] == {"versions": {"torch": "2"}, "hardware": hardware, "backends": ["xla"]}
    before = (run.folder / "result.json").read_bytes()
    run.started -= 100
    run.finish()
    assert (run.folder / "result.json").read_bytes() == before


def test_python_3_14_leaves_no_annotations_in_a_notebook(run):
    """The names are the saved cell's, the values the kernel's."""
    typed = parameters_of(NOTEBOOKS / f"{forward.NOTEBOOK}.ipynb")
    values = {name: value for name, (_, value) in typed.items()}
    before, after = (
        Run.begin(forward, values | more) for more in ({"__annotations__": typed}, {"__annotate__": lambda kind: {}})
    )
    assert before.parameters == after.parameters == values


@pytest.mark.fault("clear error")
def test_a_folder_that_only_others_may_write_is_told_at_the_beginning(tmp_path, monkeypatch):
    (tmp_path / "teacher").touch()
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path / "teacher/quick"))
    values = {name: value for name, (_, value) in parameters_of(NOTEBOOKS / f"{forward.NOTEBOOK}.ipynb").items()}
    with pytest.raises(ValueError, match=r"cannot write to .*teacher/quick .*a copy .*FEDLIB_OUTPUT=folder"):
        Run.begin(forward, values)


def test_two_writers_with_one_process_number_do_not_meet(tmp_path):
    """Containers on one folder."""
    with files.replacing(tmp_path / "answer.png") as first:
        first.write_text("first")
        with files.replacing(tmp_path / "answer.png") as second:
            second.write_text("second")
    assert (tmp_path / "answer.png").read_text() == "first" and len([*tmp_path.iterdir()]) == 1


def test_what_a_killed_writer_has_left_is_cleared_and_no_lock(tmp_path):
    (tmp_path / ".a.nc.lock").touch()
    with files.replacing(tmp_path / "a.nc") as partial:
        partial.touch()
    partial.touch()
    (tmp_path / "a.nc").unlink()
    files.clear_partials(tmp_path / "a.nc")
    assert [path.name for path in tmp_path.iterdir()] == [".a.nc.lock"]
