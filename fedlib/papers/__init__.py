"""A room per experiment, in a folder per paper."""

from importlib import import_module
from pathlib import Path
from types import ModuleType


def rooms() -> dict[str, ModuleType]:
    """Notebook -> the ``problem`` module of its room, which says what is trained: its ``trainings(parameters)``."""
    here = Path(__file__).parent
    modules = [
        import_module(f".{path.parents[1].name}.{path.parent.name}.problem", __name__)
        for path in here.glob("*/*/problem.py")
    ]
    return {module.NOTEBOOK: module for module in sorted(modules, key=lambda module: module.NOTEBOOK)}
