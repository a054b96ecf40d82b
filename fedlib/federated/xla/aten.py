"""A torch function as one of arrays of JAX (``in_jax``), and what the operations of torch mean there (``TABLE``): those
that steps of networks, losses and optimisers come down to.

``recording`` writes down which operations torch does with an example: forward, backward and optimiser, batched.
"""

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions
from torch.func import functionalize
from torch.fx import GraphModule, Node, map_arg

from .recording import recorded

# as many threads as torch has: JAX takes one per core, and two that share such small work need a third more time in all
os.environ["PJRT_NPROC"] = str(torch.get_num_threads())

import jax
import jax.numpy as jnp
from jax import lax

SAME = ["abs", "sqrt", "exp", "expm1", "log", "log1p", "tan", "tanh", "sinh", "cosh", "sign", "floor", "ceil"]
SAME += ["log2", "log10", "trunc", "round", "isnan", "isinf", "logical_not"]
TWO = ["maximum", "minimum", "fmod", "remainder", "logical_and", "logical_or", "logical_xor"]
TWO += ["bitwise_and", "bitwise_or", "bitwise_xor"]


def short_name(target) -> str:
    """An operation's name without its overload: "add" of ``aten.add.Tensor``."""
    return target.__name__.split(".")[0]


def meaning(target) -> Callable:
    """The function of arrays for a node's target; NotImplementedError where there is none."""
    if target is operator.getitem:
        return target
    if (name := short_name(target)) not in TABLE:
        raise NotImplementedError(
            f"{target}, which the loss, the network or the optimiser uses, has no meaning in "
            "fedlib/federated/xla/aten.py; train with backend='eager', or add it there with its test"
        )
    return TABLE[name]


def expand(x, shape):
    """-1 keeps a length; new axes come first."""
    old = (1,) * (len(shape) - x.ndim) + x.shape
    return jnp.broadcast_to(x, [o if s == -1 else s for o, s in zip(old, shape, strict=True)])


def cut(x, axis=0, start=0, stop=None, step=1):
    """A slice of one axis."""
    return lax.slice_in_dim(x, *slice(start, stop, step).indices(x.shape[axis]), axis)


def scattered(x, part, axis, where):
    """x with ``part`` in place of what one axis has at ``where``, an index or a slice."""
    return x.at[(slice(None),) * (axis % x.ndim) + (where,)].set(part)


