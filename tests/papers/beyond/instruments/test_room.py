"""Noisy FedAvg is its plain loop with the noise that it should have; settings are chosen on other data sets."""

import numpy as np
import pytest
import torch
import xarray

from fedlib.federated import sums, suspects
from fedlib.papers.beyond.instruments import privacy, study
from fedlib.papers.beyond.instruments.problem import Fault, instruments

NO_NOISE = 1e12


@pytest.fixture
def labs():
    """Rows [A, y] of three laboratories, [20, 5]."""
    rng = np.random.default_rng(0)
    return [torch.as_tensor(rng.normal(size=(20, 5))) for _ in range(3)]


def plain(labs, rate, clip, rounds, steps, unit):
    """FedAvg, one laboratory and one point after the other."""
    w = np.zeros(4)
    for _ in range(rounds):
        changes = []
        for lab in labs:
            own = w.copy()
            for _ in range(steps):
                total = np.zeros(4)
                for *a, y in lab.numpy():
                    gradient = (np.dot(a, own) + y) * np.array(a)
                    total += gradient * min(1, clip / np.linalg.norm(gradient)) if unit == "point" else gradient
                own -= rate * total / len(lab)
            change = own - w
            changes.append(change * min(1, clip / np.linalg.norm(change)) if unit == "laboratory" else change)
        w = w + np.mean(changes, 0)
    return w


@pytest.mark.parametrize("unit", ["point", "laboratory"])
def test_without_noise_all_settings_are_those_of_the_plain_loop(labs, unit):
    models = privacy.noisy_fedavg(labs, 2.0, NO_NOISE, unit, 2, 3, np.random.default_rng(0))
    for (rate, clip), w in models.items():
        np.testing.assert_allclose(w, plain(labs, rate, 2 * clip, 2, 3, unit), atol=1e-4)
    assert len(models) == len(privacy.RATES) * len(privacy.CLIPS)


@pytest.mark.parametrize(("unit", "times", "share"), [("point", 6, 1 / 20), ("laboratory", 2, 1.0)])
def test_the_noise_is_that_of_all_messages_together(unit, times, share):
    """Nothing to learn: what is left is noise, of so many messages, each for so many of them; of three laboratories a
    mean. share: of a point in its laboratory's mean."""
    nothing = [torch.zeros(20, 4001).double() for _ in range(3)]
    sigma = sums.gaussian_sigma(1.0, privacy.DELTA) * times**0.5
    for (rate, clip), w in privacy.noisy_fedavg(nothing, 2.0, 1.0, unit, 2, 3, np.random.default_rng(0)).items():
        own = rate if unit == "point" else 1.0
        moved = 2 if unit == "laboratory" else 6
        assert w.std() == pytest.approx(own * share * sigma * 2 * clip * (moved / 3) ** 0.5, rel=0.05)


@pytest.mark.parametrize("unit", ["point", "laboratory"])
def test_noisy_sums_have_noise_as_a_matrix_and_its_half_need_it(unit, monkeypatch):
    """On the diagonal as ``sums.private`` has it, beside it smaller by the root of two."""
    made = privacy.Curve(0)
    nothing = [torch.zeros(5, made.directions.W.shape[0]).double() for _ in range(4)]
    heard, solve = [], sums.solve
    monkeypatch.setattr(privacy.sums, "solve", lambda message, ridge: (heard.append(message), solve(message, ridge))[1])
    rng = np.random.default_rng(0)
    for _ in range(40):
        privacy.noisy_sums(nothing, made.directions, 1.0, unit, rng)
    longest = made.directions.longest * (privacy.LAB_POINTS if unit == "laboratory" else 1)
    sigma = sums.gaussian_sigma(1.0, privacy.DELTA) * longest * 2  # four laboratories
    first = torch.stack([one.matrix for one in heard if one.noise == pytest.approx(sigma)])
    beside = first[:, *np.triu_indices(first.shape[1], 1)]
    assert first.diagonal(dim1=1, dim2=2).std().item() == pytest.approx(sigma, rel=0.05)
    assert beside.std().item() == pytest.approx(sigma / 2**0.5, rel=0.03)


def test_noisy_sums_without_noise_are_least_squares():
    made = privacy.Curve(0)
    rows = made.drawn(np.random.default_rng(0))[:2000]
    steps = privacy.noisy_sums(rows.tensor_split(2), made.directions, NO_NOISE, "point", np.random.default_rng(1))
    assert max(made.error(step) for step in steps.values()) < 1, "5 % noise of 2000 points, 16 unknowns"


def test_an_aimed_attack_reads_the_point_through_faint_noise_and_not_through_much():
    x = privacy.attacked(12, 64, 0, apart=0.3).x
    faint, loud = (abs(privacy.likeliest(64, noise, 0, x) - x[-1]) for noise in (1e-3, 1e3))
    assert faint < 0.03 < loud


def test_settings_are_chosen_on_other_data_sets(monkeypatch):
    """The one that is best on those that count is not taken."""
    coords = {
        "schedule": ["a", "b"],
        "lr": [0.1],
        "layout": ["anywhere"],
        "seed": [0, 1, *study.TRIED],
        "round": [1, 2],
    }
    values = np.ones((2, 1, 1, 7, 2))
    values[0, ..., 2:, 1], values[1, ..., :2, 1], values[0, ..., :2, 1] = 0.5, 0.1, 7.0
    table = xarray.DataArray(values, coords, [*coords]).rename(layout="level").expand_dims(kind=["federated"])
    monkeypatch.setattr(study, "errors", lambda history: table)
    best, words = study.at_its_best(None, [0, 1])
    assert words == {"anywhere": "a, 0.1"} and best.values.tolist() == [[7.0, 7.0]]


PASSING = {
    ("anywhere", 1.05): [], ("anywhere", 1.1): [4], ("anywhere", 1.5): [4],
    ("windows", 1.3): [], ("windows", 1.5): [3, 4], ("pieces", 1.3): [], ("pieces", 1.5): [],
}  # fmt: skip
"""Who measures, scale of laboratory 4 -> whose bar passes the line, as section 5 says of its sliders."""


@pytest.mark.parametrize(("layout", "scale"), PASSING)
def test_the_bars_do_what_the_lesson_says(layout, scale):
    experiment = instruments(fault=Fault(scale=scale))
    sent = study.messages(experiment, experiment.data(layout, 0))
    sayings = suspects.suspicions(sent)
    bars = [k + 1 for k, one in enumerate(sayings) if one.p < suspects.LIMIT / len(sayings)]
    assert bars == PASSING[layout, scale]
    assert suspects.off(sent) == [3] * bool(bars), "the worst is left out before the others are looked at"
    assert sum(one.least > suspects.LARGE for one in sayings) == 9 * (layout == "pieces")


def test_what_all_share_is_one_function_of_the_step():
    experiment = instruments()
    theta = sums.in_common(experiment, torch.zeros(18).double(), torch.arange(16).double())
    assert theta.tolist() == [*range(16), 0, 0]
