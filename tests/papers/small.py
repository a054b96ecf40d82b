"""A study hardly trained: what a room's tests share."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from fedlib.notebook.relations import judged
from fedlib.trainings.store import made


def quick(study: ModuleType, **changes) -> dict:
    """Settings of a study that train in seconds: tests/papers/quick."""
    path = Path(__file__).parent / "quick" / f"{study.NOTEBOOK}.yaml"
    return study.PAPER | yaml.safe_load(path.read_text()) | changes


def fixtures(study: ModuleType, small: Mapping) -> tuple:
    """``p, histories, results = fixtures(study, SMALL)`` in a room's conftest: its quick settings with some made small,
    what they train, by name, and what figures and claims take."""

    @pytest.fixture(scope="package")
    def p():
        return quick(study, **small)

    @pytest.fixture(scope="package")
    def histories(p):
        return made(study.trainings(p), backend="eager")

    @pytest.fixture(scope="package")
    def results(p, histories):
        return study.results(p, histories)

    return p, histories, results


def both_outcomes(claims: Mapping, cases: Mapping[str, tuple], paper: str) -> Callable:
    """A room's test of its claims; cases: id without the paper's name -> results on which the claim holds, and on which
    it fails."""

    @pytest.mark.parametrize("id", cases)
    def test_a_claim_holds_and_fails(id):
        holds, fails = (judged(claims[f"{paper}.{id}"], made) for made in cases[id])
        assert holds.holds is True and fails.holds is False and holds.why and fails.why

    return test_a_claim_holds_and_fails
