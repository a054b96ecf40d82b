"""Comparisons with printed numbers, and result files that are whole or refused."""

from functools import partial
from io import BytesIO
from types import ModuleType, SimpleNamespace

import matplotlib.figure
import numpy as np
import pytest
from PIL import Image, ImageDraw

from fedlib import files
from fedlib.notebook import run as results
from fedlib.notebook.run import Run
from fedlib.notebook.style import panels
from fedlib.notebook.verdicts import CONSISTENT, NOT_SEEN, rows_of
from fedlib.trainings.settings import folder_of, read_result


def study_of(paper, **parts):
    """A room of these settings, which trains nothing."""
    nothing = {"check": lambda p: None, "trainings": lambda p: {}, "results": lambda p, histories: histories}
    return SimpleNamespace(**{"NOTEBOOK": "01_pendulum", "PAPER": paper, "RULES": {}} | nothing | parts)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path / "out"))
    return Run(study_of({"seeds": [0]}))


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
    assert sorted(p.name for p in path.parent.iterdir()) == ["README.md", "f.png", "result.json"]
    assert any(text.get_text() == "stored" for text in fig.texts)
    before = (run.folder / "f.png").read_bytes()
    fig.axes[0].plot([2, 1])
    run.figure(fig, "f", alt="two lines")
    assert (run.folder / "f.png").read_bytes() != before


def test_a_misspelt_number_fails_where_it_is_measured(run):
    with pytest.raises(KeyError, match=r"table1\.C21"):
        run.measure("fed-deeponet.table1.C21", 1.0)


@pytest.mark.fault("clear error")
def test_an_object_that_is_no_number_is_refused_and_nothing_is_left(run):
    with pytest.raises(TypeError, match="Figure cannot stand in a result file"):
        run.finish(figure=matplotlib.figure.Figure())
    assert not run.folder.exists()


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        (lambda text: "", "truncated or damaged"),
        (lambda text: text[:-3], "truncated or damaged"),
        (lambda text: '{"metrics": {}}', "environment, label, measured"),
        (lambda text: "[1]", "environment, label, measured"),
    ],
)
def test_a_result_file_that_is_not_whole_is_refused(run, damaged, words):
    run.finish(error=1.0)
    path = run.folder / "result.json"
    path.write_text(damaged(path.read_text()))
    with pytest.raises(ValueError, match=words):
        read_result(path)


@pytest.mark.fault("survived")
def test_two_writers_with_one_process_number_do_not_meet(tmp_path):
    """Containers on one folder; the file is whole at any time."""
    files.write_atomically(tmp_path / "answer.png", "before")
    with files.replacing(tmp_path / "answer.png") as first:
        first.write_text("first")
        with files.replacing(tmp_path / "answer.png") as second:
            second.write_text("second")
        assert (tmp_path / "answer.png").read_text() == "second"
    assert (tmp_path / "answer.png").read_text() == "first" and len([*tmp_path.iterdir()]) == 1


def test_what_a_killed_writer_has_left_is_cleared_and_no_lock(tmp_path):
    (tmp_path / ".a.nc.lock").touch()
    with files.replacing(tmp_path / "a.nc") as partial:
        partial.touch()
    partial.touch()
    (tmp_path / "a.nc").unlink()
    files.clear_partials(tmp_path / "a.nc")
    assert [path.name for path in tmp_path.iterdir()] == [".a.nc.lock"]


@pytest.mark.fault("clear error")
def test_a_study_that_lacks_something_is_refused():
    study = ModuleType("room.study")
    study.NOTEBOOK = "05_pinn_forward"
    with pytest.raises(ValueError, match=r"room.study has no PAPER, RULES, check, trainings, results; expected"):
        Run(study)


PAPER = {"seeds": [0, 1], "rounds": 10, "lr": 0.5, "told": False, "note": "a"}


