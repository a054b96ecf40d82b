"""What goes between clients and server at the ends of a round, besides the models."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .exchange import Exchange, exchange, matrices
from .work import Todo, Work, full_gradient


class Wire(NamedTuple):
    """What an optimiser's ``start`` and ``finish`` have at hand. [n, ...] are the clients at hand, see ``work.Todo``.

    mix: x [n, P] -> A x, the round's own exchange. mean: (new, old, mean) [n, P] -> what mix of the new values would be
    if all clients took part; mean was that of the old ones, which the others still have. gradient: () -> [n, P], each
    client's over all its points. active [n, 1]: who takes part. steps [n, 1]: of the round.
    """

    mix: Exchange
    mean: Callable[[Tensor, Tensor, Tensor], Tensor]
    gradient: Callable[[], Tensor]
    active: Tensor
    steps: Tensor


def wire_of(work: Work, x: Tensor, todo: Todo, mixed: Exchange, r: int) -> Wire:
    """The round's wire."""
    n, working = len(x), len(todo.numbers)

    def mean(new, old, mean_of_old):
        if n == len(work.rows.sizes):
            return mixed(new) if n == working else of_all()(new)
        away = np.array([len(own) < K for (own, _), K in zip(todo.clients_of, np.diff(work.rows.starts), strict=True)])
        away = torch.as_tensor(away[todo.owner], dtype=work.dtype, device=x.device)[:, None]
        return away * mean_of_old + of_all()(new - away * old)

    def of_all():
        all_work = [np.ones(len(fed.shards), bool) for fed in work.federations]
        return exchange(work, matrices(work.federations, all_work, r), todo)

    active = torch.arange(n, device=x.device)[:, None] < working
    steps = torch.as_tensor(np.append(todo.steps, np.ones(n - working, int)), device=x.device)[:, None]
    return Wire(mixed, mean, lambda: full_gradient(work, x, todo), active, steps)
