"""The experiment module: what every machine of a federation has, and the data that only one of them has.

A Python file, see experiments/ for four of them. ``make()`` returns the ``Experiment``, and SITES are the clients of
each site: both the same on all machines. ``points(client)`` returns that client's points, tensors [n_k, ...] by name,
and is called only where this client lives: no other machine ever has them in its memory.

It may have more: ``federation(owners)``, for who wants ring mixing, own starts or another seed than
``federated.experiment.federation`` has; DTYPE, torch.float32 if it says nothing; BACKEND, "auto". ``test(client)``:
points held back at a client, for the experiment's ``evaluate``. COLUMNS = {"x": {"temperature": "K"}, "y": {"rate":
"mol/s"}}: the columns of the tensor that the network takes, and of the one that it gives, with their units; these are
trained on one scale of all sites, see ``scaling``, and the model is left as a file. What the module imports from files
beside it is part of it.
"""

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.experiment import Data, Experiment, federation
from ..federated.federation import Federation
from ..files import ROOT
from ..streams import stream
from .scaling import Moments, agreed, moments, standardised

OPTIONAL = "DTYPE", "BACKEND", "COLUMNS", "test"
NEEDED = {
    "make": "def make(), which returns a fedlib.federated.experiment.Experiment",
    "points": "def points(client), which returns its tensors [n_k, ...] by name",
    "SITES": "SITES = [0, 1], [2], the clients of each site",
}


class Plan(NamedTuple):
    """An experiment, and which of its clients live where.

    federation: owners -> ``Federation``. points: client -> its tensors [n_k, ...] by name, for where it lives.
    sites: the clients of each site, by number; site i is called "site-i", from 1 on. dtype, backend: as in ``play``.
    columns, test: COLUMNS and ``test`` of the module.
    """

    experiment: Experiment
    federation: Callable[[Sequence[np.ndarray]], Federation]
    points: Callable[[int], Mapping[str, Tensor]]
    sites: Sequence[Sequence[int]]
    dtype: torch.dtype = torch.float32
    backend: str = "auto"
    columns: Mapping[str, Mapping[str, str]] = {}
    test: Callable[[int], Mapping[str, Tensor]] | None = None

    @property
    def clients(self) -> dict[str, list[int]]:
        """The clients of each site by its name."""
        return {f"site-{i}": [*map(int, site)] for i, site in enumerate(self.sites, 1)}


