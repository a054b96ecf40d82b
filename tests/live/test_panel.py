"""Controls for a notebook's parameters: what they say, what they refuse, the run behind them, and its end."""

import re
import time

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image

from fedlib.live.panel import ParameterPanel, control_of, helps_of, parameters, parsed
from fedlib.papers.studies import STUDIES
from fedlib.trainings.settings import NOTEBOOKS, parameters_of

PARAMETERS = """rounds: int = 5  # R
lr: float = 0.01  # of "Adam" # and SGD
sizes: list[int] = [1, 2]
told: bool = (
    True  # in brackets
)
backend: str = "auto"  # eager or xla
pause: float = 0.0"""


WORK = """import json, os, time
from pathlib import Path
time.sleep(pause)
out = Path(os.environ["FEDLIB_OUTPUT"])
keys = "notebook changed parameters environment wall_s measured claims label".split()
result = dict.fromkeys(keys, {}) | {"notebook": "tiny", "label": "x", "metrics": {}}
result |= {"measured": {}, "wall_s": 1.0}
(out / "result.json").write_text(json.dumps(result))
(out / "curve.png").write_bytes(bytes.fromhex(picture))"""


@pytest.fixture
def tiny(tmp_path):
    """A panel of a small notebook whose figure is one pixel."""
    source, figures = tmp_path / "notebooks", tmp_path / "figures"
    source.mkdir()
    Image.new("RGB", (1, 1)).save(tmp_path / "one.png")
    picture = f'picture = "{(tmp_path / "one.png").read_bytes().hex()}"'
    cells = [new_code_cell(PARAMETERS), new_code_cell(picture), new_code_cell(WORK)]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), source / "tiny.ipynb")
    (figures / "tiny").mkdir(parents=True)
    Image.new("RGB", (2, 2)).save(figures / "tiny/curve.png")
    made = ParameterPanel(source / "tiny.ipynb", figures)
    yield made
    made.end("the test is over")


def finish(panel, seconds=300):
    end = time.monotonic() + seconds
    while panel.thread is not None:
        assert time.monotonic() < end
        time.sleep(0.05)
        panel.look()


def test_helps_are_the_comments(tiny):
    expected = ["R", 'of "Adam" # and SGD', "", "in brackets", "eager or xla", ""]
    assert list(helps_of(tiny.notebook).values()) == expected


@pytest.mark.parametrize("notebook", STUDIES)
def test_every_parameter_of_every_notebook_goes_through_its_control(notebook):
    path = NOTEBOOKS / f"{notebook}.ipynb"
    assert helps_of(path).keys() == parameters_of(path).keys()
    for name, (hint, value) in parameters_of(path).items():
        assert parsed(control_of(name, hint, value).value, hint) == value
    assert not [name for name, words in helps_of(path).items() if len(words.split()) < 2 or "fmt:" in words]


def test_wrong_input_is_refused_in_place(tiny):
    for name, text, words in (
        ("rounds", "many", "rounds = &#x27;many&#x27;; expected int"),
        ("rounds", "0", "rounds = 0: expected a whole number &gt;= 1"),
        ("sizes", "3", "did you mean sizes=[3]?"),
    ):
        before = tiny.controls[name].value
        tiny.controls[name].value = text
        assert words in tiny.notes[name].value and tiny.controls[name].layout.border
        assert not any("✗" in note.value for other, note in tiny.notes.items() if other != name)
        assert tiny.run.disabled
        tiny.run.click()
        assert tiny.thread is None
        tiny.controls[name].value = before
        assert "✗" not in tiny.notes[name].value and not tiny.controls[name].layout.border
        assert not tiny.run.disabled


def test_a_run_and_its_figures_side_by_side(tiny):
    paper = tiny.pictures["the paper's settings"]
    assert paper.alt == "figure curve of the paper's settings" and paper.value
    assert "Nothing is trained" in tiny.estimate.value
    tiny.controls["rounds"].value = "6"
    assert tiny.estimate.value.startswith("rounds 6 instead of 5: what that asks for is trained for at most 3 minutes")
    tiny.run.click()
    assert tiny.run.disabled and not tiny.cancel.disabled
    finish(tiny)
    assert "done after" in tiny.message.value
    assert [tiny.beside[words].layout.display for words in tiny.pictures] == ["flex", "flex"]
    assert tiny.pictures["this run"].value
    assert not tiny.run.disabled and tiny.cancel.disabled
    (left,) = (tiny.figures / "tiny/changed").glob("[!.]*")
    assert tiny.folders["this run"] == left
    tiny.run.click()
    assert tiny.thread is None and "up to date" in tiny.message.value


def test_cancel_ends_the_run_and_leaves_no_process(tiny):
    before = set(psutil.Process().children(recursive=True))  # of other tests
    tiny.controls["pause"].value = "1000.0"
    tiny.run.click()
    end = time.monotonic() + 300
    while not re.match("cell [2-9]", tiny.message.value):  # the kernel is at work
        assert time.monotonic() < end
        time.sleep(0.05)
        tiny.look()
    processes = set(psutil.Process().children(recursive=True)) - before
    assert len(processes) > 1
    tiny.cancel.click()
    psutil.wait_procs(processes, 10)
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)
    assert "cancelled" in tiny.message.value and not tiny.run.disabled
    assert not list((tiny.figures / "tiny/changed").glob("[!.]*"))


def test_a_panel_of_a_real_notebook():
    box = parameters("04_function_approximation")
    assert len(box.children) > len(parameters_of(NOTEBOOKS / "04_function_approximation.ipynb"))
