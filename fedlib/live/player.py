"""Rounds that are played while somebody looks on: in a thread, which is there only as long as it plays."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator

from torch import Tensor

from ..federated.states import Round
from ..federated.watching import Halted
from .watched import Moment

PAUSE = 0.2  # s between two pictures at least
PACES = ("each step", "each round", "fastest")
STORY = "slow, then fast"  # what a newcomer should see: the first rounds step by step, some one by one, then all others
SLOW, ONE_BY_ONE = 2, 5  # rounds up to which STORY shows each step, and each round
AT_MOST = 8  # local steps of a round that are shown


def moments(rounds: Iterable[tuple[Round, Tensor]], pace: Callable[[], str]) -> Iterator[Moment]:
    """The pictures of all rounds: some local steps, the last one always, and the average."""
    for done, walk in rounds:
        S = walk.shape[1] - 1
        n = min(S, AT_MOST)
        for i in range(1, n + 1):
            if i == n or pace() == PACES[0]:
                yield Moment(done, walk, round(i * S / n), False)
        yield Moment(done, walk, S, True)


class Player:
    """Plays rounds: all the time, or one; at most one player of a process does.

    Args:
        begin: (halted) -> rounds with walks, of a new training.
        show: called with a ``Moment`` in the thread that plays; the next one waits for its end, and for ``PAUSE``.
        say: called with an exception that ended the training, or None when a thread has ended.
    """

    now: "Player | None" = None  # who plays

    def __init__(self, begin: Callable, show: Callable[[Moment], None], say: Callable[[Exception | None], None]):
        self.begin, self.show, self.say, self.pace = begin, show, say, STORY
        self.thread, self.last, self.seen, self.shown, self.coming = None, None, None, 0.0, None
        self.until: int | None = None
        self.pausing, self.halting = threading.Event(), threading.Event()

    @property
    def playing(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    def pace_now(self) -> str:
        """One of PACES, for the round that goes on."""
        if self.pace != STORY:
            return self.pace
        done = self.last.done.number + self.last.averaged if self.last else 0
        return PACES[0 if done < SLOW else 1 if done < ONE_BY_ONE else 2]

    def reset(self) -> Moment:
        """Drop the training at once, begin a new one; returns its first moment with clients that are apart."""
        self.stop()
        self.halting.clear()
        self.coming = moments(self.begin(self.halting.is_set), self.pace_now)
        self.last = self.seen = next(moment for moment in self.coming if moment.step == moment.walk.shape[1] - 1)
        return self.last

    def step(self) -> None:
        """Go on to the next average."""
        if self.last is not None:
            self.play(self.last.done.number + 1 + self.last.averaged)

    def play(self, until: int | None = None) -> None:
        """Go on in a thread, until so many rounds are done, or until it is paused."""
        if self.coming is None:
            return
        self.until = until
        if self.playing and not self.pausing.is_set():
            return
        if Player.now is not None:
            Player.now.pause(wait=True)
        self.pausing.clear()
        Player.now, self.thread = self, threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def pause(self, wait: bool = False) -> None:
        """Stop with the next picture; nothing of the training is lost."""
        self.pausing.set()
        if wait and self.playing:
            self.thread.join()

    def stop(self) -> None:
        """End at once, between two local steps; only ``reset`` brings it back."""
        self.halting.set()
        self.pause(wait=True)
        if Player.now is self:
            Player.now = None
        self.thread = self.last = self.seen = self.coming = None

    def _run(self) -> None:
        error = None
        try:
            self._go_on()
        except Halted:
            return
        except (FloatingPointError, ValueError) as trouble:
            error = trouble.with_traceback(None)  # or it keeps the training
        if not self.halting.is_set():
            self.say(error)

    def _go_on(self) -> None:
        for moment in self.coming:
            self.last, hurried = moment, self.until is None and self.pace_now() == PACES[-1]
            if not hurried:
                self.pausing.wait(max(0, self.shown + PAUSE - time.monotonic()))
            if self.halting.is_set():
                return
            if not hurried or self.pausing.is_set() or self._due(moment):
                self.show(moment)
                self.seen, self.shown = moment, time.monotonic()
            done = moment.done.number + moment.averaged
            if self.pausing.is_set() or (self.until is not None and done >= self.until):
                return

    def _due(self, moment: Moment) -> bool:
        """In a hurry pictures of clients apart and of averages take turns, and no round waits for them."""
        other = self.seen is None or self.seen.averaged != moment.averaged
        return other and time.monotonic() >= self.shown + PAUSE
