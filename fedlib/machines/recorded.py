"""A federation that is played to its end: a line for each round, and a result file like a notebook's."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..notebook.run import Run
from .server import Ask, Played, federate


def play_out(
    path: Path | str, ask: Ask, folder: Path | str, *, engine: str, rounds: int | None = None,
    min_sites: int | None = None, show: Callable[[str], None] = print,
) -> list[Played]:  # fmt: skip
    """Play the rounds that are left, and write server.pt (after each), models.npz and result.json into a folder.

    Both have the form of a notebook's; models.npz holds the distinct models, "model_of_client" in the result which of
    them each client has. A loss of a client that did not take part is None, so are seconds and bytes of rounds that
    were played before the server started again.
    """
    folder, played = Path(folder), []
    run = Run(Path(path).stem, "federation", {})
    run.folder = folder
    for done in federate(path, ask, rounds=rounds, min_sites=min_sites, checkpoint=folder / "server.pt"):
        played.append(done)
        show(line(done))
    if not played:
        raise ValueError(f"{folder / 'server.pt'} has all its rounds already; take another folder, or more rounds")
    now = played[-1].standing
    run.keep_models({"federation": now.theta})
    earlier = [None] * (now.round - len(played))
    run.parameters |= {"experiment": Path(path).name, "engine": engine, "rounds": now.round, "min_sites": min_sites}
    run.finish(
        losses=[[None if math.isnan(x) else x for x in losses] for losses, _ in now.past],
        lost=[lost for _, lost in now.past],
        seconds=[*earlier, *(done.seconds for done in played)],
        bytes=[*earlier, *(done.sent for done in played)],
        model_of_client=now.source,
    )
    return played


def line(done: Played) -> str:
    """A round as a line: mean loss of those who took part, bytes down and up, who is missing."""
    down, up = (sum(b[i] for b in done.sent.values()) for i in (0, 1))
    there = done.losses[np.isfinite(done.losses)]
    loss = f"{there.mean():.3e}" if len(there) else "nobody"
    words = f"round {done.number + 1:4d}  loss {loss}  {len(there)} clients  down {down} B  up {up} B"
    lost = "".join(f"  without {name}: {why}" for name, why in done.lost.items())
    return f"{words}  {done.seconds:.2f} s{lost}"
