"""Draws of parameters (tests/draws), with which notebooks run: ``going_on`` runs the first ones in nbval's kernels."""

import pytest

from fedlib.trainings.settings import NOTEBOOKS, check_parameters, parameters_of

from .going_on import DRAWS, FILLINGS


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda p: p.stem)
def test_draws_move_every_parameter(path):
    """Over all draws of a notebook every parameter but the profile takes another value than its default."""
    draws = [check_parameters(path, draw) for draw in DRAWS[path.stem]]
    assert len(draws) >= 4
    unmoved = [n for n, (_, default) in parameters_of(path).items() if all(draw[n] == default for draw in draws)]
    assert set(unmoved) <= {"profile", "device"}


def test_every_lesson_goes_on():
    assert {*FILLINGS} == {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
