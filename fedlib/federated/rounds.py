"""The engine: a federation is a stack of models, and communication is a matrix.

Row r of theta [M, P] is one model. Local work: all active rows take an optimiser step at once, with a loss written for
ONE client, see ``backends``. Communication: theta <- A theta, see ``exchange``. Only distinct models are held, and of
an idle client only what an algorithm keeps, see ``states``. A whole figure (levels x seeds x {centralised, isolated,
federated}) is a mapping key -> ``Federation`` and trains as ONE stack. The same algorithms as plain loops stand in
``reference``.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor, nn

from ..models.networks import fan_in_uniform
from .backends import Ahead, knowing, summed_gradient
from .batches import POINTS_PER_BLOCK, Local, n_steps, participants
from .checks import check_constants, check_noise
from .choice import backend_of
from .exchange import Exchange, exchange, matrices, needs_everyone, sources_of
from .federation import Federation
from .kept import put_back, split_state, spread_out, taken
from .mixing import takes_round
from .optimizers import Optimizer, adam
from .server import served_by
from .site import server_step, site_round
from .stack import home_columns, rows_of, stack
from .states import Round, State
from .wire import wire_of
from .work import Todo, Work, todo


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
    work = prepared(
        net, loss, pool, federations, local=local, noise=noise, optimizer=optimizer, reset_moments=reset_moments,
        personal=personal, constants=constants, backend=backend, device=device, dtype=dtype, rounds=rounds,
    )  # fmt: skip
    everyone, device = all(fed.fraction == 1 for fed in federations), device_of(device)
    state = state or beginning(work, init)
    varies, decays = (any(x) for x in zip(*((takes_round(f.mixing), f.decay != 1) for f in federations), strict=True))
    here = None
    while True:
        r, others = state.round, here is None
        if others or not everyone:
            drawn = [participants(fed.seed, r, len(fed.shards), fed.fraction) for fed in federations]
            others = others or not all(map(np.array_equal, drawn, here))
            here = drawn
        if others or varies:
            found = matrices(federations, here, r)
        if others:
            own = todo(work, here, [*map(needs_everyone, federations, found, here)])
        if others or varies:
            mixed, served = exchange(work, found, own), served_by(work, found)
        if others or decays:
            lr = torch.tensor([[fed.rate(r)] for fed in federations], dtype=dtype, device=device)[own.owner]
        done = one_round(work, state, own, mixed, served, lr)
        yield done
        state = done.state


def prepared(
    net, loss, pool, federations: Sequence[Federation], *, local, noise=None, optimizer=None, reset_moments=False,
    personal=(), constants=None, backend="auto", device="cpu", dtype=torch.float32, rounds=None,
) -> Work:  # fmt: skip
    """The work of these clients; arguments as in ``play``."""
    check_noise(pool, noise)
    check_constants({*pool, "w", "noise"}, constants)
    device = device_of(device)
    rows, home = rows_of(federations), home_columns(net, personal).to(device)
    optimizer, loss = optimizer or adam(), knowing(loss, on(constants, device, dtype))
    blocks = 1 + local.points(rows.sizes).sum() // POINTS_PER_BLOCK["cpu"]
    everyone = all(fed.fraction == 1 for fed in federations)
    varied = not everyone and not as_many_in_every_round(federations, rows.sizes, local)
    steps = backend_of(backend, net, loss, optimizer, Ahead(rounds or Ahead().rounds, int(blocks), varied))
    first, gradient = np.full(len(rows.sizes), np.nan), summed_gradient(net, loss)
    pool, sources = on(pool, device, dtype), lru_cache(2)(partial(sources_of, rows.starts, torch.device(device)))
    return Work(
        net, pool, federations, rows, home, sources, local, noise, optimizer, reset_moments, gradient, steps, dtype,
        first,
    )  # fmt: skip


def as_many_in_every_round(federations: Sequence[Federation], sizes: np.ndarray, local: Local) -> bool:
    """Whether the work of a round looks the same, whoever takes part: so many clients, alike in points and steps."""
    alike = not np.ptp(local.points(sizes)) and not np.ptp(n_steps(sizes, local))
    return alike and not any(isinstance(fed.fraction, tuple) for fed in federations)


def beginning(work: Work, init: Callable) -> State:
    """The state before round 0."""
    own = [[()] if fed.common_init else [(k,) for k in range(len(fed.shards))] for fed in work.federations]
    keys = [(fed.seed, *key) for fed, keys in zip(work.federations, own, strict=True) for key in keys]
    theta, source = stack(work.net, keys, init).to(work.home.device, work.dtype), work.sources(tuple(map(len, own)))
    own, shared = split_state(work.optimizer, work.optimizer.init(theta), work.reset_moments)
    stored = source[torch.as_tensor(np.argsort(work.rows.place), device=source.device)]
    personal = spread_out({"": theta[:, work.home]}, source)[""]
    return State(0, theta, spread_out(own, stored) | shared, [], source, work.home, personal)


def one_round(work: Work, state: State, todo: Todo, mixed: Exchange, served: list, lr: Tensor) -> Round:
    """Local work, exchange, server. served: of ``served_by``. lr [n, 1]."""
    r, x, optimizer = state.round, state.models(todo.clients), work.optimizer
    kept = at_hand(work, state, x, todo)
    wire = wire_of(work, x, todo, mixed, r) if optimizer.start or optimizer.finish else None
    loss = site_round(work, todo, r, x, kept, lr, wire)
    began = [state.models(clients) for *_, clients in served]
    at_server = state.server or [server.init(before) for (server, *_), before in zip(served, began, strict=True)]
    theta = server_step(mixed.U, x, served, began, at_server, r)
    if len(state.columns):
        put_back(state.personal, todo.clients, x[:, state.columns])
    after = State(r + 1, theta, left(work, state, kept, todo, mixed), at_server, mixed.source, *state[-2:])
    return Round(r, todo.numbers, loss, work.first, todo.clients, x, state, after)


def at_hand(work: Work, state: State, x: Tensor, todo: Todo) -> dict[str, Tensor]:
    """The optimisers' state [n, ...] of the clients at hand: what they keep, what goes with their models, or anew."""
    optimizer = work.optimizer
    kept = {
        name: v[state.source[todo.clients]] if name in optimizer.shared else taken(v, todo.places, x.device)
        for name, v in state.optimizer.items()
    }
    return (optimizer.init(x) if work.reset_moments or optimizer.passing else {}) | kept


def left(work: Work, state: State, kept: Mapping[str, Tensor], todo: Todo, mixed: Exchange) -> dict[str, Tensor]:
    """What the optimisers leave of it to the next round: rows of clients in their places, rows of models anew."""
    found = {}
    for name, v in state.optimizer.items():
        if name in work.optimizer.shared:
            found[name] = v.new_zeros(mixed.U.shape[0], *v.shape[1:]).index_copy_(0, mixed.spread, kept[name])
        else:
            found[name] = put_back(v, todo.places, kept[name])
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