def test_changed_parameters_have_a_folder_and_a_label_of_their_own(tmp_path, monkeypatch, page):
    """And such a run may measure what the paper does not print."""
    monkeypatch.setattr(results, "folder_of", partial(folder_of, figures=tmp_path))
    run = Run(study_of(PAPER))
    run.begin({"rounds": 10, "seeds": [0, 1], "mine": 3, "rate": 0.5})
    assert run.changed == {} and run.folder == tmp_path / "01_pendulum"
    run.begin({"rounds": 5})
    assert run.parameters == PAPER | {"rounds": 5} and run.folder.parent == tmp_path / "01_pendulum/changed"
    fig, _ = panels()
    run.figure(fig, "f", alt="an empty panel")
    assert fig.texts[0].get_text() == "rounds 5 instead of 10"
    run.measure("fed-deeponet.table1.C11", [1.0, 3.0])
    run.measure("fed-deeponet.table1.C20", [1.0])
    run.table()
    rows = page[-1][0]["text/plain"].splitlines()
    assert rows[-1].split()[:6] == ["fed-deeponet.table1.C11", "not", "printed", "2.000", "+-", "1.414"]
    assert rows[1].startswith("fed-deeponet.table1.C20 [Table 1")


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "changes",
    [{"seeds": "[0, 1]"}, {"seeds": [0.5]}, {"seeds": []}, {"rounds": 0}, {"told": "false"}, {"told": 1},
     {"minutes": -1}, {"backend": "fast"}],
)  # fmt: skip
def test_what_a_parameter_cannot_be_is_refused_by_its_name(changes):
    """papermill gives texts; 'false' is not true. Of every notebook's own parameters: tests/test_parameters.py."""
    run, (name,) = Run(study_of(PAPER)), changes
    with pytest.raises(ValueError, match=name):
        run.begin(changes)


@pytest.mark.fault("clear error")
def test_a_folder_that_only_others_may_write_is_told_at_the_beginning(tmp_path, monkeypatch):
    (tmp_path / "teacher").touch()
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path / "teacher/mine"))
    with pytest.raises(ValueError, match=r"cannot write to .*teacher/mine .*a copy .*FEDLIB_OUTPUT=folder"):
        Run(study_of(PAPER)).begin({})


def test_where_stored_trainings_ran():
    about = {"seconds": 2.0, "cpu_seconds": 1.0, "versions": {"torch": "2"}, "hardware": {"cpu": "A", "threads": 1}}
    both = [about | {"backends": ["xla"]}, about | {"hardware": {"cpu": "B", "threads": 1, "gpu": None}}]
    hardware = {"cpu": "A and B", "threads": 1, "gpu": None}
    environment = {"versions": {"torch": "2"}, "hardware": hardware, "backends": ["xla"]}
    assert results.trained_in(both) == {"environment": environment, "wall_s": 4.0, "core_s": 2.0}


def test_numbers_of_a_result_have_six_digits_and_are_finite(run):
    run.finish(error=[1 / 3, 123456789.0, 5])
    assert read_result(run.folder / "result.json")["metrics"] == {"error": [0.333333, 123457000.0, 5]}
    with pytest.raises(ValueError, match=r"metrics\['error'\]\[1\] = nan: expected a finite number"):
        run.finish(error=[1.0, np.nan])


@pytest.mark.parametrize(
    ("moved", "kept"),
    [({"shade": 8}, True), ({"y": 31}, True), ({"y": 34}, False), ({"text": "0.32"}, False), ({"shade": 99}, False)],
)
def test_a_picture_that_shows_the_same_stays_the_same_file(tmp_path, moved, kept):
    """Another processor rounds otherwise; a line that moves by more than a pixel, or a digit, is another picture."""

    def drawn(y=30, shade=0, text="0.31"):
        image = Image.new("RGB", (200, 100), "white")
        draw = ImageDraw.Draw(image)
        draw.line([(10, y), (190, 20 + y)], (shade, 90, 160), 3)
        draw.text((20, 80), text, "black")
        image.save(out := BytesIO(), "png")
        return out.getvalue()

    (tmp_path / "old.png").write_bytes(drawn())
    assert (results.kept(tmp_path / "old.png", drawn(**moved)) == drawn()) == kept
    assert results.kept(tmp_path / "none.png", drawn(**moved)) == drawn(**moved)
