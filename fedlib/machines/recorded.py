"""A federation that is played to its end: a line for each round, and a result file like a notebook's."""

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ..files import packed, write_atomically
from ..notebook.run import write_result
from ..trainings.environment import environment
from .messages import Ask, counted
from .model import program_of, write_model
from .plan import Plan
from .server import Played, federate


def play_out(
    plan: Plan, ask: Ask, folder: Path | str, *, engine: str, rounds: int | None = None, min_sites: int | None = None,
    show: Callable[[str], None] = print,
) -> None:  # fmt: skip
    """Play the rounds that are left, and write server.pt (after each), models.npz and result.json into a folder.

    Both have the form of a notebook's; models.npz holds the distinct models, "model_of_client" in the result which of
    them each client has; "sites" the loss and the errors of each site in each round. A loss of a client that did not
    take part is None, so are seconds, bytes and sites of rounds that were played before the server started again;
    "traffic" counts the messages since then. Where the experiment names COLUMNS, and all clients have one model, this
    is left as model.pt2, see ``model``.
    """
    folder, (ask, traffic), began = Path(folder), counted(ask), time.time()
    parameters = {"experiment": Path(plan.file).name, "engine": engine}
    if plan.columns:  # what cannot be written at the end is said before the first round
        program_of(plan.experiment.net, plan.columns)
    metrics, done = play_rounds(plan, ask, folder, rounds, min_sites, show)
    parameters |= {"rounds": done, "min_sites": min_sites}
    result = {"notebook": Path(plan.file).stem, "label": "federation", "parameters": parameters, "measured": {},
              "environment": environment(), "wall_s": round(time.time() - began, 1),
              "metrics": metrics | {"traffic": traffic}}  # fmt: skip
    write_result(folder / "result.json", result)


def play_rounds(
    plan: Plan, ask: Ask, folder: Path, rounds: int | None, min_sites: int | None, show: Callable
) -> tuple[dict, int]:  # fmt: skip
    """The rounds that are left; gives the metrics of the result, and how many rounds are done."""
    checkpoint, played = folder / "server.pt", []
    settings = {"rounds": rounds, "min_sites": min_sites, "warn": lambda text: show(f"warning: {text}")}
    for done in federate(plan, ask, checkpoint=checkpoint, **settings):
        played.append(done)
        show(line(done))
    if not played:
        raise ValueError(f"{checkpoint} has all its rounds already; take another folder, or more rounds")
    (state, _, past), final = done.progress, done.final
    if final:
        show(f"after {state.round} rounds  " + values_of(final))
    if plan.columns and len(state.theta) == 1 and not plan.experiment.personal:
        write_model(folder / "model.pt2", plan.experiment.net, state.theta[0], plan.columns, done.scale)
    write_atomically(folder / "models.npz", packed({"federation": state.theta.numpy()}))
    earlier = [None] * (state.round - len(played))
    return {
        "losses": [[None if math.isnan(x) else x for x in losses] for losses, _ in past],
        "lost": [lost for _, lost in past],
        "seconds": [*earlier, *(done.seconds for done in played)],
        "bytes": [*earlier, *(done.sent for done in played)],
        "sites": [*earlier, *(done.sites for done in played)],
        "final": final,
        "model_of_client": state.source,
    }, state.round  # fmt: skip


def line(done: Played) -> str:
    """A round as a line: mean loss of those who took part, loss and errors of each site, bytes, who is missing."""
    down, up = (sum(both[i] for both in done.sent.values()) for i in (0, 1))
    losses = done.losses[np.isfinite(done.losses)]
    loss = f"{losses.mean():.3e}" if len(losses) else "nobody"
    words = f"round {done.number + 1:4d}  loss {loss}  {len(losses)} clients  down {down} B  up {up} B"
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
