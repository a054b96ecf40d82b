"""A federation that is played to its end: a line for each round, and a result file like a notebook's."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from ..files import replacing
from ..notebook.run import Run
from .adding import one_round
from .experiment import load
from .server import Ask, Played, federate
from .wiretap import counted


def play_out(
    path: Path | str, ask: Ask, folder: Path | str, *, engine: str, rounds: int | None = None,
    min_sites: int | None = None, show: Callable[[str], None] = print,
) -> list[Played]:  # fmt: skip
    """Play the rounds that are left, and write server.pt (after each), models.npz and result.json into a folder.

    Both have the form of a notebook's; models.npz holds the distinct models, "model_of_client" in the result which of
    them each client has. A loss of a client that did not take part is None, so are seconds and bytes of rounds that
    were played before the server started again; "traffic" counts the messages since then.
    """
    folder, played = Path(folder), []
    run = Run(Path(path).stem, "federation", {})
    run.folder = folder
    ask, traffic = counted(ask)
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
        traffic=traffic,
        model_of_client=now.source,
    )
    return played


def add_up(path: Path | str, ask: Ask, folder: Path | str, *, engine: str, show: Callable[[str], None] = print) -> None:
    """One round of sums, see ``adding``, of a model that is linear in what it learns: solution.npz (theta [P], with all
    digits) and result.json."""
    net, run = load(path).experiment.net, Run(Path(path).stem, "federation", {})
    theta = torch.zeros(sum(p.numel() for p in net.parameters()), dtype=torch.float64)
    run.folder = Path(folder)
    ask, traffic = counted(ask)
    done = one_round(path, ask, theta)
    with replacing(run.folder / "solution.npz") as partial, open(partial, "wb") as file:
        np.savez(file, theta=theta + done.solution.step)
    run.parameters |= {"experiment": Path(path).name, "engine": engine}
    run.finish(ridge=done.solution.ridge, gcv=done.solution.gcv, bytes=[done.sent], traffic=traffic)
    show(f"round    1  sums  {traffic['messages']} messages  down {traffic['down']} B  up {traffic['up']} B")


def line(done: Played) -> str:
    """A round as a line: mean loss of those who took part, bytes down and up, who is missing."""
    down, up = (sum(b[i] for b in done.sent.values()) for i in (0, 1))
    there = done.losses[np.isfinite(done.losses)]
    loss = f"{there.mean():.3e}" if len(there) else "nobody"
    words = f"round {done.number + 1:4d}  loss {loss}  {len(there)} clients  down {down} B  up {up} B"
    lost = "".join(f"  without {name}: {why}" for name, why in done.lost.items())
    return f"{words}  {done.seconds:.2f} s{lost}"
