"""What optimisers exchange in the middle of a round, where the clients are on many machines.

At a site the round stops there: its thread waits until the server has mixed the rows of all sites and asks again.
"""

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue

import numpy as np
import torch
from torch import Tensor

from ..federated.local import Turn, Work, full_gradient


class Halted(Exception):
    """The server plays the round anew."""


class Halting:
    """A round of a site, played in a thread, which stops wherever it asks.

    play: (ask) -> the last answer; ask(answer) gives the server's next question. Its errors come out of ``go_on``.
    """

    def __init__(self, play: Callable[[Callable[[dict], dict]], dict]):
        self.up, self.down = SimpleQueue(), SimpleQueue()
        self.thread = threading.Thread(target=self.run, args=(play,), daemon=True)
        self.thread.start()

    def run(self, play):
        try:
            self.up.put(play(self.ask))
        except BaseException as error:
            self.up.put(error)

    def ask(self, answer: dict) -> dict:
        self.up.put(answer)
        if (question := self.down.get()) is None:
            raise Halted
        return question

    def go_on(self, question: Mapping | None = None) -> dict:
        """The next answer."""
        if question is not None:
            self.down.put(question)
        found = self.up.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def halt(self) -> None:
        self.down.put(None)
        self.thread.join()


class SiteMix:
    """x [n, P] -> A x, as the server computes it. home [H]: columns that are not sent and stay as they are."""

    def __init__(self, ask, order: np.ndarray, sent: Tensor, home: Tensor, how: str = "mix"):
        self.ask, self.order, self.sent, self.home, self.how = ask, order, sent, home, how

    def __call__(self, x: Tensor) -> Tensor:
        columns = columns_of(x, self.sent, self.home)
        found = self.ask({"mix": self.how, "rows": x[:, columns].numpy()[np.argsort(self.order)]})
        new = x.clone()
        rows = np.asarray(found["rows"])[np.asarray(found["which"])[self.order]]
        new[:, columns] = torch.as_tensor(rows, dtype=x.dtype)
        return new


class SiteWire:
    """``exchange.Wire`` of the clients of a site. everyone: whether all clients of all sites take part."""

    def __init__(self, work: Work, turn: Turn, x: Tensor, mix: SiteMix, everyone: bool):
        self.work, self.turn, self.x, self.mix, self.everyone = work, turn, x, mix, everyone
        self.active, self.home = torch.ones(len(x), 1, dtype=torch.bool), work.home
        self.steps = torch.as_tensor(np.array(turn.steps))[:, None]

    def mean(self, new: Tensor, old: Tensor, mean: Tensor) -> Tensor:
        of_all = SiteMix(self.mix.ask, self.mix.order, self.mix.sent, self.mix.home, "mean")
        return of_all(new) if self.everyone else mean + of_all(new - old)

    def gradient(self) -> Tensor:
        return full_gradient(self.work, self.work.gradient, self.x, self.turn)


def columns_of(x: Tensor, sent: Tensor, home: Tensor) -> Tensor:
    """The columns of x that go over the wire: all but those of personal parameters; all of numbers like step counts."""
    return sent if x.shape[1] == len(sent) + len(home) else torch.arange(x.shape[1])