def split(x, sizes, axis=0):
    """Pieces of these sizes along an axis, or all of this one size."""
    sizes = [sizes] * (x.shape[axis] // sizes) if isinstance(sizes, int) else sizes
    ends = accumulate(sizes)
    return [lax.slice_in_dim(x, b - n, b, axis=axis) for n, b in zip(sizes, ends, strict=True)]


def over(reduce: Callable) -> Callable:
    """A reduction over some axes; over all of them, if none is named."""
    return lambda x, axes=None, keep=False, **kind: reduce(x, axis=tuple(axes) if axes else None, keepdims=keep)


def var_mean(x, axes=None, correction=1, keepdim=False):
    """Variance (divided by n - correction) and mean over some axes; over all of them, if none is named."""
    axes = tuple(axes) if axes else None
    return jnp.var(x, axes, ddof=correction, keepdims=keepdim), jnp.mean(x, axes, keepdims=keepdim)


def divided(a, b, rounding_mode=None):
    """a / b, or the whole number below it, or towards 0."""
    if rounding_mode == "floor":
        return jnp.floor_divide(a, b)
    return jnp.trunc(a / b) if rounding_mode else a / b


def vector_norm(x, order=2, axes=None, keep=False, dtype=None):
    """(sum |x|^p)^(1/p) over some axes."""
    where = {"axis": tuple(axes) if axes else None, "keepdims": keep}
    if abs(order) == np.inf:
        return (jnp.max if order > 0 else jnp.min)(jnp.abs(x), **where)
    if order == 0:
        return jnp.sum(x != 0, **where)
    return jnp.sqrt(jnp.sum(x * x, **where)) if order == 2 else jnp.sum(jnp.abs(x) ** order, **where) ** (1 / order)


def padded(x, widths, value=0):
    """x padded at both ends of its last axes, or cut where a width is negative; widths begin with the last axis."""
    ends = [(0, 0)] * (x.ndim - len(widths) // 2) + [*zip(widths[::2], widths[1::2], strict=True)][::-1]
    return lax.pad(x, jnp.asarray(value, x.dtype), [(a, b, 0) for a, b in ends])


def strided(x, shape, strides, first=0):
    """A view of contiguous memory, as torch names the part that a slice in place has changed."""
    return x.reshape(-1)[in_memory(shape, strides, first)]


def strided_scatter(x, part, shape, strides, first=0):
    """Contiguous x with ``part`` in place of a ``strided`` view of it."""
    return x.reshape(-1).at[in_memory(shape, strides, first)].set(part).reshape(x.shape)


def in_memory(shape, strides, first) -> np.ndarray:
    """Index in contiguous memory of each number of a view."""
    return (first or 0) + sum((i * s for i, s in zip(np.indices(shape), strides, strict=True)), np.zeros(shape, int))


def on_diagonal(x, part, offset=0, axis=0, other=1):
    """x with ``part`` as a diagonal of two of its axes."""
    x, rows = jnp.moveaxis(x, (axis, other), (-2, -1)), jnp.arange(part.shape[-1])
    x = x.at[..., rows + max(0, -offset), rows + max(0, offset)].set(part)
    return jnp.moveaxis(x, (-2, -1), (axis, other))


def indexed(x, indices):
    """x at index arrays, one for each axis or None. Beyond its end, where torch raises an IndexError, there is NaN."""
    return x.at[tuple(slice(None) if i is None else i for i in indices)].get(mode="fill")


def put(x, indices, values, accumulate=False):
    """x with values at index arrays, or with values added to what they index."""
    place = x.at[tuple(slice(None) if i is None else i for i in indices)]
    return place.add(values) if accumulate else place.set(values)


def along(x, axis, index) -> list:
    """Indices of x for an index array that stands along one axis, and follows the others."""
    each = [jnp.arange(n).reshape([-1 if a == i else 1 for a in range(x.ndim)]) for i, n in enumerate(index.shape)]
    return [index if i == axis % x.ndim else other for i, other in enumerate(each)]


def scatter(x, axis, index, values, accumulate=False):
    """x with values at an index array along one axis, or with values added to what it indexes."""
    if hasattr(values, "shape") and values.shape:
        values = values[tuple(map(slice, index.shape))]
    return put(x, along(x, axis, index), values, accumulate)


def product(a, b):
    """a @ b. XLA's fast product on a processor does not read a transposed, as a gradient of weights asks for: then
    a is written out, unless b is a single column."""
    written = b.shape[-1] > 1 and jax.default_backend() == "cpu"
    return jnp.matmul(lax.optimization_barrier(a) if written else a, b)


FAR = 2.0**13
"""Up to here the reduction of ``turned`` is exact to float32's rounding; beyond it, XLA's own sine computes.

k has at most 13 bits, and the first two parts of pi / 2 have 8 and 11: their products are exact, also where a CPU has
no multiplication and addition in one (at 2^16 such a one was off by 1e-6).
"""


def turned(x):
    """(k mod 4, r) with x = k pi / 2 + r, |r| <= pi / 4: Cody and Waite's reduction, pi / 2 in three float32 parts."""
    k = jnp.round(x * np.float32(2 / np.pi))
    r = ((x - k * np.float32(1.5703125)) - k * np.float32(4.837512969970703e-4)) - k * np.float32(7.549789954891882e-8)
    return k.astype(jnp.int32), r


def sine(x):
    """r - r^3 / 6 + ..., |r| <= pi / 4: the minimax polynomial of degree 7."""
    z = x * x
    odd = (np.float32(-1.9515295891e-4) * z + np.float32(8.3321608736e-3)) * z + np.float32(-1.6666654611e-1)
    return odd * z * x + x


def cosine(x):
    """1 - r^2 / 2 + ..., |r| <= pi / 4: the minimax polynomial of degree 8."""
    z = x * x
    even = (np.float32(2.443315711809948e-5) * z + np.float32(-1.388731625493765e-3)) * z
    return (even + np.float32(4.166664568298827e-2)) * z * z - np.float32(0.5) * z + 1


def circular(slow: Callable, shift: int) -> Callable:
    """sin (shift 0) or cos (1). On a processor XLA computes both number by number in float32, ten times as slowly."""

    def function(x):
        if x.dtype != jnp.float32 or jax.default_backend() != "cpu":
            return slow(x)

        def fast(x):
            k, r = turned(x)
            k = k + shift
            value = jnp.where(k & 1 == 1, cosine(r), sine(r))
            return jnp.where(k & 2 == 2, -value, value)

        return lax.cond(jnp.all(jnp.abs(x) < FAR), fast, slow, x)

    return function


TABLE = {name: getattr(jnp, name) for name in SAME + TWO} | {
    "sin": circular(jnp.sin, 0),
    "cos": circular(jnp.cos, 1),
    "neg": operator.neg,
    "add": lambda a, b, alpha=1: a + (b if alpha == 1 else alpha * b),
    "sub": lambda a, b, alpha=1: a - (b if alpha == 1 else alpha * b),
    "mul": operator.mul,
    "div": divided,
    "pow": operator.pow,
    "addcmul": lambda x, a, b, value=1: x + value * a * b,
    "addcdiv": lambda x, a, b, value=1: x + value * a / b,
    "lerp": lambda a, b, weight: a + weight * (b - a),
    "asin": jnp.arcsin,
    "acos": jnp.arccos,
    "atan": jnp.arctan,
    "atan2": jnp.arctan2,
    "bitwise_not": jnp.invert,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lax.rsqrt,
    "sigmoid": jax.nn.sigmoid,
    "relu": jax.nn.relu,
    "leaky_relu": lambda x, slope=0.01: jnp.where(x > 0, x, slope * x),
    "elu": lambda x, a=1, scale=1, inner=1: scale * jnp.where(x > 0, x, a * jnp.expm1(jnp.minimum(x, 0) * inner)),
    "gelu": lambda x, approximate="none": jax.nn.gelu(x, approximate == "tanh"),
    "hardtanh": lambda x, low=-1, high=1: jnp.clip(x, low, high),
    "_softmax": lambda x, axis, half: jax.nn.softmax(x, axis),
    "_log_softmax": lambda x, axis, half: jax.nn.log_softmax(x, axis),
    "linalg_vector_norm": vector_norm,
    "cumsum": lambda x, axis, dtype=None: jnp.cumsum(x, axis),
    "eq": operator.eq,
    "ne": operator.ne,
    "le": operator.le,
    "lt": operator.lt,
    "ge": operator.ge,
    "gt": operator.gt,
    "where": jnp.where,
    "clamp": lambda x, low=None, high=None: jnp.clip(x, low, high),
    "bmm": product,
    "mm": product,
    "sum": over(jnp.sum),
    "mean": over(jnp.mean),
    "var_mean": var_mean,
    "var": lambda x, *axes, **kind: var_mean(x, *axes, **kind)[0],
    "any": lambda x, axis=None, keep=False: jnp.any(x, axis if axis is None else within(x, axis), keepdims=keep),
    "amax": over(jnp.max),
    "amin": over(jnp.min),
    "copy": lambda x, new, non_blocking=False: jnp.broadcast_to(new, x.shape).astype(x.dtype),
    "clone": lambda x, **layout: x,
    "alias": lambda x: x,
    "lift_fresh_copy": lambda x: x,
    "_to_copy": lambda x, **kind: jnp.asarray(x),
    "view": jnp.reshape,
    "_unsafe_view": jnp.reshape,
    "permute": jnp.transpose,
    "expand": expand,
    "unsqueeze": jnp.expand_dims,
    "squeeze": lambda x, axes: x.reshape([n for i, n in enumerate(x.shape) if n > 1 or i not in within(x, axes)]),
    "as_strided": strided,
    "as_strided_scatter": strided_scatter,
    "diagonal": jnp.diagonal,
    "diagonal_scatter": on_diagonal,
    "repeat": jnp.tile,
    "select": lambda x, axis, i: lax.index_in_dim(x, i, axis, keepdims=False),
    "slice": cut,
    "select_scatter": scattered,
    "slice_scatter": lambda x, part, axis=0, a=None, b=None, step=1: scattered(x, part, axis, slice(a, b, step)),
    "cat": jnp.concatenate,
    "split": split,
    "split_with_sizes": split,
    "unbind": lambda x, axis=0: list(jnp.moveaxis(x, axis, 0)),
    "index_select": lambda x, axis, i: jnp.take(x, i, axis=axis, mode="fill"),
    "embedding": lambda table, i, *padding: indexed(table, [i]),
    "gather": lambda x, axis, i, sparse_grad=False: indexed(x, along(x, axis, i)),
    "scatter": scatter,
    "scatter_add": lambda x, axis, i, more: scatter(x, axis, i, more, True),
    "flip": jnp.flip,
    "constant_pad_nd": padded,
    "index": indexed,
    "index_put": put,
    "index_add": lambda x, axis, i, more: put(x, [None] * axis + [i], more, True),
    "index_copy": lambda x, axis, i, values: put(x, [None] * axis + [i], values),
    "new_empty_strided": lambda x, shape, strides, **kind: jnp.zeros(shape),
    "empty_permuted": lambda shape, order, **kind: jnp.zeros(shape),
    "empty": lambda shape, **kind: jnp.zeros(shape),
    "full": lambda shape, value, **kind: jnp.full(shape, value),
    "full_like": lambda x, value, **kind: jnp.full(x.shape, value),
    "scalar_tensor": lambda value, **kind: jnp.asarray(value),
    "arange": lambda *ends, **kind: jnp.arange(*ends),
}


def within(x, axes) -> tuple[int, ...]:
    """Axes counted from the front."""
    return tuple(axis % x.ndim for axis in ([axes] if isinstance(axes, int) else axes))


class InJax(NamedTuple):
    """A function of arrays, (captured, *arguments) -> result, and the tensors that it captured, its first argument."""

    function: Callable
    captured: list[Tensor]

    def __call__(self, *arguments):
        return self.function(*arguments)


@cache
def simpler() -> dict:
    """Operation of torch without a meaning here -> a function that does the same with simpler ones."""
    return {op: simple for op, simple in core_aten_decompositions().items() if short_name(op) not in TABLE}


def in_jax(function: Callable, *example) -> InJax:
    """A torch function as one of arrays: what it does with the example is written down, without side effects."""
    tree, result_tree = jax.tree, []
    leaves, example_tree = tree.flatten(example)

    def pure(*leaves):
        arguments = tree.unflatten(example_tree, [leaf.clone() for leaf in leaves])
        results, structure = tree.flatten(function(*arguments))
        result_tree[:] = [structure]
        return results

    twice_is_two = [leaf.clone() for leaf in leaves]  # or one tensor at two places would be one argument
    try:
        below_autograd = recorded(pure, twice_is_two)  # else torch loads its compiler, for gradients in functionalize
        graph = recorded(functionalize(below_autograd), twice_is_two, simpler())
    except RuntimeError as error:  # of torch: it looks at a number, or has a gradient of its own
        raise NotImplementedError(f"torch cannot write this down; train with backend='eager' ({error})") from error
    captured = [getattr(graph, node.target) for node in graph.graph.find_nodes(op="get_attr")]
    run = as_jax(graph)
    return InJax(lambda captured, *args: tree.unflatten(result_tree[0], run(captured, tree.leaves(args))), captured)


def as_jax(graph: GraphModule) -> Callable:
    """The function of arrays that a graph is: (what it captured, its arguments) -> results, all of them lists."""
    nodes = list(graph.graph.nodes)
    operations = {node: meaning(node.target) for node in nodes if node.op == "call_function"}
    products = {node: source for node in operations if (source := product_turned_by(node))}

    def function(captured, arguments):
        sources, values = {"get_attr": iter(captured), "placeholder": iter(arguments)}, {}
        for node in nodes[:-1]:
            if node.op in sources:
                values[node] = next(sources[node.op])
            elif node in products and values[products[node]].shape == values[node.args[0]].shape:
                A, B = (values[factor].swapaxes(1, 2) for factor in products[node].args)
                values[node] = product(B, A)  # (A B)^T = B^T A^T: XLA would compute A B and copy it
            else:
                arguments = map_arg(node.args, values.get), map_arg(node.kwargs, values.get)
                values[node] = of_the_kind(node, performed(node.target, operations[node], *arguments))
        return [values[node] for node in nodes[-1].args[0]]

    return function


def performed(target, operation: Callable, args: Sequence, kwargs: Mapping):
    """The operation's result; NotImplementedError that names it where it does not take such arguments."""
    try:
        return operation(*args, **kwargs)
    except (TypeError, ValueError, IndexError) as error:
        raise NotImplementedError(
            f"{target} was asked for in a way that fedlib/federated/xla/aten.py does not have; train with "
            f"backend='eager', or add it there with its test ({type(error).__name__}: {error})"
        ) from error


def product_turned_by(node: Node) -> Node | None:
    """The product of matrices [n, a, b] whose result, or a view of it, a node turns into [n, b, a]."""
    if short_name(node.target) != "permute" or list(node.args[1]) != [0, 2, 1]:
        return None
    source = node.args[0]
    while source.op == "call_function" and short_name(source.target) in ("view", "_unsafe_view"):
        source = source.args[0]
    return source if source.op == "call_function" and short_name(source.target) == "bmm" else None


def of_the_kind(node, result):
    """A result with the kind of number that it has in torch, whose rules for mixed kinds differ."""
    dtype = node.meta.get("dtype")
    return result.astype(str(dtype).removeprefix("torch.")) if dtype else result
