"""The local steps of a block as one program of XLA: the unchanged torch network, loss and optimiser, by way of JAX.

torch writes down which operations one step of all rows is (``make_fx``: forward, backward and optimiser, batched); each
of them has its meaning in ``aten``; a loop over the steps around them is compiled, once per shape, in about a second.
"""

import os
import sys
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch._decomp import core_aten_decompositions
from torch.func import functionalize
from torch.fx import GraphModule, map_arg
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.weak import WeakIdKeyDictionary

from .backends import client_gradient, stepping
from .batches import Segment, batch_of
from .optimizers import Optimizer

ROWS = 8  # at a time, where shapes vary


def xla(net: nn.Module, loss: Callable, optimizer: Optimizer, varied: bool = False) -> Callable:
    """A segment's steps as one compiled loop.

    varied: other shapes in every round. A program is compiled for every shape, so rows then go eight at a time, filled
    up where there are fewer.

    Raises:
        NotImplementedError: a step uses an operation that ``aten`` does not know.
    """
    jax = import_jax()
    step, programs, held = stepping(net, client_gradient(net, loss), optimizer), {}, WeakIdKeyDictionary()

    def kept(x: Tensor):
        """An array of a tensor that comes again in every round and does not change."""
        if x not in held:
            held[x] = jax.numpy.asarray(x.numpy())
        return held[x]

    def run(theta, state, lr, pool, segment: Segment) -> Tensor:
        if not varied:
            return at_once(theta, state, lr, pool, segment)
        losses = []
        for rows in torch.arange(segment.n).split(ROWS):
            a, b = int(rows[0]), int(rows[-1]) + 1
            own = theta[a:b], {name: value[a:b] for name, value in state.items()}
            more = filled(*own, lr[a:b], part(segment, a, b))
            losses.append(at_once(*more[:3], pool, more[3])[:, : b - a])
            for old, new in zip((own[0], *own[1].values()), (more[0], *more[1].values()), strict=True):
                old.copy_(new[: b - a])
        return torch.cat(losses, 1)

    def at_once(theta, state, lr, pool, segment: Segment) -> Tensor:
        carried, drawn = [theta, *state.values()], [*segment.drawn.values()]
        fixed = [*pool.values(), *segment.fixed.values()]
        key = tuple((x.shape, x.dtype) for x in (*carried, *fixed, *drawn))
        with jax.enable_x64(True):  # 64-bit numbers are what they are; it makes nothing of 32 bits wider
            if key not in programs:
                first = {name: value[0] for name, value in segment.drawn.items()}
                programs[key] = program(step, (theta, state, lr, pool, segment.fixed, first))
            compiled, known = programs[key]
            arrays = [[kept(x) for x in known], [x.numpy() for x in carried], [lr.numpy(), *map(kept, fixed)]]
            after, losses = compiled(*arrays, [x.numpy() for x in drawn], segment.steps)
        for old, new in zip(carried, after, strict=True):
            np.copyto(old.numpy(), new)
        return torch.from_numpy(np.array(losses))

    return run


def part(segment: Segment, a: int, b: int) -> Segment:
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
        found = {name: grown(grown(x, axis, rows), axis + 1, points) for name, x in given.items()}
        if "w" in found:
            found["w"][..., B:] = 0
        return found

    theta, lr, *kept = (grown(x, 0, rows) for x in (theta, lr, *state.values()))
    segment = Segment(rows, segment.steps, batch(segment.fixed, 0), batch(segment.drawn, 1))
    return theta, dict(zip(state, kept, strict=True)), lr, segment


def rounder(n: int, digits: int) -> int:
    """n, or the next number of which only so many leading binary digits are not 0."""
    unit = 1 << max(0, (n - 1).bit_length() - digits)
    return -(-n // unit) * unit


def program(step: Callable, example: tuple) -> tuple[Callable, list[Tensor]]:
    """The compiled loop over the steps of a segment, and the tensors that the loss knew already, its first argument."""
    import jax

    graph = written_down(step, example)
    known = [getattr(graph, node.target).detach() for node in graph.graph.find_nodes(op="get_attr")]
    pure = as_jax(graph)

    def loop(known, carried, fixed, drawn, steps):
        def body(carried, drawn):
            *carried, losses = pure(known, [*carried, *fixed, *drawn])
            return carried, losses

        return jax.lax.scan(body, carried, drawn, length=steps)

    return jax.jit(loop, static_argnums=4), known


def written_down(step: Callable, example: tuple) -> GraphModule:
    """One step without side effects, as operations: (theta, state, lr, pool, fixed, drawn) -> theta, state, losses."""

    def pure(theta, state, lr, pool, fixed, drawn):
        theta, state = theta.clone(), {name: value.clone() for name, value in state.items()}
        losses = step(theta, state, lr, batch_of(pool, fixed, drawn))
        return theta, state, losses

    graph = make_fx(functionalize(pure), decomposition_table=core_aten_decompositions())(*example)
    graph.graph.eliminate_dead_code()  # no argument goes, used or not
    return graph


def as_jax(graph: GraphModule) -> Callable:
    """The function of arrays that a graph is: (what it knows, its arguments) -> results, all of them lists."""
    from .aten import meaning

    nodes = list(graph.graph.nodes)
    operations = {node: meaning(node.target) for node in nodes if node.op == "call_function"}

    def function(known, given):
        sources, values = {"get_attr": iter(known), "placeholder": iter(given)}, {}
        for node in nodes[:-1]:
            if node.op in sources:
                values[node] = next(sources[node.op])
            else:
                found = operations[node](*map_arg(node.args, values.get), **map_arg(node.kwargs, values.get))
                values[node] = of_the_kind(node, found)
        return [values[node] for node in nodes[-1].args[0]]

    return function


def of_the_kind(node, found):
    """A result with the kind of number that it has in torch, whose rules for mixed kinds differ."""
    said = node.meta.get("tensor_meta")
    return found.astype(str(said.dtype).removeprefix("torch.")) if hasattr(said, "dtype") else found


def import_jax():
    """JAX, with as many threads as torch has: its own default is a thread per core."""
    if torch.get_num_threads() == 1 and "jax" not in sys.modules:
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    import jax

    return jax
