"""Notebook 15 live: the curve of the messages at every offset; who is off, for every scale of one laboratory."""

import ipywidgets
import xarray
from matplotlib.figure import Figure

from ....federated import suspects
from ....live import levels, widgets
from ....live.modules import Piece
from ....live.widgets import choice, slider
from ....notebook.style import COLORS, panels
from ....trainings.store import stored
from . import study
from .figures import PLACES, measured, who_is_off
from .problem import Fault, instruments

COLOR = {study.PLAIN: COLORS["isolated"], study.OWN: COLORS["federated"]}


SHORT = {"anywhere": "anywhere", "windows": "in windows", "pieces": "in two pieces"}


def explored(table: xarray.Dataset) -> tuple[xarray.DataArray, xarray.DataArray]:
    """(curves, errors) as ``levels.explore`` takes them."""
    table = table.sel(offset=table.offset > 0)  # errors stand at a logarithmic axis
    two = table.sel(way=[*COLOR]).assign_coords(layout=[SHORT[name] for name in table.layout.values])
    two = two.rename(way="model", offset="offsets", layout="measured").transpose("offsets", "measured", ...)
    curves = two.u.isel(seed=0, drop=True).transpose(..., "model", "x")
    truth = two.truth.isel(seed=0, model=0, drop=True).transpose(..., "x")
    curves = curves.assign_coords(truth=(truth.dims, truth.values), color=("model", [*COLOR.values()]))
    return curves.assign_attrs(xlabel="x", ylabel="curve, less its mean"), two.error.transpose(..., "model", "seed")


def explorer() -> Piece:
    """Sliders over the size of offsets, and where laboratories measure."""
    return levels.explore(*explored(stored(study, "sums")), start={"offsets": 0.5})


def broken(laboratory: int, scale: float, layout: str, seed: int = 0) -> Figure:
    """Tables where one laboratory's scale is off, and what their messages say of each."""
    experiment = instruments(fault=Fault(scale=scale, laboratory=laboratory - 1))
    data = experiment.data(layout, seed)
    fig, ((left, right),) = panels(1, 2, size=(4.2, 2.9))
    measured(left, data)
    who_is_off(right, suspects.suspicions(study.messages(experiment, data)))
    return fig


def faults() -> ipywidgets.GridBox:
    """Whose scale is off, by how much, and where they measure."""
    return widgets.explore(
        broken, "left all measurements, right the odds against each laboratory",
        laboratory=slider([*range(1, 11)], 4, "laboratory"),
        scale=slider([1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5], 1.3, "scale"),
        layout=choice([(words, name) for name, words in PLACES.items()], words="who measures"),
    )  # fmt: skip
