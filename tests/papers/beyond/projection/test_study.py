"""What notebook 14 computes, and what its figures, claims and explorer take, at a tiny size."""

import numpy as np
import pytest
import xarray

from fedlib.papers.beyond.projection import claims, figures, study

TINY = {
    "problems": ["poisson"], "seeds": [0, 1], "levels": {"poisson": [1, 8]}, "looks": {"poisson": [1, 4]},
    "ridges": {"poisson": [1e-6, 1e-10]}, "tuning": {"poisson": [1000]}, "tuned": {"poisson": 3},
    "unprojected": {"poisson": [1, 4]},
    "starts": {"seeds": range(5), "looks": [2], "ridges": [1e-10], "tuning": [1000], "tuned": 1},
    "operators": {
        "levels": [5], "seeds": [0], "looks": [1, 3], "ridges": [1e-6], "tuning": [1000], "tuned": 1,
    },
    "kaufman": {"poisson": {"seeds": [0], "rounds": 2, "ridge": 1e-14}},
    "local_steps": {"seeds": [0], "steps": [1, 2], "rates": [1e-3, 3e-3], "rounds": 3, "ridge": 1e-14},
    "stiffness": {"seeds": [0], "looks": [1, 10], "lengths": [1e-6, 1e-4], "ridge": 1e-14},
    "faster_waves": {"waves": [2], "seeds": [0], "looks": [1], "ridge": 1e-12},
    "told": {"seeds": [0], "looks": [1, 2], "ridge": 1e-14},
}  # fmt: skip


@pytest.fixture(scope="module")
def results() -> study.Results:
    study.check(TINY)
    return study.results(TINY, {name: task.run() for name, task in study.trainings(TINY).items()})


def test_every_way_stands_beside_sums(results):
    ways = results.ways["poisson"]
    assert list(ways) == list(figures.LOOKS)
    for way in ways.values():
        assert way.error.dims == ("round", "seed") and np.isfinite(way.error).all()
    sent = {label: float(way.bytes.isel(round=-1)) for label, way in ways.items()}
    assert sent["FedAvg, as printed"] == sent["FedAvg, own rate"] == 1000 * 4 * 901
    root, gradient = 16 * 22 - 16 * 15 // 2, 901 - 21 + 1  # a row for each of a client's points
    assert sent["sums"] == 4 * 8 * (root + gradient)
    assert not any(sent[label] for label in sent if label.endswith("one place"))
    final = results.final["poisson"]
    assert list(final) == [label for label in figures.LOOKS if label != "FedAvg, as printed"]
    for label in ("sums", "L-BFGS, one place", "projection, one place"):
        np.testing.assert_array_equal(final[label], ways[label].error[-1])
    assert np.median(final["best rule"]) <= np.median(final["FedAvg, own rate"])
    first = results.sums["poisson"].loss.isel(evaluation=0)
    np.testing.assert_allclose(first.sel(level=8), first.sel(level=1), rtol=1e-8)


def test_claims_are_of_results_alone(results):
    verdicts = {id: claim(results) for id, claim in claims.CLAIMS.items()}
    assert verdicts["fedsciml.target.networks.client"].holds
    assert verdicts["fedsciml.target.networks.held"].holds
    assert verdicts["fedsciml.target.networks.total"] is None, "no evaluation is the hundredth"
    assert verdicts["fedsciml.target.networks.same"].holds
    empty = study.Results({}, {}, {}, {}, *[None] * 7)
    assert not any(claim(empty) for claim in claims.CLAIMS.values())


def test_claims_can_fail(results):
    gone = results.sums["poisson"].copy(deep=True)
    gone.error.loc[{"level": 8}] *= 10
    assert not claims.whoever_owns_what(results._replace(sums={"poisson": gone})).holds
    worse = results.final["poisson"] | {"sums": 2 * results.final["poisson"]["Adam, one place"]}
    assert not claims.better("Adam, one place", 3)(results._replace(final={"poisson": worse})).holds
    lower = results.stiff.assign(loss=0 * results.stiff.loss)
    assert not claims.held(results._replace(stiff=lower)).holds
    far = results.attack.assign(off=1 + results.attack.off)
    assert not claims.points("one client", 1, 1e-4)(results._replace(attack=far)).holds
    near = results.operators.assign(error=1e-2 * results.operators.error)
    better = results._replace(operators=near)
    assert claims.CLAIMS["fedsciml.target.networks.operator"](better).holds
    assert not claims.CLAIMS["fedsciml.target.networks.operator"](results).holds
    assert not claims.CLAIMS["fedsciml.target.networks.unseen"](better).holds
    seen = results.starts.assign(score=-results.starts.error.isel(evaluation=-1))
    assert not claims.score(results._replace(starts=seen)).holds
    steps = results.steps.assign(error=1 + 0 * results.steps.error)
    assert not claims.one_step(results._replace(steps=steps)).holds


@pytest.mark.fault("clear error")
def test_a_seed_that_chooses_is_not_shown():
    with pytest.raises(ValueError, match="seeds and tuning of poisson both have 1; expected other seeds"):
        study.check(TINY | {"tuning": {"poisson": [1, 1000]}})
    with pytest.raises(ValueError, match="seeds and tuning of the operator both have 0; expected other seeds"):
        study.check(TINY | {"operators": TINY["operators"] | {"tuning": [0]}})


def test_a_rate_is_chosen_by_the_loss_and_not_by_the_error():
    axes = ("corrected", "E", "lr", "seed")
    coords = {"corrected": [False], "E": [1], "lr": [0.1, 0.2], "seed": [0]}
    steps = xarray.Dataset({"loss": (axes, [[[[2.0], [1.0]]]]), "error": (axes, [[[[3.0], [9.0]]]])}, coords)
    assert study.at_own_rate(steps).item() == 9
