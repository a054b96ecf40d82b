"""The engine: a federation is a stack of models, and communication is a matrix.

Row r of theta [M, P] is one model. Local work: all active rows take an optimiser step at once, by
``vmap(grad_and_value(loss))`` with a loss written for ONE client. Communication: theta <- A theta. A whole
figure (levels x seeds x {centralised, isolated, federated}) is a mapping key -> ``Federation`` and trains as ONE stack.
The same algorithms as plain loops stand in ``reference``.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..models.networks import fan_in_uniform
from .backends import Ahead, knowing, summed_gradient
from .batches import POINTS_PER_BLOCK, Local, participants
from .checks import check_constants, check_noise
from .choice import backend_of
from .federation import Federation
from .mixing import takes_round
from .optimizers import Optimizer, adam, restarted
from .stack import Exchange, exchange, home_columns, rows_of, stack
from .work import Todo, Work, full_gradient, local_work, todo


class State(NamedTuple):
    """All that the coming rounds depend on: the next one's number, the models [M, P] as rows stand inside, and what the
    optimisers and the servers keep."""

    round: int
    theta: Tensor
    optimizer: dict[str, Tensor]
    server: list[dict[str, Tensor]]


class Round(NamedTuple):
    """A round that was played. Look at its models before the next one, which works in their place.

    number: 0, 1, ... losses [M]: of the list of all clients, mean over the local steps, NaN for who did not take part.
    first [M]: loss before a client's first step of all, or since a checkpoint; NaN for who has not worked.
    before, after [M, P], distinct [D, P]: the clients' models before and after the exchange, and the different ones.
    """

    number: int
    losses: np.ndarray
    first: np.ndarray
    before: Tensor
    after: Tensor
    distinct: Tensor
    exchange: Exchange
    outside: Tensor
    state: State

    def models(self, which: str = "after") -> Tensor:
        """The models [M, P] "before" or "after" the exchange, in the order of the list of all clients."""
        return getattr(self, which)[self.outside]


class Wire(NamedTuple):
    """What an optimiser's ``start`` and ``finish`` have at hand. [M, ...] are rows as they stand inside.

    mix: x [M, P] -> A x, the round's own exchange. mean: the same, as if all clients took part. gradient: () -> [M, P],
    each client's over all its points. active [M, 1]: who takes part. steps [M, 1]: of the round.
    """

    mix: Callable[[Tensor], Tensor]
    mean: Callable[[Tensor], Tensor]
    gradient: Callable[[], Tensor]
    active: Tensor
    steps: Tensor


def play(
    net: nn.Module,
    loss: Callable[[Callable, Mapping[str, Tensor]], Tensor],
    pool: Mapping[str, Tensor],
    federations: Sequence[Federation] | Mapping[Hashable, Federation],
    *,
    local: Local,
    noise: tuple[int, ...] | None = None,
    optimizer: Optimizer | None = None,
    reset_moments: bool = False,
    personal: Sequence[str] = (),
    init: Callable = fan_in_uniform,
    constants: Mapping[str, Tensor] | None = None,
    backend: str = "auto",
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    state: State | None = None,
    rounds: int | None = None,
) -> Iterator[Round]:
    """Rounds without end, one for each ``next``: for who wants to look, pause and step.

    Args:
        net, loss, pool, federations, local: as in ``train``.
        noise: shape of fresh standard normal numbers for every point of every local step, batch["noise"] [B, *noise]; a
            client draws them from a stream of its own. For stochastic networks.
        optimizer: ``adam()`` (default), ``sgd()``, ... reset_moments: start its state anew in every round.
        personal: names of parameters that stay at the clients and are never mixed.
        init: draws a row's start, see ``stack.draw_parameters``.
        constants: tensors that all clients share (residual points, say); they come with every batch and every test.
        backend: "eager", "inductor" or "xla", see ``backends``; or "auto", the fastest of them here, see ``choice``.
        state: go on from here, as a ``Round`` left it. rounds: how many you will want, if you know; "auto" asks.
    """
    federations = list(federations.values() if isinstance(federations, Mapping) else federations)
    check_noise(pool, noise)
    check_constants({*pool, "w", "noise"}, constants)
    device = device_of(device)
    rows, home = rows_of(federations, local, device), home_columns(net, personal).to(device)
    optimizer, loss = optimizer or adam(), knowing(loss, on(constants, device, dtype))
    blocks, varied = 1 + rows.points.sum() // POINTS_PER_BLOCK["cpu"], any(fed.fraction != 1 for fed in federations)
    steps = backend_of(backend, net, loss, optimizer, Ahead(rounds or Ahead().rounds, int(blocks), varied))
    first = np.full(len(rows.clients), np.nan)
    gradient = summed_gradient(net, loss)
    work = Work(net, on(pool, device, dtype), federations, rows, local, noise, optimizer, gradient, steps, dtype, first)
    if state is None:
        keys = [(federations[f].seed, *(() if federations[f].common_init else (k,))) for f, k in rows.clients]
        theta = stack(net, keys, init).to(device, dtype)
        state = State(0, theta, optimizer.init(theta), [])
    varies, by_server, active = any(takes_round(fed.mixing) for fed in federations), servers(federations), None
    while True:
        here = [participants(fed.seed, state.round, len(fed.shards), fed.fraction) for fed in federations]
        others = active is None or not np.array_equal(np.concatenate(here), active)
        if others:
            active = np.concatenate(here)
            blocks = todo(work, active)
        if others or varies:
            mixed = exchange(federations, here, state.round, rows, home, dtype)
            served = [(s, *mixed.places([rows.slices[f] for f in own], rows.outside)) for s, own in by_server.items()]
        done = one_round(work, state, blocks, mixed, served, reset_moments)
        yield done
        state = done.state


def one_round(work: Work, state: State, todo: Todo, mixed: Exchange, served: list, reset_moments: bool) -> Round:
    """Local work, exchange, server. served: (server, its rows of the distinct models, a row inside that holds each)."""
    r, theta, kept, at_server = state
    rows, optimizer = work.rows, work.optimizer
    rates = torch.tensor([[fed.rate(r)] for fed in work.federations], dtype=work.dtype, device=theta.device)
    lr = rates[rows.owner]
    if reset_moments:
        kept = restarted(optimizer, theta, kept)
    wire = wire_of(work, theta, todo, mixed, r) if optimizer.start or optimizer.finish else None
    began = [theta[held] for *_, held in served]  # copies
    if optimizer.start:
        optimizer.start(theta, kept, wire)
    losses = local_work(work, theta, kept, lr, r, todo)
    if optimizer.finish:
        optimizer.finish(theta, kept, wire)
    distinct = torch.sparse.mm(mixed.U, theta)
    at_server = at_server or [server.init(before) for (server, *_), before in zip(served, began, strict=True)]
    for (server, own, _), before, its in zip(served, began, at_server, strict=True):
        distinct[own] = server.apply(before, distinct[own], its, r)
    after = mixed.handed_out(distinct, theta)
    return Round(
        r, losses, work.first, theta, after, distinct, mixed, rows.outside, State(r + 1, after, kept, at_server)
    )


def wire_of(work: Work, theta: Tensor, todo: Todo, mixed: Exchange, r: int) -> Wire:
    """The round's wire."""

    def mean(x):
        if todo.active.all():
            return mixed(x)
        everyone = [np.ones(len(fed.shards), bool) for fed in work.federations]
        return exchange(work.federations, everyone, r, work.rows, mixed.home, work.dtype)(x)

    active, steps = (torch.as_tensor(v, device=theta.device)[:, None] for v in (todo.active, work.rows.steps))
    return Wire(mixed, mean, lambda: full_gradient(work, theta, todo), active, steps)


def servers(federations: Sequence[Federation]) -> dict:
    """Server -> numbers of the federations that have it; they are served at once."""
    found = {}
    for f, fed in enumerate(federations):
        if fed.server is not None:
            found.setdefault(fed.server, []).append(f)
    return found


def device_of(name: str) -> str:
    """The device of a name: an accelerator for "auto" where there is one."""
    there = torch.cuda.is_available()
    if name == "auto":
        return "cuda" if there else "cpu"
    if name.startswith("cuda") and not there:
        raise ValueError(f"device = {name!r}, but torch finds no accelerator; take 'auto' or 'cpu'")
    return name


def on(tensors: Mapping[str, Tensor] | None, device: str = "cpu", dtype=torch.float32) -> dict[str, Tensor]:
    """Tensors on a device; floating ones with a dtype."""
    return {k: v.to(device, dtype if v.is_floating_point() else v.dtype) for k, v in (tensors or {}).items()}
