"""The middle of a round, where an optimiser's rows are mixed by the server while its clients wait at their sites.

At a site the round is played in a thread, which stops there until the server asks again.
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
    """A round of a site that stops wherever it asks.

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
        answer = self.up.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def halt(self) -> None:
        self.down.put(None)
        self.thread.join()


class SiteWire:
    """``exchange.Wire`` of the clients of a site: what ``mix`` and ``mean`` give, the server computes.

    ask: see ``Halting``. order [n]: where each row of the stack stands in a message. sent [P']: see ``columns``.
    everyone: whether all clients of all sites take part. x [n, P]: the models with which the round began.
    """

    def __init__(self, work: Work, turn: Turn, x: Tensor, ask, order: np.ndarray, sent: Tensor, everyone: bool):
        self.work, self.turn, self.x, self.ask, self.order, self.sent = work, turn, x, ask, order, sent
        self.everyone, self.home = everyone, work.home
        self.active = torch.ones(len(x), 1, dtype=torch.bool)
        self.steps = torch.as_tensor(np.array(turn.steps))[:, None]

    def mix(self, x: Tensor, matrix: str = "mix") -> Tensor:
        """x [n, P] -> A x; columns that are not sent stay as they are. matrix: A's name at the server."""
        kept = columns(x, self.sent, self.home)
        answer = self.ask({"mix": matrix, "rows": x[:, kept].numpy()[np.argsort(self.order)]})
        rows = np.asarray(answer["rows"])[np.asarray(answer["which"])[self.order]]
        return x.index_copy(1, kept, torch.as_tensor(rows, dtype=x.dtype))

    def mean(self, new: Tensor, old: Tensor, mean: Tensor) -> Tensor:
        return self.mix(new, "mean") if self.everyone else mean + self.mix(new - old, "mean")

    def gradient(self) -> Tensor:
        return full_gradient(self.work, self.work.gradient, self.x, self.turn)


def columns(x: Tensor, sent: Tensor, home: Tensor) -> Tensor:
    """The columns of x that go over the wire: all but those of personal parameters; all of numbers like step counts."""
    return sent if x.shape[1] == len(sent) + len(home) else torch.arange(x.shape[1])
