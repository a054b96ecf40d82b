"""What moves on the page: ``explorer`` shows what is stored, ``show`` puts a training with buttons there.

Both are looked up when they are asked for: what needs no torch does not wait for it.
"""

from importlib import import_module

WHERE = {"explorer": "modules"} | dict.fromkeys(("MIXING", "OPTIMIZERS", "SERVERS", "live", "show"), "stage")
__all__ = list(WHERE)


def __getattr__(name: str):
    if name not in WHERE:
        raise AttributeError(f"module 'fedlib.live' has no attribute {name!r}")
    return getattr(import_module(f".{WHERE[name]}", __name__), name)
