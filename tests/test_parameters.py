"""Draws of settings (tests/draws), with which notebooks run: ``going_on`` runs the first ones in nbval's kernels."""

import datetime

import pytest

from fedlib.notebook.run import OPTIONS, Run
from fedlib.papers.studies import STUDIES
from fedlib.trainings.settings import NOTEBOOKS, check_type, has_type, hint_of, paper, parameters_of

from .going_on import DRAWS, FILLINGS


@pytest.mark.parametrize("notebook", STUDIES)
def test_draws_move_every_parameter(notebook):
    """Draws set settings of the paper; over all of them each of the parameters cell takes another value than there."""
    draws, settings = DRAWS[notebook], OPTIONS | paper(notebook)
    assert len(draws) >= 4
    for draw in draws:
        for name, value in draw.items():
            check_type(notebook, name, value, hint_of(settings[name]))
    parameters = parameters_of(NOTEBOOKS / f"{notebook}.ipynb").items()
    unmoved = {name for name, (_, default) in parameters if all(draw.get(name, default) == default for draw in draws)}
    assert unmoved <= {*OPTIONS}


def test_every_lesson_goes_on():
    assert {*FILLINGS} == {*STUDIES}


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("notebook", STUDIES)
def test_a_value_of_another_type_is_refused_by_its_name(notebook):
    """What papermill's command line makes of one: a text, nothing, a date, one for a list; and no number."""
    run = Run(STUDIES[notebook])
    for name, (hint, value) in parameters_of(NOTEBOOKS / f"{notebook}.ipynb").items():
        others = [str(value), "false", None, float("nan"), datetime.date(2026, 1, 2), 1.5]
        for other in [other for other in others if not has_type(other, hint) or other != other]:
            with pytest.raises(ValueError, match=name):
                run.begin({name: other})
