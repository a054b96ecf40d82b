"""The local work of a round: all clients of a stack take their steps at once, block by block."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from .backends import Backend, flat
from .batches import (
    POINTS_PER_BLOCK,
    Local,
    Segment,
    blocks_of,
    full_batch,
    n_steps,
    segments_of,
    with_noise,
)
from .checks import diverged
from .optimizers import Optimizer
from .stack import as_dict


class Work(NamedTuple):
    """What the clients of a stack do: everything that stays the same over the rounds.

    starts [F + 1]: where the clients of each federation begin in the list of all M. sizes [M]: their points. place [M]:
    where each stands in the order of falling work, in which what clients keep is stored; who works in a block are
    neighbours. home [H]: columns of theta that stay at the clients. sources: see ``exchange.sources_of``. first [M]:
    loss before the first step of all, NaN before that. probe: of the loss, see ``dry``. diverged: federation -> what
    happened to it, for at most may_diverge of them: the others go on.
    """

    net: nn.Module
    pool: Mapping[str, Tensor]
    federations: list
    starts: np.ndarray
    sizes: np.ndarray
    place: np.ndarray
    home: Tensor
    sources: Callable
    local: Local
    noise: tuple[int, ...] | None
    optimizer: Optimizer
    reset_moments: bool
    gradient: Callable
    backend: Backend
    dtype: torch.dtype
    first: np.ndarray
    probe: object
    diverged: dict[int, str]
    may_diverge: int = 0


class Turn(NamedTuple):
    """The n clients at hand in a round: first who works, in order of falling work, then who only takes part in the
    exchange.

    clients [n]: their numbers in the list of all; numbers: the same of those who work. places [n]: see ``Work``, or
    slice(None) if all work. owner [n]: the federation of each. clients_of: for each federation, which of the n are its
    clients, and their numbers in it. Of those who work: members, (federation, number in it) of each; steps of the
    round, points of a batch, sizes of their shards; blocks, their rows, cut for the cache; whole, each block's full
    batch, if it was made.
    """

    clients: Tensor
    numbers: np.ndarray
    places: Tensor | slice
    clients_of: list[tuple[np.ndarray, np.ndarray]]
    owner: np.ndarray
    members: list[tuple[int, int]]
    steps: np.ndarray
    points: np.ndarray
    sizes: np.ndarray
    blocks: list[slice]
    whole: list


def turn_of(work: Work, active: Sequence[np.ndarray], everyone: Sequence[bool]) -> Turn:
    """active: who works, bool [K] for each federation. everyone: whether its idle clients are needed, too."""
    local, device, starts = work.local, work.home.device, work.starts[:-1]
    at_work = np.concatenate([start + np.flatnonzero(works) for start, works in zip(starts, active, strict=True)])
    at_work = at_work[np.argsort(work.place[at_work])]
    idle = [start + np.flatnonzero(~works) for start, works, all_ in zip(starts, active, everyone, strict=True) if all_]
    clients = np.concatenate([at_work, *idle])
    owner = np.searchsorted(starts, clients, side="right") - 1
    order = np.argsort(owner, kind="stable")
    groups = np.split(order, np.searchsorted(owner[order], np.arange(1, len(starts))))
    sizes = work.sizes[at_work]
    points = local.points(sizes)
    compiled = work.backend.name == "xla"  # XLA makes something slow of one row alone
    blocks = blocks_of(points, POINTS_PER_BLOCK[work.backend.name if device.type == "cpu" else "cuda"], 1 + compiled)
    whole = len(at_work) == len(work.sizes)
    return Turn(
        clients=torch.as_tensor(clients, device=device),
        numbers=at_work,
        places=slice(None) if whole else torch.as_tensor(work.place[clients], device=device),
        clients_of=[(rows, clients[rows] - start) for rows, start in zip(groups, starts, strict=True)],
        owner=owner,
        members=list(zip(owner.tolist(), (at_work - starts[owner[: len(at_work)]]).tolist(), strict=False)),
        steps=np.broadcast_to(n_steps(sizes, local), sizes.shape),
        points=points,
        sizes=sizes,
        blocks=blocks,
        whole=[None] * len(blocks),
    )


def local_work(work: Work, theta: Tensor, state: Mapping[str, Tensor], lr: Tensor, r: int, turn: Turn) -> np.ndarray:
    """All local steps of round r, in place in theta [n, P] and the optimisers' state of the clients at hand; lr [n, 1].

    Returns:
        losses of those who worked: mean over their steps.
    """
    losses, sums = [], []
    for b, block in enumerate(turn.blocks):
        models, kept = theta[block], {name: v[block] for name, v in state.items()}
        of_block = theta.new_zeros(turn.steps[block][0], len(models))
        first = 0
        for segment in segments_in(work, turn, b, r):  # the rows still at work are the first ones
            n, last = segment.n, first + segment.steps
            rows = models[:n], {name: v[:n] for name, v in kept.items()}, lr[block][:n]
            of_block[first:last, :n] = work.backend.steps(*rows, work.pool, segment)
            first = last
        losses.append(of_block)
        sums.append(torch.stack([of_block.sum(0), of_block[0], models.sum(1)]))
    # once a round the processor waits for the device, however many blocks there are
    total, begun, ended = torch.cat(sums, 1).cpu().numpy()
    if not np.isfinite([total, ended])[:, goes_on(work, turn)].all():  # or very large
        look_for_divergence(work, turn, losses, theta, r)
    remember_first(work, turn, begun)
    return np.where(goes_on(work, turn), total / turn.steps, np.nan)


def goes_on(work: Work, turn: Turn) -> np.ndarray:
    """Which of the clients at work belong to a federation that has not diverged, bool [n]."""
    return ~np.isin(turn.owner[: len(turn.numbers)], [*work.diverged])


def look_for_divergence(work: Work, turn: Turn, losses: Sequence[Tensor], theta: Tensor, r: int) -> None:
    """Write down which federations have a loss or a model that became non-finite.

    losses: [S, n] of each block. theta: before anything is averaged.

    Raises:
        FloatingPointError: more of them have diverged than may.
    """
    for of_block, block in zip(losses, turn.blocks, strict=True):
        new = diverged(of_block, theta[block], turn.steps[block], turn.members[block], work.federations, r)
        work.diverged.update({f: what for f, what in new.items() if f not in work.diverged})
    if len(work.diverged) > work.may_diverge:
        raise FloatingPointError(next(iter(work.diverged.values())))


def remember_first(work: Work, turn: Turn, begun: np.ndarray) -> None:
    """The loss before a client's first step of all; begun: of the clients at work, in this round."""
    new = np.isnan(work.first[turn.numbers])
    work.first[turn.numbers[new]] = begun[new]


