"""The library of pendulums: the stiffness as an input, and what cannot be learnt without it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.heterogeneity import hidden_parameter_floor
from fedlib.federated.mixing import isolated
from fedlib.federated.partitions import sorted_shards
from fedlib.federated.stack import stack
from fedlib.federated.train import train
from fedlib.models.networks import DeepONet, glorot_uniform
from fedlib.numerics.solutions import pendulum
from fedlib.numerics.spaces import grf
from fedlib.plots import pendulum as draw
from fedlib.plots import style
from fedlib.problems.pendulum import half_steps, pendulum_trajectories, pendulum_triplets, with_stiffness
from fedlib.streams import stream

from .conftest import assert_redraws_fast, every_move


def test_k_equal_to_one_is_the_pendulum_of_the_first_notebook():
    u = grf(half_steps(20), 4, 0.2, stream(0, "u"))
    np.testing.assert_array_equal(pendulum(u, np.ones(4)), pendulum(u))
    one, other = (pendulum_triplets(5, 20, 0.2, stream(0, "t"), k)["s"] for k in (1.0, np.ones(5)))
    torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_small_swings_of_stiffness_k_follow_the_linear_closed_form():
    """x'' = -k x + a has x = (a / k) (1 - cos(sqrt(k) t))."""
    k, a = np.array([0.5, 1.0, 1.5]), 1e-4
    x = pendulum(np.full((3, 201), a), k)[..., 0]
    t = np.linspace(0, 1, 101)
    np.testing.assert_allclose(x, a / k[:, None] * (1 - np.cos(np.sqrt(k)[:, None] * t)), atol=1e-11)


def test_branch_input_tells_or_hides_the_stiffness():
    u = torch.zeros(3, 4, dtype=torch.float64)
    told = with_stiffness(u, np.array([0.5, 1.0, 1.5]))
    assert told.shape == (3, 5)
    assert told[:, -1].tolist() == [-1.0, 0.0, 1.0]
    assert with_stiffness(u, 1.5, hidden=True)[:, -1].abs().max() == 0


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 50))
def test_no_prediction_goes_below_the_floor(K, m, seed):
    rng = stream(seed, "floor")
    x = rng.normal(size=(1, K, m)) + 0.1
    floor = hidden_parameter_floor(x)[0]
    candidates = [x[0].mean(0), np.zeros(m), np.median(x[0], axis=0), *x[0], *rng.normal(size=(20, m))]
    for p in candidates:
        error = np.mean(np.linalg.norm(x[0] - p, axis=1) / np.linalg.norm(x[0], axis=1))
        assert error >= floor - 1e-12


def test_the_floor_of_two_opposite_answers_is_attained():
    x = np.array([[[1.0, 0.0], [-1.0, 0.0]]])
    assert hidden_parameter_floor(x)[0] == 0.5  # (0 + 1 + 1 + 0) / 4; the prediction 0 has error 1
    assert hidden_parameter_floor(np.ones((1, 4, 3)))[0] == 0


def test_a_hidden_k_cannot_be_learnt_below_the_floor():
    """Memorising is not enough: two pendulums with k = 0.5 and 12, the same inputs, k hidden."""
    m, n = 20, 40
    u = np.repeat(grf(half_steps(m), n, 0.2, stream(0, "u")), 2, axis=0)
    k = np.tile([0.5, 12.0], n)
    exact = pendulum_trajectories(u, k)
    floor = hidden_parameter_floor(exact["x1"].reshape(n, 2, m).numpy()).mean()
    rows = torch.arange(2 * n).repeat_interleave(m)
    times = torch.linspace(0, 1, m).repeat(2 * n)[:, None]
    net, mean_error = DeepONet((m + 1, 40, 40), (1, 40, 40), domain=(0.0, 1.0)), {}
    for hidden in (False, True):
        pool = {"u": with_stiffness(exact["u"], k / 6, hidden)[rows], "y": times, "s": exact["x1"].flatten()}
        history = train(
            net, lambda predict, b: (b["w"] * (predict(b["u"], b["y"]) - b["s"]) ** 2).sum(), pool,
            [Federation([np.arange(2 * n * m)], mixing=isolated, lr=3e-3)], rounds=1, local=Local(3000, "steps", 200),
            init=glorot_uniform, test={"u": with_stiffness(exact["u"], k / 6, hidden)[None]},
            evaluate=lambda predict, own: {"x": predict(own["u"][:, None], times[:m])},
        )  # fmt: skip
        gap = history.metrics["x"][-1, 0] - exact["x1"].numpy()
        mean_error[hidden] = np.mean(np.linalg.norm(gap, axis=1) / np.linalg.norm(exact["x1"], axis=1))
    assert floor > 0.1
    assert mean_error[True] >= floor
    assert mean_error[False] < 0.8 * floor  # told, the same network learns both pendulums


def test_the_library_view_shows_true_angle_and_phase_portrait():
    net = DeepONet((31, 10, 10), (1, 10, 10), domain=(0.0, 1.0))
    row = stack(net, [(0,)], glorot_uniform)[0]
    fig = draw.draw_library(net, row, k=0.7, kind="sin(pi t)", amplitude=0.5)
    lines = {line.get_label(): line.get_xydata() for line in fig.axes[1].get_lines()}
    phase = {line.get_label(): line.get_xydata() for line in fig.axes[2].get_lines()}
    x = pendulum(0.5 * np.sin(np.pi * half_steps(30))[None], 0.7)[0, ::2]
    np.testing.assert_allclose(lines["truth"][:, 1], x[:, 0])
    np.testing.assert_allclose(phase["truth"], x)
    t, angle = lines["federated"].T
    velocity = phase["federated"][:, 1]
    jumps = np.abs(np.diff(angle) / np.diff(t) - (velocity[1:] + velocity[:-1]) / 2)
    assert np.median(jumps) < 1e-2  # the drawn velocity is the slope of the drawn angle, but for the kinks


@pytest.fixture
def library():
    net = DeepONet((101, 50, 50), (1, 50, 50), domain=(0.0, 1.0))
    return net, stack(net, [(0,)], glorot_uniform)[0]


@pytest.fixture
def levels():
    """2 000 sorted targets of 20 clients at four levels, as in the quick profile: targets, errors, distances."""
    values = stream(0, "values").normal(size=2000)
    deals = {v: sorted_shards(values, 20 * v, 20, stream(0, "deal", v)) for v in (1, 2, 5, 20)}
    targets = {v: [values[own] for own in owned] for v, owned in deals.items()}
    errors = {v: {"Algorithm 1": 2.0 * v, "Algorithm 2": 1.0 * v} for v in targets}
    return targets, errors, {v: 1.0 / v for v in targets}


def test_the_library_explorer_answers_to_the_stiffness_and_keeps_to_its_interval(library):
    box = draw.library_explorer(*library, stiffness=(2.0, 3.0))
    k = next(c for c in box.children if c.description == "stiffness k")
    assert (k.min, k.max) == (2.0, 3.0)
    before = box.children[-1].value
    k.value = 2.9
    assert box.children[-1].value != before
    assert box.children[-2].value == ""


def test_the_shard_explorer_goes_through_the_levels(levels):
    box = draw.shard_explorer(*levels)
    slider, pictures = box.children[0], set()
    for level in slider.options:
        slider.value = level
        pictures.add(box.children[-1].value)
    assert len(pictures) == 4


def test_a_move_of_either_explorer_redraws_fast_enough_for_200_ms(library, levels):
    for box in (draw.library_explorer(*library), draw.shard_explorer(*levels)):
        assert_redraws_fast(every_move(box))


def test_shard_view_says_how_far_apart_the_clients_are(levels):
    fig = draw.shard_view(*levels, 2)
    assert fig.axes[0].get_title() == "2 shards per client, $W_1$ = 0.500 rad"
    assert "Algorithm 1: e = 4.00 %" in [line.get_label() for line in fig.axes[1].get_lines()]
    assert draw.shard_view(*({1: part[1]} for part in levels), 1).axes[0].get_title().startswith("1 shard per")


def test_limits_around_zero_hold_all_values_and_rarely_change():
    assert style.around(np.array([0.3, -0.41]), np.array([0.1])) == (-0.525, 0.525)
    assert style.around(np.array([0.49])) == style.around(np.array([-0.31]))
    assert style.around(np.array([30000.0]))[1] > 30000
