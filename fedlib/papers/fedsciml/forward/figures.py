"""Figures and tables of notebook 05 that no other room has; the others are ``notebook.pictures``."""

import numpy as np
import xarray
from matplotlib.figure import Figure

from ....federated.experiment import Experiment, data_of
from ....federated.partitions import private
from ....notebook.pictures import curves, shade
from ....notebook.style import CLIENTS, COLORS, MARKERS, OTHERS, panels
from ....numerics.metrics import paired_ratio, two_digits


def hills_and_valleys(experiment: Experiment, level: int) -> Figure:
    """The right-hand side of Poisson's equation over the pieces of both clients."""
    fig, ((ax,),) = panels(1, 1, size=(5.5, 2.2))
    data = data_of(experiment, level)
    x, f = (data.pool[name].numpy() for name in ("x", "f"))
    fine = np.linspace(0, np.pi, 300)
    last = 8 * np.sin(8 * fine)
    shade(ax, x[:, 0], private(data.owners))
    ax.plot(fine, last, color=OTHERS[4], lw=1, ls=":", label="its largest part, 8 sin 8x")
    ax.plot(x[:, 0], f, "-", color=OTHERS[4], label="f")
    for k, shard in enumerate(private(data.owners)):
        ax.plot(x[shard, 0], f[shard], MARKERS[k], ms=4, color=CLIENTS[k], label=f"client {k + 1} knows")
    ax.set(xlabel="x", ylabel="f(x)", xlim=(0, np.pi), title=f"{level} pieces")
    fig.legend(loc="outside right center")
    return fig


RATES = {"0.001, the paper's": ("constant", 0.001), "0.003": ("constant", 0.003), "0.03, falling": ("falling", 0.03)}
"""Title -> schedule and rate of ``study.rated`` that are shown; the last is the best on validation points."""


LOOKS = dict(zip(RATES, ({"marker": "o"}, {"marker": "s", "ls": "--"}, {"marker": "D", "lw": 2.5}), strict=True))


def at_other_rates(rates: xarray.Dataset) -> Figure:
    """Error (%) of Poisson's federation against the number of pieces, at RATES."""
    lines = [rates.error.sel(schedule=schedule, lr=lr, drop=True) for schedule, lr in RATES.values()]
    values = xarray.concat(lines, xarray.Variable("rate", [*RATES])).rename(level="pieces")
    values = values.assign_attrs(long_name="error of the federation", units="%")
    return curves(
        {"Poisson": values.rename(None)}, "pieces", "rate", size=(5.5, 2.8),
        looks=lambda rate: LOOKS[rate] | {"color": COLORS["federated"]},
    )  # fmt: skip


HUMP = ("rate, rounds", "2 pieces", "6", "8", "10", "8 over 2", "6 over 2", "8 over 6")


def hump(rates: xarray.Dataset, longer: xarray.DataArray) -> list[list[str]]:
    """Rows of HUMP, median errors (%) and paired ratios: of ``study.rated`` at RATES, and of those that go on for
    ``longer`` [round, level, seed]."""
    rows = {label: rates.error.sel(schedule=schedule, lr=lr) for label, (schedule, lr) in RATES.items()}
    for rounds in longer["round"].values[[1, 5, -1]]:
        rows[f"0.001, {rounds} rounds"] = longer.sel(round=rounds)
    return [
        [label, *(two_digits(error.sel(level=n).median().item()) for n in (2, 6, 8, 10))]
        + [str(paired_ratio(error.sel(level=n), error.sel(level=to))) for n, to in ((8, 2), (6, 2), (8, 6))]
        for label, error in rows.items()
    ]
