"""The engine: a federation is a stack of models, and communication is a matrix.

Row r of theta [M, P] is one model. Local work: all active rows take an optimiser step at once, with a loss written for
ONE client, see ``local``. Communication: theta <- A theta, see ``exchange``. Only distinct models are held, and of
an idle client only what an algorithm keeps, see ``states``. A whole figure (levels x seeds x {centralised, isolated,
federated}) is a mapping key -> ``Federation`` and trains as ONE stack. The same algorithms as plain loops stand in
``reference``.
"""

import os
import re
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor, nn

from ..models.networks import fan_in_uniform
from .backends import Backend, client_gradient, eager, replayed, with_constants
from .batches import POINTS_PER_BLOCK, Local, n_steps, participants
from .checks import check_work
from .dry import check_loss
from .exchange import Exchange, Wire, exchange, matrices, needs_everyone, served_by, sources_of, wire_of
from .federation import Federation, slices_of
from .local import (
    Turn,
    Work,
    full_gradient,
    goes_on,
    local_work,
    look_for_divergence,
    remember_first,
    turn_of,
)
from .optimizers import Optimizer, adam
from .stack import as_dict, home_columns, kept, stack
from .states import Round, State, put_back, split_state

STEPS_TO_COMPILE = 2000  # of blocks; in fewer, XLA does not save the seconds that its compiler takes


def play(
    net: nn.Module,
    loss: Callable[[Callable, Mapping[str, Tensor]], Tensor],
    pool: Mapping[str, Tensor],
    federations: Sequence[Federation] | Mapping[Hashable, Federation],
    *,
    init: Callable = fan_in_uniform,
    state: State | None = None,
    **work_args,
) -> Iterator[Round]:
    """Rounds without end, one for each ``next``: for who wants to look, pause and step.

    Args:
        net, loss, pool, federations, local: as in ``train``.
        noise: shape of fresh standard normal numbers for every point of every local step, batch["noise"] [B, *noise]; a
            client draws them from a stream of its own. For stochastic networks.
        optimizer: ``adam()`` (default), ``sgd()``, ... reset_moments: start its state anew in every round.
        personal: names of parameters that stay at the clients and are never mixed.
        init: draws a row's start, see ``stack.draw_parameters``; ``stack.kept`` is the network's own.
        constants: tensors that all clients share (residual points, say); they come with every batch and every test.
        backend: "eager" or "xla", see ``backends``; or "auto", which compiles where much lies ahead, and else computes
            what eager does from a record: a loss may then not do anything but compute.
        state: go on from here, as a ``Round`` left it. rounds: how many you will want, if you know; "auto" asks.
    """
    federations = list(federations.values() if isinstance(federations, Mapping) else federations)
    check_work(net, pool, **work_args)
    work = prepared(net, loss, pool, federations, **work_args)
    return rounds_from(work, state or beginning(work, init), renewed=True)


def rounds_from(
    work: Work, state: State, until: Callable[[int], int] = lambda r: r + 1, renewed: bool = False
) -> Iterator[Round]:
    """Rounds without end. until: r -> the round before which somebody wants to look again; where all clients take part
    in every round, a compiled backend plays all up to there as one program. renewed: before each look it is asked
    whether somebody has changed the loss, a weight in it, say; steps are then written down anew."""
    federations, device = work.federations, work.home.device
    everyone, active = all(fed.fraction == 1 for fed in federations), None
    decays = any(fed.decay != 1 for fed in federations)
    while True:
        if renewed and work.backend.anew and work.probe.moved():
            work, active = work._replace(backend=work.backend.anew()), None
        r, changed = state.round, active is None
        if changed or not everyone:
            drawn = [participants(fed.seed, r, len(fed.shards), fed.fraction) for fed in federations]
            changed = changed or not all(map(np.array_equal, drawn, active))
            active = drawn
        if changed:
            turn, mixed, served = arranged(work, active)
            program = None
            if everyone and work.backend.rounds:
                program = work.backend.rounds(work, turn, mixed, served, r, standing(work, state, turn, served))
        if program:
            done = several_rounds(work, state, turn, mixed, served, program, until(r))
        else:
            if changed or decays:
                lr = torch.tensor([[fed.rate(r)] for fed in federations], dtype=work.dtype, device=device)[turn.owner]
            done = one_round(work, state, turn, mixed, served, lr)
        yield done
        state = done.state


