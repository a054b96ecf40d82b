"""Where a training stands, a round of it that was played, and what clients keep from round to round.

Control variates, moments that go on, personal parameters: a row for each client, and only where an algorithm needs it.
Everything else is one row per distinct model, or is gone after a round.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .optimizers import Optimizer


class State(NamedTuple):
    """All that the coming rounds depend on.

    round: the next one's number. theta [D, P]: the distinct models; source [M]: which of them each client has, in the
    list of all. optimizer: what optimisers keep, rows of clients [M, ...] (see ``Work.place``) or of models [D, ...];
    server: what the servers keep. personal [M, H]: the clients' own values in the columns [H] that are never mixed.
    """

    round: int
    theta: Tensor
    optimizer: dict[str, Tensor]
    server: list[dict[str, Tensor]]
    source: Tensor
    columns: Tensor
    personal: Tensor

    def models(self, clients: Tensor | slice = slice(None)) -> Tensor:
        """The models [n, P] of some clients, or of all; a new tensor."""
        x = self.theta[self.source[clients]]
        if len(self.columns):
            x[:, self.columns] = self.personal[clients]
        return x

    def distinct(self) -> tuple[Tensor, Tensor]:
        """The different models, and which of them each client has; with values of their own no two have the same."""
        if not len(self.columns):
            return self.theta, self.source
        return self.models(), torch.arange(len(self.source), device=self.source.device)


class Round(NamedTuple):
    """Rounds that were played without a look between them: one, but where a compiled program may play more.

    Look at it before the next one, which works in place in what clients keep.

    number: of the last of these rounds, 0, 1, ... clients [n]: numbers of those who took part. loss [T, n]: theirs in
    each of the T rounds, mean over the local steps. first [M]: loss before a client's first step of all, or since a
    checkpoint; NaN for who has not worked. at_hand: their numbers, and those of idle clients that the exchange needed;
    x [.., P]: their models before the last exchange. began, state: before these rounds and after them.
    """

    number: int
    clients: np.ndarray
    loss: np.ndarray
    first: np.ndarray
    at_hand: Tensor
    x: Tensor
    began: State
    state: State

    @property
    def losses(self) -> np.ndarray:
        """Of the list of all clients [M], NaN for who did not take part; in the last round."""
        losses = np.full(len(self.first), np.nan)
        losses[self.clients] = self.loss[-1]
        return losses

    @property
    def before(self) -> Tensor:
        """The models [M, P] before the exchange, in the order of the list of all clients."""
        return self.began.models().index_copy(0, self.at_hand, self.x)

    @property
    def after(self) -> Tensor:
        """The models [M, P] after the exchange."""
        return self.state.models()


def split_state(optimizer: Optimizer, state: Mapping[str, Tensor], reset: bool) -> tuple[dict, dict]:
    """The part of an optimiser's state that each client keeps, and the part that goes with each distinct model.

    reset: ``reset_moments``, which leaves only what is lasting.
    """
    names = [name for name in state if name not in optimizer.passing and (name in optimizer.lasting or not reset)]
    per_client, shared = ([name for name in names if (name in optimizer.shared) == common] for common in (False, True))
    return {name: state[name] for name in per_client}, {name: state[name] for name in shared}


def put_back(rows: Tensor, places: Tensor | slice, new: Tensor) -> Tensor:
    """rows [M, ...] with those at ``places`` replaced by new, in place. slice(None): new is rows, already changed."""
    if not isinstance(places, slice):
        rows[places] = new
    return rows
