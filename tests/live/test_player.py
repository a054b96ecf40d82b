"""Play, step, pause, reset: what is shown, how often, and that nothing stays behind."""

import gc
import threading
import time
from itertools import pairwise

import psutil
import pytest
import torch

from fedlib import Federation, Local
from fedlib.federated.watching import watched_rounds
from fedlib.live import player as module
from fedlib.live.player import PACES, STORY, Player, moments


@pytest.fixture
def begin(problem):
    net, loss, pool, shards = problem

    def of(halted, local=3):
        how = dict(local=Local(local), dtype=torch.float64)
        return watched_rounds(net, loss, pool, [Federation(shards)], halted=halted, **how)

    return of


def wait_until(holds, seconds=10):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


def ready(begin, seen, said=None):
    player = Player(begin, seen.append, (lambda error: said.append(error)) if said is not None else lambda error: None)
    player.reset()
    return player


@pytest.mark.parametrize(("pace", "steps"), [(PACES[0], [1, 2, 3, 3]), (PACES[1], [3, 3])])
def test_moments_of_a_round(begin, pace, steps):
    coming = moments(begin(lambda: False), lambda: pace)
    for r in range(2):
        shown = [next(coming) for _ in steps]
        assert [m.step for m in shown] == steps and {m.done.number for m in shown} == {r}
        assert [m.averaged for m in shown] == [False] * (len(steps) - 1) + [True]
        apart, averaged = shown[-2].models, shown[-1].models
        assert (apart[0] - apart[1]).abs().max() > 1e-4, "clients drift apart"
        assert torch.equal(averaged, averaged[:1].expand_as(averaged)), "the average snaps them together"


def test_many_steps_are_shown_in_part(begin):
    coming = moments(begin(lambda: False, local=50), lambda: PACES[0])
    assert [next(coming).step for _ in range(9)] == [6, 12, 19, 25, 31, 38, 44, 50, 50]


def test_a_step_goes_to_the_next_average(begin, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.01)
    seen = []
    player = ready(begin, seen)
    for r in range(2):
        player.step()
        player.thread.join()
        assert seen[-1].averaged and seen[-1].done.number == r
    assert [m.averaged for m in seen] == [True, False, False, False, True]
    player.stop()


def test_play_tells_the_story_two_rounds_step_by_step_three_one_by_one_then_all_at_once(begin, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    seen = []
    player = ready(begin, seen)
    assert player.pace == STORY
    player.play()
    wait_until(lambda: player.last.done.number > 30)
    player.pause(wait=True)
    steps = {r: [m.step for m in seen if m.done.number == r] for r in range(6)}
    assert [steps[r] for r in range(5)] == [[3], [1, 2, 3, 3], [3, 3], [3, 3], [3, 3]], "the first began apart"
    assert player.pace_now() == PACES[2]
    player.stop()


def test_play_goes_on_after_a_step_and_a_step_ends_it(begin, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.01)
    seen = []
    player = ready(begin, seen)
    player.step()
    player.play()
    wait_until(lambda: player.last.done.number > 2)
    player.step()
    player.thread.join()
    assert player.last.averaged and not player.playing


def test_at_most_five_pictures_a_second_and_pause_at_once(begin):
    times = []
    player = Player(begin, lambda moment: times.append(time.monotonic()), lambda error: None)
    player.reset()
    player.pace = PACES[2]
    player.play()
    wait_until(lambda: len(times) >= 4)
    player.pause(wait=True)
    assert min(b - a for a, b in pairwise(times[:4])) >= 0.2
    number, shown = player.last.done.number, len(times)
    assert number > 10, "rounds do not wait for pictures"
    assert player.last is player.seen, "the last picture is where it stands"
    time.sleep(0.05)
    assert (player.last.done.number, len(times)) == (number, shown)
    player.play(number + 2)
    player.thread.join()
    assert player.last.done.number == number + 1, "it goes on where it was"


def test_only_one_plays(begin, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.01)
    one, two = ready(begin, []), ready(begin, [])
    one.play()
    two.play()
    assert two.playing and not one.playing
    two.stop()


def test_a_long_round_is_left_at_once(begin):
    player = ready(begin, [])
    player.begin = lambda halted: begin(halted, local=10**6)
    player.coming = moments(player.begin(player.halting.is_set), lambda: PACES[1])
    player.play()
    time.sleep(0.05)
    start = time.monotonic()
    player.stop()
    assert time.monotonic() - start < 0.5 and not player.playing


def test_a_training_that_diverges_says_so(problem):
    net, loss, pool, shards = problem

    def begin(halted):
        feds, how = [Federation(shards, lr=1e200)], dict(local=Local(1), dtype=torch.float64)
        return watched_rounds(net, loss, pool, feds, halted=halted, **how)

    said = []
    player = ready(begin, [], said)
    player.pace = PACES[2]
    player.play()
    wait_until(lambda: said)
    assert isinstance(said[0], FloatingPointError)


def test_nothing_is_left_behind_after_20_starts_and_cancels(begin, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    seen = []
    player = ready(begin, seen)

    def start_and_cancel():
        shown = len(seen)
        player.play()
        wait_until(lambda: len(seen) > shown + 3)
        player.reset()
        del seen[:]

    def here():
        gc.collect()
        kept = sum(type(o) is torch.Tensor for o in gc.get_objects())
        return threading.active_count(), kept, psutil.Process().memory_info().rss

    start_and_cancel()
    threads, tensors, memory = here()
    for _ in range(20):
        start_and_cancel()
    after = here()
    assert after[:2] == (threads, tensors)
    assert after[2] < memory + 8e6
    player.stop()
