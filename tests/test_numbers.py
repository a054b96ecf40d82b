"""A percentage that a lesson names is printed by a cell which nbval compares, in the notebook or in its solutions: so
the text says what the stored trainings and the rounds by hand give."""

import re

import nbformat
import pytest

from fedlib.files import ROOT
from fedlib.trainings.settings import NOTEBOOKS

from .going_on import parts

NUMBER = r"\d+(?:\.\d+)?"
PERCENTAGES = re.compile(rf"(?:({NUMBER}) (?:to|and|or|for|against) )?({NUMBER}) %")

NOT_FOUND_OUT = {
    "01_pendulum": [],
    "02_heterogeneity": ["15"],
    "03_pendulum_library": [],
    "04_function_approximation": [],
    "05_pinn_forward": ["95"],
    "06_flow": [],
    "06b_reaction": [],
    "07_operator_learning": [],
    "08_stochastic_regression": [],
    "08b_as_coded": ["95"],
    "09_stochastic_image": [],
    "10_transport": [],
    "10b_digits": [],
    "11_client_drift": ["95"],
    "12_real_federation": [],
    "13_one_round": [],
    "14_sums_for_networks": [],
    "15_instruments": [],
}
"""Percentages that nobody here measured: settings, what an interval covers, what a question proposes."""


def percentages(text: str) -> list[str]:
    """Numbers before a %, both of "2 to 3 %"."""
    return [number for pair in PERCENTAGES.findall(text) for number in pair if number]


def printed(path) -> set[str]:
    """Percentages that checked cells print, and all numbers of a line with "(%)"."""
    if not path.exists():
        return set()
    cells = [cell for cell in nbformat.read(path, 4).cells if "nbval-check-output" in cell.metadata.get("tags", [])]
    outputs = [output for cell in cells if not cell.source.startswith("show(") for output in cell.outputs]
    text = "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)
    lists = [line for line in text.splitlines() if "(%)" in line]
    return {*percentages(text), *re.findall(NUMBER, "\n".join(lists))}


@pytest.mark.parametrize("name", NOT_FOUND_OUT)
def test_a_percentage_that_a_lesson_names_is_printed(name):
    part_a, _ = parts(nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells)
    words = [cell.source for cell in part_a if cell.cell_type == "markdown"]
    in_the_page = "**Watch it train**, in your browser"  # which test_lessons plays
    named = percentages("\n".join(text for text in words if not text.startswith(in_the_page)))
    known = printed(NOTEBOOKS / f"{name}.ipynb") | printed(NOTEBOOKS / "solutions" / f"{name}.ipynb")
    unseen = [number for number in named if number not in known]
    assert sorted({*unseen}) == sorted({*NOT_FOUND_OUT[name]}), f"no checked cell prints {unseen} %"


def test_a_percentage_of_the_readme_is_printed_by_the_notebook_that_it_names():
    """But for the interval beside what the paper of notebook 03 prints."""
    unseen = []
    for line in (ROOT / "README.md").read_text().splitlines():
        named = percentages(line)
        notebooks = re.findall(r"notebooks/(\w+)\.ipynb", line) if named else []
        known = {number for name in notebooks for number in printed(NOTEBOOKS / f"{name}.ipynb")}
        unseen += [number for number in named if number not in known]
    assert unseen == ["2.05", "7.4"]
