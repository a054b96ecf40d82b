"""Results of notebook 10b are labelled arrays of what is trained."""

from functools import partial

import numpy as np
import pytest
import xarray

from fedlib.papers.feddro.digits import problem, study, ways
from fedlib.trainings.store import made

from ...small import quick

SMALL = {
    "seeds": [0, 1], "levels": [0.5, 5.0], "clients": 2, "per_client": 30, "atoms": 3, "barycenter_rounds": 2,
    "rounds": 1, "long_rounds": 2, "test_digits": 20,
}  # fmt: skip
parameters = partial(quick, study, **SMALL)


@pytest.fixture(scope="module")
def histories():
    return made(study.trainings(parameters()), backend="eager")


@pytest.fixture(scope="module")
def results(histories):
    return study.results(parameters(), histories)


def test_long_trainings_pass_the_tables_round():
    with pytest.raises(ValueError, match="expected a multiple of rounds = 2"):
        study.check(parameters(long_rounds=3, rounds=2))


def test_what_needs_thousands_of_digits_is_trained_of_mnist_alone():
    names = {digits: {name[0] for name in study.trainings(parameters(digits=digits))} for digits in ("small", "mnist")}
    assert names["mnist"] - names["small"] == {"lineage", "lineage_rounds", "rates"}


def test_results_are_those_of_the_trainings(histories, results):
    for way in study.FOUR:
        accuracy = histories["rounds", way].metric("accuracy", kind="federated", client=0)
        for seed in (0, 1):
            stored = accuracy.sel(level=5.0, seed=seed)
            np.testing.assert_array_equal(results.accuracy.sel(way=way, level=5.0, seed=seed), stored)
            assert results.table.sel(way=way, level=5.0, seed=seed) == stored.sel(round=1)
    other = histories["ways", "barycenter Q"].metric("accuracy", kind="federated", client=0)
    assert results.table.sel(way="barycenter Q", level=0.5, seed=1) == other.sel(level=0.5, seed=1, round=1)
    both = [results.table.sel(way=way, level=5.0, seed=1) for way in ("mapped", "FedAvg")]
    assert study.gain(results.table).sel(level=5.0, seed=1) == both[0] - both[1]
    own = results.readings.sel(reading="shared, normalised", way="mapped")
    np.testing.assert_array_equal(own, results.table.sel(way="mapped"))
    loss = histories["rounds", "mapped"].metric("loss", kind="federated").sel(level=0.5, seed=0).mean("client")
    np.testing.assert_allclose(results.loss.sel(way="mapped", level=0.5, seed=0), loss)


def test_what_is_read_under_shifts_with_and_without_the_ascent(histories, results):
    worst = histories["ascent", "mapped", "ascent"].metric("fresh", kind="federated", client=0)
    stored = worst.sel(level=0.5, seed=0).isel(round=-1)
    assert results.shifted.sel(way="mapped + ascent", view="fresh", level=0.5, seed=0) == stored


def test_ten_means_read_by_likeness(results):
    seen = problem.shifted(problem.dealt("small", "normalised", 2, 30, 1), 5.0, 1, "shared")
    x, y = (values[:20].numpy() for values in problem.handwriting()["test"])
    read = 100 * (ways.most_alike(ways.mean_of_classes(ways.moments(seen)), x) == y).mean()
    assert results.means["all"].sel(level=5.0, seed=1) == read


def test_pictures_are_the_first_of_each_digit(results):
    own = problem.dealt("small", "normalised", 2, 30, 0)
    first = [own.x[shard][own.y[shard] == 3][0] for shard in own.shards]
    np.testing.assert_allclose(results.pictures.written.sel(level=0.2).isel(digit=3), first, rtol=1e-6)
    mean, of_atoms = (results.pictures[name].sel(level=0.2) for name in ("mean", "mean in Q"))
    assert abs(mean - of_atoms).max() < 0.2 * abs(mean).max(), "mass is kept, so that the mean is"


def test_a_way_has_the_rate_that_reads_most_of_what_is_held_out():
    """Made-up scores: the smaller rate in round 1, the larger in round 2; what diverged for a seed is out."""
    coords = {"way": ["FedAvg"], "round": [1, 2], "level": [0.5], "seed": [0, 1], "lr": [0.05, 0.1, 0.2]}
    scores = [[[2.0, 1.0, 9.0], [2.0, 1.0, np.nan]], [[1.0, 2.0, 0.0], [1.0, 2.0, 0.0]]]
    validation = xarray.DataArray(np.reshape(scores, (1, 2, 1, 2, 3)), coords, [*coords])
    accuracy = validation.copy(data=np.arange(12.0).reshape(validation.shape))
    best = study.at_own_rate(xarray.Dataset({"validation": validation, "accuracy": accuracy}))
    assert best.lr.squeeze().values.tolist() == [0.05, 0.1]
    np.testing.assert_array_equal(best.squeeze(), [[0, 3], [7, 10]])
