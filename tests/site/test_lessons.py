"""What lesson plans tell teachers to expect is what comes out: of the page's training, of committed runs."""

import re

import numpy as np
import pytest

from fedlib.files import ROOT
from fedlib.runs.results import committed
from fedlib.site import pieces

from .node import evaluate

LESSONS = sorted((ROOT / "site/lessons").glob("*.md"))

RUN = """
    return given.map(({ rounds, ...controls }) => {
        const run = M.begin({ rate: 0.01, ...controls });
        for (let r = 0; r < rounds; r++) M.oneRound(run);
        return run.errors;
    });
"""


def rows(name, columns):
    """The rows of a lesson's table with so many columns, without its head."""
    lines = re.findall(r"^\| (.*) \|$", (ROOT / "site/lessons" / name).read_text(), re.MULTILINE)
    return [cells for cells in (line.split(" | ") for line in lines) if len(cells) == columns][1:]


def test_lesson_04_says_what_the_page_shows(tmp_path):
    table = rows("04.md", 8)
    assert len(table) == 9
    controls = [
        {"K": int(K), "pieces": int(p), "E": int(E), "averaging": server == "averages", "rounds": int(r)}
        for K, p, E, server, r, *_ in table
    ]
    seen = evaluate(pieces.Training._esm, RUN, controls, tmp_path)
    for row, errors in zip(table, seen, strict=True):
        said = [float(number) for number in re.findall(r"\d+", " ".join(row[5:]))]
        shown = [errors["server"], *errors["clients"], errors["centralised"]]
        np.testing.assert_allclose(said, shown, rtol=0, atol=0.6, err_msg=str(row))
    blue = [errors["server"] for errors in seen]
    assert blue[1] < blue[2] < blue[3] < blue[4]  # talking less often costs
    assert blue[6] < blue[5]  # mixed data help
    assert min(seen[7]["clients"]) > 100  # alone


def test_lesson_01_says_what_the_committed_run_says():
    means = committed("01_pendulum")["metrics"]["mean_error_percent"]
    table = [cells for cells in rows("01.md", 2) if cells[0] in means]
    assert len(table) == 9
    for run, said in table:
        assert float(said) == round(float(np.mean(means[run])), 2), run


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_numbers_in_the_text_stand_in_the_tables(path):
    text = path.read_text()
    words, table = text.split("The numbers above")
    body = words.split("## Questions")[1]
    known = set(re.findall(r"\d+(?:\.\d+)?", table)) | {"83", "100"}  # all begin with 83 %; "more than 100 %"
    for numbers in re.findall(r"((?:\d+(?:\.\d+)?(?:, | and | to | → )?)+) %", body):
        assert set(re.findall(r"\d+(?:\.\d+)?", numbers)) <= known, numbers


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_exercises_have_solutions(path):
    notebook = re.search(r"notebooks/solutions/(\w+)\.ipynb", path.read_text())[1]
    text = (ROOT / "notebooks/solutions" / f"{notebook}.ipynb").read_text()
    for number in re.findall(r"(\d) \(", path.read_text().split("## Questions")[0]):
        assert f'"## {number} ' in text, number
