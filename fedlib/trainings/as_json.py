"""Settings as JSON: what a stored training depends on, in words that outlive its code. They are compared, never run."""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from ..federated.optimizers import Made

ONE_ROUND = "fedlib.papers.beyond.one_round"
MOVED: dict[str, str] = {
    f"{ONE_ROUND}.problem.{name}": f"{ONE_ROUND}.{module}.{name}"
    for name, module in {
        "by_gauss_newton": "networks",
        "allen_cahn_in_windows": "windows",
        "pendulum_in_one_round": "pendulum",
        "error_bars": "curve",
        "points_of_sums": "attack",
    }.items()
}
"""Old name of a function or class -> what it is called now: rows that were stored before it moved are found."""


AT_FIRST: dict[str, Any] = {"mixing": "fedlib.federated.mixing.fedavg"}
"""Setting among "resolved" -> its value in rows that were stored before it was written down."""


def plain(value: Any) -> Any:
    """A setting as JSON: numbers, texts, lists, dicts, and what a module has by name or makes by a function.

    A function or class is its name, "module.name"; a text with a point in it is {"text": ...}, so that it is no name.
    An optimiser, a server, or a schedule that is a named tuple: {"function": name, "arguments": {...}}.

    Raises:
        ValueError: it could not be read again.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and isnan(value):
        raise ValueError("NaN cannot be written down: it is not even equal to itself; give a number, or None")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return {"text": value} if "." in value else value
    if isinstance(made := getattr(value, "made", None), Made):
        return {"function": plain(made.function), "arguments": plain(dict(made.arguments))}
    if isinstance(value, tuple) and callable(value):
        return {"function": plain(type(value)), "arguments": plain(value._asdict())}
    if isinstance(value, Mapping):
        if wrong := [name for name in value if not isinstance(name, str) or name in ("text", "function")]:
            raise ValueError(f"a dict with {wrong[0]!r} cannot be written down; expected other texts as its names")
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    if "<" in name or name.startswith(".") or name.endswith("."):
        raise ValueError(f"{value!r} cannot be written down; expected a number, a text, or what a module has by name")
    return name


def difference(one: Mapping, other: Mapping, where: str = "") -> str:
    """The first setting that differs, with both values; empty where none does."""
    for name in {**one, **other}:
        a, b = one.get(name), other.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if inner := difference(a, b, f"{where}{name}."):
                return inner
        elif a != b:
            return f"{where}{name} = {b!r}, not {a!r}"
    return ""


def completed(settings: Mapping) -> Mapping:
    """A row's settings under today's names, and what it does not say as it was when the row was stored."""
    settings = renamed(settings)
    return settings | {"resolved": AT_FIRST | settings["resolved"]} if "resolved" in settings else settings


def renamed(value: Any) -> Any:
    """Names of MOVED as they are now."""
    if isinstance(value, Mapping):
        return {name: renamed(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [renamed(part) for part in value]
    return MOVED.get(value, value) if isinstance(value, str) else value
