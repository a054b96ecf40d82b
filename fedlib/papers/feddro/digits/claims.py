"""What FedDRO says of its digits, and what we ask of them."""

from collections.abc import Callable

import xarray

from ....notebook.maps import Panel
from .study import Results, gain
from .ways import ATOMS, FEDAVG, MAPPED


def loss(way: str) -> Callable[[Results], xarray.DataArray]:
    """Training loss [level, seed] in the last round that was trained of the clients' own digits and of Q's atoms."""

    def quantity(results: Results) -> xarray.DataArray:
        both = results.loss.sel(way=[ATOMS, FEDAVG]).dropna("round", how="any").isel(round=-1, drop=True)
        return both.sel(way=way, drop=True)

    return quantity


def lead(name: str, along: str, end: int) -> Callable[[Results], xarray.DataArray | None]:
    """Gain (points) [seed] at the first (0) or the last (-1) size of the shift or round; a mean over the other axis."""

    def quantity(results: Results) -> xarray.DataArray | None:
        change = gain(getattr(results, name)).sortby(along)
        others = [axis for axis in change.dims if axis not in (along, "seed")]
        ends = change.mean(others, keep_attrs=True).isel({along: end}, drop=True)
        return ends if change.sizes[along] > 1 else None

    return quantity


CLAIMS = {
    "feddro.loss": (loss(ATOMS), "<", loss(FEDAVG)),
    "feddro.target.gain.grows": (lead("table", "level", -1), ">", lead("table", "level", 0)),
    "feddro.target.speed": (lead("accuracy", "round", -1), "<", lead("accuracy", "round", 0)),
}
"""Id of data/claims.yaml -> claim, see ``notebook.relations``."""


def measured(results: Results) -> dict[str, dict]:
    """Ours of Table 1."""
    if results.table is None:
        return {}
    return {
        f"feddro.table1.{name}.{level:g}": {"values": values.sel(way=way).values.ravel()}
        for level, values in results.table.groupby("level")
        for name, way in (("fedavg", FEDAVG), ("feddro", MAPPED))
        if way in values.way
    }


SIZES = "200 digits a client, 10 rounds of one local epoch; a reading chosen after the table was seen"

PANELS = (
    Panel("Fig. 1", "B2, fig1", f"{SIZES}; four sizes for one", ("feddro.loss",)),
    Panel("Table 1", "section 4, B2, table1", f"{SIZES}; five seeds; its numbers are undefined",
          ("feddro.target.gain.grows", "feddro.target.speed")),
    Panel("Eq. 5, the maps", "section 5, B4", "beside means, moments, atoms"),
    Panel("Algorithm 1, lines 8 to 15", "B2, ascent; B5", "one displacement a client; clean and shifted digits"),
    Panel("data-wise application", "B6", "one barycenter of clouds (x, label): as the others"),
    Panel("Eqs. 6 to 8, Appendix B", "the paper's page", "for a linear classifier, in words"),
)  # fmt: skip
"""Where the paper's experiments are in notebook 10b."""
