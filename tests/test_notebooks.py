"""Hygiene of every notebook, so that nbval checks something and nothing leaks into git."""

import dis
import re
import subprocess
import sys

import nbformat
import pytest
from papermill import inspect_notebook

from fedlib.files import ROOT
from fedlib.notebook.run import OPTIONS
from fedlib.trainings.settings import NOTEBOOKS, START, paper, parameters_of
from tools.picture_widths import sized

PATHS, SOLUTIONS = (sorted(NOTEBOOKS.glob(glob)) for glob in ("*.ipynb", "solutions/*.ipynb"))
LESSONS = [path for path in PATHS if path.stem != START]


def tags(cell):
    return cell.metadata.get("tags", [])


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_the_parameters_are_the_papers_settings_and_few(path):
    assert nbformat.read(path, 4).cells[0].source.startswith("# ")
    settings = OPTIONS | paper(path.stem)
    parameters = parameters_of(path)
    assert {name: value for name, (_, value) in parameters.items()} == {name: settings[name] for name in parameters}
    assert {"minutes", "only"} <= {*parameters} and 5 <= len(parameters) <= 12
    # papermill parses line by line, and gives up at a "=" in a comment
    assert inspect_notebook(str(path)).keys() == parameters.keys()


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_a_lesson_has_no_name_of_a_setting(path):
    """Run.begin takes it for one, wherever it was set."""
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    first = next(i for i, cell in enumerate(cells) if "parameters" in tags(cell))
    code = "\n".join(cell.source for cell in cells[:first])
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}
    assert names and not names & {*OPTIONS, *paper(path.stem)}


@pytest.mark.parametrize("path", PATHS + SOLUTIONS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_hygiene(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    checked = [c for c in code if "nbval-check-output" in tags(c)]
    assert checked, "no cell is compared: tag the facts with nbval-check-output"
    for cell in checked:
        assert "keep_output" in tags(cell), f"its output would be stripped: {cell.source[:60]}"
        text = "\n".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)
        streams = [o.name for o in cell.outputs if o.output_type == "stream"]
        assert len(streams) == len({*streams}), (
            f"a page would show its lines in two boxes (make facts): {cell.source[:60]}"
        )
        assert text.strip(), f"nbval compares nothing: store the output (make facts): {cell.source[:60]}"
        assert cell.execution_count is not None, "nbval passes vacuously on a cell without execution count"
        if not cell.source.startswith(("show(", "run.report(")):
            plain = re.sub(r"[\d.]+ %", " ", text)  # in_percent has two digits that count
            assert not re.search(r"\d\.\d{3,}", plain), "raw floats differ between machines: print verdicts"
    for cell in code:
        if "parameters" not in tags(cell):  # there papermill wants a line for each
            assert max(map(len, cell.source.splitlines())) <= 110, f"a long line: {cell.source[:60]}"
        assert len(cell.source.splitlines()) <= 40, f"{len(cell.source.splitlines())} lines: {cell.source[:60]}"
        kept = {"nbval-check-output", "keep_output"} & set(tags(cell))
        assert kept or not cell.outputs, f"outputs are stripped (make format): {cell.source[:60]}"
        assert ".index(" not in cell.source, "results are found by their names, not by a position"
        assert "papermill" not in cell.metadata
    assert "widgets" not in notebook.metadata
    assert "papermill" not in notebook.metadata
    assert not re.search(r"(/home/|/work/|/tmp/|/root/|[A-Z]:\\\\)", nbformat.writes(notebook)), "absolute path"


def test_ruff_formats_the_notebooks():
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--check", NOTEBOOKS], capture_output=True, text=True
    )
    assert done.returncode == 0, f"make format: {done.stdout}"


def test_the_hook_leaves_committed_notebooks_as_they_are():
    (entry,) = re.findall(r"entry: \.venv/bin/(nbstripout.*)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert entry in (ROOT / "Makefile").read_text()
    done = subprocess.run(
        [sys.executable, "-m", *entry.split(), "--verify", *PATHS, *SOLUTIONS], capture_output=True, text=True
    )
    assert done.returncode == 0, f"make format: {done.stdout}"


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_every_exercise_has_a_solution(path):
    cells = [cell.source for cell in nbformat.read(path, 4).cells]
    lists = [cell.partition("xercises\n")[2] for cell in cells]  # a lesson has more of them at its end
    exercises = [number for text in lists for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]
    solutions = "\n".join(c.source for c in nbformat.read(path.parent / "solutions" / path.name, 4).cells)
    assert exercises
    assert re.findall(r"^## (\d+)", solutions, re.MULTILINE) == exercises


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_a_page_that_one_can_read(path):
    """A picture among the first ten; sources alone in their cells; widgets that say what to run first."""
    code = [c for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    for cell in code:
        lines = cell.source.splitlines()
        if any(line.startswith("show(") for line in lines):
            assert "keep_output" in tags(cell), f"a reader without a kernel does not see {lines[0]}"
            assert cell.source.startswith("show("), f"a source stands alone in its cell: {lines[0]}"
        if "_explorer(" in cell.source:
            assert "with pages.after(" in cell.source, f"NameError where this is run too early: {lines[0]}"
    figure = re.compile(r"(pages\.inline|run\.figure)\(|<img ")
    shown = [i for i, c in enumerate(nbformat.read(path, 4).cells) if figure.search(c.source)]
    assert shown[0] < 10, f"the first picture is in cell {shown[0]}"


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_stored_pictures_are_there_as_wide_as_those_of_a_run_and_say_what_one_sees(path):
    """A link to a committed figure is a promise; `make format` writes the widths."""
    links = re.findall(r"""(?:\]\(|src=\\?")(\.\./figures/[^)"\\]+)""", path.read_text())
    assert links and all((path.parent / link).exists() for link in links)
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"]
    for cell in cells:
        assert sized(cell.source, path.parent) == cell.source
        assert all(len(alt) > 10 for alt in re.findall(r'<img [^>]*alt="(.*?)"', cell.source))
