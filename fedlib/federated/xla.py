"""Local steps, or whole rounds, as one program of XLA: the unchanged torch network, loss and optimiser, by way of JAX.

torch writes down which operations one step of all rows is (``make_fx``: forward, backward and optimiser, batched); each
of them has its meaning in ``aten``; a loop over the steps around them is compiled, once per shape, in about a second.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch._decomp import core_aten_decompositions
from torch.func import functionalize
from torch.fx import GraphModule, map_arg
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.weak import WeakIdKeyDictionary

from .backends import Backend, client_gradient, stepping
from .batches import NUMBERS_AT_ONCE, Segment, batch_of
from .exchange import wire_of
from .local import full, full_gradient, segments_in
from .optimizers import Optimizer

ROWS = 8  # at a time, where shapes vary
ROUNDS = 512  # of a program at most: somebody may want to interrupt it


def xla(net: nn.Module, loss: Callable, optimizer: Optimizer, varied: bool = False) -> Backend:
    """The backend. varied: see ``steps_by``.

    Raises (in training):
        NotImplementedError: a step uses an operation that ``aten`` does not know.
    """
    gradient = client_gradient(net, loss)
    step = stepping(net, gradient, optimizer)
    return Backend("xla", steps_by(step, varied), partial(rounds_by, step, gradient))


def has_device(device: str) -> bool:
    """Whether JAX can compute there: it needs a build of its own for an accelerator."""
    return device == "cpu" or import_jax().default_backend() == "gpu"


def knows_all(net: nn.Module, loss: Callable, optimizer: Optimizer, pool: Mapping, batch: Mapping) -> bool:
    """Whether ``aten`` has all operations of a step with such a batch [1, B, ...]."""
    theta = nn.utils.parameters_to_vector(net.parameters()).detach()[None].to(batch["w"].dtype)
    segment = Segment(1, 1, dict(batch), {})
    step = stepping(net, client_gradient(net, loss), optimizer)
    try:
        step_in_jax(step, theta, optimizer.init(theta), theta[:, :1], pool, segment)
    except NotImplementedError:
        return False
    return True


def steps_by(step: Callable, varied: bool) -> Callable:
    """A segment's steps as one compiled loop.

    varied: other shapes in every round. A program is compiled for every shape, so rows then go eight at a time, filled
    up where there are fewer.
    """
    jax, programs, shared = import_jax(), {}, Shared()

    def steps(theta, state, lr, pool, segment: Segment) -> Tensor:
        if not varied:
            return at_once(theta, state, lr, pool, segment)
        losses = []
        for rows in torch.arange(segment.n).split(ROWS):
            a, b = int(rows[0]), int(rows[-1]) + 1
            part = theta[a:b], {name: value[a:b] for name, value in state.items()}
            more = filled(*part, lr[a:b], rows_of(segment, a, b))
            losses.append(at_once(*more[:3], pool, more[3])[:, : b - a])
            for old, new in zip((part[0], *part[1].values()), (more[0], *more[1].values()), strict=True):
                old.copy_(new[: b - a])
        return torch.cat(losses, 1)

    def at_once(theta, state, lr, pool, segment: Segment) -> Tensor:
        key = tuple(shape_of(segment)), *((v.shape, v.dtype) for v in (theta, *pool.values()))
        with jax.enable_x64(True):  # 64-bit numbers are what they are; it makes nothing of 32 bits wider
            if key not in programs:
                piece = step_in_jax(step, theta, state, lr, pool, segment)
                programs[key] = jax.jit(partial(scanned, piece, segment.steps)), piece.captured
            program, captured = programs[key]
            constant = jax.tree.map(shared, (captured, pool, segment.fixed))
            after, losses = program(*constant, *jax.tree.map(array, (segment.drawn, (theta, state), lr)))
        for old, new in zip(jax.tree.leaves((theta, state)), jax.tree.leaves(after), strict=True):
            old.copy_(tensor(new))
        return tensor(losses)

    return steps


def step_in_jax(step: Callable, theta, state, lr, pool, segment: Segment) -> "InJax":
    """(theta, state, lr, pool, fixed, drawn) -> theta, state, losses [n]: one step of a segment."""

    def pure(theta, state, lr, pool, fixed, drawn):
        return theta, state, step(theta, state, lr, batch_of(pool, fixed, drawn))

    return in_jax(pure, theta, state, lr, pool, segment.fixed, {name: value[0] for name, value in segment.drawn.items()})


def scanned(piece: "InJax", steps: int, captured, pool, fixed, drawn, rows, lr):
    """All steps of a segment, in arrays: rows (theta, state) after them, and the losses [S, n]."""

    def one(rows, drawn_batch):
        *rows, losses = piece(captured, *rows, lr, pool, fixed, drawn_batch)
        return tuple(rows), losses

    return import_jax().lax.scan(one, rows, drawn, length=steps)


def rounds_by(
    step: Callable, gradient: Callable, work, turn, mixed, served: list, r: int, example: tuple
) -> Callable | None:
    """Rounds of clients who all take part, as one compiled loop: local work, exchange, server.

    example: (x, kept, at_server) before round r, see ``rounds.standing``.

    Returns:
        None if a rule or a server does something that ``aten`` does not know: its rounds are then played one by one. Else
        program(x [n, P], kept, at_server, r, last) -> models before the last exchange and after it [n, P], kept,
        at_server, summed losses [T, n] of T rounds, and the last one's losses [S, n]. It ends before round ``last``,
        after as many rounds as fit in memory, or after the first one with numbers that are not finite.
    """
    jax, shared = import_jax(), Shared()
    try:
        rounds, *constant = whole_rounds(step, gradient, work, turn, mixed, served, plan_of(work, turn, r), example)
    except NotImplementedError:
        return None
    owner = torch.as_tensor(turn.owner, device=work.home.device)

    def program(x, kept, at_server, r: int, last: int):
        plan = plan_of(work, turn, r)
        drawn = [drawn_of(plan)]
        numbers = sum(v.numel() for v in jax.tree.leaves(drawn))
        capacity = min(ROUNDS, max(1, NUMBERS_AT_ONCE // max(1, numbers)))
        T = min(last - r, capacity)
        if numbers:
            drawn += [drawn_of(plan_of(work, turn, r + t)) for t in range(1, T)]
        rates = torch.tensor([[fed.rate(r + t) for fed in work.federations] for t in range(T)], dtype=work.dtype)
        lr = of_rounds(rates.to(owner.device)[:, owner, None], capacity)
        drawn = jax.tree.map(lambda *rounds: of_rounds(rounds, capacity), *drawn)
        with jax.enable_x64(True):
            changing = jax.tree.map(array, (x, kept, at_server, lr, drawn))
            played, *found = rounds(*jax.tree.map(shared, constant), *changing, T)
        x, after, kept, at_server, losses, of_last = jax.tree.map(tensor, found)
        return x, after, kept, at_server, losses[: int(played)].cpu().numpy(), of_last

    return program


def whole_rounds(step, gradient, work, turn, mixed, served, plan: list, example: tuple) -> tuple:
    """The program of ``rounds_by``, what its pieces captured, the pool, and the batches that stay the same.

    example: (x, kept, at_server) before a round. The program's body is three pieces: what begins a round and what ends
    it, and between them for each group of blocks a loop over the steps.
    """
    jax, lax, jnp = (jax := import_jax()), jax.lax, jax.numpy
    x, kept, at_server = example
    optimizer, place = work.optimizer, np.argsort(turn.clients.cpu().numpy())
    if optimizer.start or optimizer.finish:
        _ = [full(work, turn, b) for b in range(len(turn.blocks)) if work.noise is None]  # not while something is written down
    servers = [(server, rows, torch.as_tensor(place)[clients]) for server, rows, clients in served]

    def wire(x):
        return wire_of(work, turn, mixed, lambda: full_gradient(work, gradient, x, turn))

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
            n, piece, known = segment.n, steps[shape_of(segment)], captured[2][number[shape_of(segment)]]
            rows, of_steps = scanned(
                piece, segment.steps, known, pool, fixed, drawn, jax.tree.map(lambda v: v[:n], (x, state)), lr[:n]  # noqa: B023
            )
            x, state = jax.tree.map(lambda v, new: v.at[:n].set(new), (x, state), rows) if n < len(x) else rows  # noqa: B023
            losses.append(jnp.pad(of_steps, ((0, 0), (0, len(x) - n))))
        return x, state, jnp.concatenate(losses).T

    def local(captured, pool, fixed, x, state, lr, drawn):
        going = x, state, jnp.zeros((len(x), S), x.dtype)
        for (rows, segments), *batches in zip(plan, fixed, drawn, strict=True):
            blocks = len((segments[0].fixed or segments[0].drawn)["w"])
            size = (rows.stop - rows.start) // blocks

            def one(b, going, rows=rows, segments=segments, batches=batches, size=size):
                """A block, in place: it is read, trained in the cache, and written back."""
                at = rows.start + b * size
                *block, rates = jax.tree.map(lambda v: lax.dynamic_slice_in_dim(v, at, size), (*going[:2], lr))
                *block, losses = of_block(captured, pool, segments, *block, rates, jax.tree.map(lambda v: v[b], batches))
                losses = jnp.pad(losses, ((0, 0), (0, S - losses.shape[1])))
                return jax.tree.map(lambda v, new: lax.dynamic_update_slice_in_dim(v, new, at, 0), going, (*block, losses))

            going = lax.fori_loop(0, blocks, one, going)
        return going

    def rounds(captured, pool, fixed, x, kept, at_server, lr, drawn, T):
        def one(going):
            r, _, _, began, kept, at_server, losses, _ = going
            state = begin(captured[0], began, kept)
            x, state, of_steps = local(captured, pool, fixed, began, state, lr[r], jax.tree.map(lambda v: v[r], drawn))
            total = of_steps.sum(1)
            fine = jnp.isfinite(total).all() & jnp.isfinite(x.sum(1)).all()
            after, kept, at_server = end(captured[1], x, state, began, at_server)
            return r + 1, fine, x, after, kept, at_server, losses.at[r].set(total), of_steps

        def goes_on(going):
            return (going[0] < T) & going[1]

        losses, of_last = jnp.zeros((len(lr), len(x)), x.dtype), jnp.zeros((len(x), S), x.dtype)
        r, _, *result, of_last = lax.while_loop(goes_on, one, (0, True, x, x, kept, at_server, losses, of_last))
        return r, *result, of_last.T

    return jax.jit(rounds), captured, dict(work.pool), [[s.fixed for s in segments] for _, segments in plan]


def plan_of(work, turn, r: int) -> list[tuple[slice, list[Segment]]]:
    """The steps of round r: neighbouring blocks of the same shape as one group of rows, with the segments of all of them.

    Their tensors have an axis of blocks in front: fixed [blocks, n, B, ...], drawn [blocks, steps, n, B, ...].
    """
    blocks = [(rows, list(segments_in(work, turn, b, r))) for b, rows in enumerate(turn.blocks)]
    shapes = [(rows.stop - rows.start, *map(shape_of, segments)) for rows, segments in blocks]
    plan = []
    for _, group in groupby(zip(blocks, shapes, strict=True), key=lambda pair: pair[1]):
        rows, segments = zip(*(block for block, _ in group), strict=True)
        together = [
            Segment(s[0].n, s[0].steps, *({k: torch.stack([d[k] for d in ds]) for k in ds[0]} for ds in zip(*(x[2:] for x in s))))
            for s in zip(*segments, strict=True)
        ]
        plan.append((slice(rows[0].start, rows[-1].stop), together))
    return plan


def drawn_of(plan) -> list:
    """What a plan has drawn."""
    return [[segment.drawn for segment in segments] for _, segments in plan]


def shape_of(segment: Segment) -> tuple:
    """What a program is compiled for."""
    tensors = [(name, tuple(v.shape), v.dtype) for d in segment[2:] for name, v in d.items()]
    return segment.n, segment.steps, *tensors


def of_rounds(values: Sequence[Tensor] | Tensor, capacity: int) -> Tensor:
    """Tensors of T rounds as one of so many rounds; the others are never looked at."""
    whole = values[0].new_empty(capacity, *values[0].shape)
    for r, value in enumerate(values):
        whole[r] = value
    return whole


def rows_of(segment: Segment, a: int, b: int) -> Segment:
    """Of the rows a..b-1 only."""
    fixed = {name: value[a:b] for name, value in segment.fixed.items()}
    return Segment(b - a, segment.steps, fixed, {name: value[:, a:b] for name, value in segment.drawn.items()})


def filled(theta, state, lr, segment: Segment) -> tuple:
    """The same with more rows, copies of the first, and more points, which weigh nothing, to rounder numbers."""
    n, B = (segment.fixed or segment.drawn)["w"].shape[-2:]
    rows, points = rounder(n, 1), rounder(B, 4)

    def grown(x: Tensor, axis: int, size: int) -> Tensor:
        return torch.cat([x, x.narrow(axis, 0, 1).repeat_interleave(size - x.shape[axis], axis)], axis)

    def batch(given, axis):
        grown_batch = {name: grown(grown(x, axis, rows), axis + 1, points) for name, x in given.items()}
        if "w" in grown_batch:
            grown_batch["w"][..., B:] = 0
        return grown_batch

    theta, lr, *kept = (grown(x, 0, rows) for x in (theta, lr, *state.values()))
    segment = Segment(rows, segment.steps, batch(segment.fixed, 0), batch(segment.drawn, 1))
    return theta, dict(zip(state, kept, strict=True)), lr, segment


def rounder(n: int, digits: int) -> int:
    """n, or the next number of which only so many leading binary digits are not 0."""
    unit = 1 << max(0, (n - 1).bit_length() - digits)
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
    return import_jax().numpy.from_dlpack(x.detach().contiguous())


def tensor(x) -> Tensor:
    """An array as a tensor, without a copy."""
    return torch.from_dlpack(x)


class InJax(NamedTuple):
    """A function of arrays, (captured, *arguments) -> result, and the tensors that it knew already, its first argument."""

    function: Callable
    captured: list[Tensor]

    def __call__(self, *arguments):
        return self.function(*arguments)


def in_jax(function: Callable, *example) -> InJax:
    """A torch function as one of arrays: what it does with the example is written down, without side effects."""
    tree, result_tree = import_jax().tree, []
    leaves, given_tree = tree.flatten(example)

    def pure(*leaves):
        results, of_results = tree.flatten(function(*tree.unflatten(given_tree, [leaf.clone() for leaf in leaves])))
        result_tree[:] = [of_results]
        return results

    twice_is_two = [leaf.clone() for leaf in leaves]  # or one tensor at two places would be one argument
    graph = make_fx(functionalize(pure), decomposition_table=core_aten_decompositions())(*twice_is_two)
    graph.graph.eliminate_dead_code()  # no argument goes, used or not
    captured = [getattr(graph, node.target).detach() for node in graph.graph.find_nodes(op="get_attr")]
    run = as_jax(graph)
    return InJax(lambda captured, *given: tree.unflatten(result_tree[0], run(captured, tree.leaves(given))), captured)


def as_jax(graph: GraphModule) -> Callable:
    """The function of arrays that a graph is: (what it knows, its arguments) -> results, all of them lists."""
    from .aten import meaning

    nodes = list(graph.graph.nodes)
    operations = {node: meaning(node.target) for node in nodes if node.op == "call_function"}

    def function(captured, given):
        sources, values = {"get_attr": iter(captured), "placeholder": iter(given)}, {}
        for node in nodes[:-1]:
            if node.op in sources:
                values[node] = next(sources[node.op])
            else:
                result = operations[node](*map_arg(node.args, values.get), **map_arg(node.kwargs, values.get))
                values[node] = of_the_kind(node, result)
        return [values[node] for node in nodes[-1].args[0]]

    return function


def of_the_kind(node, result):
    """A result with the kind of number that it has in torch, whose rules for mixed kinds differ."""
    meta = node.meta.get("tensor_meta")
    return result.astype(str(meta.dtype).removeprefix("torch.")) if hasattr(meta, "dtype") else result


def import_jax():
    """JAX, with as many threads as torch has: its own default is a thread per core."""
    if torch.get_num_threads() == 1 and "jax" not in sys.modules:
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    import jax

    return jax
