"""What the server does with the mixed models: FedJAX's shape, ``init`` and ``apply``.

``mixed`` is A theta, what the clients would hold without it; ``before`` what they held when the round began. Both are
[D, P], a row per distinct model (one for a federation whose clients all receive the same), so a server is elementwise
per row and serves all federations of a stack that have it at once.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Server(NamedTuple):
    """init(theta [D, P]) -> state; apply(before, mixed, state, round) -> the models that go out; state is changed in
    place."""

    init: Callable[[Tensor], dict[str, Tensor]]
    apply: Callable[[Tensor, Tensor, dict[str, Tensor], int], Tensor]


def served_by(work, found: Sequence[np.ndarray]) -> list:
    """For each server: the rows of the distinct models that it serves, all at once, and a client that has each of them.

    work: of the module ``work``. found: the mixing ``matrices``.
    """
    rows, by_server = np.cumsum([0, *map(len, found)]), {}
    for f, fed in enumerate(work.federations):
        if fed.server is not None:
            own, clients = np.arange(rows[f], rows[f + 1]), np.arange(*work.rows.starts[f : f + 2])
            by_server.setdefault(fed.server, []).append((own, clients[-len(own) :]))
    return [
        (server, *(torch.as_tensor(np.concatenate(part), device=work.home.device) for part in zip(*parts, strict=True)))
        for server, parts in by_server.items()
    ]
