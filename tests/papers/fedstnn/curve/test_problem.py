"""The noisy sine: which noise stands at which point, who owns what, and what is learnt of it."""

import numpy as np
import pytest

from fedlib.federated.experiment import data_of
from fedlib.papers.fedstnn import sine
from fedlib.papers.fedstnn.curve import problem
from fedlib.streams import stream

E = stream(1, "noise of the data").standard_normal(sine.N)
X = sine.curve_grid()


def residuals(data):
    """y - f at all points."""
    return data.pool["y"].numpy() - sine.curve((data.pool["x"][:, 0].numpy() + 1) * np.pi)


def test_every_noise_is_the_same_draw_on_another_scale():
    central = problem.one_place()
    for level, spread in ((0.1, 0.1), (0.4, 0.4), (problem.GROWING, 0.05 + 0.15 * X / (2 * np.pi))):
        np.testing.assert_allclose(residuals(data_of(central, level, 1)), spread * E, atol=1e-9)
    two = data_of(problem.two_noises(20), 0.05, 1)
    assert sorted(np.concatenate(two.owners)) == [*range(sine.N)]
    for k, shard in enumerate(two.owners):
        np.testing.assert_allclose(residuals(two)[shard], (0.05, 0.15)[k % 2] * E[shard], atol=1e-9)


@pytest.mark.parametrize("sharing", sine.SHARINGS)
def test_sizes_and_places_of_the_shards(sharing):
    shards = sine.owners(sharing, 20, 3)
    inside, outside = sine.SHARINGS[sharing] or (None, None)
    assert {len(shard) for shard in shards} == {60 if sharing == "non-IID 60" else 110}
    low, high = sine.region(5, 20)  # the fifth of twenty is in the third tenth
    assert (low, high) == pytest.approx((0.4 * np.pi, 0.6 * np.pi))
    x = X[shards[4]]
    share = ((low <= x) & (x < high)).sum()
    assert share < 30 if inside is None else (share, len(x) - share) == (inside, outside)


def test_clients_alone_are_those_of_the_federation():
    assert sine.some(100) == [1, 25, 50, 76, 100], "the paper's"
    alone, shared = (
        make(100).data("non-IID 110", 1) for make in (problem.some_alone, lambda K: problem.shared(clients=K))
    )
    for k, shard in zip(sine.some(100), alone.owners, strict=True):
        np.testing.assert_array_equal(shard, shared.owners[k - 1])
