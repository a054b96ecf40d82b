"""Our own criteria for notebook 15; no paper claims them."""

from collections.abc import Callable

import xarray

from ....notebook.maps import Panel
from .problem import SOUND
from .study import FEDAVG, OWN, PERFECT, PLAIN, Results

FAULT = "lab 4's scale, 1.3"


def error(way: str, layout: str, times: float = 1.0) -> Callable[[Results], xarray.DataArray]:
    """Error (%) [seed] of a way, times a factor."""
    return lambda results: times * results.error.sel(way=way, layout=layout, drop=True)


def named(fault: str, layout: str, anybody: bool = False) -> Callable[[Results], xarray.DataArray]:
    """Whether laboratory 4 is named [seed]; or how many are."""

    def quantity(results: Results) -> xarray.DataArray:
        off = results.accused.off.sel(fault=fault, layout=layout, drop=True)
        return off.sum("laboratory") if anybody else 1.0 * off.sel(laboratory=SOUND.laboratory, drop=True)

    return quantity


def mended(name: str) -> Callable[[Results], xarray.DataArray]:
    """Error (%) [seed] with all messages, or without those of whom is named."""
    return lambda results: results.accused.get(name).sel(fault=FAULT, layout="anywhere", drop=True)


def private(way: str) -> Callable[[Results], xarray.DataArray]:
    """Error (%) [problem, epsilon, seed] where a point is hidden."""
    return lambda results: results.private.error.sel(way=way, unit="point", drop=True)


def aimed(epsilon: float) -> Callable[[Results], xarray.DataArray]:
    """How far the aimed attack's guess is off [points, seed]."""
    return lambda results: results.outlier.aimed.sel(epsilon=epsilon, drop=True)


def outlier(epsilon: float) -> Callable[[Results], xarray.DataArray]:
    """How far the attacks are off the point that stands apart [points, seed]."""
    return lambda results: results.outlier.off.sel(epsilon=epsilon, drop=True)


CLAIMS = {
    "fedsciml.target.instruments.own": (error(OWN, "anywhere"), "<", error(PERFECT, "anywhere", 1.25)),
    "fedsciml.target.instruments.plain": (error(OWN, "anywhere"), "surely <", error(PLAIN, "anywhere")),
    "fedsciml.target.instruments.pieces": (error(OWN, "pieces"), "surely >", error(PERFECT, "pieces")),
    "fedsciml.target.instruments.fedavg": (error(OWN, "windows"), "surely <", error(FEDAVG["waves"], "windows")),
    "fedsciml.target.instruments.found": (named(FAULT, "anywhere"), ">", 0.95),
    "fedsciml.target.instruments.mended": (mended("mended"), "surely <", mended("error")),
    "fedsciml.target.instruments.alone": (named(FAULT, "pieces"), "<", 0.05),
    "fedsciml.target.instruments.nobody": (named("nobody", "anywhere", anybody=True), "<", 0.05),
    "fedsciml.target.instruments.noise": (private("FedAvg"), "<", private("sums")),
    "fedsciml.target.instruments.read": (outlier(0), "<", 1e-4),
    "fedsciml.target.instruments.aimed": (aimed(1000), "<", 0.1),
    "fedsciml.target.instruments.hidden": (aimed(10), ">", 0.1),
}
"""Id of data/claims.yaml -> claim."""

PANELS = (
    Panel("not in a paper", "section 4, offsets", "ten laboratories, 400 points, twenty data sets",
          ("fedsciml.target.instruments.own", "fedsciml.target.instruments.plain",
           "fedsciml.target.instruments.pieces", "fedsciml.target.instruments.fedavg")),
    Panel("not in a paper", "section 5, B2", "the same, six faults",
          ("fedsciml.target.instruments.found", "fedsciml.target.instruments.mended",
           "fedsciml.target.instruments.alone", "fedsciml.target.instruments.nobody")),
    Panel("not in a paper", "section 6, private", "10 000 points, five data sets",
          ("fedsciml.target.instruments.noise", "fedsciml.target.instruments.read", "fedsciml.target.instruments.aimed",
           "fedsciml.target.instruments.hidden")),
)  # fmt: skip
"""What notebook 15 asks."""
