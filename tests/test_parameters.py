"""Draws of settings (tests/draws), with which notebooks run: ``going_on`` runs the first ones in nbval's kernels."""

import pytest

from fedlib.notebook.run import OPTIONS
from fedlib.trainings.settings import NOTEBOOKS, check_type, hint_of, paper, parameters_of

from .going_on import DRAWS, FILLINGS


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda p: p.stem)
def test_draws_move_every_parameter(path):
    """Draws set settings of the paper; over all of them each of the parameters cell takes another value than there."""
    draws, settings = DRAWS[path.stem], OPTIONS | paper(path.stem)
    assert len(draws) >= 4
    for draw in draws:
        for name, value in draw.items():
            check_type(path.stem, name, value, hint_of(settings[name]))
    parameters = parameters_of(path).items()
    unmoved = {name for name, (_, default) in parameters if all(draw.get(name, default) == default for draw in draws)}
    assert unmoved <= {*OPTIONS}


def test_every_lesson_goes_on():
    assert {*FILLINGS} == {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
