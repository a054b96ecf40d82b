"""A study of two levels, hardly trained."""

import pytest

from fedlib.papers.fedsciml.reaction import study
from fedlib.trainings.profiles import NOTEBOOKS, defaults_of
from fedlib.trainings.store import made

SMALL = {
    "levels": [8, 2], "seeds": [3, 1], "many_levels": [2], "many_seeds": [1, 0, 5], "rounds": 3, "local_updates": 2,
    "evaluations": 2, "inside": [4], "with_ends": [3], "lr": 0.01,
}  # fmt: skip


@pytest.fixture(scope="package")
def p():
    """The notebook's parameters, small."""
    return defaults_of(NOTEBOOKS / f"{study.NOTEBOOK}.ipynb") | SMALL


@pytest.fixture(scope="package")
def histories(p):
    """Name -> history."""
    return made(study.trainings(p), backend="eager")


@pytest.fixture(scope="package")
def results(p, histories):
    """What figures and claims take."""
    return study.results(p, histories)
