"""What notebook 10b trains follows from its parameters; its results are labelled arrays of what is trained."""

import numpy as np
import pytest

from fedlib.notebook import rules
from fedlib.papers.feddro.digits import figures, problem, study, ways
from fedlib.trainings.calls import Call
from fedlib.trainings.settings import NOTEBOOKS
from fedlib.trainings.store import calls_of, made

from ...small import quick

PATH = NOTEBOOKS / f"{study.NOTEBOOK}.ipynb"
SMALL = {
    "seeds": [0, 1], "levels": [0.5, 5.0], "looked_at": [0.2], "clients": 2, "per_client": 30, "atoms": 3,
    "barycenter_rounds": 2, "rounds": 1, "long_rounds": 2, "test_digits": 20, "shifted_digits": 5, "fresh_shifts": 2,
}  # fmt: skip


def parameters(**changes) -> dict:
    return quick(study) | SMALL | changes


@pytest.fixture(scope="module")
def histories():
    return made(study.trainings(parameters()), backend="eager")


@pytest.fixture(scope="module")
def results(histories):
    return study.results(parameters(), histories)


def test_the_papers_settings():
    p = study.PAPER
    rules.check(p, **study.RULES)
    study.check(p)
    calls = calls_of(study)
    for way in study.FOUR:
        call = calls["rounds", way]
        assert call.levels == [0.5, 2.0, 3.0, 5.0] and call.seeds == [0, 1, 2, 3, 4]
        ((_, settings),) = call.settings().items()
        assert settings["resolved"]["rounds"] == 100 and settings["changes"]["evaluations"] == 10
        arguments = settings["arguments"]
        assert (arguments["per_client"], arguments["atoms"], arguments["test_digits"]) == (200, 20, 10_000)
    assert {name[1] for name in calls if name[0] == "ways"} == {*ways.WAYS} - {*study.FOUR}
    lineage = calls["lineage", ways.MAPPED]
    assert lineage.arguments["per_client"] == 3600 and lineage.changes["local"].updates == 5
    readings = {name[1] for name in calls if name[0] == "readings"}
    assert len(readings) == 5 and "shared, normalised" not in readings, "that is the table's own"


def test_every_way_takes_as_many_steps():
    p = study.PAPER
    assert p["per_client"] == 10 * p["atoms"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"strong": [1.0]}, "expected two numbers"),
        ({"long_rounds": 3, "rounds": 2}, "expected a multiple of rounds = 2"),
    ],
)
def test_what_no_parameter_tells_alone_is_refused(wrong, message):
    study.check(parameters())
    with pytest.raises(ValueError, match=message):
        study.check(parameters(**wrong))


def test_results_are_those_of_the_trainings(histories, results):
    for way in study.FOUR:
        accuracy = histories["rounds", way].metric("accuracy", kind="federated", client=0)
        for seed in (0, 1):
            stored = accuracy.sel(level=5.0, seed=seed)
            np.testing.assert_array_equal(results.accuracy.sel(way=way, level=5.0, seed=seed), stored)
            assert results.table.sel(way=way, level=5.0, seed=seed) == stored.sel(round=1)
    other = histories["ways", "barycenter Q"].metric("accuracy", kind="federated", client=0)
    assert results.table.sel(way="barycenter Q", level=0.5, seed=1) == other.sel(level=0.5, seed=1, round=1)
    assert results.table.sel(way=ways.SAMPLES, seed=1).isnull().all(), "one seed"
    loss = histories["rounds", "mapped"].metric("loss", kind="federated").sel(level=0.5, seed=0).mean("client")
    np.testing.assert_allclose(results.loss.sel(way="mapped", level=0.5, seed=0), loss)


def test_readings_have_the_tables_own_among_them(results):
    assert results.readings.reading.values.tolist() == ["client, normalised", "client, raw", "shared, normalised"]
    own = results.readings.sel(reading="shared, normalised", way="mapped")
    np.testing.assert_array_equal(own, results.table.sel(way="mapped"))


def test_what_is_read_under_shifts_with_and_without_the_ascent(histories, results):
    assert results.shifted.way.values.tolist() == [
        "FedAvg", "FedAvg + ascent", "mapped", "mapped + ascent", "mapped + strong ascent"
    ]  # fmt: skip
    worst = histories["ascent", "mapped", "ascent"].metric("fresh", kind="federated", client=0)
    stored = worst.sel(level=0.5, seed=0).isel(round=-1)
    assert results.shifted.sel(way="mapped + ascent", view="fresh", level=0.5, seed=0) == stored
    theta = histories["ascent", "mapped", "ascent"].models("federated", 0.5, 0)[:, :784].norm(dim=1)
    np.testing.assert_allclose(results.theta.sel(way="mapped + ascent", level=0.5), theta)
    assert (results.theta > 0).all()


