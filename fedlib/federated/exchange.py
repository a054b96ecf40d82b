"""The exchange of a round: the block-diagonal mixing matrix A of a stack, as A = U[spread].

U has a row per distinct model: after FedAvg all clients of a federation are one, computed, held and evaluated once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .mixing import check_stochastic, distinct_rows, takes_round


class Exchange(NamedTuple):
    """Of the n clients at hand, see ``work.Todo``; those who are not have zeros in A.

    U [D, n]: sparse. source [M]: the distinct model that each client of the list of all has afterwards; spread [n]:
    each at hand. home [H]: columns that stay where they are.
    """

    U: Tensor
    source: Tensor
    spread: Tensor
    home: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """A x, with x [n, P] of the clients at hand; a new tensor."""
        new = torch.sparse.mm(self.U, x)[self.spread]
        if len(self.home):
            new[:, self.home] = x[:, self.home]
        return new


def matrices(federations: Sequence, active: Sequence[np.ndarray], r: int) -> list[np.ndarray]:
    """Each federation's mixing matrix [K, K] in round r with these active clients (bool [K]); [1, K] if all rows are
    equal."""
    found = []
    for fed, here in zip(federations, active, strict=True):
        A = fed.mixing(fed.p.copy(), here, *([r] if takes_round(fed.mixing) else []))
        found.append(distinct_rows(check_stochastic(A, len(fed.shards), fed.name)))
    return found


def needs_everyone(fed, A: np.ndarray, here: np.ndarray) -> bool:
    """Whether a round of a federation is about its idle clients, too."""
    return len(A) > 1 or takes_round(fed.mixing) or bool(((A[0] != 0) > here).any())


def exchange(work, found: Sequence[np.ndarray], todo) -> Exchange:
    """The exchange with these ``matrices``. work, todo: of the module ``work``."""
    home, rows = work.home, np.cumsum([0, *(len(A) for A in found)])
    i, j, values = [], [], []
    for A, row, (own, k) in zip(found, rows, todo.clients_of, strict=False):
        part = A[:, k]
        a, b = np.nonzero(part)
        i.append(row + a), j.append(own[b]), values.append(part[a, b])
    where = torch.as_tensor(np.stack([np.concatenate(i), np.concatenate(j)]), device=home.device)
    values = torch.as_tensor(np.concatenate(values), dtype=work.dtype, device=home.device)
    U = torch.sparse_coo_tensor(
        where, values, (int(rows[-1]), len(todo.clients)), device=home.device, check_invariants=False
    )
    source = work.sources(tuple(len(A) for A in found))
    return Exchange(U.coalesce(), source, source[todo.clients], home)


def sources_of(starts: np.ndarray, device, models: Sequence[int]) -> Tensor:
    """Which distinct model each client has [M], if federation f has models[f] of them: one, or one for each client.

    starts [F + 1]: where its clients begin in the list of all.
    """
    rows, sizes = np.cumsum([0, *models]), np.diff(starts)
    each = [np.full(K, row) if n == 1 else row + np.arange(K) for n, row, K in zip(models, rows, sizes, strict=False)]
    return torch.as_tensor(np.concatenate(each), device=device)
