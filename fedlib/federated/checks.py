"""Checks of an experiment before and during training: what was given, what was expected, the likely fix."""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
import torch
from torch import Tensor, nn

from ..refusals import check_counts
from .batches import UNITS, Local
from .checkpoints import Checkpoint
from .federation import Federation, check_shards
from .history import labels_of, parts_of
from .optimizers import Optimizer, Server

ROUNDS_TO_LEARN = 20  # in fewer rounds a loss may well rise


def checked_keys(federations, parts: Sequence[str] | None = None) -> dict:
    """Federations by key; a list is numbered. Raises ValueError where there is none, or keys and parts do not fit."""
    if isinstance(federations, Federation):
        raise ValueError("federations is one Federation; expected a list, [federation], or a mapping key -> Federation")
    if not federations:
        raise ValueError("no federation given: pass a mapping key -> Federation, or a list with at least one")
    if not isinstance(federations, Mapping):
        return dict(enumerate(federations))
    names = parts_of(federations, parts)
    for key in federations:
        if len(labels_of(key)) != len(names):
            raise ValueError(f"key {key!r} does not have the parts ({', '.join(names)}); give one label for each")
    return dict(federations)


def check_dtype(dtype: torch.dtype) -> None:
    """ValueError unless dtype is one that all backends compute in."""
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"dtype = {dtype!r}: expected torch.float32 or torch.float64")


def check_tensors(where: str = "", **sets: Mapping | None) -> None:
    """Whatever a loss or ``evaluate`` is given is a tensor. where: before the message."""
    for what, tensors in sets.items():
        for name, value in (tensors or {}).items():
            if not isinstance(value, Tensor):
                raise ValueError(
                    f"{where}{what}[{name!r}] is a {type(value).__name__}; expected a tensor: torch.as_tensor({name})"
                )


def pool_size(pool: Mapping[str, Tensor], where: str = "") -> int:
    """How many points a pool has; ValueError where its tensors differ in it. where: before the message."""
    if numbers := [name for name, value in pool.items() if not value.dim()]:
        raise ValueError(
            f"{where}pool[{numbers[0]!r}] is a single number; expected a row for each point. What all points share is "
            f"constants={{{numbers[0]!r}: tensor}}"
        )
    lengths = {name: len(value) for name, value in pool.items()}
    if len({*lengths.values()}) != 1:
        raise ValueError(f"{where}the pool's tensors have first lengths {lengths}; expected one number of points")
    return next(iter(lengths.values()))


def check_work(net, pool, constants=None, dtype=torch.float32, optimizer=None, noise=None, **_) -> None:
    """Raise ValueError where ``play`` cannot work with its arguments; the others of them are checked where they act."""
    if not torch.is_grad_enabled():
        raise ValueError(
            "torch.no_grad() or torch.inference_mode() is around this training, which needs gradients; begin it outside"
        )
    check_network(net, optimizer)
    check_dtype(dtype)
    check_tensors(pool=pool, constants=constants)
    check_noise(pool, noise)
    check_constants({*pool, "w", "noise"}, constants)


def check_network(net: nn.Module, optimizer: Optimizer | None) -> None:
    """All parameters can be rows of one real matrix, theta, that the optimiser moves; None: the usual one."""
    if not isinstance(net, nn.Module):
        hint = f"; {net.__name__}() makes one" if callable(net) and hasattr(net, "__name__") else ""
        raise ValueError(f"net = {net!r}: expected a network, an nn.Module{hint}")
    if next(net.parameters(), None) is None:
        raise ValueError("the network has no parameters, so there is nothing to train")
    if not isinstance(optimizer, Optimizer | None):
        raise ValueError(f"optimizer = {optimizer!r}: expected one of fedlib.federated.optimizers, adam() or sgd()")
    for name, p in net.named_parameters():
        if p.is_complex():
            raise ValueError(
                f"the network's parameter {name!r} is {p.dtype}; expected real numbers: keep torch.view_as_real(c) as "
                "the parameter, and say torch.view_as_complex(...) in forward"
            )
        if not p.requires_grad:
            raise ValueError(
                f"the network's parameter {name!r} has requires_grad=False, but all parameters are drawn and trained; "
                "what stays as it is is no parameter: register_buffer(name, tensor)"
            )
    for name, layer in net.named_modules():
        if isinstance(layer, nn.Embedding) and layer.padding_idx is not None:
            raise ValueError(
                f"the network's layer {name!r} has padding_idx={layer.padding_idx}, whose row torch keeps as it is in "
                "the first of several models only; leave padding_idx out, and multiply by a mask, (tokens != 0)"
            )


