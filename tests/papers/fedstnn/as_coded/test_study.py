"""What notebook 08b trains of three ways, what is read of it, and what is said of it."""

import numpy as np
import pytest
import torch
import xarray

from fedlib.federated.history import History
from fedlib.papers.fedstnn import sine
from fedlib.papers.fedstnn.as_coded import claims, figures, live, problem, study
from fedlib.papers.fedstnn.as_coded.coded import PAIRINGS
from fedlib.trainings import store

P = study.PAPER


@pytest.fixture(scope="module")
def results():
    """Of a run of a few steps."""
    tiny = {"seeds": [3, 1], "sigmas": [0.4, 0.1], "clients": 10, "rounds": 2, "steps": 2, "batch": 4, "steps_alone": 2}
    tiny |= {"seeds_2d": [0, 1], "clients_2d": 4, "rounds_2d": 1, "steps_2d": 2, "batch_2d": 4, "test_paths": 5}
    tiny |= {"steps_mended": 2, "steps_mended_2d": 2, "fraction": 0.3}
    calls = {name: call for name, call in study.trainings(P | tiny).items() if name[0] != "rates"}
    calls["rates", "curve"] = study.searches(P | tiny)["curve"]
    return study.results(P | tiny, store.made(calls, backend="eager"))


def test_what_is_trained():
    calls = study.trainings(P)
    assert {name for _, name in calls} == {*problem.WAYS, "curve", "surface", "own", "frozen paths", "fresh paths"}
    assert calls["curve", "as coded"].experiment().local.updates == 5000
    assert calls["rates", "surface"].arguments["steps"] == 400, "a fifth"
    assert not {*calls["rates", "curve"].seeds} & {*P["seeds"]}
    assert len(calls["statistics", "own"].experiment().personal) == 8
    assert calls["alone", "fresh paths"].arguments["frozen"] is False
    assert calls["curve", "as printed"].levels == [0.02, 0.05, 0.1, 0.2, 0.4]
    assert study.trainings(P | {"sigma": 0.3})["curve", "mended"].levels == [0.02, 0.05, 0.1, 0.2, 0.3, 0.4]
    assert study.ANSWERS in calls and study.ANSWERS not in study.trainings(P | {"seeds_2d": [0]})


def test_results_are_labelled(results):
    assert results.curve["mean"].sizes == {"way": 3, "level": 2, "seed": 2, "x": sine.TESTED}
    assert results.surface["std"].sizes == {"way": 3, "x": 101**2} and results.quality_2d.sizes == {"way": 3, "seed": 2}
    first = results.surface["std"].sel(way="mended")
    assert results.quality_2d["std"].sel(way="mended").isel(seed=0).item() == pytest.approx(
        ((first**2).mean() ** 0.5).item(), rel=1e-6
    )
    assert results.alone.sizes == {"paths": 2, "level": 2, "seed": 2}
    row = results.quality.sel(way="mended", level=0.4, seed=1)
    one = results.curve.sel(way="mended", level=0.4, seed=1)
    assert row["std"].item() == pytest.approx(((one["std"] ** 2).mean() ** 0.5).item(), rel=1e-6)
    assert row[study.PATH].item() == pytest.approx((row["RMSE"] ** 2 + row["std"] ** 2).item())
    assert [*results.tried] == ["curve"] and results.tried["curve"].sizes == {"seed": 2, "lr": 3}
    assert [len(values) for values in results.normalised.values()] == [2, 2, 2]


def test_statistics_of_ones_own_count_for_those_who_worked(results):
    """Rounds and seeds as above: other numbers than with averaged ones."""
    points, averaged, own = results.normalised.values()
    assert not np.allclose(averaged, points) and not np.allclose(own, averaged) and np.isfinite(own).all()


def test_tables(results):
    assert [*study.rows(results)] == [f"{s}, {way}" for s in ("5.1", "5.2") for way in problem.WAYS]
    np.testing.assert_allclose(study.hundredths({"a": {"std": [0.1, 0.25]}})["a"]["std"], [10, 25])
    assert [*study.spreads(results)["mended"]] == [0.1, 0.4] and [*study.alone(results)] == [*study.PATHS]
    kept = study.metrics(results)
    assert [*kept["tried"]["curve"]] == ["0.01", "0.03", "0.1"] and kept["quality"].keys() == study.rows(results).keys()


