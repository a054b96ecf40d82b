"""Times of Table 2: when a coefficient comes close, and from when on it stays there."""

import json

import numpy as np
import pytest

from fedlib.problems import flow_times

ROUNDS = [10, 20, 30, 40, 50]


def coefficients(error):
    """C [..., V, 2] with these errors of C1 (%); C2 is exact."""
    error = np.array(error)
    return np.stack([1 + error / 100, np.full(error.shape, 0.01)], -1)


def test_settled_is_the_first_round_after_the_last_excursion():
    C = coefficients([[5, 0.5, 3, 0.9, -0.2], [0.1] * 5, [0, 0, 0, 0, 2.0], [9, 0, 0, 0, 0]])
    got = flow_times.settled(ROUNDS, C, (1.0, 4.0))
    np.testing.assert_array_equal(got[:, 0, 0], [40, 10, np.inf, 20])
    np.testing.assert_array_equal(got[:, 0, 1], [20, 10, 10, 20])
    assert (got[:, 1] == 10).all()


def test_reached_is_the_first_round_inside_whatever_comes_then():
    C = coefficients([[5, 0.5, 3, 0.9, -0.2], [0.1] * 5, [7, 6, 5, 4.5, 3], [-9, -8, -0.5, 9, 9]])
    got = flow_times.reached(ROUNDS, C, (1.0, 4.0))
    np.testing.assert_array_equal(got[:, 0, 0], [20, 10, np.inf, 30])
    np.testing.assert_array_equal(got[:, 0, 1], [20, 10, 50, 30])
    assert (got[:, 1] == 10).all()


def test_passages_of_random_walks_agree_with_a_plain_loop():
    """And nothing stays before it comes, nor comes closer before it comes close."""
    walks = np.cumsum(np.random.default_rng(0).normal(size=(20, 60, 2)), 1) * [0.05, 5e-4] + [0.8, 0.008]
    rounds, tolerances = list(range(1, 61)), (10, 5, 1)
    first, stays = (f(rounds, walks, tolerances) for f in (flow_times.reached, flow_times.settled))
    for s, i, j in np.ndindex(first.shape):
        off = [abs(c / flow_times.TRUTH[i] - 1) * 100 for c in walks[s, :, i]]
        near = [r for r, e in zip(rounds, off, strict=True) if e <= tolerances[j]]
        assert first[s, i, j] == (near[0] if near else np.inf)
        away = [r for r, e in zip(rounds, off, strict=True) if e > tolerances[j]]
        assert stays[s, i, j] == (1 if not away else away[-1] + 1 if away[-1] < 60 else np.inf)
    assert (stays >= first).all() and (first[..., 1:] >= first[..., :-1]).all()
    assert np.isfinite(first).any() and np.isinf(first).any()


def test_a_record_in_ten_misses_who_runs_through():
    error = np.abs(np.arange(90) - 44.0)  # within 3.5 % in the rounds 42 to 48, of which none is a tenth one
    every, tenth = (flow_times.reached(range(k, 91, k), coefficients(error[k - 1 :: k]), (3.5,)) for k in (1, 10))
    assert every[0, 0] == 42 and np.isinf(tenth[0, 0])


def test_times_survive_a_result_file():
    times = np.array([[[1500.0, np.inf], [20, 3000]]])
    listed = json.loads(json.dumps(flow_times.thousands(times), allow_nan=False))
    assert listed == [[[1.5, None], [0.02, 3.0]]]
    np.testing.assert_allclose(flow_times.numbers(listed), times / 1000)
    assert flow_times.numbers([[None]]).tolist() == [[pytest.approx(np.inf)]]