def check_constants(names, constants, where: str = "a batch") -> None:
    """Constants come with every batch, and with every test, so their names must be free there."""
    if taken := sorted({*names} & {*(constants or {})}):
        raise ValueError(f"constants has {taken[0]!r}, which {where} has already; rename yours")


def check_training(
    net, pool, federations: Mapping, test, tested: int, constants, rounds, local, evaluate_every, checkpoint, dtype,
    **work_args,
) -> None:  # fmt: skip
    """Raise ValueError where the arguments of ``train`` cannot mean anything; federations by ``checked_keys``, tested:
    how many rows the test must have."""
    check_tensors(test=test)
    check_work(net, pool, constants, dtype, **work_args)
    if not isinstance(local, Local):
        raise ValueError(f"local = {local!r}: expected the work of a round, such as Local(5)")
    N = pool_size(pool)
    if "w" in pool:
        raise ValueError("the pool has a tensor 'w', but batch['w'] is the engine's point weight; rename yours")
    check_counts(rounds=rounds, updates=local.updates, evaluate_every=evaluate_every)
    if local.batch_size is not None:
        check_counts(batch_size=local.batch_size)
    if local.unit not in UNITS:
        raise ValueError(f"unit = {local.unit!r}: expected one of {UNITS}")
    if local.replacement and local.batch_size is None:
        raise ValueError("replacement needs a batch_size: how many points are drawn for a batch")
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        raise ValueError(f"checkpoint = {checkpoint!r}: expected Checkpoint(path, key), or run.checkpoint(name)")
    for name, value in (test or {}).items():
        if len(value) != tested:
            raise ValueError(
                f"test[{name!r}] has first length {len(value)}, expected one row for each of the "
                f"{tested} federations (use tensor.expand({tested}, ...) to share one test set)"
            )
    check_constants(test or {}, constants, "the test")
    for fed in federations.values():
        check_federation(fed, N)
    warn_if_points_become_one(pool, dtype)


def check_federation(fed, N: int) -> None:
    """ValueError unless a federation over a pool of N points means something."""
    if not isinstance(fed, Federation):
        raise ValueError(f"federations has a {type(fed).__name__}; expected Federation(shards, ...)")
    if not callable(fed.mixing):
        raise ValueError(
            f"{fed.name}: mixing = {fed.mixing!r}; expected a rule of fedlib.federated.mixing, such as fedavg"
        )
    if not isinstance(fed.server, Server | None):
        raise ValueError(
            f"{fed.name}: server = {fed.server!r}; expected a Server, such as fedadam(eta) of federated.rules"
        )
    low_high = fed.fraction if isinstance(fed.fraction, tuple) else (fed.fraction, fed.fraction)
    numbers = len(low_high) == 2 and all(isinstance(a, Real) for a in low_high)
    if not (numbers and 0 < low_high[0] <= low_high[1] <= 1):
        raise ValueError(
            f"{fed.name}: fraction alpha = {fed.fraction!r} is outside (0, 1]; give a share such as 0.75, or an "
            "interval (0.2, 0.8)"
        )
    if not (isinstance(fed.seed, (int, np.integer)) and fed.seed >= 0):
        raise ValueError(f"{fed.name}: seed = {fed.seed!r}; expected a whole number >= 0")
    if not (isinstance(fed.lr, Real) and 0 < fed.lr < float("inf")):
        raise ValueError(f"{fed.name}: learning rate lr = {fed.lr!r}; expected a number > 0")
    if not callable(fed.decay) and not (isinstance(fed.decay, Real) and 0 < fed.decay <= 1):
        raise ValueError(f"{fed.name}: decay = {fed.decay!r} of the learning rate per round; expected 0 < decay <= 1")
    check_shards(fed.shards, N, fed.name)


