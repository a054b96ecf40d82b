"""The points of clients: of one site, or of all in one memory, for a training or a sweep in one process."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ..federated.experiment import Data, train_arguments
from ..federated.history import History
from ..federated.train import train
from ..streams import stream
from .plan import Plan
from .scaling import Moments, agreed, moments, standardised


def points_of(plan: Plan, client: int, held_back: bool = False) -> dict[str, Tensor]:
    """A client's tensors, or those that it holds back; ValueError where they are none, or not of one length."""
    name, points = ("test", plan.test(client)) if held_back else ("points", plan.points(client))
    if not isinstance(points, Mapping):
        raise ValueError(f"{name}({client}) gave a {type(points).__name__}; expected a dictionary, name -> tensor")
    for tensor, value in points.items():
        if not isinstance(value, Tensor) or not value.dim():
            raise ValueError(
                f"{name}({client})[{tensor!r}] is {type(value).__name__}; expected a tensor [n_k, ...], such as "
                "torch.as_tensor(...) makes of an array"
            )
    lengths = {tensor: len(value) for tensor, value in points.items()}
    if len({*lengths.values()}) != 1 or not (held_back or next(iter(lengths.values()))):
        raise ValueError(f"{name}({client}) gave tensors of lengths {lengths}; expected one common length >= 1")
    return dict(points)


def layout_of(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """What a point is made of: name -> "numbers [2]", "torch.int64 []"."""
    kinds = {name: "numbers" if v.is_floating_point() else str(v.dtype) for name, v in tensors.items()}
    return {name: f"{kinds[name]} {[*v.shape[1:]]}" for name, v in tensors.items()}


def unlike(layout: Mapping[str, str], expected: Mapping[str, str]) -> str:
    """The first tensor by which a layout differs from the one that is expected; empty where none does."""
    for name in {**expected, **layout}:
        if layout.get(name) != expected.get(name):
            return f"{name!r} as {layout.get(name, 'nothing')}, expected {expected.get(name, 'nothing')}"
    return ""


def pool_of(plan: Plan, clients: Sequence[int]) -> tuple[dict[str, Tensor], list[np.ndarray]]:
    """The points of some clients as one pool, and who owns what of it; ValueError names client and tensor."""
    tensors = {k: points_of(plan, k) for k in clients}
    layout = layout_of(tensors[clients[0]]) | {name: f"numbers [{len(table)}]" for name, table in plan.columns.items()}
    for k, points in tensors.items():
        if why := unlike(layout_of(points), layout):
            raise ValueError(f"points({k}) has {why}, as at all clients")
        for name in plan.columns:
            if len(bad := torch.argwhere(~points[name].isfinite())):
                row, column = bad[0].tolist()
                raise ValueError(f"points({k})[{name!r}] has {points[name][row, column]} at [{row}, {column}]")
    ends = np.cumsum([len(next(iter(points.values()))) for points in tensors.values()])
    pool = {name: torch.cat([points[name] for points in tensors.values()]) for name in layout}
    return pool, np.split(np.arange(ends[-1]), ends[:-1])


def moments_of(plan: Plan, pool: Mapping[str, Tensor]) -> dict[str, Moments]:
    """What a site tells of the columns of its points."""
    return {name: moments(pool[name]) for name in plan.columns}


def in_one_memory(plan: Plan) -> tuple[dict[str, Tensor], list[np.ndarray], dict[str, np.ndarray]]:
    """All clients' points as one pool, on the scale on which the sites agree, who owns what of it, and that scale."""
    pool, owners = pool_of(plan, range(sum(map(len, plan.sites))))
    rows = {name: np.concatenate([owners[k] for k in clients]) for name, clients in plan.clients.items()}
    scale = agreed({name: moments_of(plan, {n: v[r] for n, v in pool.items()}) for name, r in rows.items()})
    return standardised(pool, scale), owners, scale


def in_one_place(
    points: Callable, test: Callable, sites: Sequence, columns: Mapping, mixed: bool = False, seed: int = 0
) -> Data:
    """The data of a sweep where all clients' tables may lie in one place, scaled as on many machines.

    mixed: the rows are dealt out anew at random, as many to each client: what is left of a difference between this and
    the clients' own rows is due to their heterogeneity.
    """
    pool, owners, scale = in_one_memory(Plan(None, points, sites, columns=columns))
    tests = [test(k) for k in range(len(owners))]
    held_back = standardised({name: torch.cat([rows[name] for rows in tests]) for name in columns}, scale)
    if mixed:
        order = stream(seed, "mixed rows").permutation(sum(map(len, owners)))
        owners = [np.sort(order[shard]) for shard in owners]
    return Data(pool, owners, held_back)


def train_arguments_of(plan: Plan) -> dict:
    """Arguments of ``train`` and ``play`` for all clients in one memory."""
    pool, owners, _ = in_one_memory(plan)
    return train_arguments(plan.experiment) | {
        "pool": pool, "federations": [plan.federation(owners)], "init": plan.experiment.init, "dtype": plan.dtype,
        "backend": plan.backend,
    }  # fmt: skip


def in_one_process(plan: Plan, rounds: int | None = None) -> History:
    """The same through ``train``, one memory with all points: what a federation has to be equal to."""
    return train(**train_arguments_of(plan), rounds=plan.experiment.rounds if rounds is None else rounds)
