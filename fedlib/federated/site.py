"""The two halves of a round, wherever they run: at the clients of one site, and at the server.

``rounds.one_round`` plays both in one process; ``fedlib.engines`` plays them on different machines. What is equal by
construction is these two functions.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor, sparse

from .wire import Wire
from .work import Todo, Work, local_work


def site_round(
    work: Work, todo: Todo, r: int, x: Tensor, kept: Mapping[str, Tensor], lr: Tensor, wire: Wire | None
) -> np.ndarray:
    """The local work of all clients of one site as one stack, in place in x and kept.

    Args:
        work, todo: what the clients do, and who of them in round r.
        x [n, P]: the models that they were given. kept: their optimisers' state, each [n, ...]. lr [n, 1].
        wire: what they exchange at the ends of the round; None where their optimiser sends no more than the models.

    Returns:
        loss of those who worked: mean over their steps.

    Raises:
        FloatingPointError: a loss or a model became non-finite; names client, round and step.
    """
    if work.optimizer.start:
        work.optimizer.start(x, kept, wire)
    loss = local_work(work, x, kept, lr, r, todo)
    if work.optimizer.finish:
        work.optimizer.finish(x, kept, wire)
    return loss


def server_step(
    U: Tensor, x: Tensor, served: Sequence[tuple], began: Sequence[Tensor], states: Sequence[dict], r: int
) -> Tensor:
    """theta = U x, and what the servers make of it.

    Args:
        U [D, n]: distinct rows of the mixing matrix, sparse. x [n, P]: the models that came.
        served: of ``server.served_by``; began: for each server the models when the round began; states: changed in
            place.

    Returns:
        theta [D, P]: the distinct models that go out.
    """
    theta = sparse.mm(U, x)
    for (server, own, _), before, its in zip(served, began, states, strict=True):
        theta[own] = server.apply(before, theta[own], its, r)
    return theta
