"""The map at the top of a notebook: a panel of the paper, our figure of it, its setting, and what the runs say."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .claims import find


class Panel(NamedTuple):
    """A panel of the paper and where ours is. claims: ids of what the paper says of it."""

    paper: str
    ours: str
    setting: str
    claims: tuple[str, ...] = ()


HEADER = ("the paper", "here", "setting", "what our runs say")


def rows(panels: Sequence[Panel], verdicts: Mapping[str, Mapping]) -> list[list[str]]:
    """Rows (panel, our figure, setting, verdicts) of text. verdicts: of a run, by id."""
    table = []
    for panel in panels:
        ids = {}
        for id in panel.claims:
            judged = verdicts.get(id, {"holds": None})
            ids.setdefault(find(id).in_words(judged), []).append(id.split(".", 1)[1])
        words = "; ".join(f"{word}: {', '.join(some)}" for word, some in ids.items()) or "shown"
        table.append([panel.paper, panel.ours, panel.setting, words])
    return table
