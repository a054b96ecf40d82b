"""What notebook 05 trains follows from its parameters and one table; its results are arrays of what is whole."""

from dataclasses import replace

import numpy as np
import pytest

from fedlib.federated.experiment import data_of
from fedlib.federated.partitions import private
from fedlib.federated.rules import RULES
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


def test_what_the_parameters_do_not_mention_comes_from_the_table(p):
    some = {"problems": ["poisson", "beam"], "levels": {"beam": [10, 2, 10]}, "rounds": {"beam": 7}}
    calls = study.trainings(p | some | {"seeds": [3], "poisson_seeds": [4]})
    assert calls["poisson"].levels == [2, 4, 6, 8, 10, 16, 32] and calls["poisson"].changes["rounds"] == 1000
    assert calls["beam"].levels == [10, 2] and calls["beam"].changes["rounds"] == 7
    assert [calls[name].seeds for name in ("poisson", "beam", "gap")] == [[4], [3], [3]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"levels": {"poisson": [2, 3]}}, "Poisson, pieces 3.* 3 subdomains cannot be dealt"),
        ({"gap_level": 7}, "Poisson, pieces 7"),
        ({"rounds": {"poison": 3}}, "'poison' is none of poisson"),
        ({"problems": ["allen_cahn_3"], "levels": {"allen_cahn_3": [4]}}, "use a multiple of 3"),
    ],
)
def test_what_no_parameter_tells_alone_is_refused(p, wrong, message):
    study.check(p)
    with pytest.raises(ValueError, match=message):
        study.check(p | wrong)


def test_only_what_is_trained_at_both_ends_is_shown(p):
    p |= {"problems": ["poisson", "beam"], "levels": {"poisson": [2, 8, 32], "beam": [2, 10]}}
    histories = {
        "poisson": sweep(problem.poisson(), [32, 2], [0], rounds=2, evaluations=2, **EAGER),
        "beam": sweep(problem.euler_beam(), [2], [0], rounds=2, **EAGER),
    }
    results = study.results(p, histories)
    assert [*results.errors] == [*results.divergences] == [*results.solutions] == ["poisson"] and not results.gap
    values = results.errors["poisson"]
    assert values.level.values.tolist() == [2, 32] and (values.distance.diff("level") < 0).all()
    assert results.last["poisson"].equals(values[-1]) and values.sizes["round"] == 2
    assert [*results.solutions["poisson"].models] == [2, 32]


def test_rates_are_tried_constant_and_falling_and_validation_points_stand_beside(p):
    """Of two levels and seeds, two rounds: each setting is the sweep that it says."""
    p |= {"problems": ["poisson"], "levels": {"poisson": [2, 8]}, "rounds": {"poisson": 2}}
    p |= {"rates": [0.001, 0.03], "poisson_seeds": [3, 1], "seeds": [3]}
    calls = {name: call for name, call in study.trainings(p).items() if name in ("rates", "longer")}
    histories = made(calls, **EAGER)
    rates, longer = study.rated(histories["rates"]), study.federated(histories["longer"])
    assert dict(rates.error.sizes) == {"schedule": 2, "lr": 2, "level": 2, "seed": 2} and rates.error.notnull().all()
    falls = sweep(problem.poisson_in_halves(), [8], [1], rounds=2, lr=0.03, decay=Cosine(2), **EAGER)
    for name, metric in (("error", "error"), ("validation", "validation error")):
        one = errors(falls, metric).isel(round=-1)
        value = rates[name].sel(schedule="falling", lr=0.03, level=8, seed=1)
        np.testing.assert_allclose(value, one.sel(kind="federated", level=8, seed=1), rtol=1e-6)
    assert longer["round"][-1] == 20 and longer.dims == ("round", "level", "seed")
    np.testing.assert_allclose(
        longer.sel(round=2, level=2), rates.error.sel(schedule="constant", lr=0.001, level=2, seed=[3]), rtol=1e-5
    )


# why Poisson's federation stays behind


RULES_TRIED = ["FedAvg", "FedProx", "fresh correction + averaged moments"]


@pytest.fixture(scope="module")
def gap():
    p = quick(study)
    p |= {"problems": ["poisson"], "seeds": [3, 1], "gap_rules": RULES_TRIED, "rounds": {"poisson": 2}}
    return p, made({"gap": study.trainings(p)["gap"]}, **EAGER)["gap"]


def test_a_rule_takes_the_knob_with_the_smallest_error_on_the_points_between_and_is_charged(gap):
    p, history = gap
    values = study.gap(p, history)
    for E in (5, 1):
        tried = {
            knob: errors(history, "validation error")[-1].sel(rule="FedProx", knob=knob, E=E).mean().item()
            for knob in RULES["FedProx"].knobs
        }
        knob = min(tried, key=tried.get)
        assert values.knob.sel(rule="FedProx", E=E) == knob
        chosen = errors(history)[-1].sel(rule="FedProx", knob=knob, E=E).values.ravel()
        np.testing.assert_array_equal(values.error.sel(rule="FedProx", E=E), chosen)
    P = sum(parameters.numel() for parameters in problem.poisson().net.parameters())
    for rule, vectors in zip(RULES_TRIED, (1, 1, 4), strict=True):
        for E in (5, 1):
            assert values.megabytes.sel(rule=rule, E=E) == pytest.approx(4 * vectors * P * 2 * (10 // E) / 1e6)


def test_a_knob_that_diverges_for_one_seed_is_not_chosen(gap):
    p, history = gap
    knob = study.gap(p, history).knob.sel(rule="FedProx", E=5).item()
    values = history.metrics["validation error"].copy()
    values[:, history.rows["federated", 32, 3, "FedProx", knob, 5]] = np.nan
    diverged = replace(history, metrics=history.metrics | {"validation error": values})
    assert {knob, study.gap(p, diverged).knob.sel(rule="FedProx", E=5).item()} == {*RULES["FedProx"].knobs}