def test_a_gain_is_paired_by_seed(results):
    gain = study.gain(results.table)
    both = [results.table.sel(way=way, level=5.0, seed=1) for way in ("mapped", "FedAvg")]
    assert gain.sel(level=5.0, seed=1) == both[0] - both[1]


def test_ten_means_read_by_likeness(results):
    seen = problem.shifted(problem.dealt("small", "normalised", 2, 30, "iid", 1.0, 1), 5.0, 1, "shared")
    x, y = (values[:20].numpy() for values in problem.handwriting()["test"])
    read = 100 * (ways.most_alike(ways.mean_of_classes(ways.moments(seen)), x) == y).mean()
    assert results.means["all"].sel(level=5.0, seed=1) == read
    kept = study.metrics(results)["means_percent"]
    assert [*kept] == ["all", "one", *study.TRIED] and kept["all"]["5"].tolist() == results.means["all"].sel(
        level=5.0
    ).values.tolist()


def test_pictures_are_the_first_of_each_digit(results):
    own = problem.dealt("small", "normalised", 2, 30, "iid", 1.0, 0)
    first = [own.x[shard][own.y[shard] == 3][0] for shard in own.shards]
    np.testing.assert_allclose(results.pictures.written.sel(level=0.2).isel(digit=3), first, rtol=1e-6)
    mean, of_atoms = (results.pictures[name].sel(level=0.2) for name in ("mean", "mean in Q"))
    assert abs(mean - of_atoms).max() < 0.2 * abs(mean).max(), "mass is kept, so that the mean is"


def test_calls_that_keep_models_are_those_of_which_theta_is_shown():
    calls = {name: call for name, call in study.trainings(parameters()).items() if isinstance(call, Call)}
    kept = {name[1:] for name, call in calls.items() if call.models["federated"]}
    assert kept == {("FedAvg", "ascent"), ("mapped", "ascent"), ("mapped", "strong ascent")}


def test_rates_are_chosen_on_digits_that_nobody_has():
    """Of two ways and rates; and by made-up scores: the rate that reads more of what is held, round by round."""
    p = parameters(rates=[0.05, 0.1], rate_levels=[0.5], held=30)
    calls = {name: call for name, call in study.trainings(p).items() if name[0] == "rates"}
    assert {*calls} == {("rates", ways.FEDAVG), ("rates", ways.MAPPED)}
    histories = made(calls, backend="eager")
    rates = study.results(p, histories).rates
    assert dict(rates.accuracy.sizes) == {"way": 2, "round": 2, "level": 1, "seed": 2, "lr": 2}
    own = histories["rates", ways.MAPPED].metric("validation", kind="federated", client=0)
    one = {"level": 0.5, "seed": 1, "lr": 0.1}
    np.testing.assert_array_equal(rates.validation.sel(way=ways.MAPPED, **one), own.sel(one))
    rates["validation"][:] = 1 + (rates.lr == 0.05) * (rates["round"] == 1)
    best = study.at_own_rate(rates)
    assert best.lr.sel(round=1, drop=True).values.ravel().tolist() == [0.05] * 2
    np.testing.assert_array_equal(best.sel(round=1), rates.accuracy.sel(round=1, lr=0.05))


def test_what_is_followed_of_the_lineage_is_read_with_parts_of_the_shift():
    """A network that is right on what its client sees, and on what part of that is: as ``accuracies`` counts it."""
    p = parameters(
        rates=[], lineage_seeds=[1], followed_rates=[0.05], followed=0.5, in_parts=10, rounds=2, long_rounds=2
    )
    calls = {name: call for name, call in study.trainings(p).items() if name[0] == "lineage_rounds"}
    fewer = {"per_client": 30, "atoms": 3}
    small = {
        name: call._replace(arguments=call.arguments | {"settings": call.arguments["settings"] | fewer})
        for name, call in calls.items()
    }
    results = study.results(p, made(small, backend="eager"))
    (row, _) = figures.followed_rows(results.followed)
    assert row[0] == "FedAvg, 0.05" and len(row) == 1 + len(study.VIEWS)
    assert results.followed.view.values.tolist() == [*study.VIEWS] and results.followed["round"].size == 2
    history = made({"one": small["lineage_rounds", ways.FEDAVG]}, backend="eager")["one"]
    for view, metric in study.VIEWS.items():
        values = study.measured(history, metric).squeeze()
        np.testing.assert_array_equal(results.followed.sel(view=view, way=ways.FEDAVG).squeeze(), values)
    assert calls["lineage_rounds", ways.MAPPED].arguments["settings"]["per_client"] == 3600
