"""The exchange of a round: the block-diagonal mixing matrix A of a stack, as A = U[spread].

U has a row per distinct model: after FedAvg all clients of a federation are one, computed, held and evaluated once.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .mixing import check_stochastic, distinct_rows


class Exchange(NamedTuple):
    """What goes between clients and server in a round, for the n clients at hand; the others have zeros in A.

    D: distinct models. model, client, share [nnz]: U's entries; a distinct model takes its share of a client's model.
    source [M]: the distinct model that each client of the list of all has afterwards; spread [n]: each at hand.
    home [H]: columns that stay where they are.
    """

    D: int
    model: Tensor
    client: Tensor
    share: Tensor
    source: Tensor
    spread: Tensor
    home: Tensor

    def distinct(self, x: Tensor) -> Tensor:
        """U x [D, P], with x [n, P] of the clients at hand."""
        return x.new_zeros(self.D, x.shape[1]).index_add(0, self.model, self.share[:, None] * x[self.client])

    def mix(self, x: Tensor) -> Tensor:
        """A x, with x [n, P] of the clients at hand; a new tensor."""
        new = self.distinct(x)[self.spread]
        if len(self.home):
            new[:, self.home] = x[:, self.home]
        return new


class Wire(NamedTuple):
    """What an optimiser's ``start`` and ``finish`` have at hand. [n, ...] are the clients at hand, see ``local.Turn``.

    mix: x [n, P] -> A x, the round's own exchange. mean: (new, old, mean) [n, P] -> what mix of the new values would be
    if all clients took part; mean was that of the old ones, which the others still have. gradient: () -> [n, P], each
    client's over all its points. active [n, 1]: who takes part. steps [n, 1]: of the round. home: see ``Exchange``.
    """

    mix: Callable[[Tensor], Tensor]
    mean: Callable[[Tensor, Tensor, Tensor], Tensor]
    gradient: Callable[[], Tensor]
    active: Tensor
    steps: Tensor
    home: Tensor


def matrices(federations: Sequence, active: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Each federation's mixing matrix [K, K] with these active clients (bool [K]); [1, K] if all rows are equal."""
    return [
        distinct_rows(check_stochastic(fed.mixing(fed.p.copy(), at_work), len(fed.shards), fed.name))
        for fed, at_work in zip(federations, active, strict=True)
    ]


def needs_everyone(A: np.ndarray, at_work: np.ndarray) -> bool:
    """Whether A [K or 1, K] also takes models of clients that are not at work, or hands each client its own."""
    return len(A) > 1 or bool(((A[0] != 0) > at_work).any())


def exchange(work, mixing: Sequence[np.ndarray], turn) -> Exchange:
    """The exchange with these ``matrices``. work, turn: of the module ``local``."""
    first, entries = np.cumsum([0, *map(len, mixing)]), []
    for A, row, (rows, clients) in zip(mixing, first, turn.clients_of, strict=False):
        part = A[:, clients]
        model, client = np.nonzero(part)
        entries.append((row + model, rows[client], part[model, client]))
    device, (model, client, share) = work.home.device, map(np.concatenate, zip(*entries, strict=True))
    source = work.sources(tuple(map(len, mixing)))
    return Exchange(
        int(first[-1]),
        torch.as_tensor(model, device=device),
        torch.as_tensor(client, device=device),
        torch.as_tensor(share, dtype=work.dtype, device=device),
        source,
        source[turn.clients],
        work.home,
    )


def wire_of(work, turn, mixed: Exchange, gradient: Callable[[], Tensor]) -> Wire:
    """The round's wire; work, turn: of the module ``local``."""
    n, working = len(turn.clients), len(turn.numbers)

    def mean(new, old, mean_of_old):
        if n == len(work.sizes):
            return mixed.mix(new) if n == working else of_all().mix(new)
        away = np.array([len(rows) < K for (rows, _), K in zip(turn.clients_of, np.diff(work.starts), strict=True)])
        away = torch.as_tensor(away[turn.owner], dtype=work.dtype, device=new.device)[:, None]
        return away * mean_of_old + of_all().mix(new - away * old)

    def of_all():
        everyone = [np.ones(len(fed.shards), bool) for fed in work.federations]
        return exchange(work, matrices(work.federations, everyone), turn)

    active = torch.arange(n, device=work.home.device)[:, None] < working
    steps = torch.as_tensor(np.append(turn.steps, np.ones(n - working, int)), device=work.home.device)[:, None]
    return Wire(mixed.mix, mean, gradient, active, steps, work.home)


def sources_of(starts: np.ndarray, device, models: Sequence[int]) -> Tensor:
    """Which distinct model each client has [M], if federation f has models[f] of them: one, or one for each client.

    starts [F + 1]: where its clients begin in the list of all.
    """
    rows, sizes = np.cumsum([0, *models]), np.diff(starts)
    each = [np.full(K, row) if n == 1 else row + np.arange(K) for n, row, K in zip(models, rows, sizes, strict=False)]
    return torch.as_tensor(np.concatenate(each), device=device)


def served_by(work, mixing: Sequence[np.ndarray]) -> list:
    """For each server: the rows of the distinct models that it serves, all at once, and a client that has each of them.

    work: of the module ``local``. mixing: ``matrices``.
    """
    first, by_server = np.cumsum([0, *map(len, mixing)]), {}
    for f, fed in enumerate(work.federations):
        if fed.server is not None:
            rows, clients = np.arange(first[f], first[f + 1]), np.arange(*work.starts[f : f + 2])
            by_server.setdefault(fed.server, []).append((rows, clients[-len(rows) :]))
    return [
        (server, *(torch.as_tensor(np.concatenate(part), device=work.home.device) for part in zip(*parts, strict=True)))
        for server, parts in by_server.items()
    ]
