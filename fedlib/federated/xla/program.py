"""Local steps, or whole rounds, as one program of XLA: the unchanged torch network, loss and optimiser, by way of JAX.

One step of all rows is written down as operations of arrays by ``aten``; a loop over the steps around them is compiled,
once per shape, in about a second. Where a client has more points than the cache holds, and its residuals are seen to be
pointwise, a step goes through them slice by slice.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import Tensor, nn
from torch.func import vmap
from torch.utils.weak import WeakIdKeyDictionary

from ..backends import Backend, client_gradient, flat, of_one, stepping
from ..batches import NUMBERS_AT_ONCE, POINTS_PER_BLOCK, Segment, batch_of
from ..exchange import wire_of
from ..local import full, full_gradient, segments_in
from ..optimizers import Optimizer
from ..stack import as_dict
from .aten import InJax, in_jax

PROCESS = os.getpid()  # where JAX was started: a fork of it would wait for threads for ever
ROUNDS = 512  # of a program at most: somebody may want to interrupt it
compiled = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 1})
"""A function of arrays as a program. Above level 1 LLVM takes a sixth to a quarter longer for what is no faster."""


def xla(net: nn.Module, loss: Callable, optimizer: Optimizer, varied: bool = False) -> Backend:
    """The backend. varied: see ``steps_by``.

    Raises (in training):
        NotImplementedError: a step uses an operation that ``aten`` does not know.
    """
    step = Step(net, client_gradient(net, loss), optimizer, getattr(loss, "residuals", None))
    return Backend("xla", steps_by(step, varied), partial(xla, net, loss, optimizer, varied), partial(rounds_by, step))


class Step(NamedTuple):
    """What a step is made of.

    residuals: (predict, batch) -> [B, c], of which its loss is the weighted sum of squares, see
    ``experiment.weighted_mean_square``; None for any other loss.
    """

    net: nn.Module
    gradient: Callable
    optimizer: Optimizer
    residuals: Callable | None = None


def has_device(device: str) -> bool:
    """Whether JAX can compute there: it needs a build of its own for an accelerator."""
    return device == "cpu" or jax.default_backend() == "gpu"


def knows_all(net: nn.Module, loss: Callable, optimizer: Optimizer, pool: Mapping, batch: Mapping) -> bool:
    """Whether ``aten`` has all operations of a step with such a batch [1, B, ...]."""
    theta = nn.utils.parameters_to_vector(net.parameters()).detach()[None].to(batch["w"].dtype)
    step, segment = Step(net, client_gradient(net, loss), optimizer), Segment(1, 1, dict(batch), {})
    state, lr = optimizer.init(theta), theta[:, :1]
    try:
        piece = step_in_jax(step, theta, state, lr, pool, segment)
        with jax.enable_x64(True):
            jax.eval_shape(
                piece.function, *jax.tree.map(array, (piece.captured, theta, state, lr, pool, segment.fixed, {}))
            )
    except NotImplementedError:
        return False
    return True


def steps_by(step: Step, varied: bool) -> Callable:
    """A segment's steps as one compiled loop.

    varied: other shapes in every round. A program is compiled for every shape, so blocks are then filled up to the size
    of the largest one so far.
    """
    programs, shared, largest = {}, Shared(), [0]

    def steps(theta, state, lr, pool, segment: Segment) -> Tensor:
        if not varied:
            return at_once(theta, state, lr, pool, segment)
        largest[0] = max(largest[0], segment.n)
        more = filled(theta, state, lr, segment, largest[0])
        losses = at_once(*more[:3], pool, more[3])[:, : segment.n]
        for old, new in zip((theta, *state.values()), (more[0], *more[1].values()), strict=True):
            old.copy_(new[: segment.n])
        return losses

    def at_once(theta, state, lr, pool, segment: Segment) -> Tensor:
        key = tuple(shape_of(segment)), *((v.shape, v.dtype) for v in (theta, *pool.values()))
        with jax.enable_x64(True):  # 64-bit numbers are what they are; it makes nothing of 32 bits wider
            if key not in programs:
                piece = step_in_jax(step, theta, state, lr, pool, segment)
                programs[key] = compiled(partial(scanned, piece, segment.steps)), piece.captured
            program, captured = programs[key]
            constant = jax.tree.map(shared, (captured, pool, segment.fixed))
            after, losses = program(*constant, *jax.tree.map(array, (segment.drawn, (theta, state), lr)))
        for old, new in zip(jax.tree.leaves((theta, state)), jax.tree.leaves(after), strict=True):
            old.copy_(tensor(new))
        return tensor(losses)

    return steps


def step_in_jax(step: Step, theta, state, lr, pool, segment: Segment) -> InJax:
    """(theta, state, lr, pool, fixed, drawn) -> theta, state, losses [n]: one step of a segment."""
    slices = number_of_slices(segment) if step.residuals else 1
    if slices > 1 and pointwise(step.net, step.residuals, theta, segment.fixed):
        return sliced(step, slices, theta, state, lr, segment)
    one = stepping(step.net, step.gradient, step.optimizer)

    def pure(theta, state, lr, pool, fixed, drawn):
        return theta, state, one(theta, state, lr, batch_of(pool, fixed, drawn))

    return in_jax(
        pure, theta, state, lr, pool, segment.fixed, {name: value[0] for name, value in segment.drawn.items()}
    )


def number_of_slices(segment: Segment) -> int:
    """In how many slices the points of a fixed batch stay in the cache."""
    return 1 if segment.drawn else -(-segment.fixed["w"].numel() // POINTS_PER_BLOCK["xla"])


def pointwise(net: nn.Module, residuals: Callable, theta: Tensor, batch: Mapping[str, Tensor]) -> bool:
    """Whether residuals see no other points of their client, as a mean, an integral, a difference of neighbours or a
    normalised batch do: in each eighth of the points alone, as they stand and in disorder, they are the same as among
    all of them. Weights are random, and constants are whole. Models are near theta and far from it: at theta itself, a
    start at zero say, what couples the points may be silent. theta [n, P], batch [n, B, ...].
    """
    n, B = batch["w"].shape
    random = torch.Generator().manual_seed(0)
    weights, disorder = torch.rand(n, B, generator=random), torch.randperm(B, generator=random)
    batch = {**batch, "w": weights.to(batch["w"])}
    of_clients = vmap(of_one(net, residuals))
    parts = [points.to(theta.device) for order in (torch.arange(B), disorder) for points in order.chunk(8)]

    def the_same_alone(theta):
        params = as_dict(net, theta)
        r = of_clients(params, batch)
        rounding = 1000 * torch.finfo(r.dtype).eps * r.abs().amax(1, keepdim=True)  # of products of other sizes
        alone = (of_clients(params, {name: x[:, points] for name, x in batch.items()}) for points in parts)
        return all(bool(((a - r[:, points]).abs() <= rounding).all()) for a, points in zip(alone, parts, strict=True))

    models = (theta + scale * torch.randn(theta.shape, generator=random).to(theta) for scale in (0.1, 1))
    with torch.no_grad():
        return all(map(the_same_alone, models))


def sliced(step: Step, slices: int, theta, state, lr, segment: Segment) -> InJax:
    """As ``step_in_jax``, with the gradient summed over slices of the points, one after the other in the cache.

    A slice of a model alone is halved, as if two had the same parameters: XLA makes something slow of one row.
    """
    n, B = segment.fixed["w"].shape
    copies = 2 if n == 1 else 1
    size = -(-B // (slices * copies))

    def cut(x, filling: str):
        """[n, B, ...] -> [slices, n copies, size, ...], filled up with the last point."""
        more = [(0, 0), (0, slices * copies * size - B), *[(0, 0)] * (x.ndim - 2)]
        cuts = jnp.pad(x, more, filling).reshape(n, slices, copies * size, *x.shape[2:]).swapaxes(0, 1)
        return cuts.reshape(slices, n * copies, size, *x.shape[2:])

    def of_slice(theta, batch):
        g, losses = step.gradient(as_dict(step.net, theta), batch)
        return flat(g), losses

    def moved(theta, state, lr, g):
        step.optimizer.apply(theta, g, state, lr)
        return theta, state

    some = {name: x[:, :size].repeat_interleave(copies, 0) for name, x in segment.fixed.items()}
    gradient = in_jax(of_slice, theta.repeat_interleave(copies, 0), some)
    moved = in_jax(moved, theta, state, lr, theta)

    def function(captured, theta, state, lr, pool, fixed, drawn):
        def add(total, batch):
            return jax.tree.map(jnp.add, total, gradient(captured[0], rows, batch)), None

        rows = jnp.repeat(theta, copies, 0)
        cuts = {name: cut(x, "constant" if name == "w" else "edge") for name, x in fixed.items()}
        total, _ = lax.scan(add, (jnp.zeros_like(rows), jnp.zeros_like(rows[:, 0])), cuts)
        g, losses = (x.reshape(n, copies, *x.shape[1:]).sum(1) for x in total)
        return *moved(captured[1], theta, state, lr, g), losses

    return InJax(function, [gradient.captured, moved.captured])


def scanned(piece: InJax, steps: int, captured, pool, fixed, drawn, rows, lr):
    """All steps of a segment, in arrays: rows (theta, state) after them, and the losses [S, n]."""

    def one(rows, drawn_batch):
        *rows, losses = piece(captured, *rows, lr, pool, fixed, drawn_batch)
        return tuple(rows), losses

    return lax.scan(one, rows, drawn, length=steps)


def rounds_by(step: Step, work, turn, mixed, served: list, r: int, example: tuple) -> Callable | None:
    """Rounds of clients who all take part, as one compiled loop: local work, exchange, server.

    example: (x, kept, at_server) before round r, see ``rounds.standing``.

    Returns:
        None if a rule or a server does something that ``aten`` does not know: rounds are then played one by one. Else
        program(x [n, P], kept, at_server, r, last) -> models before the last exchange [n, P] and the distinct ones
        after it [D, P], kept, at_server, how many rounds were played, summed losses [T, n] of the T rounds that could
        be, and the last one's losses [S, n]. It ends before round ``last``, after as many rounds as fit in memory, or
        after the first one with new numbers that are not finite.
    """
    shared = Shared()
    plan = plan_of(work, turn, r)
    try:
        rounds, *constant = whole_rounds(step, work, turn, mixed, served, plan, example)
    except NotImplementedError:
        return None
    owner = torch.as_tensor(turn.owner, device=work.home.device)
    row = np.empty(mixed.D, int)  # of a client that has this model
    row[mixed.spread.cpu().numpy()] = np.arange(len(turn.numbers))
    row = torch.as_tensor(row, device=owner.device)
    numbers = sum(v.numel() for v in jax.tree.leaves(drawn_of(plan)))
    capacity = min(ROUNDS, max(1, NUMBERS_AT_ONCE // max(1, numbers)))

    def program(x, kept, at_server, r: int, last: int):
        coming = range(r, min(last, r + capacity))
        plans = [plan_of(work, turn, s) for s in coming] if numbers else [plan]
        drawn = jax.tree.map(lambda *rounds: with_room(rounds, capacity), *map(drawn_of, plans))
        rates = torch.tensor([[fed.rate(s) for fed in work.federations] for s in coming], dtype=work.dtype)
        lr = with_room(rates.to(owner.device)[:, owner, None], capacity)
        with jax.enable_x64(True):
            changing = jax.tree.map(array, (x, kept, at_server, lr, drawn))
            result = rounds(*jax.tree.map(shared, constant), *changing, len(coming))
        played, x, after, kept, at_server, losses, of_last = jax.tree.map(tensor, result)
        kept = {name: v[row] if name in work.optimizer.shared else v for name, v in kept.items()}
        return x, after[row], kept, at_server, played, losses[: len(coming)], of_last

    return program


def whole_rounds(step, work, turn, mixed, served, plan: list, example: tuple) -> tuple:
    """The program of ``rounds_by``, what its pieces captured, the pool, and the batches that stay the same.

    example: (x, kept, at_server) before a round. The program's body is three pieces: what begins a round and what ends
    it, and between them for each group of blocks a loop over the steps.
    """
    x, kept, at_server = example
    optimizer, place = work.optimizer, np.argsort(turn.clients.cpu().numpy())
    if optimizer.start and work.noise is None:
        _ = [full(work, turn, b) for b in range(len(turn.blocks))]  # made before anything is written down
    servers = [(server, rows, torch.as_tensor(place)[clients]) for server, rows, clients in served]

    def wire(x):
        return wire_of(work, turn, mixed, lambda: full_gradient(work, step.gradient, x, turn))

    def begin(x, kept):
        if work.reset_moments or optimizer.passing:
            kept = optimizer.init(x) | kept
        if optimizer.start:
            optimizer.start(x, kept, wire(x))
        return kept

    def end(x, state, began, at_server):
        if optimizer.finish:
            optimizer.finish(x, state, wire(x))
        theta = mixed.distinct(x)
        for (server, rows, clients), of_server in zip(servers, at_server, strict=True):
            theta = theta.index_copy(0, rows, server.apply(began[clients], theta[rows], of_server))
        after = theta[mixed.spread]
        if len(work.home):
            after = after.index_copy(1, work.home, x[:, work.home])
        return after, {name: state[name] for name in kept}, at_server

    begin, started = in_jax(begin, x, kept), begin(x.clone(), {name: v.clone() for name, v in kept.items()})
    end, steps = in_jax(end, x, started, x, at_server), {}
    for segment in (segment for _, segments in plan for segment in segments):
        if shape_of(segment) not in steps:
            first = Segment(segment.n, segment.steps, *({k: v[0] for k, v in d.items()} for d in segment[2:]))
            rows = jax.tree.map(lambda v: v[: segment.n], (x, started, x[:, :1]))  # noqa: B023
            steps[shape_of(segment)] = step_in_jax(step, *rows, work.pool, first)
    captured = begin.captured, end.captured, [piece.captured for piece in steps.values()]
    number, S = {shape: i for i, shape in enumerate(steps)}, int(turn.steps.max())

    def of_block(captured, pool, segments, x, state, lr, batches):
        losses = []
        for segment, fixed, drawn in zip(segments, *batches, strict=True):
            n, piece, its = segment.n, steps[shape_of(segment)], captured[2][number[shape_of(segment)]]
            rows = jax.tree.map(itemgetter(slice(n)), (x, state))
            rows, of_steps = scanned(piece, segment.steps, its, pool, fixed, drawn, rows, lr[:n])
            x, state = jax.tree.map(with_first, (x, state), rows)
            losses.append(jnp.pad(of_steps, ((0, 0), (0, len(x) - n))))
        return x, state, jnp.concatenate(losses).T

    def local(captured, pool, fixed, x, state, lr, drawn):
        going = x, state, jnp.zeros((len(x), S), x.dtype)
        for (rows, segments), *batches in zip(plan, fixed, drawn, strict=True):
            blocks = len((segments[0].fixed or segments[0].drawn)["w"])
            size = (rows.stop - rows.start) // blocks

            def one(b, going, rows=rows, segments=segments, batches=batches, size=size):
                """A block, in place: it is read, trained in the cache, and written back."""
                first = rows.start + b * size
                *block, rates = jax.tree.map(lambda v: lax.dynamic_slice_in_dim(v, first, size), (*going[:2], lr))
                *block, losses = of_block(
                    captured, pool, segments, *block, rates, jax.tree.map(lambda v: v[b], batches)
                )
                losses = jnp.pad(losses, ((0, 0), (0, S - losses.shape[1])))
                return jax.tree.map(
                    lambda v, new: lax.dynamic_update_slice_in_dim(v, new, first, 0), going, (*block, losses)
                )

            going = lax.fori_loop(0, blocks, one, going)
        return going

    def rounds(captured, pool, fixed, x, kept, at_server, lr, drawn, T):
        void = ~jnp.isfinite(x.sum(1))  # of federations that diverged before; the others go on

        def one(going):
            r, _, _, began, kept, at_server, losses, _ = going
            state = begin(captured[0], began, kept)
            x, state, of_steps = local(captured, pool, fixed, began, state, lr[r], jax.tree.map(lambda v: v[r], drawn))
            total = of_steps.sum(1)
            fine = (jnp.isfinite(total) & jnp.isfinite(x.sum(1)) | void).all()
            after, kept, at_server = end(captured[1], x, state, began, at_server)
            return r + 1, fine, x, after, kept, at_server, losses.at[r].set(total), of_steps

        def goes_on(going):
            return (going[0] < T) & going[1]

        losses, of_last = jnp.zeros((len(lr), len(x)), x.dtype), jnp.zeros((len(x), S), x.dtype)
        r, _, *result, of_last = lax.while_loop(goes_on, one, (0, True, x, x, kept, at_server, losses, of_last))
        return r, *result, of_last.T

    return compiled(rounds), captured, dict(work.pool), [[s.fixed for s in segments] for _, segments in plan]


def plan_of(work, turn, r: int) -> list[tuple[slice, list[Segment]]]:
    """The steps of round r: neighbouring blocks of one shape as one group of rows, with the segments of all of them.

    Their tensors have an axis of blocks in front: fixed [blocks, n, B, ...], drawn [blocks, steps, n, B, ...].
    """
    blocks = [(rows, list(segments_in(work, turn, b, r))) for b, rows in enumerate(turn.blocks)]
    shapes = [(rows.stop - rows.start, *map(shape_of, segments)) for rows, segments in blocks]
    plan = []
    for _, group in groupby(zip(blocks, shapes, strict=True), key=lambda pair: pair[1]):
        rows, segments = zip(*(block for block, _ in group), strict=True)
        plan.append((slice(rows[0].start, rows[-1].stop), [stacked(same) for same in zip(*segments, strict=True)]))
    return plan


def stacked(segments: Sequence[Segment]) -> Segment:
    """Segments of several blocks as one; of a single block without a copy."""
    stack = torch.stack if len(segments) > 1 else lambda alone: alone[0][None]
    fixed, drawn = (
        {name: stack([batch[name] for batch in batches]) for name in batches[0]}
        for batches in ([s.fixed for s in segments], [s.drawn for s in segments])
    )
    return Segment(segments[0].n, segments[0].steps, fixed, drawn)


def with_first(rows, new):
    """rows [n, ...] whose first are replaced by new [m, ...], m <= n."""
    return rows.at[: len(new)].set(new) if len(new) < len(rows) else new


def drawn_of(plan) -> list:
    """The ``drawn`` tensors of a plan: a list of groups of blocks, each a list of segments."""
    return [[segment.drawn for segment in segments] for _, segments in plan]


def shape_of(segment: Segment) -> tuple:
    """n, steps, and name, shape and dtype of each tensor: segments that agree in it share a program."""
    tensors = [(name, tuple(v.shape), v.dtype) for d in segment[2:] for name, v in d.items()]
    return segment.n, segment.steps, *tensors


def with_room(values: Sequence[Tensor] | Tensor, rounds: int) -> Tensor:
    """T values as the first of [rounds, ...]: one shape is one program. The others are never looked at."""
    if rounds == 1:
        return values[0][None]  # noise is large, and needs no copy
    whole = values[0].new_empty(rounds, *values[0].shape)
    for r, value in enumerate(values):
        whole[r] = value
    return whole


def filled(theta, state, lr, segment: Segment, rows: int) -> tuple:
    """With so many rows, copies of the first, and a ``rounder`` number of points, of weight 0: few shapes."""
    B = (segment.fixed or segment.drawn)["w"].shape[-1]
    points = rounder(B)

    def grown(x: Tensor, axis: int, size: int) -> Tensor:
        return torch.cat([x, x.narrow(axis, 0, 1).repeat_interleave(size - x.shape[axis], axis)], axis)

    def batch(tensors, axis):
        grown_batch = {name: grown(grown(x, axis, rows), axis + 1, points) for name, x in tensors.items()}
        if "w" in grown_batch:
            grown_batch["w"][..., B:] = 0
        return grown_batch

    theta, lr, *kept = (grown(x, 0, rows) for x in (theta, lr, *state.values()))
    segment = Segment(rows, segment.steps, batch(segment.fixed, 0), batch(segment.drawn, 1))
    return theta, dict(zip(state, kept, strict=True)), lr, segment


def rounder(n: int) -> int:
    """n, or the next number of which only the four leading binary digits are not 0."""
    unit = 1 << max(0, (n - 1).bit_length() - 4)
    return -(-n // unit) * unit


class Shared:
    """tensor -> its array, for tensors that come again in every round and do not change."""

    def __init__(self):
        self.arrays = WeakIdKeyDictionary()

    def __call__(self, x: Tensor):
        if x not in self.arrays:
            self.arrays[x] = array(x)
        return self.arrays[x]


def array(x: Tensor):
    """A tensor as an array, without a copy where that can be."""
    return jnp.from_dlpack(x.detach().contiguous())


def tensor(x) -> Tensor:
    """An array as a tensor, without a copy."""
    return torch.from_dlpack(x)
