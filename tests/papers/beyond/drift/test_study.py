"""What is trained, what validation chooses, and what is kept of earlier runs."""

import numpy as np
import pytest
import torch
import xarray

from fedlib.federated.batches import Local
from fedlib.federated.schedules import Cosine
from fedlib.papers.beyond.drift import problem, study
from fedlib.papers.beyond.drift.study import CENTRAL, REPAIR
from fedlib.trainings import store
from fedlib.trainings.calls import Call

EXACT = {"dtype": torch.float64, "backend": "eager"}
TWO = [1e-3, 1e-2]
RATES = {"line_20": {"FedAvg": TWO, REPAIR: TWO, CENTRAL: TWO}}
SMALL = {"seeds": [2, 5], "problems": ["line_20"], "local_updates": 4, "share": 1.0, "rates": RATES, "further": {}}
SMALL |= {"falling": {}}


def small_line():
    """Sixteen points, a narrow network, eight steps."""
    return problem.line(16, 4)._replace(rounds=2, local=Local(4))


@pytest.fixture
def line(monkeypatch):
    studied = study.Studied(small_line, 4, "wave")
    monkeypatch.setitem(study.PROBLEMS, "line_20", studied)


def made(p):
    calls = {name: call for name, call in study.trainings(p).items() if name[0] in p["problems"]}
    return {name: call.run(**EXACT) for name, call in calls.items()}


def results(p):
    return study.results(p, made(p) | {"earlier": study.earlier()})


def test_validation_chooses_the_rate_and_the_test_set_does_not(line):
    history = made(SMALL)["line_20", "rules"]
    best = study.best(history)
    error, validation = (study.one_level(history, name)[-1] for name in ("error", "validation error"))
    for rule in ("FedAvg", REPAIR):
        score = validation.sel(rule=rule, knob=0).mean("seed")
        lr = score.lr[np.argmin(score.values)]
        assert float(best.error.sel(rule=rule).lr) == lr
        np.testing.assert_array_equal(best.error.sel(rule=rule), error.sel(rule=rule, knob=0, lr=lr))
        assert float(best.score.sel(rule=rule)) == float(score.min())
        np.testing.assert_allclose(best.path.sel(rule=rule)[-1], best.error.sel(rule=rule).mean())


def test_a_rule_has_the_schedule_that_validation_points_choose(line):
    p = SMALL | {"falling": {"line_20": {"FedAvg": [1e-2], CENTRAL: [1e-3]}}}
    calls, histories = study.trainings(p), made(p)
    assert calls["line_20", study.FALLING].changes["decay"] == Cosine(2)
    for falls, value in ((True, 1e-9), (False, 1e9)):  # made up
        scores = histories["line_20", study.FALLING].metrics["validation error"]
        scores[:] = value
        chosen = study.results(p, histories | {"earlier": study.earlier()})
        error, of = chosen.errors["line_20"], chosen.tried["line_20"]
        assert error["rule"].values.tolist() == ["FedAvg", REPAIR, CENTRAL]
        assert (error.schedule.sel(rule="FedAvg") == study.FALLING) == falls
        assert error.schedule.sel(rule=REPAIR) == study.CONSTANT, "it was not tried with others"
        schedule = study.FALLING if falls else study.CONSTANT
        np.testing.assert_array_equal(error.sel(rule="FedAvg"), of[schedule].error.sel(rule="FedAvg"))
        _, path = study.better(of)
        np.testing.assert_allclose(path.sel(rule="FedAvg")[-1], error.sel(rule="FedAvg").mean())


def test_a_rate_that_diverges_for_a_seed_is_out(line):
    history = made(SMALL)["line_20", "rules"]
    least = study.best(history).error.lr.sel(rule="FedAvg").item()
    key = ("federated", 4, 5, "FedAvg", 0.0, least)
    history.metrics["validation error"][:, history.rows[key]] = np.nan
    assert study.best(history).error.lr.sel(rule="FedAvg").item() != least


