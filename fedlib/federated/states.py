"""Where a training stands, and a round of it that was played."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .kept import taken


class State(NamedTuple):
    """All that the coming rounds depend on.

    round: the next one's number. theta [D, P]: the distinct models; source [M]: which of them each client has, in the
    list of all. optimizer: what optimisers keep, rows of clients [M, ...] (see ``Rows.place``) or of models [D, ...];
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
            x[:, self.columns] = taken(self.personal, clients, x.device)
        return x

    def distinct(self) -> tuple[Tensor, Tensor]:
        """The different models, and which of them each client has; with own values no two have the same."""
        if not len(self.columns):
            return self.theta, self.source
        return self.models(), torch.arange(len(self.source), device=self.source.device)


class Round(NamedTuple):
    """A round that was played. Look at it before the next one, which works in place in what clients keep.

    number: 0, 1, ... clients [n]: numbers of those who took part; loss [n]: theirs, mean over the local steps.
    first [M]: loss before a client's first step of all, or since a checkpoint; NaN for who has not worked.
    at_hand: their numbers, and those of idle clients that the exchange needed; x [.., P]: their models before it.
    began, state: before the round and after it.
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
        """Of the list of all clients [M], NaN for who did not take part."""
        losses = np.full(len(self.first), np.nan)
        losses[self.clients] = self.loss
        return losses

    @property
    def before(self) -> Tensor:
        """The models [M, P] before the exchange, in the order of the list of all clients."""
        return self.began.models().index_copy(0, self.at_hand, self.x)

    @property
    def after(self) -> Tensor:
        """The models [M, P] after the exchange."""
        return self.state.models()

    @property
    def distinct(self) -> Tensor:
        """The different models [D, P] after the exchange."""
        return self.state.theta

    def models(self, which: str = "after") -> Tensor:
        """The models [M, P] "before" or "after" the exchange."""
        return getattr(self, which)
