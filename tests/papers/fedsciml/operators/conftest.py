"""A study of all operators, hardly trained, on few functions and points."""

from contextlib import contextmanager

import pytest

from fedlib.papers.fedsciml.operators import study
from fedlib.trainings.store import made

P = study.PAPER | {
    "seeds": [3, 1], "lr": 0.003, "local_updates": 2,
    "levels": {"antiderivative": [10, 6, 5], "diffusion_reaction": [10], "burgers_2": [10, 2], "burgers_3": [2]},
    "steps": {"antiderivative": 8, "diffusion_reaction": 2, "burgers_2": 2, "burgers_3": 2},
}  # fmt: skip
GRID = {"places": (0, 50, 100), "times": (0, 10, 100)}


@contextmanager
def small():
    """Less of everything that the notebook's settings do not say."""
    few = {name: one._replace(functions=2, tests=4, grid=one.grid and GRID) for name, one in study.STUDIES.items()}
    line = {"functions": 6, "central": (10, 5), "E": (4, 1, 2), "E_levels": (6, 5)}
    few["antiderivative"] = few["antiderivative"]._replace(**line)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "STUDIES", few)
        patch.setattr(study, "JUMP_SEEDS", [0])
        yield


@pytest.fixture(scope="package")
def histories():
    with small():
        return made(study.trainings(P), backend="eager")


@pytest.fixture(scope="package")
def results(histories):
    with small():
        return study.results(P, histories)
