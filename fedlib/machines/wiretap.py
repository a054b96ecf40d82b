"""What crosses the wire: every message of a federation, written down by who carries them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .message import packed
from .middle import Ask, size


class Heard(NamedTuple):
    """A message: number of the round (-1 outside of rounds); "hello", "round", "mixed" (in its middle) or "finish";
    up: from site to server."""

    number: int
    what: str
    site: str
    up: bool
    content: Mapping


def listened(ask: Ask, keep: int | None = None) -> tuple[Ask, list[Heard]]:
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


def arrays(content: Mapping) -> dict[str, tuple[int, ...]]:
    """name -> shape of what is sent."""
    return {name: np.shape(value) for name, value in content.items()}


def told(content: Mapping) -> str:
    """What is in a message: "round, rows 7 x 5681, losses 7"."""
    return ", ".join(" ".join([name, " x ".join(map(str, shape))]).strip() for name, shape in arrays(content).items())


def rows(heard: Sequence[Heard]) -> list[list[str]]:
    """For a table: message, from, to, what is in it, bytes of the arrays, bytes of the message as it is packed."""
    return [
        [
            {"round": f"round {h.number + 1}", "mixed": f"in round {h.number + 1}"}.get(h.what, h.what),
            *((h.site, "server") if h.up else ("server", h.site)),
            told(h.content),
            f"{size(h.content):,}",
            f"{len(packed(h.content)):,}",
        ]
        for h in heard
    ]


def values_in_common(heard: Sequence[Heard], points: np.ndarray) -> int:
    """How many of some numbers stand in a message as they are, in the messages' own precision; 0 is not counted.

    points: a float array of any shape, such as the inputs that a client owns.
    """
    own = points[points != 0]
    found = [
        np.isin(own.astype(value.dtype), value).any()
        for h in heard
        for value in h.content.values()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    ]
    return int(np.sum(found))