def arranged(work: Work, active: Sequence[np.ndarray]) -> tuple[Turn, Exchange, list]:
    """Of a round in which these clients of each federation take part: who is at hand, what they exchange, and the
    servers, see ``served_by``."""
    mixing = matrices(work.federations, active)
    turn = turn_of(work, active, [*map(needs_everyone, mixing, active)])
    return turn, exchange(work, mixing, turn), served_by(work, mixing)


def prepared(
    net, loss, pool, federations: Sequence[Federation], *, local, noise=None, optimizer=None, reset_moments=False,
    personal=(), constants=None, backend="auto", device="cpu", dtype=torch.float32, rounds=None,
) -> Work:  # fmt: skip
    """The work of these clients; arguments as in ``play``, which ``check_work`` has seen."""
    optimizer = adam() if optimizer is None else optimizer
    device, sizes = device_of(device), np.concatenate([fed.sizes for fed in federations])
    starts = np.array([*(rows.start for rows in slices_of(federations)), len(sizes)])
    place = np.empty(len(sizes), int)
    place[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))  # who has more points takes no fewer steps
    pool = on(pool, device, dtype)
    constants = on(constants, device, dtype)
    loss = with_constants(loss, constants)
    work = Work(
        net=net,
        pool=pool,
        federations=federations,
        starts=starts,
        sizes=sizes,
        place=place,
        home=home_columns(net, personal).to(device),
        sources=lru_cache(2)(partial(sources_of, starts, torch.device(device))),
        local=local,
        noise=noise,
        optimizer=optimizer,
        reset_moments=reset_moments,
        gradient=client_gradient(net, loss),
        backend=eager(net, loss, optimizer),
        dtype=dtype,
        first=np.full(len(sizes), np.nan),
        probe=None,
        diverged={},
    )
    probe = check_loss(work, loss, constants) if pool else None  # the server of several machines has no points
    chosen = backend_of(
        backend, (net, loss, optimizer), steps_ahead(rounds, sizes, local), shapes_vary(federations, local), pool,
        one_point(pool, noise, dtype),
    )  # fmt: skip
    return work._replace(probe=probe, backend=chosen)


def backend_of(name: str, training: tuple, steps: int, varied: bool, pool: Mapping, batch: Mapping) -> Backend:
    """The backend of a name. "auto" is a rule on what is known beforehand, the same on every machine: XLA where so many
    steps lie ahead that compiling pays, if JAX has the device and knows all operations of a step; else what eager does,
    from a record.

    training: net, loss, optimizer. steps: of blocks. varied: whether others of them come in other rounds. batch: of one
    client [1, B, ...].
    """
    if name not in ("auto", "eager", "xla"):
        raise ValueError(f"backend = {name!r}: expected one of auto, eager, xla")
    if name == "eager":
        return eager(*training)
    if name == "auto" and steps < STEPS_TO_COMPILE:
        return replayed(*training)
    if why := without_jax():
        if name == "auto":
            return replayed(*training)
        raise ValueError(f"backend = 'xla' needs jax, {why}; 'auto' takes what there is")
    from .xla.program import has_device, knows_all, xla

    if name == "auto" and not (has_device(batch["w"].device.type) and knows_all(*training, pool, batch)):
        return replayed(*training)
    return xla(*training, varied)


def without_jax() -> str:
    """Why JAX cannot compute here; nothing where it can."""
    if find_spec("jax") is None:
        return "which is not here (pip install jax)"
    try:
        from .xla import program

        if os.getpid() != program.PROCESS:
            return "whose threads stay behind when a process is forked: take multiprocessing.get_context('spawn')"
        program.jax.devices()
    except (ImportError, AttributeError, RuntimeError, AssertionError) as error:  # a jaxlib of another release; no GPU
        first = (str(error).splitlines() or ["no such device"])[0]
        return f"which cannot start: {type(error).__name__}, {first} (see JAX_PLATFORMS, and pip check)"
    return ""


def one_point(pool: Mapping[str, Tensor], noise: tuple[int, ...] | None, dtype: torch.dtype) -> dict[str, Tensor]:
    """A batch [1, 1, ...] of one client's only point: enough to see which operations a step is made of."""
    floats = {"dtype": dtype, "device": next(iter(pool.values()), torch.empty(0)).device}
    drawn = {"noise": torch.zeros(1, 1, *noise, **floats)} if noise else {}
    return {name: v[None, :1] for name, v in pool.items()} | drawn | {"w": torch.ones(1, 1, **floats)}


def steps_ahead(rounds: int | None, sizes: np.ndarray, local: Local) -> int:
    """Local steps of blocks, as far as anybody knows; 0 where the rounds are not known."""
    blocks = 1 + int(local.points(sizes).sum()) // POINTS_PER_BLOCK["eager"]
    return (rounds or 0) * blocks * int(np.max(n_steps(sizes, local)))


