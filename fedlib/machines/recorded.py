"""A federation that is played to its end: a line for each round, and a result file like a notebook's."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch

from ..files import replacing
from ..notebook.run import Run
from .adding import one_round
from .experiment import load
from .model import program_of, write_model
from .server import Ask, Played, federate
from .wiretap import counted


def play_out(
    path: Path | str, ask: Ask, folder: Path | str, *, engine: str, rounds: int | None = None,
    min_sites: int | None = None, show: Callable[[str], None] = print,
) -> list[Played]:  # fmt: skip
    """Play the rounds that are left, and write server.pt (after each), models.npz and result.json into a folder.

    Both have the form of a notebook's; models.npz holds the distinct models, "model_of_client" in the result which of
    them each client has; "sites" the loss and the errors of each site in each round. A loss of a client that did not
    take part is None, so are seconds, bytes and sites of rounds that were played before the server started again;
    "traffic" counts the messages since then. Where the experiment names COLUMNS, and all clients have one model, this
    is left as model.pt2, see ``model``.
    """
    folder, played = Path(folder), []
    run = Run(Path(path).stem, "federation", {})
    run.folder = folder
    ask, traffic = counted(ask)
    plan = load(path)
    if plan.columns:
        program_of(
            plan.experiment.net, plan.columns
        )  # what cannot be written at the end is said before the first round
    settings = {"rounds": rounds, "min_sites": min_sites, "warn": lambda text: show(f"warning: {text}")}
    for done in federate(path, ask, checkpoint=folder / "server.pt", **settings):
        played.append(done)
        show(line(done))
    if not played:
        raise ValueError(f"{folder / 'server.pt'} has all its rounds already; take another folder, or more rounds")
    now = played[-1].standing
    if played[-1].final:
        show(f"after {now.round} rounds  " + values_of(played[-1].final))
    if plan.columns and len(now.theta) == 1 and not plan.experiment.personal:
        write_model(folder / "model.pt2", plan.experiment.net, now.theta[0], plan.columns, played[-1].scale)
    run.keep_models({"federation": now.theta})
    earlier = [None] * (now.round - len(played))
    run.parameters |= {"experiment": Path(path).name, "engine": engine, "rounds": now.round, "min_sites": min_sites}
    run.finish(
        losses=[[None if math.isnan(x) else x for x in losses] for losses, _ in now.past],
        lost=[lost for _, lost in now.past],
        seconds=[*earlier, *(done.seconds for done in played)],
        bytes=[*earlier, *(done.sent for done in played)],
        sites=[*earlier, *(done.sites for done in played)],
        final=played[-1].final,
        traffic=traffic,
        model_of_client=now.source,
    )
    return played


def add_up(path: Path | str, ask: Ask, folder: Path | str, *, engine: str, show: Callable[[str], None] = print) -> None:
    """One round of sums, see ``adding``, of a model that is linear in what it learns: solution.npz (theta [P], with all
    digits) and result.json."""
    plan = load(path)
    net, run = plan.experiment.net, Run(Path(path).stem, "federation", {})
    theta = torch.zeros(sum(p.numel() for p in net.parameters()), dtype=torch.float64)
    run.folder = Path(folder)
    ask, traffic = counted(ask)
    done = one_round(path, ask, theta)
    with replacing(run.folder / "solution.npz") as partial, open(partial, "wb") as file:
        np.savez(file, theta=theta + done.solution.step)
    if plan.columns:
        write_model(run.folder / "model.pt2", net, theta + done.solution.step, plan.columns, done.scale)
    run.parameters |= {"experiment": Path(path).name, "engine": engine}
    run.finish(ridge=done.solution.ridge, gcv=done.solution.gcv, bytes=[done.sent], traffic=traffic)
    show(f"round    1  sums  {traffic['messages']} messages  down {traffic['down']} B  up {traffic['up']} B")


def line(done: Played) -> str:
    """A round as a line: mean loss of those who took part, loss and errors of each site, bytes, who is missing."""
    down, up = (sum(b[i] for b in done.sent.values()) for i in (0, 1))
    there = done.losses[np.isfinite(done.losses)]
    loss = f"{there.mean():.3e}" if len(there) else "nobody"
    words = f"round {done.number + 1:4d}  loss {loss}  {len(there)} clients  down {down} B  up {up} B"
    words += f"  {values_of(done.sites)}" if len(done.sites) > 1 else ""
    lost = "".join(f"  without {name}: {why}" for name, why in done.lost.items())
    return f"{words}  {done.seconds:.2f} s{lost}"


def values_of(sites: Mapping[str, Mapping[str, float]]) -> str:
    """Each value at all sites: "loss: site-1 0.12, site-2 0.31"."""
    names = dict.fromkeys(name for values in sites.values() for name in values)
    return "  ".join(
        f"{name}: " + ", ".join(f"{site} {values[name]:.3g}" for site, values in sites.items() if name in values)
        for name in names
    )
