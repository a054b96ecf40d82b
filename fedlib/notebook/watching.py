"""Rounds with everything that one may want to look at: where each client was after each of its local steps."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count

import torch
from torch import Tensor

from ..federated.optimizers import Optimizer, adam
from ..federated.rounds import play
from ..federated.states import Round


class Halted(Exception):
    """Somebody wanted no more of a round, and it was left between two local steps."""


def watched_rounds(
    *training, optimizer: Optimizer | None = None, halted: Callable[[], bool] = lambda: False, **how
) -> Iterator[tuple[Round, Tensor]]:
    """The rounds of ``play``, each with the walk [M, S + 1, P] of all clients through at most S local steps.

    They are bit-equal to those of ``play`` and ``train`` with backend="eager". A client with fewer steps, or none,
    stands where it is.

    Args:
        training, optimizer, how: as in ``play``. halted: asked before every local step.

    Raises:
        Halted: it was; there are no further rounds.
    """
    seen: list[tuple[int, Tensor]] = []
    played = play(*training, optimizer=watched(optimizer or adam(), seen, halted), backend="eager", **how)
    for _ in count():
        seen.clear()
        done = next(played)
        walk = walks(seen, done.began.models(done.at_hand))  # of who was idle; who worked was seen from the start
        everyone = done.began.models()[:, None].repeat(1, walk.shape[1], 1)
        yield done, everyone.index_copy(0, done.at_hand, walk)


def watched(optimizer: Optimizer, seen: list, halted: Callable[[], bool]) -> Optimizer:
    """The same optimiser; it appends (first row, models [n, P]) to ``seen``: before its first step, and after each."""

    def apply(theta, gradient, state, lr):
        if halted():
            raise Halted
        first = theta.storage_offset() // theta.shape[1]  # theta: some rows of all that are at hand
        if all(first != other for other, _ in seen):
            seen.append((first, theta.clone()))
        optimizer.apply(theta, gradient, state, lr)
        seen.append((first, theta.clone()))

    return optimizer._replace(apply=apply)


def walks(seen: Sequence[tuple[int, Tensor]], idle: Tensor) -> Tensor:
    """[n, S + 1, P] from what ``watched`` has seen; who has finished stands still, and who was never seen at idle."""
    steps: list[list[Tensor]] = [[] for _ in idle]
    for first, models in seen:
        for i, row in enumerate(models, first):
            steps[i].append(row)
    S = max(map(len, steps))
    walked = [rows or [still] for rows, still in zip(steps, idle, strict=True)]
    return torch.stack([torch.stack(rows + rows[-1:] * (S - len(rows))) for rows in walked])
