"""The local work of a round: all clients of a stack take their steps at once, block by block."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from .backends import flat
from .batches import (
    POINTS_PER_BLOCK,
    Local,
    Segment,
    blocks_of,
    each_batch,
    full_batch,
    n_steps,
    segments_of,
    with_noise,
)
from .checks import check_padding_is_ignored, raise_if_diverged
from .optimizers import Optimizer
from .stack import Rows, as_dict


class Work(NamedTuple):
    """What the clients of a stack do: everything that stays the same over the rounds."""

    net: nn.Module
    pool: Mapping[str, Tensor]
    federations: list
    rows: Rows
    home: Tensor  # [H], columns of theta that stay at the clients
    sources: Callable  # see ``exchange.sources_of``, for these rows
    local: Local
    noise: tuple[int, ...] | None
    optimizer: Optimizer
    reset_moments: bool
    gradient: Callable
    steps: Callable
    dtype: torch.dtype
    first: np.ndarray  # [M], of the list of all clients: loss before the first step of all, NaN before that


class Todo(NamedTuple):
    """The n clients at hand in a round: first who works, in order of falling work, then who only takes part in the
    exchange.

    clients [n]: their numbers in the list of all; numbers: the same of those who work. places [n]: see ``Rows``, or
    slice(None) if all work. owner [n]: the federation of each. clients_of: for each federation, which of the n are its
    clients, and their numbers there. who: (federation, number there) of those who work; steps, points, sizes: of their
    rounds, batches, and shards. blocks: their rows, cut for the cache; whole: each block's full batch, if it was made.
    """

    clients: Tensor
    numbers: np.ndarray
    places: Tensor | slice
    clients_of: list[tuple[np.ndarray, np.ndarray]]
    owner: np.ndarray
    who: list[tuple[int, int]]
    steps: np.ndarray
    points: np.ndarray
    sizes: np.ndarray
    blocks: list[slice]
    whole: list

    def padded(self, block: slice, local: Local) -> bool:
        """Whether batches of a block can hold padding: of ragged clients, or the short last one of a pass."""
        points = self.points[block]
        return bool((points != points[0]).any() or (not local.replacement and (self.sizes[block] % points).any()))


def todo(work: Work, active: Sequence[np.ndarray], everyone: Sequence[bool]) -> Todo:
    """active: who works, bool [K] for each federation. everyone: whether its idle clients are needed, too."""
    rows, local, device = work.rows, work.local, work.home.device
    starts = rows.starts[:-1]
    at_work = np.concatenate([start + np.flatnonzero(here) for start, here in zip(starts, active, strict=True)])
    at_work = at_work[np.argsort(rows.place[at_work])]
    idle = [start + np.flatnonzero(~here) for start, here, all_ in zip(starts, active, everyone, strict=True) if all_]
    clients = np.concatenate([at_work, *idle])
    owner = np.searchsorted(starts, clients, side="right") - 1
    order = np.argsort(owner, kind="stable")
    groups = np.split(order, np.searchsorted(owner[order], np.arange(1, len(starts))))
    clients_of = [(own, clients[own] - start) for own, start in zip(groups, starts, strict=True)]
    sizes = rows.sizes[at_work]
    points = local.points(sizes)
    blocks = blocks_of(points, POINTS_PER_BLOCK.get(device.type, POINTS_PER_BLOCK["cuda"]))
    whole = len(at_work) == len(rows.sizes)
    return Todo(
        torch.as_tensor(clients, device=device),
        at_work,
        slice(None) if whole else torch.as_tensor(rows.place[clients]),
        clients_of,
        owner,
        list(zip(owner.tolist(), (at_work - starts[owner[: len(at_work)]]).tolist(), strict=False)),
        np.broadcast_to(n_steps(sizes, local), sizes.shape),
        points,
        sizes,
        blocks,
        [None] * len(blocks),
    )


def local_work(work: Work, theta: Tensor, state: Mapping[str, Tensor], lr: Tensor, r: int, todo: Todo) -> np.ndarray:
    """All local steps of round r, in place in theta [n, P] and the optimisers' state of the clients at hand; lr [n, 1].

    Returns:
        losses of those who worked: mean over their steps.
    """
    pool, federations, local, noise, dtype = work.pool, work.federations, work.local, work.noise, work.dtype
    found = []
    for b, block in enumerate(todo.blocks):
        who, S = todo.who[block], todo.steps[block]
        th, st = theta[block], {k: v[block] for k, v in state.items()}
        if local.batch_size is None:
            segments = [Segment(len(who), local.updates, full(work, todo, b), {})]
        else:
            segments = segments_of(pool, federations, who, S, r, local, dtype)
        if noise is not None:
            segments = with_noise(segments, federations, who, r, local, noise, dtype)
        new = np.isnan(work.first[todo.numbers[block]])
        losses = steps(work, th, st, lr[block], segments, S, check=new.any() and todo.padded(block, local))
        found.append((losses, torch.stack([losses.sum(0), losses[0], th.sum(1)])))
    # once a round the processor waits for the device, however many blocks there are
    sums, begun, ended = torch.cat([numbers for _, numbers in found], 1).cpu().numpy()
    if not np.isfinite([sums, ended]).all():  # or very large
        for (losses, _), block in zip(found, todo.blocks, strict=True):
            raise_if_diverged(losses, theta[block], todo.steps[block], todo.who[block], federations, r)
    new = np.isnan(work.first[todo.numbers])
    work.first[todo.numbers[new]] = begun[new]
    return sums / todo.steps


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
        todo.whole[b] = full_batch(work.pool, work.federations, todo.who[todo.blocks[b]], work.dtype)
    return todo.whole[b]


def full_gradient(work: Work, theta: Tensor, todo: Todo) -> Tensor:
    """Gradient [n, P] of every active client's loss over all its points; 0 for the others."""
    if work.noise is not None:
        raise ValueError("this optimiser asks for the gradient over all points, which a loss with noise does not have")
    g = torch.zeros_like(theta)
    for b, block in enumerate(todo.blocks):
        g[block] = flat(work.gradient(as_dict(work.net, theta[block]), full(work, todo, b))[0])
    return g
