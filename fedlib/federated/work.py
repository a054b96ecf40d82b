"""The local work of a round: all clients of a stack take their steps at once, block by block."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from .backends import flat
from .batches import POINTS_PER_BLOCK, Local, Segment, blocks_of, each_batch, full_batch, segments_of, with_noise
from .checks import check_padding_is_ignored, raise_if_diverged
from .optimizers import Optimizer
from .stack import Rows, as_dict


class Work(NamedTuple):
    """What the clients of a stack do: everything that stays the same over the rounds."""

    net: nn.Module
    pool: Mapping[str, Tensor]
    federations: list
    rows: Rows
    local: Local
    noise: tuple[int, ...] | None
    optimizer: Optimizer
    gradient: Callable
    steps: Callable
    dtype: torch.dtype
    first: np.ndarray  # [M], of the list of all clients: loss before the first step of all, NaN before that


class Todo(NamedTuple):
    """Who works. active [M] (rows inside); blocks: their rows, cut for the cache; whole: each block's full batch."""

    active: np.ndarray
    blocks: list[np.ndarray]
    whole: list


def todo(work: Work, active: np.ndarray) -> Todo:
    """The blocks of the active clients, bool [M] of the list of all clients."""
    inside = active[work.rows.inside]
    order = np.flatnonzero(inside)
    limit = POINTS_PER_BLOCK.get(work.rows.outside.device.type, POINTS_PER_BLOCK["cuda"])
    cut = [order[b] for b in blocks_of(work.rows.points[order], limit)]
    return Todo(inside, cut, [None] * len(cut))


def local_work(work: Work, theta: Tensor, state: Mapping[str, Tensor], lr: Tensor, r: int, todo: Todo) -> np.ndarray:
    """All local steps of round r, in place in theta [M, P] and the optimisers' state; lr [M, 1].

    Returns:
        losses [M], of the list of all clients: mean over the steps, NaN for who did not work.
    """
    pool, federations, rows, local, noise, dtype = (
        work.pool,
        work.federations,
        work.rows,
        work.local,
        work.noise,
        work.dtype,
    )
    means = np.full(len(rows.clients), np.nan)
    for b, own in enumerate(todo.blocks):
        who, S = [rows.clients[i] for i in own], rows.steps[own]
        neighbours = own[-1] - own[0] + 1 == len(own)
        view = slice(own[0], own[-1] + 1) if neighbours else torch.as_tensor(own, device=theta.device)
        th, st = theta[view], {k: v[view] for k, v in state.items()}
        if local.batch_size is None:
            segments = [Segment(len(own), local.updates, full(work, todo, b), {})]
        else:
            segments = segments_of(pool, federations, who, S, r, local, dtype)
        if noise is not None:
            segments = with_noise(segments, federations, who, r, local, noise, dtype)
        me = rows.inside[own]
        new = np.isnan(work.first[me])
        losses = steps(work, th, st, lr[view], segments, S, check=rows.padded(own) and new.any())
        raise_if_diverged(losses, th, S, who, federations, r)
        if not neighbours:  # indexing made copies
            theta[view] = th
            for k in st:
                state[k][view] = st[k]
        losses = losses.cpu()
        means[me], work.first[me[new]] = losses.sum(0).numpy() / S, losses.numpy()[0][new]
    return means


def steps(work: Work, theta, state, lr, segments, counts: np.ndarray, check: bool) -> Tensor:
    """The local steps of one block, in place; counts [n] falls, so the rows still at work are the first ones.

    check: see that the first batch with padding is not trained on it.

    Returns the losses [S, n] before each step, 0 after a row's last.
    """
    losses, s = theta.new_zeros(counts[0], len(theta)), 0
    for segment in segments:
        n, at_work = segment.n, (theta[: segment.n], {k: v[: segment.n] for k, v in state.items()}, lr[: segment.n])
        if check:
            params, batches = as_dict(work.net, at_work[0]), each_batch(work.pool, segment)
            check = not any(check_padding_is_ignored(work.gradient, params, batch) for batch in batches)
        losses[s : s + segment.steps, :n] = work.steps(*at_work, work.pool, segment)
        s += segment.steps
    return losses


def full(work: Work, todo: Todo, b: int) -> dict[str, Tensor]:
    """All points of every client of a block; made once."""
    if todo.whole[b] is None:
        who = [work.rows.clients[i] for i in todo.blocks[b]]
        todo.whole[b] = full_batch(work.pool, work.federations, who, work.dtype)
    return todo.whole[b]


def full_gradient(work: Work, theta: Tensor, todo: Todo) -> Tensor:
    """Gradient [M, P] of every active client's loss over all its points; 0 for the others."""
    if work.noise is not None:
        raise ValueError("this optimiser asks for the gradient over all points, which a loss with noise does not have")
    g = torch.zeros_like(theta)
    for b, own in enumerate(todo.blocks):
        at = torch.as_tensor(own, device=theta.device)
        g[at] = flat(work.gradient(as_dict(work.net, theta[at]), full(work, todo, b))[0])
    return g
