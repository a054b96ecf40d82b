"""``train``: the rounds of ``rounds.play``, recorded, kept and labelled."""

import time
import warnings
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ..models.networks import fan_in_uniform
from ..progress import rounds_of
from . import checkpoints
from .batches import Local
from .checks import check_training, checked_keys, warn_if_nothing_learnt
from .dry import check_evaluate, check_same
from .federation import Federation
from .history import History
from .rounds import beginning, on, prepared, rounds_from
from .stack import as_dict
from .states import Round, State

RAN: set[str] = set()
"""Backends of this process's trainings: a result file says them."""

LOOK = 0.5  # s at most that a compiled program plays without a look: somebody may want to interrupt it


def train(
    net: nn.Module,
    loss: Callable[[Callable, Mapping[str, Tensor]], Tensor],
    pool: Mapping[str, Tensor],
    federations: Sequence[Federation] | Mapping[Hashable, Federation],
    *,
    rounds: int,
    local: Local,
    evaluate: Callable[[Callable, Mapping[str, Tensor]], Mapping[str, Tensor]] | None = None,
    test: Mapping[str, Tensor] | Callable[[Hashable], Mapping[str, Tensor]] | None = None,
    evaluate_every: int = 1,
    parts: Sequence[str] | None = None,
    twins: Mapping[Hashable, Hashable] | None = None,
    may_all_diverge: bool = False,
    progress: bool | Callable[[int], None] = False,
    checkpoint: checkpoints.Checkpoint | None = None,
    constants: Mapping[str, Tensor] | None = None,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    init: Callable = fan_in_uniform,
    **work_args,
) -> History:
    """Train all federations as one stack of M = sum K_f models, for R rounds.

    Args:
        net: the network; only its structure is used. pool: all points, each tensor [N, ...].
        loss: (predict, batch) -> scalar for ONE client; ``predict`` is the network with its parameters, ``batch`` the
            pool's tensors at its points, and batch["w"] [B] their weights, 1 / n, 0 on padding: sum(w * ...) is a mean.
        federations: key -> who owns what. Keys are NamedTuples, or tuples with ``parts``, names; a list: 0, 1, ...
        local: the work of a round, K "steps" or K "epochs", full or mini-batches.
        evaluate: (predict, test) -> named tensors for ONE model. evaluate_every: in rounds; the last one always.
        test: tensors [F, ...], a row per federation; or a function key -> tensors [...] of that federation.
        twins: further keys -> the federation whose models stand there, too, each with tests of its own.
        may_all_diverge: no error where all federations diverged.
        checkpoint: keeps the state every two minutes and at the end; a training that finds its own plays the first
            round again, and goes on from there if it gives the same losses, to 1e-4; else it says so, and begins anew.
        device: "cpu", "cuda", ..., or "auto", an accelerator where there is one.
        progress: a bar while it runs, or a function that is told how many rounds are done.
        constants, init, and work_args (optimizer, noise, personal, backend, ...): see ``play``.

    Raises:
        ValueError: unusable arguments or checkpoint, before any training.
        FloatingPointError: all federations diverged: a loss or a model became non-finite; names client, round and step.
            Where only some do, their rows are NaN and named in a warning and in ``History.diverged``.
    """
    federations, twins = checked_keys(federations, parts), twins or {}
    if unknown := [twin for twin, key in twins.items() if key not in federations or twin in federations]:
        raise ValueError(f"twins has {unknown[0]!r} -> {twins[unknown[0]]!r}; expected a new key -> one of federations")
    every = federations | {twin: federations[key] for twin, key in twins.items()}
    test = tests_of(test, [*every])
    check_training(
        net, pool, federations, test, len(every), constants, rounds, local, evaluate_every,
        checkpoint, dtype, **work_args,
    )  # fmt: skip
    rounds, evaluate_every = int(rounds), int(evaluate_every)
    work = prepared(
        net, loss, pool, list(federations.values()), local=local, constants=constants, device=device, dtype=dtype,
        rounds=rounds, **work_args,
    )  # fmt: skip
    work = work._replace(may_diverge=len(federations) - (not may_all_diverge))  # else there is nothing to go on with
    device, state = work.home.device, None
    test, constants = on(test, device, dtype), on(constants, device, dtype)
    if evaluate is not None:
        check_evaluate(work, evaluate, test, constants)
    result, due = History.empty(every, parts, rounds), [rounds]
    standing = [result.rows[key] for key in (*federations, *twins.values())]
    client = np.concatenate([np.arange(rows.start, rows.stop) for rows in standing])  # whose model each row has
    if evaluate is not None:  # else nobody looks before the end
        due = sorted({*range(evaluate_every, rounds, evaluate_every), rounds})
    asked = {due[-1], *(due[2**i - 1] for i in range(len(due).bit_length()))}  # whether the loss is what it was
    if checkpoint is not None and (stored := checkpoints.load(checkpoint, device, result, due if evaluate else {})):
        state = State(*stored)
    if state and (changed := other_losses(next(rounds_from(work, beginning(work, init))), result)):
        warnings.warn(f"{checkpoint.path}: {changed}; the training begins anew", stacklevel=2)
        result, state = History.empty(every, parts, rounds), None
    start, first = state.round if state else 0, np.full(len(work.sizes), np.nan)
    if start < rounds:
        result.backend, pace = work.backend.name, Pace(due)
        played, saved_at = rounds_from(work, state or beginning(work, init), pace.until), time.monotonic()
        for r in rounds_of(start, rounds, progress):
            if state and r < state.round:  # played already, with others
                continue
            done = next(played)
            state = done.state
            pace.tell(state.round - r)
            losses = np.full((len(done.loss), len(work.sizes)), np.nan)
            losses[:, done.clients] = done.loss
            result.losses[state.round - len(losses) : state.round] = losses[:, client]
            if state.round in asked:
                check_same(work.probe)
            if evaluate is not None and state.round in due:
                record(result, done, net, evaluate, test, constants, client)
            if checkpoint is not None and (state.round == rounds or checkpoint.is_due(saved_at)):
                checkpoints.save(checkpoint, state, result)
                saved_at = time.monotonic()
        if not start:
            first = done.first
    models, source = state.distinct()
    result.distinct, result.source = models.cpu(), source.cpu()[client]
    diverged = {key: work.diverged[f] for f, key in enumerate(federations) if f in work.diverged}
    for key, what in diverged.items():
        warnings.warn(f"{key!r} is NaN from there on, the others were trained to the end: {what}", stacklevel=2)
    result.diverged = diverged | {twin: diverged[key] for twin, key in twins.items() if key in diverged}
    RAN.update({result.backend} - {""})  # nothing ran where a checkpoint had all rounds
    warn_if_nothing_learnt(federations, result, first)
    return result


