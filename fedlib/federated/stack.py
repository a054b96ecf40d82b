"""A stack of M models is one matrix theta [M, P]: row r holds all P parameters of model r."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from ..streams import torch_stream
from .batches import n_steps
from .federation import slices_of
from .mixing import check_stochastic, takes_round


def draw_parameters(net: nn.Module, init: Callable, generator: torch.Generator) -> Tensor:
    """One row of a stack, [P]: ``init(layer, generator)`` fills every layer of torch.nn that has parameters.

    It must fill or refuse whatever it is given: a layer left as it is starts equal under all seeds. Parameters of
    modules of one's own (an unknown coefficient, a displacement) and of containers keep their values.
    """
    net = deepcopy(net)  # the caller's network stays as it is
    for module in net.modules():
        kinds = (kind.__module__ for kind in type(module).__mro__ if kind.__module__.startswith("torch.nn."))
        layer = any(not kind.endswith((".module", ".container")) for kind in kinds)  # a subclass of a layer is one
        if layer and next(module.parameters(recurse=False), None) is not None:
            init(module, generator)
    return nn.utils.parameters_to_vector(net.parameters()).detach().clone()


def stack(net: nn.Module, keys: Sequence[tuple[int, ...]], init: Callable) -> Tensor:
    """theta [M, P] with one row per key (seed, ...); equal keys give equal rows."""
    drawn = {key: draw_parameters(net, init, torch_stream(key[0], "init", *key[1:])) for key in dict.fromkeys(keys)}
    return torch.stack([drawn[key] for key in keys])


def as_dict(net: nn.Module, theta: Tensor) -> dict[str, Tensor]:
    """theta [..., P] as named tensors [..., *shape]: views in the layout of ``stack_module_state``."""
    shapes = {name: p.shape for name, p in net.named_parameters()}
    parts = theta.split([s.numel() for s in shapes.values()], dim=-1)
    return {
        name: part.reshape(*part.shape[:-1], *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def load(net: nn.Module, row: Tensor) -> nn.Module:
    """Copy one row [P] of a stack into ``net`` and return it."""
    nn.utils.vector_to_parameters(row.detach().clone(), net.parameters())
    return net


def predict(net: nn.Module, row: Tensor, *inputs: Tensor) -> Tensor:
    """The network with one row [P] of a stack as its parameters, without gradients."""
    with torch.no_grad():
        return functional_call(net, as_dict(net, row), inputs)


class Rows(NamedTuple):
    """Which client each row of a stack is. Inside, rows stand in order of falling work: alike rows are neighbours, and
    a block of them is a slice.

    clients [M]: (number of the federation, number of the client). owner [M]: the former, as a tensor.
    steps, points, sizes [M]: of a round, of a batch, of the client.
    inside [M]: which client of the list of all clients a row is; outside [M]: the other way round.
    slices: where the clients of each federation stand in that list.
    """

    clients: list[tuple[int, int]]
    owner: Tensor
    steps: np.ndarray
    points: np.ndarray
    sizes: np.ndarray
    inside: np.ndarray
    outside: Tensor
    slices: list[slice]

    def padded(self, own: np.ndarray) -> bool:
        """Whether batches of these rows can hold padding: of ragged clients, or the short last one of a pass."""
        points = self.points[own]
        return bool((points != points[0]).any() or (self.sizes[own] % points).any())


def rows_of(federations: Sequence, local, device) -> Rows:
    """The rows of a stack of federations: one per client."""
    clients = [(f, k) for f, fed in enumerate(federations) for k in range(len(fed.shards))]
    sizes = np.array([len(federations[f].shards[k]) for f, k in clients])
    steps = np.array([n_steps(n, local) for n in sizes])
    inside = np.lexsort((-sizes, -steps))
    points = np.minimum(sizes, local.batch_size or sizes)[inside]
    clients, outside = [clients[i] for i in inside], torch.as_tensor(np.argsort(inside), device=device)
    owner = torch.tensor([f for f, _ in clients], device=device)
    return Rows(clients, owner, steps[inside], points, sizes[inside], inside, outside, slices_of(federations))


def home_columns(net: nn.Module, personal: Sequence[str]) -> Tensor:
    """Columns of theta [M, P] that the personal parameters fill."""
    if unknown := sorted(set(personal) - {name for name, _ in net.named_parameters()}):
        raise ValueError(f"personal names {unknown[0]!r}, but the network has {[n for n, _ in net.named_parameters()]}")
    marks = [torch.full((p.numel(),), name in personal) for name, p in net.named_parameters()]
    return torch.cat(marks).nonzero()[:, 0]


class Exchange(NamedTuple):
    """The block-diagonal mixing matrix A of a stack as A = U[spread]: U sparse, a row per distinct model.

    After FedAvg all clients of a federation are one model: it is computed, and evaluated, once.

    U [D, M] on rows as they stand inside; source [M]: the distinct model of each client of the list of all clients;
    spread [M]: of each row inside; home: columns that stay where they are.
    """

    U: Tensor
    source: Tensor
    spread: Tensor
    home: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """A x, with x [M, P] as rows stand inside; a new tensor."""
        return self.handed_out(torch.sparse.mm(self.U, x), x)

    def places(self, slices: Sequence[slice], outside: Tensor) -> tuple[Tensor, Tensor]:
        """(rows of the distinct models, a row inside that holds each) of the federations with these slices."""
        held = {int(d): int(i) for here in slices for i, d in zip(outside[here], self.source[here], strict=True)}
        return self.source.new_tensor([*held]), self.source.new_tensor([*held.values()])

    def handed_out(self, distinct: Tensor, x: Tensor) -> Tensor:
        """Everybody's model [M, P] of the distinct ones [D, P]; home columns are those of x [M, P]."""
        new = distinct[self.spread]
        new[:, self.home] = x[:, self.home]
        return new


def exchange(federations: Sequence, active: Sequence[np.ndarray], r: int, rows: Rows, home: Tensor, dtype) -> Exchange:
    """The exchange of round r with the given active clients (bool [K] per federation)."""
    i, j, values, source, row, device = [], [], [], [], 0, rows.outside.device
    first = 0
    for fed, here in zip(federations, active, strict=True):
        K = len(fed.shards)
        A = check_stochastic(fed.mixing(fed.p, here, *([r] if takes_round(fed.mixing) else [])), K, fed.name)
        same = bool((A[0] == A).all())
        a, b = np.nonzero(A[:1] if same else A)
        i.append(row + a), j.append(first + b), values.append(A[a, b])
        source.append(np.full(K, row) if same else row + np.arange(K))
        row, first = row + (1 if same else K), first + K
    where = torch.stack([torch.as_tensor(np.concatenate(i), device=device), rows.outside[np.concatenate(j)]])
    values = torch.as_tensor(np.concatenate(values), dtype=dtype)
    U = torch.sparse_coo_tensor(where, values, (row, first), device=device, check_invariants=True).coalesce()
    source = torch.as_tensor(np.concatenate(source), device=device)
    return Exchange(U, source, source[rows.inside], home)