def segments_in(work: Work, turn: Turn, b: int, r: int):
    """The local steps of block b in round r."""
    members, steps = turn.members[turn.blocks[b]], turn.steps[turn.blocks[b]]
    if work.local.batch_size is None:
        segments = [Segment(len(members), work.local.updates, full(work, turn, b), {})]
    else:
        segments = segments_of(work.pool, work.federations, members, steps, r, work.local, work.dtype)
    if work.noise is None:
        return segments
    return with_noise(segments, work.federations, members, r, work.local, work.noise, work.dtype)


def full(work: Work, turn: Turn, b: int) -> dict[str, Tensor]:
    """All points of every client of a block; made once."""
    if turn.whole[b] is None:
        turn.whole[b] = full_batch(work.pool, work.federations, turn.members[turn.blocks[b]], work.dtype)
    return turn.whole[b]


def full_gradient(work: Work, gradient: Callable, theta: Tensor, turn: Turn) -> Tensor:
    """Gradient [n, P] of every active client's loss over all its points; 0 for the others. gradient: see backends."""
    if work.noise is not None:
        raise ValueError("this optimiser asks for the gradient over all points, which a loss with noise does not have")
    of_blocks = [
        flat(gradient(as_dict(work.net, theta[block]), full(work, turn, b))[0]) for b, block in enumerate(turn.blocks)
    ]
    idle = theta.new_zeros(len(theta) - len(turn.numbers), theta.shape[1])
    return torch.cat([*of_blocks, idle])