def test_a_rule_goes_on_to_rates_of_its_own_and_to_values_of_its_knob(line):
    further = {"line_20": {"FedAvg": [0.1], CENTRAL: [1e-4]}}
    rates = {"line_20": RATES["line_20"] | {"FedAdam": TWO, "Mime": {1e-4: [1e-3]}}}
    calls = study.trainings(SMALL | {"rates": rates, "further": further})
    labels, central = ([key[3:] for key in Call.keys(calls["line_20", part])] for part in ("rules", CENTRAL))
    assert {lr for rule, _, lr in labels if rule == "FedAvg"} == {1e-3, 1e-2, 0.1}
    assert {lr for rule, _, lr in labels if rule == REPAIR} == {1e-3, 1e-2}
    assert {knob for rule, knob, _ in labels if rule == "FedAdam"} == {*study.AGAINST_DRIFT["FedAdam"].knobs}
    assert {label for label in labels if label[0] == "Mime"} == {("Mime", 1e-4, 1e-3)}
    assert central == [(1e-4,)] * 2 + [(1e-3,)] * 2 + [(1e-2,)] * 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"falling": {"line_20": {"FedAvrg": [0.1]}}}, "'FedAvrg' is none of FedAvg"),
        ({"further": {"line_21": {}}}, "line_21"),
    ],
)
def test_what_there_is_not_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        study.check(SMALL | change)


def test_other_numbers_of_local_steps_are_those_of_an_earlier_run(line):
    """Of today's what there is counts; what diverged is a gap."""
    assert study.lengths(SMALL | {"local_updates": 1}, "line_20")["constant"]["rounds"] == 8, (
        "as many steps in all as two of four"
    )
    kept = [[[7.0, 8.0], [1.0, 1.0]], [[np.inf, 9.0], [2.0, 2.0]]]
    old = xarray.Dataset(
        {"local_steps": (("problem", "rule", "E", "seed"), [kept])},
        {"problem": ["line_20"], "rule": ["FedAvg", "Mime"], "E": [2, 4], "seed": [2, 5]},
    )
    one = study.results(SMALL, made(SMALL) | {"earlier": old})
    steps = one.local_steps["line_20"]
    assert steps.E.values.tolist() == [2, 4] and steps.dims == ("rule", "E", "seed")
    np.testing.assert_array_equal(steps.sel(rule="FedAvg", E=4), one.errors["line_20"].sel(rule="FedAvg"))
    np.testing.assert_array_equal(steps.sel(rule="FedAvg", E=2), [7, 8])
    assert steps.sel(rule=REPAIR, E=2).isnull().all(), "not tried"
    assert np.isnan(steps.sel(rule="Mime", E=2, seed=2)), "it diverged"


def test_a_share_of_the_clients(monkeypatch):
    """Each rule at its own rate."""
    monkeypatch.setitem(study.PROBLEMS, "pendulum_shards", study.Studied(small_line, 4, "wave"))
    p = SMALL | {"problems": ["pendulum_shards"], "rates": {"pendulum_shards": RATES["line_20"]}}
    history = made(p)["pendulum_shards", "some"]
    some = study.some(history)
    assert some.dims == ("rule", "fraction", "seed") and {*some["rule"].values} == {*study.PARTIAL}
    one = history.last("error", rule=REPAIR, lr=study.PARTIAL[REPAIR], fraction=0.5, seed=5, client=0)
    assert float(some.sel(rule=REPAIR, fraction=0.5, seed=5)) == pytest.approx(one.item())


def test_nothing_replaces_what_an_earlier_run_left(tmp_path):
    """Also where all is trained anew."""
    call, path = study.trainings(SMALL)["earlier"], tmp_path / "earlier.nc"
    whole = store.file_of(store.folder_of(study.NOTEBOOK), "earlier").read_bytes()
    path.write_bytes(whole)
    call.fill(path, anew=True)
    assert path.read_bytes() == whole and "again" in call.read(path).result
