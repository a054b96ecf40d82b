"""Results of what is stored, once for all tests of the room."""

import pytest

from fedlib.notebook.run import Run
from fedlib.papers.beyond.one_round import study


@pytest.fixture(scope="session")
def results() -> study.Results:
    return Run(study).results()
