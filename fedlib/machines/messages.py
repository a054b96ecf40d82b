"""Questions and answers between server and sites, as numbers; and who listens on the wire.

A message is a dictionary of numpy arrays, numbers and texts. SHARED, MOMENTS, SCALE, ERROR begin the names of what an
optimiser keeps with the models, of sums and scale of columns (see ``scaling``), and of errors.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

SHARED, MOMENTS, SCALE, ERROR = "shared.", "moments.", "scale.", "error."

Ask = Callable[[dict[str, dict]], dict[str, dict]]
"""An engine: questions by site -> answers by site; {"error": text} of one that fails, is silent, or is not there."""


def part(message: Mapping, prefix: str) -> dict:
    """What stands under names with this beginning, without it."""
    return {name.removeprefix(prefix): value for name, value in message.items() if name.startswith(prefix)}


def size(message: Mapping) -> int:
    """Bytes of a message's arrays: what the engine wraps around them is not counted."""
    return sum(value.nbytes for value in message.values() if isinstance(value, np.ndarray))


class Heard(NamedTuple):
    """A message: number of the round (-1 outside of rounds); "hello", "round", "mixed" (in its middle) or "finish";
    up: from site to server."""

    number: int
    what: str
    site: str
    up: bool
    content: Mapping


def tapped(ask: Ask, keep: int | None = None) -> tuple[Ask, list[Heard]]:
    """The same engine, and a list that grows with its messages; of rounds after the first ``keep`` none is kept."""
    heard: list[Heard] = []

    def asking(questions):
        answers = ask(questions)
        for up, messages in enumerate((questions, answers)):
            for site, content in messages.items():
                asked = questions[site]
                number = int(asked["round"]) if asked["do"] in ("round", "mixed") else -1
                if keep is None or number < keep:
                    heard.append(Heard(number, asked["do"], site, bool(up), content))
        return answers

    return asking, heard


def counted(ask: Ask) -> tuple[Ask, dict[str, int]]:
    """The same engine, and a count that grows with its "messages", and with their arrays' bytes "down" and "up"."""
    count = {"messages": 0, "down": 0, "up": 0}

    def asking(questions):
        answers = ask(questions)
        for way, messages in (("down", questions), ("up", answers)):
            count["messages"] += len(messages)
            count[way] += sum(map(size, messages.values()))
        return answers

    return asking, count
