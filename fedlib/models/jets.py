"""Jets: a network's value and its derivatives with respect to its inputs, in one forward pass.

A jet is a dictionary name -> tensor. Names are the coordinates that one differentiates by: "" is the value u, "x"
is u_x, "xxt" is u_xxt, and a weighted sum such as "xx+yy" or "xx+0.5*yy" is ONE channel. Every linear layer does
one matrix product for all channels, every activation is the chain rule. So derivatives cost a few more rows of the
same products, batch under ``vmap``, compile, and one ordinary backward pass gives the gradient by the parameters.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations
from math import comb
from operator import add, mul
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import jvp

VALUE_ONLY = True  # predict(x, VALUE_ONLY) asks a ``JetNet`` for u without derivatives


class Jet(dict[str, Tensor]):
    """Name -> tensor; a missing channel says how to ask for it. (What ``vmap`` returns has to be a plain dict.)"""

    def __missing__(self, name: str):
        raise ValueError(
            f"the jet has no {name!r}, it has {', '.join(map(repr, self))}; name it where the network is made: "
            f"JetNet(net, coordinates, derivatives=(..., {name!r}))"
        )


class Sine(nn.Module):
    """sin(z), no frequency factor."""

    def forward(self, z: Tensor) -> Tensor:
        return z.sin()


class JetNet(nn.Module):
    """A network that answers with its jet.

    Args:
        net: ``nn.Sequential`` of linear layers and smooth activations.
        coordinates: a letter for each input, e.g. "xt".
        derivatives: names of the wanted channels; the lower ones that they need come along (see ``closed``).
    """

    def __init__(self, net: nn.Sequential, coordinates: str, derivatives: Sequence[str]):
        super().__init__()
        self.net, self.channels = net, channels(coordinates, derivatives)

    def forward(self, x: Tensor, value_only: bool = False) -> Jet | Tensor:
        """x [n, d] -> jet {"": u, ...}, each [n, outputs]; with value_only the tensor u alone."""
        return self.net(x) if value_only else jet(self.net, x, self.channels)


class Channel(NamedTuple):
    """How one channel goes through a network.

    direction: its value at the inputs, sum of weighted unit vectors [d], or None where it vanishes there.
    chain: (k, ((coefficient, k blocks), ...)) for k >= 2, the chain rule beside sigma' times the channel itself.
    """

    direction: tuple[float, ...] | None
    chain: tuple[tuple[int, tuple[tuple[float, tuple[str, ...]], ...]], ...]


def channels(coordinates: str, derivatives: Sequence[str]) -> dict[str, Channel]:
    """All channels of a jet by name, without the value; lower orders first."""
    for name in derivatives:
        if unknown := sorted({*"".join(axes for _, axes in terms(name))} - {*coordinates}):
            raise ValueError(f"derivative {name!r} is by {unknown[0]!r}, but the coordinates are {[*coordinates]}")
    by_name = {}
    for name in closed(derivatives)[1:]:
        direction = tuple(sum(w for w, axes in terms(name) if axes == c) for c in coordinates)
        by_name[name] = Channel(direction if any(direction) else None, chain_rule(name))
    return by_name


def jet(net: nn.Sequential, x: Tensor, channels: Mapping[str, Channel]) -> Jet:
    """Value and derivatives of net at x [n, d], each [n, outputs].

    Zero channels are left out on the way, and a channel that is the same at all points has one row.
    """
    z = {"": x}
    z |= {name: x.new_tensor([c.direction]) for name, c in channels.items() if c.direction is not None}
    for layer in net:
        z = linear(layer, z) if isinstance(layer, nn.Linear) else activate(layer, z, channels)
    u = z[""]
    return Jet({"": u} | {name: z[name].expand_as(u) if name in z else torch.zeros_like(u) for name in channels})


def linear(layer: nn.Linear, z: Jet) -> Jet:
    """W z for all channels in one product; the bias belongs to the value alone."""
    rows, W = torch.cat(list(z.values())), layer.weight
    # a product with a single column is bound by memory, and faster as a sum
    rows = (rows * W).sum(-1, keepdim=True) if len(W) == 1 else rows @ W.T
    out = dict(zip(z, rows.split([len(v) for v in z.values()]), strict=True))
    out[""] = out[""] + layer.bias
    return out


def activate(activation: nn.Module, z: Jet, channels: Mapping[str, Channel]) -> Jet:
    """The chain rule (Faa di Bruno): sigma(z)_a = sum over partitions p of a of sigma^(|p|)(z) prod_{b in p} z_b."""
    d = elementwise(activation, z[""], max([1, *(k for c in channels.values() for k, _ in c.chain)]))
    out = {"": d[0]}
    for name, channel in channels.items():
        parts = [d[1] * z[name]] if name in z else []
        for k, products in channel.chain:
            # a missing factor is a zero channel
            present = [scale(c, reduce(mul, [z[b] for b in bs])) for c, bs in products if all(b in z for b in bs)]
            if present:
                parts.append(d[k] * reduce(add, present))
        if parts:
            out[name] = reduce(add, parts)
    return out


def elementwise(activation: nn.Module, z: Tensor, order: int) -> list[Tensor]:
    """[sigma, sigma', ..., sigma^(order)] at z, order >= 1: recursions for tanh and sine, nested jvp for any other."""
    if isinstance(activation, Sine):
        s, c = z.sin(), z.cos()
        return [(s, c, -s, -c)[k % 4] for k in range(order + 1)]
    if isinstance(activation, nn.Tanh):  # y' = 1 - y^2, then Leibniz
        y = z.tanh()
        d = [y, 1 - y * y]
        for n in range(1, order):
            pairs = [scale((1 + (2 * k < n)) * comb(n, k), d[k] * d[n - k]) for k in range(n // 2 + 1)]
            d.append(-reduce(add, pairs))
        return d
    functions = [activation]
    for _ in range(order):
        functions.append(directional(functions[-1], torch.ones_like(z)))
    return [f(z) for f in functions]


def product(b: Jet, u: Jet, rules: Mapping[str, Sequence[tuple[float, str, str]]]) -> Jet:
    """Jet of the product b u by Leibniz: (b u)_a = sum over subsets s of a of b_(a - s) u_s; see ``product_rule``."""
    return Jet({n: reduce(add, [scale(c, b[rest] * u[some]) for c, some, rest in rule]) for n, rule in rules.items()})


def function_jet(f: Callable[[Tensor], Tensor], x: Tensor, derivatives: Sequence[str], coordinates: str) -> Jet:
    """Jet of any function of torch operations x [n, d] -> [n], each of its own row, by reverse differentiation (the
    first jvp of a process imports torch's compiler, for three seconds)."""

    def derivative(axes):
        with torch.enable_grad():
            point = x.detach().requires_grad_()
            value = f(point)
            for axis in axes:
                if not value.requires_grad:
                    return torch.zeros_like(value)
                slopes = torch.autograd.grad(value.sum(), point, create_graph=True, materialize_grads=True)[0]
                value = slopes[:, coordinates.index(axis)]
        return value.detach()

    return Jet({n: sum(w * derivative(axes) for w, axes in terms(n)).expand(len(x)) for n in closed(derivatives)})


def directional(f: Callable, v: Tensor) -> Callable:
    """x -> f'(x) v."""
    return lambda x: jvp(f, (x,), (v,))[1]


def scale(c: float, x: Tensor) -> Tensor:
    return x if c == 1 else c * x


def terms(name: str) -> tuple[tuple[float, str], ...]:
    """A channel's name as weighted derivatives: "xx+0.5*yx" -> ((1.0, "xx"), (0.5, "xy"))."""
    parts = [term.strip().rpartition("*") for term in name.split("+")]
    return tuple((float(weight or 1), "".join(sorted(axes))) for weight, _, axes in parts)


def chain_rule(name: str) -> tuple:
    """The partitions of a channel into k >= 2 blocks, with coefficients, grouped by k (see ``Channel``)."""
    count = Counter()
    for weight, axes in terms(name):
        for partition in set_partitions(tuple(axes)):
            if len(partition) > 1:
                count[tuple(sorted("".join(sorted(block)) for block in partition))] += weight
    orders = sorted({len(blocks) for blocks in count})
    return tuple((k, tuple((c, blocks) for blocks, c in count.items() if len(blocks) == k)) for k in orders)


def product_rule(name: str) -> tuple[tuple[float, str, str], ...]:
    """(coefficient, some, rest) over all ways to take some of the derivatives; all and none for the whole channel."""
    count = Counter()
    for weight, axes in terms(name):
        for size in range(1, len(axes)):
            for some in combinations(range(len(axes)), size):
                rest = "".join(a for i, a in enumerate(axes) if i not in some)
                count["".join(axes[i] for i in some), rest] += weight
    whole = ((1.0, name, ""), (1.0, "", name)) if name else ((1.0, "", ""),)
    return whole + tuple((coefficient, *pair) for pair, coefficient in count.items())


def closed(derivatives: Sequence[str]) -> tuple[str, ...]:
    """The value, the given names, and every lower derivative in their chain rules; lower orders first."""
    lower = {b for name in derivatives for _, products in chain_rule(name) for _, blocks in products for b in blocks}
    return tuple(sorted({"", *derivatives, *lower}, key=lambda name: (max(len(a) for _, a in terms(name)), name)))


def set_partitions(items: tuple) -> Iterator[list[tuple]]:
    """All ways to write a set as a union of disjoint non-empty blocks."""
    if not items:
        yield []
        return
    for partition in set_partitions(items[1:]):
        yield [items[:1], *partition]
        for i, block in enumerate(partition):
            yield [*partition[:i], items[:1] + block, *partition[i + 1 :]]
