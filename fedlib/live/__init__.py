"""What moves on the page: ``show`` puts a training with buttons there; see ``stage``, which is looked up when it is
asked for, so that what trains in the page itself need not wait for torch."""

from importlib import import_module

__all__ = ["live", "show"]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module 'fedlib.live' has no attribute {name!r}")
    return getattr(import_module(".stage", __name__), name)
