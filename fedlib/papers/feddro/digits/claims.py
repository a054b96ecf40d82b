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


def gain_at(end: int) -> Callable[[Results], xarray.DataArray | None]:
    """Gain (points) [seed] at the smallest shift (0) or the largest (-1), in the table's round."""

    def quantity(results: Results) -> xarray.DataArray | None:
        change = gain(results.table).sortby("level")
        return change.isel(level=end, drop=True) if change.sizes["level"] > 1 else None

    return quantity


def gain_after(end: int) -> Callable[[Results], xarray.DataArray | None]:
    """Gain (points) [seed], a mean over the sizes of the shift, in the table's round (0) or the last one (-1)."""

    def quantity(results: Results) -> xarray.DataArray | None:
        change = gain(results.accuracy).mean("level", keep_attrs=True)
        return change.isel(round=end, drop=True) if change.sizes["round"] > 1 else None

    return quantity


CLAIMS = {
    "feddro.loss": (loss(ATOMS), "<", loss(FEDAVG)),
    "feddro.target.gain.grows": (gain_at(-1), ">", gain_at(0)),
    "feddro.target.speed": (gain_after(-1), "<", gain_after(0)),
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
