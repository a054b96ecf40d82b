"""What Fed-DeepONet says in words of Experiment 4 (Figs. 7 and 8) and prints of it, and what we add."""

import xarray

from ....notebook.claims import LEARNT
from ....notebook.maps import Panel
from ..trainings import last
from .study import TOLD, Results, of_torques


def unseen(results: Results) -> xarray.DataArray:
    """Error (%) [seed] of torques such as nobody has seen, with k at random: a mean over all draws."""
    return of_torques(results.paper).mean(["torque", "draw"], keep_attrs=True)


def twice_seen(results: Results) -> float:
    """Twice the error (%) of trajectories such as it has seen, if it has learnt something."""
    return min(2 * last(results.paper).mean().item(), LEARNT)


def hiding(results: Results, T: float) -> xarray.DataArray:
    """By how many times hiding k raises the error where it is mixed, seed by seed [seed], of pendulums of T s."""
    errors = last(results.cases).sel(level=T, drop=True)
    return errors.sel(case="mixed, hidden", drop=True) / errors.sel(case=TOLD, drop=True)


CLAIMS = {
    "fed-deeponet.library.generalises": (unseen, "<", twice_seen),
    "fed-deeponet.target.library.hidden": (
        lambda r: hiding(r, 3.0).min().item(), ">", lambda r: hiding(r, 1.0).max().item(),
    ),
}  # fmt: skip
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""


def measured(results: Results) -> dict[str, dict]:
    """Printed number -> our values (%), one per seed; of an unseen torque with the first k that a seed has drawn, for
    theirs is one draw, too."""
    if not results.paper:
        return {}
    error, one_draw = last(results.paper).squeeze("level").values, of_torques(results.paper).isel(draw=0)
    values = {"exp4.mean": error, "exp4.unseen": one_draw.mean("torque").values}
    values |= dict(zip(("fig8.t", "fig8.sin", "fig8.tsin"), one_draw.values, strict=True))
    panels = {f"fed-deeponet.fig7.{i}": {"values": error, "why": "mean over the test trajectories"} for i in (1, 2, 3)}
    return panels | {f"fed-deeponet.{id}": {"values": of_seeds} for id, of_seeds in values.items()}


FULL = "N, R, K, C, alpha as printed, twenty seeds"

PANELS = (
    Panel("Fig. 7", "B2, fig7", f"{FULL}; which three trajectories is not said"),
    Panel("Fig. 8", "B2, fig8", f"{FULL}; 200 draws of k", ("fed-deeponet.library.generalises",)),
    Panel("not in the paper", "section 4, told", "k hidden, one pendulum a client, 3 s; three seeds",
          ("fed-deeponet.target.library.hidden",)),
)  # fmt: skip
"""Where Figs. 7 and 8 are in notebook 03."""
