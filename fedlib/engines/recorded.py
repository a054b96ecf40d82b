"""A federation that is played to its end: a line for each round, and a result file like a notebook's."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..files import replacing
from ..runs.results import Run
from .server import Ask, Played, federate


def play_out(
    path: Path | str, ask: Ask, folder: Path | str, *, engine: str, rounds: int | None = None,
    min_sites: int | None = None, show: Callable[[str], None] = print,
) -> list[Played]:  # fmt: skip
    """Play the rounds that are left, and write server.pt (after each), models.npz and result.json into a folder.

    A loss of a client that did not take part is None in the result.
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
    with replacing(folder / "models.npz") as partial, open(partial, "wb") as file:
        np.savez(file, models=now.theta.numpy(), source=now.source.numpy())
    run.parameters |= {"experiment": Path(path).name, "engine": engine, "rounds": now.round, "min_sites": min_sites}
    run.finish(
        losses=[[None if math.isnan(x) else x for x in losses] for losses, _ in now.past],
        lost=[lost for _, lost in now.past],
        seconds=[done.seconds for done in played],
        bytes=[done.sent for done in played],
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
