"""The experiment module: what every machine of a federation has, and the data that only one of them has.

A Python file, see experiments/ for four of them. ``make()`` returns the ``Experiment``, and SITES are the clients of
each site: both the same on all machines. ``points(client)`` returns that client's points, tensors [n_k, ...] by name,
and is called only where this client lives: no other machine ever has them in its memory.

It may have more: ``federation(owners)``, for who wants ring mixing, own starts or another seed than
``federated.experiment.federation`` has; DTYPE, torch.float32 if it says nothing; BACKEND, "auto".
"""

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.experiment import Experiment, federation
from ..federated.federation import Federation
from ..files import ROOT

NEEDED = {
    "make": "def make(), which returns a fedlib.federated.experiment.Experiment",
    "points": "def points(client), which returns its tensors [n_k, ...] by name",
    "SITES": "SITES = [0, 1], [2], the clients of each site",
}


class Plan(NamedTuple):
    """An experiment, and which of its clients live where.

    federation: owners -> ``Federation``. points: client -> its tensors [n_k, ...] by name, for where it lives.
    sites: the clients of each site, by number; site i is called "site-i", from 1 on. dtype, backend: as in ``play``.
    """

    experiment: Experiment
    federation: Callable[[Sequence[np.ndarray]], Federation]
    points: Callable[[int], Mapping[str, Tensor]]
    sites: Sequence[Sequence[int]]
    dtype: torch.dtype = torch.float32
    backend: str = "auto"

    @property
    def clients(self) -> dict[str, list[int]]:
        """The clients of each site by its name."""
        return {f"site-{i}": [*map(int, site)] for i, site in enumerate(self.sites, 1)}


def load(path: Path | str) -> Plan:
    """What an experiment module says; ValueError where it is none, or a client does not live at exactly one site."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no experiment {path}; expected a Python file with make(), points(client) and SITES")
    name = f"experiment_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if missing := [needed for needed in NEEDED if not hasattr(module, needed)]:
        there = ", ".join(needed for needed in NEEDED if needed not in missing) or "none"
        raise ValueError(f"{path} has {there} of {', '.join(NEEDED)}; add {NEEDED[missing[0]]}")
    clients = sorted(k for site in module.SITES for k in site)
    if not clients or clients != [*range(len(clients))] or not all(map(len, module.SITES)):
        raise ValueError(
            f"{path}: SITES = {module.SITES}; expected every client 0, 1, ... at exactly one site, none empty"
        )
    experiment, federate = module.make(), getattr(module, "federation", federation)
    if federate is federation:  # the module has none, or has imported this one
        federate = partial(federation, experiment)
    settings = {name.lower(): getattr(module, name) for name in ("DTYPE", "BACKEND") if hasattr(module, name)}
    return Plan(experiment, federate, module.points, module.SITES, **settings)


def pool_of(plan: Plan, clients: Sequence[int]) -> tuple[dict, list[np.ndarray]]:
    """The points of some clients as one pool, and who owns what of it; ValueError names a client without."""
    each = [dict(plan.points(k)) for k in clients]
    for k, tensors in zip(clients, each, strict=True):
        lengths = {name: len(value) for name, value in tensors.items()}
        if len(set(lengths.values())) != 1 or not next(iter(lengths.values())):
            raise ValueError(f"points({k}) gave tensors of lengths {lengths}; expected one common length >= 1")
        if lengths.keys() != each[0].keys():
            raise ValueError(f"points({k}) has {sorted(lengths)}, but points({clients[0]}) has {sorted(each[0])}")
    ends = np.cumsum([len(next(iter(tensors.values()))) for tensors in each])
    pool = {name: torch.cat([tensors[name] for tensors in each]) for name in each[0]}
    return pool, np.split(np.arange(ends[-1]), ends[:-1])


@cache
def identity(path: Path | str) -> dict[str, str]:
    """What has to be the same on all machines: hashes of the experiment's file and of all of fedlib's.

    The data is no part of it.
    """
    library = [of.read_bytes() for of in sorted((ROOT / "fedlib").rglob("*.py"))]
    contents = {"experiment": [Path(path).read_bytes()], "code": library}
    return {name: hashlib.sha256(b"\0".join(of)).hexdigest()[:12] for name, of in contents.items()}