def shapes_vary(federations: Sequence[Federation], local: Local) -> bool:
    """Whether blocks have other shapes in other rounds, as others take part, of another size or in another number."""
    if all(fed.fraction == 1 for fed in federations):
        return False
    sizes = np.concatenate([fed.sizes for fed in federations])
    alike = not np.ptp(local.points(sizes)) and not np.ptp(n_steps(sizes, local))
    return not alike or any(isinstance(fed.fraction, tuple) for fed in federations)


def beginning(work: Work, init: Callable) -> State:
    """The state before round 0. UserWarning where the network was trained already and its start is drawn anew."""
    if init is not kept and any(p.grad is not None or p._version > 1 for p in work.net.parameters()):
        warnings.warn(
            "the network's parameters were changed after it was made, trained or loaded, but the start of a training "
            "is drawn by init; init=kept (fedlib.federated.stack) begins with them as they are",
            stacklevel=3,
        )
    starts = [[()] if fed.common_init else [(k,) for k in range(len(fed.shards))] for fed in work.federations]
    keys = [(fed.seed, *key) for fed, of_fed in zip(work.federations, starts, strict=True) for key in of_fed]
    theta = stack(work.net, keys, init, work.dtype)
    if init is not kept:
        warn_if_not_drawn(work.net, theta[0])
    theta, source = theta.to(work.home.device, work.dtype), work.sources(tuple(map(len, starts)))
    per_client, shared = split_state(work.optimizer, work.optimizer.init(theta), work.reset_moments)
    stored = source[torch.as_tensor(np.argsort(work.place), device=source.device)]
    return State(0, theta, spread_out(per_client, stored) | shared, [], source, work.home, theta[:, work.home][source])


def warn_if_not_drawn(net: nn.Module, row: Tensor) -> None:
    """Parameters that ``init`` has left as they were, of a layer of one's own, are the same under all seeds; a number,
    zeros, or what one types by hand, are meant. row [P]: a start."""
    drawn = as_dict(net, row)
    for name, p in net.named_parameters():
        start = p.to(row.dtype)
        if torch.equal(start, drawn[name]) and len(p.unique()) > 1 and not torch.equal(start, start.round(decimals=4)):
            warnings.warn(
                f"the network's parameter {name!r} is drawn by no seed: init fills layers of torch.nn, and all seeds "
                "and clients start from its values of now. Make it of such layers, nn.Linear(...).weight, or start it "
                "from zeros",
                stacklevel=4,
            )


def spread_out(first: Mapping[str, Tensor], source: Tensor) -> dict[str, Tensor]:
    """first [D, ...] -> a row for each client [M, ...]. Zeros are not written: no row costs memory before its client
    works."""
    return {name: v[source] if v.cpu().any() else v.new_zeros(len(source), *v.shape[1:]) for name, v in first.items()}


def one_round(
    work: Work, state: State, turn: Turn, mixed: Exchange, served: list, lr: Tensor, local: Callable | None = None
) -> Round:
    """Local work, exchange, server. turn, mixed, served: as ``arranged``. lr [n, 1].

    local: who does the local work, ``site_round`` here; on several machines the sites do, see ``machines.server``.
    """
    r, optimizer = state.round, work.optimizer
    x, kept, at_server = standing(work, state, turn, served)
    if work.reset_moments or optimizer.passing:
        kept = optimizer.init(x) | kept
    wire = None
    if needs_wire(optimizer):
        wire = wire_of(work, turn, mixed, lambda: full_gradient(work, work.gradient, x, turn))
    loss = (local or site_round)(work, turn, r, x, kept, lr, wire)
    began = [state.models(clients) for *_, clients in served]
    theta = server_step(mixed, x, served, began, at_server)
    if len(state.columns):
        put_back(state.personal, turn.clients, x[:, state.columns])
    optimizer_state = {
        name: v.new_zeros(mixed.D, *v.shape[1:]).index_copy_(0, mixed.spread, kept[name])
        if name in optimizer.shared
        else put_back(v, turn.places, kept[name])
        for name, v in state.optimizer.items()
    }
    after = State(r + 1, theta, optimizer_state, at_server, mixed.source, state.columns, state.personal)
    void_diverged(work, after)
    return Round(r, turn.numbers, loss[None], work.first, turn.clients, x, state, after)


