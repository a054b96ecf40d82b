"""Who owns which pixels in the main run, in the sweep over L and in the grid of settings."""

import numpy as np
import pytest

from fedlib.federated.history import History
from fedlib.federated.mixing import isolated
from fedlib.problems import letters
from fedlib.problems import letters_study as study


@pytest.fixture
def picture():
    return letters.Picture(letters.letters())


def test_three_federations_for_each_seed():
    shards = {s: [np.arange(5), np.arange(3, 9)] for s in (2, 0)}
    feds = study.federations(shards, 0.5, lr=0.02)
    assert list(feds) == [(name, s) for s in (2, 0) for name in ("federation", "alone", "central")]
    assert [feds[name, 2].fraction for name in ("federation", "alone", "central")] == [0.5, 1, 1]
    assert feds["alone", 0].mixing is isolated and {fed.lr for fed in feds.values()} == {0.02}
    np.testing.assert_array_equal(feds["central", 2].shards[0], np.arange(9))
    assert all(fed.seed == seed for (_, seed), fed in feds.items())


def test_the_printed_ratio():
    """L : F = 100 : 3; also what the authors' code has."""
    assert {own: study.others_of(own) for own in (50, 100, 200, 400, 800, 2000)} == {
        50: 2, 100: 3, 200: 6, 400: 12, 800: 24, 2000: 60,
    }  # fmt: skip
    assert all(abs(study.others_of(own) - 0.03 * own) <= 0.5 for own in range(1, 2000))


def test_the_sweep_has_its_pixels(picture):
    feds = study.sweep(picture, [50, 200], [3, 1], 6, fraction=0.5, lr=0.01)
    assert list(feds) == [(50, 3), (50, 1), (200, 3), (200, 1)]
    for (own, seed), fed in feds.items():
        assert fed.sizes.tolist() == [own + study.others_of(own)] * 6 and fed.seed == seed and fed.fraction == 0.5
        for k, shard in enumerate(fed.shards):
            assert np.isin(shard, picture.thirds[k // 2]).sum() == own and len(set(shard)) == len(shard)
    one, other = feds[50, 3].shards[0], feds[50, 1].shards[0]
    assert set(one) != set(other)
    main = study.shards_of(picture, 6, 200, 6, 3)
    assert all((a == b).all() for a, b in zip(main, feds[200, 3].shards, strict=True))  # the main run's clients


@pytest.mark.parametrize("rounds", [2, 10, 25])
def test_the_last_round_has_the_learning_rate_asked_for(rounds):
    decay = study.decay_of(0.1, rounds)
    assert decay ** (rounds - 1) == pytest.approx(0.1) and study.decay_of(1.0, rounds) == 1
    assert study.decay_of(0.1, 1) == pytest.approx(0.1)  # one round has the first rate only


def test_the_grid_has_every_choice_once():
    shards = {s: [np.arange(4)] * 3 for s in (100, 101)}
    feds = study.grid(shards, [0.01, 0.02], [1.0, 0.1], 50, 5, 0.5)
    assert len(feds) == 8 and {(c.local_updates, c.rounds) for c in feds} == {(50, 5)}
    for choice, fed in feds.items():
        assert (fed.seed, fed.lr, fed.fraction) == (choice.seed, choice.lr, 0.5)
        assert fed.rate(4) == pytest.approx(choice.lr * choice.lr_end)


def test_errors_of_the_right_federation_and_the_best_first(picture):
    """Scores after the last round count; a federation's clients share a model."""
    shards = {s: [np.arange(4)] * 2 for s in (100, 101)}
    feds = study.grid(shards, [0.01, 0.02], [1.0], 50, 2, 1.0)
    truth = picture.truth.double().numpy()
    right, worst = np.stack([truth] * 2), np.stack([-truth] * 2)
    last = np.concatenate([worst, right, right, right])  # lr .01: seed 100, 101; then lr .02
    history = History.empty(feds, None, 2)
    history.metrics["score"] = np.stack([-last, last])
    errors = study.errors_of(history, picture)
    table = study.tried(errors)
    assert [(row["lr"], row["seeds"]) for row in table] == [(0.02, [100, 101]), (0.01, [100, 101])]
    share = 2 * picture.xi / 4800
    assert table[0]["wrong"] == [0, 0] and table[1]["wrong"] == pytest.approx([share, 0])
    assert table[1]["mean"] == pytest.approx(share / 2) and table[0]["lr_end"] == 1.0