def check_noise(pool, noise) -> None:
    """``noise`` is None or a shape, and the pool does not use its name."""
    if noise is None:
        return
    if not (isinstance(noise, tuple) and all(isinstance(n, int) and n >= 1 for n in noise)):
        raise ValueError(f"noise = {noise!r}: expected a shape such as (4, 2, 8), whole numbers >= 1")
    if "noise" in pool:
        raise ValueError("the pool has a tensor 'noise', but batch['noise'] is the engine's fresh noise; rename yours")


def warn_if_points_become_one(pool, dtype: torch.dtype) -> None:
    """Numbers that are large and close, such as times in seconds since 1970, are no longer different in ``dtype``."""
    for name, value in pool.items():
        if value.dtype != torch.float64 or dtype == torch.float64 or not len(value):
            continue
        columns = value.detach().flatten(1) if value.dim() > 1 else value.detach()[:, None]
        steps = columns.abs().amax(0) * torch.finfo(dtype).eps
        span = columns.amax(0) - columns.amin(0)
        for column in columns.T[(span > 0) & (span < len(columns) * steps)]:  # of others there is room for all
            before, after = (len(x.unique()) for x in (column, column.to(dtype)))
            if after < before / 2:
                warnings.warn(
                    f"pool[{name!r}]: of {before} different numbers {after} are left in {str(dtype)[6:]}; subtract the "
                    "first one, or their mean, or train with dtype=torch.float64",
                    stacklevel=4,
                )
                break


def warn_if_nothing_learnt(federations: Mapping, history, first: np.ndarray) -> None:
    """A training may stay finite and learn nothing, as Adam does with too large a rate: its loss is above its start's.

    first [M]: each client's loss before its first step.
    """
    if len(history.losses) < ROUNDS_TO_LEARN:
        return
    for key, fed in federations.items():
        both = np.stack([first[history.rows[key]], history.losses[-1, history.rows[key]]])
        judged = np.isfinite(both).all(0)
        if not judged.any():
            continue
        start, end = np.average(both[:, judged], axis=1, weights=fed.p[judged])
        if end - start > 1e-6 * abs(start):  # by more than rounding
            warnings.warn(
                f"{key!r}: the mean loss went from {start:.3g} to {end:.3g}, clients weighed by their points; lower lr",
                stacklevel=3,
            )


def diverged(losses, theta, steps, members, federations, round: int) -> dict[int, str]:
    """Federation -> what happened to its first client whose loss or model became non-finite, if there is one.

    After one round's local work, before anything is averaged: losses [S, n], theta [n, P]; members [n]: (federation,
    number in it).
    """
    wrong, whole = (~torch.isfinite(losses)).cpu().numpy(), torch.isfinite(theta).all(1).cpu().numpy()
    step = np.where(wrong.any(0), wrong.argmax(0), np.asarray(steps) - 1)
    events = {}
    for row in sorted(np.flatnonzero(wrong.any(0) | ~whole), key=lambda row: step[row]):
        f, k = members[row]
        what = (
            f"the loss became {losses[step[row], row].item()}"
            if wrong[:, row].any()
            else ("the parameters became non-finite")
        )
        events.setdefault(
            f,
            f"{federations[f].name}: {what} at client {k} in round {round}, local step {step[row]} of {steps[row]} "
            f"(lr = {federations[f].lr}); lower lr or check the client's data",
        )
    return events