def load(path: Path | str) -> Plan:
    """What an experiment module says; ValueError where it is none, or a client does not live at exactly one site."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no experiment {path}; expected a Python file with make(), points(client) and SITES")
    module = executed(path)
    if missing := [needed for needed in NEEDED if not hasattr(module, needed)]:
        there = ", ".join(needed for needed in NEEDED if needed not in missing) or "none"
        raise ValueError(f"{path} has {there} of {', '.join(NEEDED)}; add {NEEDED[missing[0]]}")
    sites = [[*site] if hasattr(site, "__iter__") else [] for site in module.SITES]
    clients = sorted(k for site in sites for k in site)
    if not clients or clients != [*range(len(clients))] or not all(sites):
        raise ValueError(
            f"{path}: SITES = {module.SITES}; expected every client 0, 1, ... at exactly one site, none empty, such as "
            "SITES = [0, 1], [2]"
        )
    if hasattr(module, "COLUMNS"):
        check_columns(path, module.COLUMNS)
    experiment, federate = module.make(), getattr(module, "federation", federation)
    if not isinstance(experiment, Experiment):
        raise ValueError(f"{path}: make() gave {type(experiment).__name__}; expected an Experiment")
    if federate is federation:  # the module has none, or has imported this one
        federate = partial(federation, experiment)
    settings = {name.lower(): getattr(module, name) for name in OPTIONAL if hasattr(module, name)}
    if not isinstance(settings.get("dtype", torch.float32), torch.dtype):
        raise ValueError(f"{path}: DTYPE = {module.DTYPE!r}; expected torch.float32 or torch.float64")
    return Plan(experiment, federate, module.points, sites, **settings)


def named(table: Mapping[str, str]) -> list[str]:
    """Columns with their units, for a sentence."""
    return [f"column {name!r}" + (f" [{unit}]" if unit else "") for name, unit in table.items()]


def check_columns(path: Path, columns) -> None:
    """ValueError where COLUMNS are not two tensors with their columns, or two have one name."""
    tables = [*columns.values()] if isinstance(columns, Mapping) else []
    names = [name for table in tables if isinstance(table, Mapping) for name in table]
    if (
        len(tables) != 2
        or len({*names}) < len(names)
        or not all(isinstance(table, Mapping) and table for table in tables)
    ):
        raise ValueError(
            f"{path}: COLUMNS = {columns!r}; expected what the network takes and what it gives, each column once with "
            'its unit, such as {"x": {"temperature": "K"}, "y": {"rate": "mol/s"}}'
        )


def executed(path: Path) -> ModuleType:
    """The module of a file, which finds what lies beside it, as a script does."""
    name = f"experiment_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    helpers = helpers_of(path)
    for helper in helpers:  # of another experiment, or as it was before it was changed
        sys.modules.pop(helper, None)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
        for helper in helpers:  # what a function imports later
            importlib.import_module(helper)
    except (ImportError, SyntaxError) as error:
        raise ValueError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    return module


def helpers_of(path: Path) -> dict[str, Path]:
    """The modules that an experiment imports from files beside it, and those that these import: name -> file."""
    finder = ModuleFinder([str(path.resolve().parent)], excludes=["fedlib"])
    with suppress(SyntaxError):  # ``executed`` says so
        finder.run_script(str(path))
    files = {name: module.__file__ for name, module in finder.modules.items() if name != "__main__"}
    return {name: Path(file) for name, file in sorted(files.items()) if file}


def pool_of(plan: Plan, clients: Sequence[int]) -> tuple[dict, list[np.ndarray]]:
    """The points of some clients as one pool, and who owns what of it; ValueError names client and tensor."""
    each = {k: points_of(plan, k) for k in clients}
    layout = layout_of(each[clients[0]]) | {name: f"numbers [{len(table)}]" for name, table in plan.columns.items()}
    for k, tensors in each.items():
        if why := unlike(layout_of(tensors), layout):
            raise ValueError(f"points({k}) has {why}, as at all clients")
        for name in plan.columns:
            if len(bad := torch.argwhere(~tensors[name].isfinite())):
                row, column = bad[0].tolist()
                raise ValueError(f"points({k})[{name!r}] has {tensors[name][row, column]} at [{row}, {column}]")
    ends = np.cumsum([len(next(iter(tensors.values()))) for tensors in each.values()])
    pool = {name: torch.cat([tensors[name] for tensors in each.values()]) for name in layout}
    return pool, np.split(np.arange(ends[-1]), ends[:-1])


def in_one_memory(plan: Plan) -> tuple[dict, list[np.ndarray], dict[str, np.ndarray]]:
    """All clients' points as one pool, on the scale on which the sites agree, who owns what of it, and that scale."""
    pool, owners = pool_of(plan, range(sum(map(len, plan.sites))))
    rows = {name: np.concatenate([owners[k] for k in clients]) for name, clients in plan.clients.items()}
    scale = agreed({site: moments_of(plan, {n: pool[n][of_site] for n in pool}) for site, of_site in rows.items()})
    return standardised(pool, scale), owners, scale


def in_one_place(
    points: Callable,
    test: Callable,
    sites: Sequence[Sequence[int]],
    columns: Mapping,
    mixed: bool = False,
    seed: int = 0,
) -> Data:
    """The data of a sweep where all clients' tables may lie in one place, scaled as on many machines.

    mixed: the rows are dealt out anew at random, as many to each client: what is left of a difference between this and
    the clients' own rows is due to their heterogeneity.
    """
    plan = Plan(None, None, points, sites, columns=columns)
    pool, owners, scale = in_one_memory(plan)
    tests = [test(k) for k in range(len(owners))]
    held_back = standardised({name: torch.cat([of_client[name] for of_client in tests]) for name in columns}, scale)
    if mixed:
        order = stream(seed, "mixed rows").permutation(sum(map(len, owners)))
        owners = [np.sort(order[shard]) for shard in owners]
    return Data(pool, owners, held_back)


def moments_of(plan: Plan, pool: Mapping[str, Tensor]) -> dict[str, Moments]:
    """What a site tells of the columns of its points."""
    return {name: moments(pool[name]) for name in plan.columns}


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


@cache
def identity(path: Path | str) -> dict[str, str]:
    """What has to be the same on all machines: hashes of the experiment with what it imports beside it, and of fedlib.

    The data is no part of it; nor are line ends, and copies that an editor keeps in hidden folders.
    """
    library = [file for file in sorted((ROOT / "fedlib").rglob("*.py")) if not hidden(file.relative_to(ROOT))]
    files = {"experiment": [Path(path), *helpers_of(Path(path)).values()], "code": library}
    contents = {name: [file.read_bytes().replace(b"\r\n", b"\n") for file in of] for name, of in files.items()}
    return {name: hashlib.sha256(b"\0".join(of)).hexdigest()[:12] for name, of in contents.items()}


def hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
