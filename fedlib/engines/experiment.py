"""The experiment module: what every machine of a federation has, and the data that only one of them has.

A Python file with two functions. ``make()`` returns an ``Experiment``: the same on all machines. ``points(client)``
returns that client's points, tensors [n_k, ...] by name, and is called only where this client lives: no other machine
ever has them in its memory. See experiments/ for three of them.
"""

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from ..federated.batches import Local
from ..runs.hashes import closure, syntax


class Experiment(NamedTuple):
    """What is trained.

    net, loss, rounds, local: as in ``train``.
    federation: shards -> ``Federation``, such as partial(Federation, lr=1e-3).
    sites: the clients of each site, by number; site i is called "site-i", from 1 on.
    how: more arguments of ``play`` (optimizer, personal, reset_moments, constants, dtype, ...).
    """

    net: nn.Module
    loss: Callable
    federation: Callable
    rounds: int
    local: Local
    sites: Sequence[Sequence[int]]
    how: Mapping = {}

    @property
    def clients(self) -> dict[str, list[int]]:
        """The clients of each site by its name."""
        return {f"site-{i}": [*map(int, own)] for i, own in enumerate(self.sites, 1)}

    def checked(self) -> "Experiment":
        """Itself; ValueError unless every client 0, 1, ... lives at exactly one site."""
        here = sorted(k for own in self.sites for k in own)
        if not here or here != [*range(len(here))] or not all(len(own) for own in self.sites):
            raise ValueError(f"sites = {self.sites}: expected every client 0, 1, ... at exactly one site, none empty")
        return self


def load(path: Path | str) -> ModuleType:
    """The experiment module of a file; ValueError where it is none."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no experiment {path}; expected a Python file with make() and points(client)")
    name = f"experiment_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if missing := [f for f in ("make", "points") if not callable(getattr(module, f, None))]:
        raise ValueError(f"{path} has no function {missing[0]}; expected make() and points(client)")
    return module


def pool_of(module: ModuleType, clients: Sequence[int]) -> tuple[dict, list[np.ndarray]]:
    """The points of some clients as one pool, and the shard of each in it; ValueError names a client without."""
    each = [dict(module.points(k)) for k in clients]
    for k, own in zip(clients, each, strict=True):
        lengths = {name: len(value) for name, value in own.items()}
        if len(set(lengths.values())) != 1 or not next(iter(lengths.values())):
            raise ValueError(f"points({k}) gave tensors of lengths {lengths}; expected one common length >= 1")
        if lengths.keys() != each[0].keys():
            raise ValueError(f"points({k}) has {sorted(lengths)}, but points({clients[0]}) has {sorted(each[0])}")
    ends = np.cumsum([len(next(iter(own.values()))) for own in each])
    return {name: torch.cat([own[name] for own in each]) for name in each[0]}, np.split(np.arange(ends[-1]), ends[:-1])


@cache
def identity(path: Path | str) -> dict[str, str]:
    """What has to be the same on all machines: hashes of the experiment and of the code that it needs.

    Comments and docstrings are no part of it, nor is the data.
    """
    source = Path(path).read_text()
    files = closure([source, "import fedlib.engines.site, fedlib.engines.server"])
    code = [syntax(path.read_text()) for path in sorted(files)]
    return {
        name: hashlib.sha256("\n".join(text).encode()).hexdigest()[:12]
        for name, text in {"experiment": [syntax(source)], "code": code}.items()
    }
