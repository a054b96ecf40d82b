"""What arrives from a site, looked at in one place, before anything is computed with it.

An answer is believed where it is what was asked for: names, kinds and shapes, numbers that are finite in the dtype in
which the server computes, counts and moments that can be, the round that was asked for. All else is a failure of that
site, by name, and the others go on. What is finite is believed: see docs/security.md.
"""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from .messages import ERROR, Ask

LETTERS = 500  # of a text that a site makes the server print
Check = Callable[[str, Any], Any]
"""(name, value) -> the value as the server computes with it; ValueError where that cannot be."""


def heard(
    ask: Ask, questions: dict[str, dict], checks: Callable[[str, Mapping], Mapping[str, Check]]
) -> dict[str, dict]:
    """The sites' answers, each as the server can use it, or {"error": why}.

    checks: (site, its answer) -> name -> Check of all that has to be there.
    """
    answers = ask(questions)
    return {name: usable(answers.get(name), lambda answer, name=name: checks(name, answer)) for name in questions}


def usable(answer: Any, checks: Callable[[Mapping], Mapping[str, Check]]) -> dict:
    """An answer of which each part passed its check; or {"error": why}, and "refused" where the site saw none."""
    if not isinstance(answer, Mapping) or "error" in answer:
        return {"error": line(answer["error"]) if isinstance(answer, Mapping) else "it does not answer"}
    try:
        expected = checks(answer)
        if {*answer} != {*expected}:
            raise ValueError(f"it sent {', '.join(answer) or 'nothing'}; expected {', '.join(expected)}")
        return {name: check(name, answer[name]) for name, check in expected.items()}
    except Exception as error:  # of whatever kind: nobody knows what a site may send
        return {"error": line(error), "refused": True}


def line(text: Any) -> str:
    """A text of a site on one line, without what a terminal would obey."""
    letters = "".join(letter if letter.isprintable() else " " for letter in str(text)[: 2 * LETTERS])
    return " ".join(letters.split())[:LETTERS] or "it does not say why"


def numbers(
    *shape: int | Collection[int], dtype=np.float64, low=-np.inf, high=np.inf, nan: bool = False, clients=()
) -> Check:  # fmt: skip
    """Of numbers: their shape (of an axis one length, or one of several), finite in a dtype, from low to high.

    nan: whether what is not finite may stand there. clients: whose the rows are.
    """

    def check(name: str, value: Any) -> np.ndarray | float:
        array = np.asarray(value)
        lengths = [(n,) if isinstance(n, int) else n for n in shape]
        fits = array.ndim == len(lengths) and all(m in n for m, n in zip(array.shape, lengths, strict=True))
        if array.dtype.kind not in "iuf" or not fits:
            wanted = [max(n) for n in lengths]
            raise ValueError(f"it sent {name} as {array.dtype} {[*array.shape]}, expected numbers {wanted}")
        with np.errstate(over="ignore", invalid="ignore"):
            cast = array.astype(dtype)
        finite = np.isfinite(cast) & ((cast == array) | (cast.dtype.kind == "f"))
        bad = np.where(finite, (cast < low) | (cast > high), not nan)
        if bad.any():
            first = np.argwhere(bad)[0]
            sender = f"client {clients[first[0]]}" if len(clients) else "it"
            if not finite[tuple(first)] and cast.dtype.kind == "f":
                raise ValueError(f"{sender} sent numbers that are not finite, as {cast.dtype}, in {name}")
            bounds = [np.broadcast_to(bound, cast.shape)[tuple(first)] for bound in (low, high)]
            kind = "numbers" if cast.dtype.kind == "f" else "whole numbers"
            raise ValueError(
                f"{sender} sent {array[tuple(first)]} in {name}, expected {kind} from {bounds[0]} to {bounds[1]}"
            )
        return cast if cast.ndim else cast.item()

    return check


def same(mine: Any, sentence: str = "its {name} is {value}, expected {mine}") -> Check:
    """Of what has to be as the server has it."""

    def check(name: str, value: Any) -> Any:
        if not np.array_equal(value, mine):
            raise ValueError(sentence.format(name=name, value=value, mine=mine))
        return mine

    return check


def one_of(names: Collection[str]) -> Check:
    """Of a word."""

    def check(name: str, value: Any) -> str:
        if value not in names:
            raise ValueError(f"it asks for {name} {value!r}, expected {' or '.join(names) or 'none'}")
        return value

    return check


def layout(name: str, value: Any) -> str:
    """Of ``points.layout_of``, as JSON."""
    tensors = json.loads(value)
    if not isinstance(tensors, dict) or not all(isinstance(kind, str) for kind in tensors.values()):
        raise ValueError(f"it sent {name} {value!r}; expected what a point is made of, by name")
    return value


def errors(answer: Mapping, n: int) -> dict[str, Check]:
    """Of what clients [n] measured: under whatever names, NaN of who holds nothing back."""
    return {name: numbers(n, nan=True) for name in answer if name.startswith(ERROR) and name.isprintable()}
