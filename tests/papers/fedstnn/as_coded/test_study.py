"""What notebook 08b trains of three ways, what is read of it, and what is said of it."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.relations import judged
from fedlib.papers.fedstnn import sine
from fedlib.papers.fedstnn.as_coded import claims, live, problem, study
from fedlib.papers.fedstnn.as_coded.coded import PAIRINGS
from fedlib.papers.fedstnn.experiment import covered
from fedlib.trainings import store

from ....conftest import recorded


@pytest.fixture(scope="module")
def results():
    """Of a run of a few steps."""
    tiny = {"seeds": [3, 1], "sigmas": [0.4, 0.1], "clients": 10, "rounds": 2, "steps": 2, "steps_alone": 2}
    tiny |= {"rounds_2d": 1, "steps_2d": 2, "steps_mended": 2, "steps_mended_2d": 2, "fraction": 0.1}
    p = study.PAPER | tiny
    calls = {name: call for name, call in study.trainings(p).items() if name[0] != "rates"}
    return study.results(p, store.made(calls, backend="eager"))


def test_results_are_judged_by_their_own_noise(results):
    row = results.quality.sel(way="mended", level=0.4, seed=1)
    one = results.curve.sel(way="mended", level=0.4, seed=1)
    assert row["std"].item() == pytest.approx(((one["std"] ** 2).mean() ** 0.5).item(), rel=1e-6)
    assert row[study.PATH].item() == pytest.approx((row["RMSE"] ** 2 + row["std"] ** 2).item())
    cover = covered(one["mean"].values, one["std"].values, np.sin(one.x.values), 0.4)
    assert row["coverage"].item() == pytest.approx(cover.mean(), rel=1e-6)
    first = (results.surface["std"].sel(way="mended") ** 2).mean() ** 0.5
    assert results.quality_2d["std"].sel(way="mended").isel(seed=0).item() == pytest.approx(first.item(), rel=1e-6)


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
    return study.Results(None, every, None, every.sel(level=0.1, drop=True), None, {})


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({}, ()),
        ({"RMSE": 4}, ("51.mean", "52.mean")),
        ({"std": 0.8}, ("51.spread", "52.spread")),
        ({"std": 1.4}, ("51.spread", "52.spread")),
        ({"coverage": 0.9}, ("51.band", "52.band")),
        ({"coverage": 1.04}, ("51.band", "52.band")),
        ({"in band": 0.8}, ("51.inside", "52.inside")),
    ],
)
def test_which_claims_hold(change, fails):
    results = made(**change)
    verdicts = {id: judged(claim, results) for id, claim in claims.CLAIMS.items()}
    wrong = {id for id, verdict in verdicts.items() if not verdict.holds}
    assert wrong == {claims.id_of(name, "as printed") for name in fails}
    assert all(verdict.why for verdict in verdicts.values())
    rows = claims.table(results)
    assert sum(row[1].startswith("does not hold") for row in rows) == len(fails)


def test_a_path_as_coded_and_facts_can_fail():
    claim, worse = claims.CLAIMS["fedstnn.target.coded.52"], made()
    assert judged(claim, worse).holds
    worse.quality_2d[study.PATH].loc[{"way": "as coded"}] = 0.03
    assert not judged(claim, worse).holds
    errors = {f"pairing {name}": dict.fromkeys(("lift", "drift", "diffusion"), 0.0) for name in PAIRINGS}
    errors |= {f"printed, g {g}": {"drift": 0.0, "diffusion": 0.1} for g in ("(u_n)", "of the state")}
    facts = claims.facts(made(), errors)
    assert facts["mended, the spread grows with the noise"] and not facts["where g depends on the state it is not"]


def test_the_slider_shows_what_is_stored(monkeypatch):
    """Twice the spreads, and how far these are off, of a made-up history."""
    keys, n = [("federated", sigma, seed) for sigma in (0.1, 0.4) for seed in (0, 1)], sine.TESTED
    std = np.repeat([0.1, 0.2, 0.4, 0.3], n).reshape(1, 4, n)
    metrics = {"mean": np.ones((1, 4, n)), "std": std, "path": std, "inside": np.ones((1, 4))}
    rows = {key: slice(i, i + 1) for i, key in enumerate(keys)}
    history = recorded(rows, ("kind", "level", "seed"), [1], metrics)
    monkeypatch.setattr(live, "stored", lambda module, name: history)
    curves, errors = live.explored()
    np.testing.assert_allclose(curves.half.isel(model=0, x=0), [0.2, 0.8])
    np.testing.assert_allclose(curves.truth_half.isel(x=0), [0.2, 0.8])
    np.testing.assert_allclose(errors.isel(model=2), [[0, 100], [0, 25]], atol=1e-9)
