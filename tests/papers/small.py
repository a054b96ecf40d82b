"""A study hardly trained: what a room's tests share."""

from collections.abc import Mapping
from types import ModuleType

import pytest

from fedlib.trainings.profiles import NOTEBOOKS, defaults_of
from fedlib.trainings.store import made


def fixtures(study: ModuleType, small: Mapping) -> tuple:
    """``p, histories, results = fixtures(study, SMALL)`` in a room's conftest: its notebook's parameters with some made
    small, what they train, by name, and what figures and claims take."""

    @pytest.fixture(scope="package")
    def p():
        return defaults_of(NOTEBOOKS / f"{study.NOTEBOOK}.ipynb") | small

    @pytest.fixture(scope="package")
    def histories(p):
        return made(study.trainings(p), backend="eager")

    @pytest.fixture(scope="package")
    def results(p, histories):
        return study.results(p, histories)

    return p, histories, results
