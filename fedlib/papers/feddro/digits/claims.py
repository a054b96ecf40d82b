"""What FedDRO says of its digits, and what we ask of them, as pure functions of ``Results``; changes in points."""

from collections.abc import Callable

import xarray

from ....notebook.claims import Verdict, fewest, on_seeds, where_labelled
from ....notebook.maps import Panel
from ....numerics.metrics import mean_sd, plus_minus
from .study import ASCENT, Results, gain
from .ways import AFFINE, FEDAVG, MAPPED, MEANS

Q = "barycenter Q"


def words(change: xarray.DataArray) -> str:
    """A change [level, seed] as text, with its st.dev. over seeds."""
    return ", ".join(plus_minus(values.dropna("seed").values, 1) for _, values in change.groupby("level"))


def above(change: xarray.DataArray, sign: int = 1) -> Verdict:
    """Whether a change [level, seed] is above the seeds' st.dev. at every level; sign -1: nowhere below minus that."""
    if change.sizes["seed"] < 2:
        return Verdict(None, "one seed")
    mean, sd = mean_sd(change, "seed")
    return Verdict(bool((mean > sign * sd).all()), words(change))


def gain_at_first(results: Results) -> Verdict:
    """Mapped digits beat FedAvg at every size, beyond the spread over the seeds."""
    return above(gain(results.table))


def gain_grows(results: Results) -> Verdict | None:
    """The gain is larger at the largest shift than at the smallest."""
    change = gain(results.table).mean("seed").sortby("level")
    return Verdict(bool(change[-1] > change[0])) if change.size > 1 else None


def gain_stays(results: Results) -> Verdict | None:
    """The gain survives training: after the last round mapped digits beat FedAvg at every size, beyond the spread."""
    late = results.accuracy
    return above(gain(late.isel(round=-1, drop=True))) if late.sizes["round"] > 1 else None


def only_speed(results: Results) -> Verdict | None:
    """The gain, a mean over sizes, shrinks from the table's round to the last one."""
    change = gain(results.accuracy).mean(["level", "seed"])
    early, late = change[0].item(), change[-1].item()
    return Verdict(late < early, f"{early:.1f}, {late:.1f}") if change.sizes["round"] > 1 else None


def loss_falls_faster(results: Results) -> Verdict:
    """Fig. 1: on the barycenter the loss is below that on the clients' own digits, in the table's last round."""
    both = results.loss.sel(way=[Q, FEDAVG]).dropna("round", how="any").isel(round=-1, drop=True)
    change = gain(both, Q)
    return Verdict(bool((change.mean("seed") < 0).all()), words(change))


def ascent(view: str) -> Callable[[Results], Verdict]:
    """What the ascent changes of mapped digits: clean ones, or the worst fresh shift."""
    return lambda results: above(gain(results.shifted.sel(view=view, drop=True), f"{MAPPED} + {ASCENT}", MAPPED))


CLAIMS = {
    f"feddro.{id}": where_labelled(claim)
    for id, claim in {
        "target.gain.table": gain_at_first,
        "target.gain.late": gain_stays,
        "target.gain.grows": gain_grows,
        "target.speed": only_speed,
        "target.transport": lambda results: above(gain(results.table, MAPPED, MEANS)),
        "target.moments": lambda results: above(gain(results.table, AFFINE, MAPPED), -1),
        "target.ascent.clean": ascent("clean"),
        "target.ascent.worst": ascent("fresh"),
    }.items()
} | on_seeds(
    lambda results: fewest(results.loss.sel(way=[Q, FEDAVG])), {"feddro.loss": where_labelled(loss_falls_faster)}
)
"""Id of data/claims.yaml -> claim."""

SIZES = "200 digits a client, 10 rounds of one local epoch; a reading chosen after the table was seen"

PANELS = (
    Panel("Fig. 1", "B3, fig1", f"{SIZES}; four sizes for one", ("feddro.loss",)),
    Panel("Table 1", "section 4, B2, table1", f"{SIZES}; five seeds; its numbers are undefined",
          ("feddro.target.gain.table", "feddro.target.gain.grows", "feddro.target.gain.late", "feddro.target.speed")),
    Panel("Eq. 5, the maps", "section 4, B4", "beside means, moments, atoms",
          ("feddro.target.transport", "feddro.target.moments")),
    Panel("Algorithm 1, lines 8 to 15", "B5, ascent", "one displacement a client; clean and shifted digits",
          ("feddro.target.ascent.clean", "feddro.target.ascent.worst")),
    Panel("data-wise application", "B4, controls", "one barycenter of clouds (x, label)"),
    Panel("Eqs. 6 to 8, Appendix B", "B6", "evaluated for a linear classifier"),
)  # fmt: skip
"""Where the paper's experiments are in notebook 10b."""
