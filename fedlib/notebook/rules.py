"""Checks of a notebook's parameters, before any work: what was given, what was expected."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple


class Rule(NamedTuple):
    """What a single value must be, in words and as a test."""

    expected: str
    holds: Callable[[object], bool]
    options: tuple = ()  # all that there are, if they are few


def whole(low: int = 1, high: int | None = None) -> Rule:
    """A whole number from low, and up to high."""
    text = f"a whole number >= {low}" if high is None else f"a whole number between {low} and {high}"
    return Rule(text, lambda v: type(v) is int and v >= low and (high is None or v <= high))


def number(low: float, high: float | None = None) -> Rule:
    """A number from low, and up to high."""
    text = f"a number >= {low:g}" if high is None else f"a number between {low:g} and {high:g}"
    return Rule(text, lambda v: _number(v) and v >= low and (high is None or v <= high))


def positive() -> Rule:
    """A number > 0, such as a learning rate."""
    return Rule("a number > 0", lambda v: _number(v) and v > 0)


def share() -> Rule:
    """A share of clients or of data, in (0, 1]."""
    return Rule("a share > 0 and <= 1, such as 0.75", lambda v: _number(v) and 0 < v <= 1)


def one_of(*options) -> Rule:
    """One of some names or numbers."""
    return Rule(f"one of {', '.join(map(repr, options))}", lambda v: v in options, options)


def _number(v) -> bool:
    return isinstance(v, (int, float)) and not isinstance(v, bool) and isfinite(v)


USUAL = {
    **dict.fromkeys(("rounds", "local_updates", "batch_size", "clients"), whole()),
    **dict.fromkeys(("n_test", "evaluations"), whole()),
    **dict.fromkeys(("lr", "lrs_sgd", "length_scale"), positive()),
    **dict.fromkeys(("fraction", "decay"), share()),
    "seeds": whole(0),
    "local_unit": one_of("epochs", "steps"),
    "backend": one_of("auto", "eager", "xla"),
    "device": one_of("auto", "cpu", "cuda"),
}  # what these names mean in every notebook


def check(parameters: Mapping, **rules: Rule) -> None:
    """Raise ValueError for the first parameter that breaks its rule, or that of ``USUAL``.

    A list must not be empty and every entry has to keep the rule, so does every value of a dict.

    Args:
        parameters: name -> value. rules: name -> rule; a name that is no parameter is a mistake of the notebook.
    """
    if unknown := sorted(set(rules) - set(parameters)):
        raise KeyError(f"there is a rule for {unknown[0]!r}, but no such parameter")
    for name, rule in ({name: rule for name, rule in USUAL.items() if name in parameters} | rules).items():
        _check(name, parameters[name], rule)


def check_tables(parameters: Mapping, problems: Sequence[str], kinds: Sequence[str], *names: str) -> None:
    """Raise ValueError unless the dicts of these names have an entry for each problem, and none for unknown ones.

    Args:
        parameters: name -> value. problems: those to run. kinds: those that there are. names: of the dicts.
    """
    for name in names:
        table = parameters[name]
        if missing := [p for p in problems if p not in table]:
            raise ValueError(f"{name} = {table!r} has no {missing[0]!r}, which is in problems; add it")
        if unknown := [p for p in table if p not in kinds]:
            raise ValueError(f"{name} = {table!r}: {unknown[0]!r} is none of {', '.join(kinds)}")


def _check(name: str, value, rule: Rule) -> None:
    if isinstance(value, dict):
        for key, part in value.items():
            _check(f"{name}[{key!r}]", part, rule)
    elif not isinstance(value, list):
        if not rule.holds(value):
            raise ValueError(f"{name} = {value!r}: expected {rule.expected}")
    elif not value:
        raise ValueError(f"{name} is empty: expected at least one entry, each {rule.expected}")
    elif bad := [v for v in value if not rule.holds(v)]:
        raise ValueError(f"{name} = {value!r}: {bad[0]!r} is no entry for it; expected for each {rule.expected}")
