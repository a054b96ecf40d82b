"""Results of the paper profile, once for all tests of the room."""

import pytest

from fedlib.papers.beyond.one_round import study
from fedlib.trainings.profiles import NOTEBOOKS, defaults_of, profile_parameters
from fedlib.trainings.store import calls_of, stored


@pytest.fixture(scope="session")
def results() -> study.Results:
    path = NOTEBOOKS / f"{study.NOTEBOOK}.ipynb"
    parameters = defaults_of(path) | profile_parameters(path, "paper")
    return study.results(parameters, {name: stored(study, name) for name in calls_of(study)})
