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
SMALL = {
    "seeds": [2, 5], "problems": ["line_20"], "local_updates": 4, "share": 1.0, "rates": RATES, "further": {},
    "falling": {}, "steps_on": [], "local_steps": [2, 4], "steps_rules": ["FedAvg"], "partial_on": [], "partial": {},
    "fractions": [0.5], "followed": [], "curve_seeds": [0], "curve_rates": TWO, "curves": 2, "stale_on": "",
    "early": 0.1, "measured": ["Poisson"], "predicted": {}, "predicted_seeds": {}, "evaluations": 2,
}  # fmt: skip


def small_line():
    """Sixteen points, a narrow network, eight steps."""
    return problem.line(16, 4)._replace(rounds=2, local=Local(4))


@pytest.fixture
def line(monkeypatch):
    studied = study.Studied(small_line, 4, "wave")
    monkeypatch.setitem(study.PROBLEMS, "line_20", studied)


def made(p):
    calls = {name: call for name, call in study.trainings(p).items() if isinstance(call, Call)}
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
        np.testing.assert_array_equal(best.ladder.sel(rule=rule), score)
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
        np.testing.assert_allclose(chosen.paths["line_20"].sel(rule="FedAvg")[-1], error.sel(rule="FedAvg").mean())


def test_a_rate_that_diverges_for_a_seed_is_out(line):
    history = made(SMALL)["line_20", "rules"]
    least = study.best(history).error.lr.sel(rule="FedAvg").item()
    key = ("federated", 4, 5, "FedAvg", 0.0, least)
    history.metrics["validation error"][:, history.rows[key]] = np.nan
    assert study.best(history).error.lr.sel(rule="FedAvg").item() != least
    assert np.isnan(study.best(history).ladder.sel(rule="FedAvg", lr=least))


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
        ({"partial": {"FedAvrg": 0.1}}, "'FedAvrg' is no rule"),
        ({"further": {"line_21": {}}}, "line_21"),
        ({"predicted": {"sawtooth": [2]}}, "'sawtooth' is none of wave"),
        ({"rates": {"line_20": {REPAIR: TWO}}}, "no FedAvg, or no centralised, for line_20"),
    ],
)
def test_what_there_is_not_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        study.check(SMALL | change)


def test_other_numbers_of_local_steps_and_shares_of_the_clients(line):
    p = SMALL | {
        "steps_on": ["line_20"],
        "partial_on": ["line_20"],
        "partial": {"FedAvg": 1e-2},
        "fractions": [0.5, 1.0],
    }
    assert study.lengths(p, "line_20", 1)["rounds"] == 8, "as many steps in all as two rounds of four"
    one = results(p)
    steps = one.local_steps["line_20"]
    assert steps.E.values.tolist() == [2, 4] and steps.dims == ("rule", "E", "seed")
    np.testing.assert_array_equal(steps.sel(rule="FedAvg", E=4), one.errors["line_20"].sel(rule="FedAvg"))
    assert steps.sel(rule=REPAIR, E=2).isnull().all(), "not tried"
    some = one.some["line_20"].sel(rule="FedAvg")
    whole = study.one_level(made(p)["line_20", "rules"], "error")[-1].sel(rule="FedAvg", knob=0, lr=1e-2)
    np.testing.assert_allclose(some.sel(fraction=1.0), whole, rtol=1e-9)
    assert (some.sel(fraction=0.5) != whole).all()


def test_what_an_earlier_run_knows_counts_where_there_is_nothing_of_today(line):
    lr = [1e-4, 1e-3]
    old = xarray.Dataset(
        {"validation": (("problem", "rule", "lr"), [[[7.0, 8.0], [np.inf, 9.0]]])},
        {"problem": ["line_20"], "rule": ["FedAvg", "Mime"], "lr": lr},
    )
    today, both = (
        study.results(SMALL, made(SMALL) | {"earlier": earlier}).tried["line_20"][study.CONSTANT].ladder
        for earlier in (study.earlier(), old)
    )
    np.testing.assert_array_equal(both.sel(rule="FedAvg", lr=1e-3), today.sel(rule="FedAvg", lr=1e-3))
    assert both.sel(rule="FedAvg", lr=1e-4) == 7 and both.sel(rule="Mime", lr=1e-3) == 9
    assert np.isnan(both.sel(rule="Mime", lr=1e-4)), "a gap where it diverged"


def test_nothing_replaces_what_an_earlier_run_left(tmp_path):
    """Also where all is trained anew."""
    call, path = study.trainings(SMALL)["earlier"], tmp_path / "earlier.nc"
    whole = store.file_of(store.folder_of(study.NOTEBOOK), "earlier").read_bytes()
    path.write_bytes(whole)
    call.fill(path, anew=True)
    assert path.read_bytes() == whole and "again" in call.read(path).result
