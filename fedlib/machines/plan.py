"""The plan of a federation: what every machine has, and the points that only one of them has.

``Plan(experiment, points, sites)`` is made in place, or loaded from a Python file with ``make()``, which returns the
experiment, ``points(client)``, called only where this client lives, and SITES, the clients of each site. It may have
DTYPE and BACKEND, ``federation(owners)`` (ring mixing, own starts, another seed), ``test(client)``, points held back at
a client for the experiment's ``evaluate``, and COLUMNS = {"x": {"temperature": "K"}, "y": {"rate": "mol/s"}}, with
units: tables, trained on one scale of all sites (see ``scaling``), whose model is left as a file.
"""

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.experiment import Experiment, federation
from ..federated.federation import Federation
from ..files import ROOT

OPTIONAL = "DTYPE", "BACKEND", "COLUMNS", "test"
NEEDED = {
    "make": "def make(), which returns a fedlib.Experiment",
    "points": "def points(client), which returns its tensors [n_k, ...] by name",
    "SITES": "SITES = [0, 1], [2], the clients of each site",
}


class Plan(NamedTuple):
    """An experiment, and which of its clients live where.

    points: client -> its tensors [n_k, ...] by name. sites: the clients of each site; site i is called "site-i", from
    1 on. federate: owners -> ``Federation``, ``federated.experiment.federation`` by default. dtype, backend: as in
    ``play``. identity, file: of the file that it was loaded from.
    """

    experiment: Experiment
    points: Callable[[int], Mapping[str, Tensor]]
    sites: Sequence[Sequence[int]]
    federate: Callable[[Sequence[np.ndarray]], Federation] | None = None
    dtype: torch.dtype = torch.float32
    backend: str = "auto"
    columns: Mapping[str, Mapping[str, str]] = {}
    test: Callable[[int], Mapping[str, Tensor]] | None = None
    identity: Mapping[str, str] = {}
    file: str = ""

    @property
    def clients(self) -> dict[str, list[int]]:
        """The clients of each site by its name."""
        return {f"site-{i}": [*map(int, clients)] for i, clients in enumerate(self.sites, 1)}

    def federation(self, owners: Sequence[np.ndarray]) -> Federation:
        return self.federate(owners) if self.federate else federation(self.experiment, owners)


def load(path: Path | str) -> Plan:
    """The plan of a file; ValueError where it is none."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no experiment {path}; expected a Python file with make(), points(client) and SITES")
    module = executed(path)
    if missing := [name for name in NEEDED if not hasattr(module, name)]:
        present = ", ".join(name for name in NEEDED if name not in missing) or "none"
        raise ValueError(f"{path} has {present} of {', '.join(NEEDED)}; add {NEEDED[missing[0]]}")
    settings = {name.lower(): getattr(module, name) for name in OPTIONAL if hasattr(module, name)}
    federate = getattr(module, "federation", federation)
    if federate is not federation:  # which a module may have imported
        settings["federate"] = federate
    plan = Plan(None, module.points, module.SITES, **settings, identity=identity(path), file=str(path))
    try:
        check(plan)
        plan = plan._replace(experiment=module.make())
        if not isinstance(plan.experiment, Experiment):
            raise ValueError(f"make() gave {type(plan.experiment).__name__}; expected an Experiment")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return plan


def check(plan: Plan) -> None:
    """ValueError where a client does not live at exactly one site, or dtype or columns mean nothing."""
    sites = [[*site] if isinstance(site, Iterable) else [] for site in plan.sites]
    clients = sorted(client for site in sites for client in site)
    if not clients or clients != [*range(len(clients))] or not all(sites):
        raise ValueError(
            f"SITES = {plan.sites}; expected every client 0, 1, ... at exactly one site, none empty, such as "
            "SITES = [0, 1], [2]"
        )
    if not isinstance(plan.dtype, torch.dtype):
        raise ValueError(f"DTYPE = {plan.dtype!r}; expected torch.float32 or torch.float64")
    tables = [*plan.columns.values()] if isinstance(plan.columns, Mapping) else [None]
    names = [name for table in tables if isinstance(table, Mapping) for name in table or ["", ""]]
    whole = len(tables) in (0, 2) and all(isinstance(table, Mapping) for table in tables)
    if not whole or len({*names}) < len(names):
        raise ValueError(
            f"COLUMNS = {plan.columns!r}; expected what the network takes and what it gives, each column once with "
            'its unit, such as {"x": {"temperature": "K"}, "y": {"rate": "mol/s"}}'
        )


def named(columns: Mapping[str, str]) -> list[str]:
    """Columns with their units, for a sentence."""
    return [f"column {name!r}" + (f" [{unit}]" if unit else "") for name, unit in columns.items()]


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


@cache
def identity(path: Path | str) -> dict[str, str]:
    """What has to be the same on all machines: hashes of the experiment with what it imports beside it, and of fedlib.

    The data is no part of it; nor are line ends, and copies that an editor keeps in hidden folders.
    """
    library = [file for file in sorted((ROOT / "fedlib").rglob("*.py")) if not hidden(file.relative_to(ROOT))]
    files = {"experiment": [Path(path), *helpers_of(Path(path)).values()], "code": library}
    contents = {name: [file.read_bytes().replace(b"\r\n", b"\n") for file in paths] for name, paths in files.items()}
    return {name: hashlib.sha256(b"\0".join(parts)).hexdigest()[:12] for name, parts in contents.items()}


def hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
