"""Rounds that are watched: an optimiser that looks before each of its steps, and where it leads every client."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count

import torch
from torch import Tensor

from .optimizers import Optimizer, adam
from .rounds import play
from .states import Round


class Halted(Exception):
    """Somebody wanted no more of a round, and it was left between two local steps."""


def watched(optimizer: Optimizer, look: Callable[[Tensor, Tensor], None]) -> Optimizer:
    """The same optimiser; before each of its steps it calls look(theta [n, P], gradient [n, P])."""

    def apply(theta, gradient, state, lr):
        look(theta, gradient)
        optimizer.apply(theta, gradient, state, lr)

    return optimizer._replace(apply=apply)


def watched_rounds(
    *args, optimizer: Optimizer | None = None, halted: Callable[[], bool] = lambda: False, **train_args
) -> Iterator[tuple[Round, Tensor]]:
    """The rounds of ``play``, each with the walk [M, S + 1, P] of all clients through at most S local steps.

    They are bit-equal to those of ``play`` and ``train`` with backend="eager". A client with fewer steps, or none,
    stands where it is.

    Args:
        args, optimizer, train_args: as in ``play``. halted: asked before every local step.

    Raises:
        Halted: it was; there are no further rounds.
    """
    seen: list[tuple[int, Tensor]] = []

    def look(theta, gradient):
        if halted():
            raise Halted
        seen.append((theta.storage_offset() // theta.shape[1], theta.clone()))  # some rows of all that are at hand

    played = play(*args, optimizer=watched(optimizer or adam(), look), backend="eager", **train_args)
    for _ in count():
        seen.clear()
        done = next(played)
        walk = walks(seen, done.x)
        everyone = done.began.models()[:, None].repeat(1, walk.shape[1], 1)
        yield done, everyone.index_copy(0, done.at_hand, walk)


def walks(seen: Sequence[tuple[int, Tensor]], ends: Tensor) -> Tensor:
    """[n, S + 1, P] of those at hand: (first row, models before a step) of all steps, then ends [n, P]; who has
    finished stands still."""
    steps: list[list[Tensor]] = [[] for _ in ends]
    for first, models in seen:
        for i, row in enumerate(models, first):
            steps[i].append(row)
    S = max(map(len, steps))
    return torch.stack([torch.stack(rows + [end] * (S + 1 - len(rows))) for rows, end in zip(steps, ends, strict=True)])
