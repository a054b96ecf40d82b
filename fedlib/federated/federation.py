"""The engine: a federation is a stack of models, and communication is a matrix.

Row r of theta [M, P] is one model. Local work: all active rows take an optimiser step at once, by
``vmap(grad_and_value(loss))`` with a loss written for ONE client. Communication: theta <- A theta. A whole
figure (levels x seeds x {centralised, isolated, federated}) is a list of ``Federation`` and trains as ONE stack.
The same algorithms as plain loops stand in ``reference``.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from ..models.networks import fan_in_uniform
from ..progress import rounds_of
from . import checkpoints
from .batches import POINTS_PER_BLOCK, Local, blocks_of, full_batch, mini_batches, n_steps, participants, with_noise
from .checks import check_experiment, check_noise, check_padding_is_ignored, raise_if_diverged
from .mixing import check_stochastic, fedavg, isolated
from .optimizers import Optimizer, adam
from .stack import as_dict, stack


@dataclass(frozen=True)
class Federation:
    """K clients that talk to each other: who owns which points, and how they communicate.

    Args:
        shards: K index arrays into the pool of points.
        mixing: rule (p [K], active [K]) -> A [K, K], see ``mixing``.
        fraction: share alpha of the clients in a round, or an interval it is drawn from anew each round.
        lr: local learning rate. decay: in round r = 0, 1, ... it is lr decay^r, or lr decay(r) for a function.
        weights: "size" for p_k = n_k / n, "equal" for 1 / K.
        common_init: all clients start from the same parameters.
        seed: of initial parameters, mini-batches and participation.
        name: for messages and figures.
    """

    shards: Sequence[np.ndarray]
    mixing: Callable[[np.ndarray, np.ndarray], np.ndarray] = fedavg
    fraction: float | tuple[float, float] = 1.0
    lr: float = 1e-3
    decay: float | Callable[[int], float] = 1.0
    weights: str = "size"
    common_init: bool = True
    seed: int = 0
    name: str = "federation"

    @property
    def p(self) -> np.ndarray:
        """Aggregation weights [K], sum 1."""
        n = np.array([len(s) if self.weights == "size" else 1 for s in self.shards], float)
        return n / n.sum()

    def rate(self, r: int) -> float:
        """Learning rate of round r."""
        return self.lr * (self.decay(r) if callable(self.decay) else self.decay**r)


def centralised(shards: Sequence[np.ndarray], **settings) -> Federation:
    """One model that sees the union of all shards: a point that several clients share counts once."""
    every = np.concatenate(shards)
    _, first = np.unique(every, return_index=True)
    return Federation([every[np.sort(first)]], mixing=isolated, **settings)


@dataclass
class History:
    """What a run leaves behind. M rows, F federations, R rounds, V evaluations.

    theta [M, P]: parameters after the last round. rows[f]: the slice of federation f.
    losses [R, M]: mean over the round's local steps, NaN where a row did not take part.
    rounds [V]: after which rounds metrics were taken; metrics[name] [V, M, ...].
    """

    theta: Tensor
    rows: list[slice]
    losses: np.ndarray
    rounds: list[int] = field(default_factory=list)
    metrics: dict[str, np.ndarray] = field(default_factory=dict)

    def model(self, f: int, client: int = 0) -> Tensor:
        """Parameters [P] of one client of federation f (all clients hold the same after FedAvg)."""
        return self.theta[self.rows[f]][client]


def train(
    net: nn.Module,
    loss: Callable[[Callable, Mapping[str, Tensor]], Tensor],
    pool: Mapping[str, Tensor],
    federations: Sequence[Federation],
    *,
    rounds: int,
    local_updates: int,
    local_unit: str = "steps",
    batch_size: int | None = None,
    noise: tuple[int, ...] | None = None,
    optimizer: Optimizer | None = None,
    reset_moments: bool = False,
    personal: Sequence[str] = (),
    init: Callable = fan_in_uniform,
    evaluate: Callable[[Callable, Mapping[str, Tensor]], Mapping[str, Tensor]] | None = None,
    test: Mapping[str, Tensor] | None = None,
    evaluate_every: int = 1,
    compile: bool = False,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    progress: bool = False,
    checkpoint: Path | None = None,
) -> History:
    """Train all federations as one stack of M = sum K_f models.

    Args:
        net: the network; only its structure is used.
        loss: (predict, batch) -> scalar for ONE client; ``predict`` is the network with the client's
            parameters, ``batch`` the pool's tensors at its points, and batch["w"] [B] the points' weights,
            1 / n on the client's n points and 0 on padding: write sum(w * ...) where the paper has 1/n sum.
        pool: all points, each tensor [N, ...].
        federations: who owns what; one row per client, in this order.
        rounds, local_updates, local_unit: R rounds of K "steps" or K "epochs" (passes over the client's data).
        batch_size: None is full batch (a pass is then one step).
        noise: shape of fresh standard normal numbers for every point of every local step, batch["noise"]
            [B, *noise]; a client draws them from a stream of its own. For stochastic networks.
        optimizer: ``adam()`` (default) or ``sgd()``. reset_moments: start its state anew in every round.
        personal: names of parameters that stay at the clients and are never mixed.
        evaluate: (predict, test) -> named tensors for ONE model. test: tensors [F, ...], a row per federation.
        evaluate_every: in rounds; the last round is always evaluated.
        compile: ``torch.compile`` of the local step (some seconds per shape, then about twice as fast).
        progress: a bar while it runs, in a notebook or a terminal.
        checkpoint: a file that keeps the state every two minutes and at the end. A training that finds its own goes on
            from there, to the same result.

    Raises:
        ValueError: unusable arguments, or another training's checkpoint, before any training.
        FloatingPointError: a loss became non-finite; names federation, client, round and step.
    """
    local = Local(local_updates, local_unit, batch_size)
    check_experiment(pool, federations, rounds, local, evaluate_every, test)
    check_noise(pool, noise)
    optimizer = optimizer or adam()
    pool = {k: v.to(device, dtype if v.is_floating_point() else v.dtype) for k, v in pool.items()}
    test = {k: v.to(device, dtype if v.is_floating_point() else v.dtype) for k, v in (test or {}).items()}
    client_of = [(f, k) for f, fed in enumerate(federations) for k in range(len(fed.shards))]
    ends = np.cumsum([len(fed.shards) for fed in federations])
    rows = [slice(e - len(fed.shards), e) for e, fed in zip(ends, federations, strict=True)]
    keys = [(federations[f].seed, *(() if federations[f].common_init else (k,))) for f, k in client_of]

    # inside, rows stand in order of falling work, so that alike rows are neighbours and a block is a slice
    sizes = np.array([len(federations[f].shards[k]) for f, k in client_of])
    steps = np.array([n_steps(n, local) for n in sizes])
    inside = np.lexsort((-sizes, -steps))
    client_of, steps, sizes = [client_of[i] for i in inside], steps[inside], sizes[inside]
    points = np.minimum(sizes, batch_size or sizes)
    outside = torch.as_tensor(np.argsort(inside), device=device)  # where each client of the list stands inside

    theta = stack(net, [keys[i] for i in inside], init).to(device, dtype)
    state = optimizer.init(theta)
    owner = torch.tensor([f for f, _ in client_of], device=device)
    home = home_columns(net, personal).to(device)
    step = torch.compile(local_step) if compile else local_step
    client_gradient = vmap(grad_and_value(client_loss(net, loss)))
    result = History(theta, rows, np.full((rounds, len(client_of)), np.nan))
    last_active, start, saved_at = None, 0, time.monotonic()
    if checkpoint is not None:
        rates = [[f.rate(r) for r in range(rounds)] for f in federations]
        clients = [(f.name, getattr(f.mixing, "__name__", ""), f.p, f.fraction, f.seed, f.shards) for f in federations]
        mark = checkpoints.fingerprint(theta, pool, test, clients, rates, local, noise, reset_moments, tuple(personal))
        start, theta, state = checkpoints.load(checkpoint, mark, device, result) or (start, theta, state)

    for r in rounds_of(start, rounds, progress):
        active = [participants(fed.seed, r, len(fed.shards), fed.fraction) for fed in federations]
        if last_active is None or not np.array_equal(np.concatenate(active), last_active):
            last_active = np.concatenate(active)
            U, source = mixing_matrix(federations, active, outside, dtype, device)
            spread = source[inside]  # the distinct model of each row inside
            order = np.flatnonzero(last_active[inside])
            blocks = [order[b] for b in blocks_of(points[order], POINTS_PER_BLOCK[theta.device.type])]
            whole = [None] * len(blocks)
        lr = torch.tensor([[fed.rate(r)] for fed in federations], dtype=dtype, device=device)[owner]
        if reset_moments:
            state = optimizer.init(theta)

        for b, own in enumerate(blocks):
            who, S = [client_of[i] for i in own], steps[own]
            neighbours = own[-1] - own[0] + 1 == len(own)
            view = slice(own[0], own[-1] + 1) if neighbours else torch.as_tensor(own, device=device)
            th, st, eta = theta[view], {k: v[view] for k, v in state.items()}, lr[view]
            losses = torch.zeros(S[0], len(own), dtype=dtype, device=device)
            if batch_size is None:
                if whole[b] is None:
                    whole[b] = full_batch(pool, federations, who, dtype)
                work = repeat((len(own), whole[b]), local_updates)
            else:
                work = mini_batches(pool, federations, who, S, r, local, dtype)
            if noise is not None:
                work = with_noise(work, federations, who, r, local, noise, dtype)
            for s, (n, batch) in enumerate(work):
                at_work = th[:n], {k: v[:n] for k, v in st.items()}, eta[:n]
                if r == s == 0:
                    check_padding_is_ignored(client_gradient, as_dict(net, at_work[0]), batch)
                losses[s, :n] = step(client_gradient, net, optimizer, *at_work, batch)
            raise_if_diverged(losses, th, S, who, federations, r)
            if not neighbours:  # indexing made copies
                theta[view] = th
                for k in st:
                    state[k][view] = st[k]
            result.losses[r, inside[own]] = losses.sum(0).cpu().numpy() / S
        distinct = torch.sparse.mm(U, theta)
        own = theta[:, home]
        theta = distinct[spread]
        theta[:, home] = own
        if evaluate is not None and ((r + 1) % evaluate_every == 0 or r + 1 == rounds):
            record(result, r + 1, net, evaluate, distinct, source, test)
        if checkpoint is not None and (r + 1 == rounds or time.monotonic() - saved_at > checkpoints.SECONDS):
            checkpoints.save(checkpoint, mark, r + 1, theta, state, result)
            saved_at = time.monotonic()
    result.theta = theta[outside]
    return result


def home_columns(net, personal: Sequence[str]) -> Tensor:
    """Columns of theta [M, P] that the personal parameters fill."""
    if unknown := sorted(set(personal) - {name for name, _ in net.named_parameters()}):
        raise ValueError(f"personal names {unknown[0]!r}, but the network has {[n for n, _ in net.named_parameters()]}")
    marks = [torch.full((p.numel(),), name in personal) for name, p in net.named_parameters()]
    return torch.cat(marks).nonzero()[:, 0]


def client_loss(net, loss):
    """The client's loss as a function of (parameters, batch)."""
    return lambda params, batch: loss(lambda *x: functional_call(net, params, x), batch)


def local_step(client_gradient, net, optimizer, theta, state, lr, batch) -> Tensor:
    """One optimiser step of all rows, in place. Returns the rows' losses before the step."""
    gradient, losses = client_gradient(as_dict(net, theta), batch)
    flat = torch.cat([g.flatten(1) for g in gradient.values()], dim=1)
    optimizer.apply(theta, flat, state, lr)
    return losses


def mixing_matrix(federations, active, outside, dtype, device) -> tuple[Tensor, Tensor]:
    """The block-diagonal A as (U, source) with A = U[source]: U sparse, one row per distinct model.

    After FedAvg all clients of a federation are one model: it is computed, and evaluated, once.
    outside [M]: where the engine keeps row r of the list of all clients.
    """
    i, j, values, source, row = [], [], [], [], 0
    first = 0
    for fed, here in zip(federations, active, strict=True):
        K = len(fed.shards)
        A = check_stochastic(fed.mixing(fed.p, here), K, fed.name)
        same = bool((A[0] == A).all())
        a, b = np.nonzero(A[:1] if same else A)
        i.append(row + a), j.append(first + b), values.append(A[a, b])
        source.append(np.full(K, row) if same else row + np.arange(K))
        row, first = row + (1 if same else K), first + K
    where = torch.stack([torch.as_tensor(np.concatenate(i), device=device), outside[np.concatenate(j)]])
    values = torch.as_tensor(np.concatenate(values), dtype=dtype)
    U = torch.sparse_coo_tensor(where, values, (row, first), device=device, check_invariants=True)
    return U.coalesce(), torch.as_tensor(np.concatenate(source), device=device)


def record(result, r, net, evaluate, distinct, source, test, chunk: int = 64) -> None:
    """Evaluate every distinct model once and append the metrics of all rows."""
    owner = torch.zeros(len(distinct), dtype=torch.long, device=distinct.device)
    for f, here in enumerate(result.rows):
        owner[source[here]] = f

    def one(params, own):
        return evaluate(lambda *x: functional_call(net, params, x), own)

    with torch.no_grad():
        parts = [
            vmap(one)(as_dict(net, distinct[i]), {k: v[owner[i]] for k, v in test.items()})
            for i in torch.arange(len(distinct), device=distinct.device).split(chunk)
        ]
    result.rounds.append(r)
    for name in parts[0]:
        new = torch.cat([part[name] for part in parts])[source].cpu().numpy()[None]
        old = result.metrics.get(name)
        result.metrics[name] = new if old is None else np.concatenate([old, new])