def other_losses(done: Round, past: History) -> str:
    """Where the losses of the first round, played again, differ from the past's by more than 1e-4; empty: nowhere."""
    new = done.losses
    old = past.losses[0, : len(new)]
    gap = np.where(np.isnan(old) & np.isnan(new), 0, np.abs(new - old) - 1e-4 * np.abs(old))
    m = int(np.argmax(np.where(np.isnan(gap), np.inf, gap)))
    if gap[m] <= 0:
        return ""
    key, rows = next((key, rows) for key, rows in past.rows.items() if rows.start <= m < rows.stop)
    return (
        f"its first round had the loss {old[m]:.6g} of {key}, client {m - rows.start}, and has {new[m]:.6g} now: loss, "
        "data, start or local steps have changed since"
    )


class Pace:
    """How many rounds may go by without a look: none of those that are due, and about ``LOOK`` seconds."""

    def __init__(self, due: Sequence[int]):
        self.due, self.rounds, self.began = due, 1, time.monotonic()

    def until(self, r: int) -> int:
        self.began = time.monotonic()
        return min(self.due[bisect_right(self.due, r)], r + self.rounds)

    def tell(self, played: int) -> None:
        if played == self.rounds and time.monotonic() - self.began < LOOK / 2:
            self.rounds *= 2


def record(result: History, done: Round, net, evaluate, test, constants, client: np.ndarray, chunk: int = 64) -> None:
    """Evaluate every distinct model once with each test that it has, and append the metrics of all rows of the history;
    NaN where a model diverged. client: whose model each of them has."""
    models, source = done.state.distinct()
    row = np.repeat(np.arange(len(result.rows)), [rows.stop - rows.start for rows in result.rows.values()])
    pairs, case = np.unique(row * len(models) + source.cpu().numpy()[client], return_inverse=True)
    row, model = (torch.from_numpy(index).to(source) for index in divmod(pairs, len(models)))

    def one(params, test_of_one):
        return evaluate(lambda *x: functional_call(net, params, x), {**test_of_one, **constants})

    with torch.no_grad():
        parts = [
            vmap(one)(as_dict(net, models[model[i]]), {name: value[row[i]] for name, value in test.items()})
            for i in torch.arange(len(model), device=models.device).split(chunk)
        ]
    broken = ~models.isfinite().all(1)[model][case].cpu().numpy()
    if result.rounds and (other := parts[0].keys() ^ result.metrics.keys()):
        raise ValueError(
            f"evaluate gave {', '.join(parts[0])} after round {done.number + 1}, but {', '.join(result.metrics)} "
            f"before; expected the same names each time: {min(other)!r} comes or goes"
        )
    result.rounds.append(done.number + 1)
    for name in parts[0]:
        new = torch.cat([part[name] for part in parts])[case].cpu().numpy()[None]
        if broken.any():
            new = new.astype(np.result_type(new, np.float32))
            new[:, broken] = np.nan
        old = result.metrics.get(name)
        result.metrics[name] = new if old is None else np.concatenate([old, new])


def tests_of(test, keys: Sequence[Hashable]) -> dict[str, Tensor]:
    """``test`` as tensors [F, ...], a row per key; what is the same tensor for all of them is not copied."""
    if not callable(test):
        return dict(test or {})
    each = [test(key) for key in keys]
    shared = {name for name, value in each[0].items() if all(other[name] is value for other in each)}
    return {
        name: value.expand(len(each), *value.shape)
        if name in shared
        else torch.stack([tensors[name] for tensors in each])
        for name, value in each[0].items()
    }