def several_rounds(
    work: Work, state: State, turn: Turn, mixed: Exchange, served: list, program: Callable, last: int
) -> Round:
    """Rounds up to ``last``, or as many as the program takes at once, of clients who all take part."""
    r = state.round
    x, theta, kept, at_server, played, losses, of_last = program(*standing(work, state, turn, served), r, last)
    # once a program the processor waits for the device
    *losses, begun, ended = torch.cat([losses, of_last[:1], x.sum(1)[None]]).cpu().numpy()
    if not np.isfinite([*losses, ended])[:, goes_on(work, turn)].all():  # it ended with such a round
        blocks = [of_last[: turn.steps[block][0], block] for block in turn.blocks]
        look_for_divergence(work, turn, blocks, x, r + int(played) - 1)
    remember_first(work, turn, begun)
    personal = state.personal.index_copy(0, turn.clients, x[:, state.columns])
    end = State(r + len(losses), theta, kept, at_server, mixed.source, state.columns, personal)
    void_diverged(work, end)
    losses = np.array(losses) / turn.steps
    losses[-1, ~goes_on(work, turn)] = np.nan
    return Round(end.round - 1, turn.numbers, losses, work.first, turn.clients, x, state, end)


def void_diverged(work: Work, state: State) -> None:
    """All models of federations that diverged are NaN, in place: theirs never meet the others."""
    for f in work.diverged:
        clients = slice(*work.starts[f : f + 2])
        state.theta[state.source[clients]] = state.personal[clients] = torch.nan


def site_round(
    work: Work, turn: Turn, r: int, x: Tensor, kept: Mapping[str, Tensor], lr: Tensor, wire: Wire | None
) -> np.ndarray:
    """The local work of all clients of one site as one stack, in place in x and kept: one half of a round.

    The other half is ``server_step``. ``one_round`` plays both; where the sites are other machines, they play this half
    and the server all else.

    Args:
        work, turn: what the clients do, and who of them in round r.
        x [n, P]: the models that they were given. kept: their optimisers' state, each [n, ...]. lr [n, 1].
        wire: what they exchange at the ends of the round; None where their optimiser sends no more than the models.

    Returns:
        loss of those who worked: mean over their steps.

    Raises:
        FloatingPointError: a loss or a model became non-finite; names client, round and step.
    """
    if work.optimizer.start:
        work.optimizer.start(x, kept, wire)
    loss = local_work(work, x, kept, lr, r, turn)
    if work.optimizer.finish:
        work.optimizer.finish(x, kept, wire)
    return loss


def server_step(
    mixed: Exchange, x: Tensor, served: Sequence[tuple], began: Sequence[Tensor], states: Sequence[dict]
) -> Tensor:
    """theta = U x, and what the servers make of it.

    Args:
        x [n, P]: the models that came.
        served: of ``served_by``; began: for each server the models when the round began; states: changed in place.

    Returns:
        theta [D, P]: the distinct models that go out.
    """
    theta = mixed.distinct(x)
    for (server, rows, _), before, at_server in zip(served, began, states, strict=True):
        theta[rows] = server.apply(before, theta[rows], at_server)
    return theta


def needs_wire(optimizer: Optimizer) -> bool:
    """Whether clients exchange more than the models."""
    return bool(optimizer.start or optimizer.finish)


def standing(work: Work, state: State, turn: Turn, served: list) -> tuple[Tensor, dict, list]:
    """Before a round: the models x [n, P] of the clients at hand, what their optimisers kept, each [n, ...], and what
    the servers keep."""
    kept = {
        name: v[state.source[turn.clients]] if name in work.optimizer.shared else v[turn.places]
        for name, v in state.optimizer.items()
    }
    at_server = state.server or [server.init(state.models(clients)) for server, _, clients in served]
    return state.models(turn.clients), kept, at_server


def device_of(name: str | torch.device) -> str:
    """The device of a name: an accelerator for "auto" where there is one."""
    has_gpu, name = torch.cuda.is_available(), str(name)
    if name == "auto":
        return "cuda" if has_gpu else "cpu"
    if not re.fullmatch(r"cpu|meta|cuda(:\d+)?", name):  # meta: shapes only
        raise ValueError(f"device = {name!r}: expected 'auto', 'cpu', 'cuda' or 'cuda:1'")
    if name.startswith("cuda") and not has_gpu:
        raise ValueError(f"device = {name!r}, but torch finds no accelerator; take 'auto' or 'cpu'")
    return name


def on(tensors: Mapping[str, Tensor] | None, device: str = "cpu", dtype=torch.float32) -> dict[str, Tensor]:
    """Tensors on a device; floating ones with a dtype."""
    return {k: v.to(device, dtype if v.is_floating_point() else v.dtype) for k, v in (tensors or {}).items()}
