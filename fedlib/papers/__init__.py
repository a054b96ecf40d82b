"""A room per experiment, in a folder per paper."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import xarray

from ..federated.history import History
from ..trainings.store import Computed, calls_of, file_of, folder_of, read_call, read_computed, why_not


def rooms() -> dict[str, ModuleType]:
    """Notebook -> the ``problem`` module of its room, which says what is trained: its ``trainings(parameters)``."""
    here = Path(__file__).parent
    modules = [
        import_module(f".{path.parents[1].name}.{path.parent.name}.problem", __name__)
        for path in here.glob("*/*/problem.py")
    ]
    return {module.NOTEBOOK: module for module in sorted(modules, key=lambda module: module.NOTEBOOK)}


def stored(notebook: str, name: str) -> History | xarray.Dataset:
    """A training of a notebook's paper profile, or what it computed, for readers and pages.

    ``stored("05_pinn_forward", "poisson")``

    Raises:
        ValueError: there is no such training, or its file has none of its rows.
    """
    calls = calls_of(rooms()[notebook])
    if name not in calls:
        raise ValueError(f"{notebook} has no training {name!r}; known: {', '.join(calls)}")
    path, call = file_of(folder_of(notebook), name), calls[name]
    if isinstance(call, Computed):
        history, why = read_computed(call, path)
    else:
        history, _ = read_call(call, path)
        why = "" if history else why_not(call, path)
    if history is None:
        raise ValueError(f"{path} has nothing of {name}: {why}; python -m fedlib train {notebook}")
    return history
