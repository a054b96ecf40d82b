"""What notebook 05 trains follows from its parameters and one table; its results are arrays of what is whole."""

import numpy as np
import pytest

from fedlib.federated.experiment import data_of
from fedlib.federated.partitions import private
from fedlib.federated.schedules import Cosine
from fedlib.federated.sweep import errors, sweep
from fedlib.papers.fedsciml.forward import problem, study
from fedlib.trainings.store import made

from ...small import quick

EAGER = {"backend": "eager"}


@pytest.fixture
def p():
    """The notebook's parameters, small."""
    small = {f"helmholtz_{name}": value for name, value in {"k0": 1.5, "side": 6, "boundary": 8}.items()}
    small |= {"allen_cahn_lines": 12, "allen_cahn_times": 5, "allen_cahn_boundary": 4, "allen_cahn_initial": 3}
    small |= {"allen_cahn_d": 0.02, "allen_cahn_k": 2.0}
    small["levels"] = {name: [6] for name in study.STUDIES}
    return quick(study) | small


def test_clients_with_and_without_the_shared_points(p):
    shared, alone = (
        [len(data_of(e, 6).pool["x"]) - sum(map(len, private(data_of(e, 6).owners))) for e in experiments.values()]
        for experiments in (study.experiments(p | {"share_points": share}) for share in (True, False))
    )
    assert shared == [0, 8, 7, 0, 2] and alone == [0] * 5


def test_only_what_is_trained_at_both_ends_is_shown(p):
    p |= {"problems": ["poisson", "beam"], "levels": {"poisson": [2, 8, 32], "beam": [2, 10]}}
    histories = {
        "poisson": sweep(problem.poisson(), [32, 2], [0], rounds=2, evaluations=2, **EAGER),
        "beam": sweep(problem.euler_beam(), [2], [0], rounds=2, **EAGER),
    }
    results = study.results(p, histories)
    assert [*results.errors] == [*results.divergences] == [*results.solutions] == ["poisson"]
    assert results.errors["poisson"].level.values.tolist() == [2, 32] == [*results.solutions["poisson"].models]


def test_rates_are_tried_constant_and_falling(p):
    """Each setting is the sweep that it says; who goes on longer begins as the others."""
    p |= {"problems": ["poisson"], "levels": {"poisson": [2, 8]}, "rounds": {"poisson": 2}}
    p |= {"rates": [0.001, 0.03], "poisson_seeds": [3, 1], "seeds": [3]}
    calls = study.trainings(p)
    histories = made({name: calls[name] for name in ("rates", "longer")}, **EAGER)
    rates, longer = study.rated(histories["rates"]), study.federated(histories["longer"])
    falls = errors(sweep(problem.poisson_in_halves(), [8], [1], rounds=2, lr=0.03, decay=Cosine(2), **EAGER))
    value = rates.error.sel(schedule="falling", lr=0.03, level=8, seed=1)
    np.testing.assert_allclose(value, falls[-1].sel(kind="federated", level=8, seed=1), rtol=1e-6)
    constant = rates.error.sel(schedule="constant", lr=0.001, level=2, seed=[3])
    np.testing.assert_allclose(longer.sel(round=2, level=2), constant, rtol=1e-5)
