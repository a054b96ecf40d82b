"""What notebook 14 computes, and what its figures, claims and explorer take, at a tiny size."""

import numpy as np
import pytest

from fedlib.notebook.relations import judged
from fedlib.papers.beyond.figures import LOOKS
from fedlib.papers.beyond.projection import claims, limits, problem, study
from fedlib.papers.beyond.ways import by_problem

ONE = {"problems": ["poisson"]}


@pytest.fixture(scope="module")
def results() -> study.Results:
    """Of two starts of Poisson's network, and of the five that a score needs."""
    fixed = {"ridges": [1e-10], "tuning": [1000], "tuned": 1}
    return study.results(ONE, {
        "sums_poisson": problem.by_sums("poisson", [1, 8], [0, 1], [1, 4], [1e-6, 1e-10], [1000], 3),
        "lbfgs_poisson": problem.without_projection("poisson", [0, 1], [1, 4]),
        "starts": problem.by_sums("poisson", [8], range(5), [2], **fixed),
        "stiff": limits.stiffness("poisson", 8, [0], [1, 10], [1e-6, 1e-4], 1e-14),
        "told": limits.revealed(8, [0], [1, 2], 1e-14),
    })  # fmt: skip


def test_every_way_stands_beside_sums(results):
    ways = results.ways["poisson"]
    shown = [way for way in LOOKS if way not in ("Gauss-Newton", "one round of sums")]
    assert list(ways) == shown
    for way in ways.values():
        assert way.error.dims == ("round", "seed") and np.isfinite(way.error).all()
    sent = {label: float(way.bytes.isel(round=-1)) for label, way in ways.items()}
    assert sent["FedAvg, as printed"] == sent["FedAvg, best rate"] == 1000 * 4 * 901
    root, gradient = 16 * 22 - 16 * 15 // 2, 901 - 21 + 1  # a row for each of a client's points
    assert sent["sums"] == 4 * 8 * (root + gradient)
    assert not any(sent[label] for label in sent if label.endswith("one place"))
    final = by_problem(results.places)["Poisson, 8 pieces"]
    assert list(final) == [label for label in shown if label != "FedAvg, as printed"]
    for label in ("sums", "L-BFGS, one place", "projection, one place"):
        np.testing.assert_array_equal(final[label], ways[label].error[-1])
    assert np.median(final["best rule"]) <= np.median(final["FedAvg, best rate"])
    first = results.sums["poisson"].loss.isel(evaluation=0)
    np.testing.assert_allclose(first.sel(level=8), first.sel(level=1), rtol=1e-8)


def verdict(id, results):
    return judged(claims.CLAIMS[f"fedsciml.target.networks.{id}"], results)


def test_claims_are_of_results_alone(results):
    assert verdict("client", results).holds and verdict("held", results).holds
    assert verdict("total", results) is None, "no evaluation is the hundredth"
    empty = study.Results({}, [], {}, *[None] * 3)
    assert not any(judged(claim, empty) for claim in claims.CLAIMS.values())


def test_claims_can_fail(results):
    lower = results.stiff.assign(loss=0 * results.stiff.loss)
    assert not verdict("held", results._replace(stiff=lower)).holds
    far = results.attack.assign(off=1 + results.attack.off).assign_coords(evaluation=[1, 100])
    assert not verdict("client", results._replace(attack=far)).holds
    assert not verdict("total", results._replace(attack=far)).holds
    near = far.assign(off=1e-6 * far.off)
    assert verdict("total", results._replace(attack=near)).holds
    error = results.starts.error.isel(evaluation=-1)
    for sign, holds in ((1, True), (-1, False)):
        seen = results.starts.assign(score=sign * error)
        assert verdict("score", results._replace(starts=seen)).holds is holds


def test_seeds_that_choose_are_not_shown():
    calls = study.trainings(study.PAPER)
    for name in study.PAPER["problems"]:
        arguments = calls[f"sums_{name}"].arguments
        assert not {*arguments["tuning"]} & {*arguments["seeds"], *calls["starts"].arguments["seeds"]}