def test_pictures(results):
    bands = figures.bands(results.curve, 0.4)
    assert [ax.get_title().split(":")[0] for ax in bands.axes] == [*problem.WAYS]
    lines = {line.get_label(): line.get_ydata() for line in bands.axes[1].get_lines()}
    mean = results.curve["mean"].sel(way="as coded", level=0.4).isel(seed=0)
    np.testing.assert_array_equal(lines["learnt mean"], mean)
    for fig, names in ((figures.against_noise(results), problem.WAYS), (figures.frozen(results), study.PATHS)):
        lines = {line.get_label(): line.get_ydata() for line in fig.axes[0].get_lines()}
        np.testing.assert_allclose(lines["truth"], [0.1, 0.4])
        assert {*names} < {*lines}
    lines = {line.get_label(): line.get_ydata() for line in figures.against_noise(results).axes[0].get_lines()}
    np.testing.assert_allclose(lines["mended"], [v.mean() for v in study.spreads(results)["mended"].values()])
    images = [ax.images[0].get_array() for ax in figures.surface(results).axes if ax.images]
    std = results.surface["std"].sel(way="as printed").mean() / results.sigma
    assert len(images) == 6 and images[3].mean() == pytest.approx(std.item(), rel=1e-5)


def quality(**changes) -> xarray.Dataset:
    """Of a way: all is right, but for what is named; [level, seed]."""
    sigma = xarray.DataArray([0.02, 0.1, 0.4], {"level": [0.02, 0.1, 0.4]}, ("level",))
    seeds = xarray.DataArray([0.98, 1.02], {"seed": [0, 1]}, ("seed",))
    right = {"RMSE": 0.3 * sigma * seeds, "std": sigma * seeds, "coverage": 0.95 * seeds + 0 * sigma}
    right |= {"in band": 0.94 * seeds + 0 * sigma, study.PATH: sigma**2 * seeds}
    return xarray.Dataset({name: changes.get(name, 1) * values for name, values in right.items()})


def made(**changes) -> study.Results:
    """Results where "as printed" is changed."""
    ways = [quality(**changes), quality(), quality()]
    every = xarray.concat(ways, xarray.Variable("way", [*problem.WAYS]))
    return study.Results(None, every, None, every.sel(level=0.1, drop=True), None, {}, {}, 0.1)


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({}, ()),
        ({"RMSE": 4}, ("51.mean", "52.mean")),
        ({"std": 0.8}, ("51.spread", "52.spread")),
        ({"std": 1.4}, ("51.spread", "52.spread", "sigma")),
        ({"coverage": 0.9}, ("51.band", "52.band")),
        ({"coverage": 1.04}, ("51.band", "52.band")),
        ({"in band": 0.8}, ("51.inside", "52.inside")),
    ],
)
def test_which_claims_hold(change, fails):
    results = made(**change)
    verdicts = {id: claim(results) for id, claim in claims.CLAIMS.items()}
    wrong = {id for id, verdict in verdicts.items() if not verdict.holds}
    assert wrong == {claims.id_of(name, "as printed") for name in fails}
    assert all(verdict.why for verdict in verdicts.values())
    rows = claims.table(results)
    assert sum(row[1].startswith("does not hold") for row in rows) == len(fails)
    assert {row[3].split(":")[0] for row in rows} == {"holds"}


def test_a_path_as_coded_against_the_printed_number():
    assert claims.path_as_coded(made(), "51").holds
    worse = made()
    worse.quality[study.PATH].loc[{"way": "as coded"}] = 0.02
    assert not claims.path_as_coded(worse, "51").holds and claims.path_as_coded(worse, "52").holds


def test_facts(results):
    errors = {f"pairing {name}": dict.fromkeys(("lift", "drift", "diffusion"), 0.0) for name in PAIRINGS}
    errors |= {f"printed, g {g}": {"drift": 0.0, "diffusion": 0.1} for g in ("(u_n)", "of the state")}
    facts = claims.facts(made(), errors)
    assert (
        facts["mended, the spread grows with the noise"]
        and facts["mended, from σ = 0.05 on the mean is off by less than half of it"]
    )
    assert not facts["where g depends on the state it is not"]


def test_the_slider_shows_what_is_stored(monkeypatch):
    """Means, twice the spreads, and how far these are off, of a made-up history."""
    noises, n = [0.1, 0.4], sine.TESTED
    rows = {
        ("federated", sigma, seed): slice(i, i + 1)
        for i, (sigma, seed) in enumerate((s, k) for s in noises for k in (0, 1))
    }
    std = np.repeat([0.1, 0.2, 0.4, 0.3], n).reshape(1, 4, n)
    metrics = {"mean": np.ones((1, 4, n)), "std": std, "path": std, "inside": np.ones((1, 4))}
    history = History(
        rows, ("kind", "level", "seed"), np.zeros((1, 4)), torch.zeros(1, 1), torch.zeros(4, dtype=int), [1], metrics
    )
    monkeypatch.setattr(live, "stored", lambda module, name: history)
    curves, errors = live.explored()
    assert curves.dims == (live.NOISE, "model", "x") and curves.model.values.tolist() == [*problem.WAYS]
    np.testing.assert_allclose(curves.half.isel(model=0, x=0), [0.2, 0.8])
    np.testing.assert_allclose(curves.truth_half.isel(x=0), [0.2, 0.8])
    np.testing.assert_allclose(errors.isel(model=2), [[0, 100], [0, 25]], atol=1e-9)
    assert live.explore(curves, errors).data["seeds"] == 2
