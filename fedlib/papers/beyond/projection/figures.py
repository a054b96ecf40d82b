"""Figures of notebook 14 that no other room has: why nobody walks on alone, and where sums for networks end."""

import xarray
from matplotlib.figure import Figure

from ....notebook.pictures import curves, plain, seeds_and_median
from ....notebook.style import COLORS, OTHERS, panels

FIRST = ("FedAvg, as printed", "FedAvg, best rate", "Adam, one place", "sums")
"""The ways of the first picture."""


def walked_alone(stiff: xarray.Dataset) -> Figure:
    """The loss some way downhill after ten evaluations, relative to the foot [last layer, length, seed]: with the last
    layer held, and solved anew."""
    shown = stiff.sel(evaluation=sorted(stiff.evaluation.values)[len(stiff.evaluation) // 2])
    looks = {"held": {"color": OTHERS[0]}, "solved anew": {"color": OTHERS[2], "marker": "*"}}
    ratio = (shown.loss / shown.foot).drop_vars("evaluation").assign_coords({"last layer": [*looks]})
    ratio.length.attrs["long_name"] = "length of a step downhill"
    ratio = ratio.assign_attrs(long_name="loss, times that before")
    return curves({"last layer": ratio}, "length", "last layer", looks=looks.get, size=(5, 2.9))


def ends(starts: xarray.Dataset, attack: xarray.Dataset) -> Figure:
    """Left: error of each start against the residual between the points, which the server may know. Right: how far the
    point that notebook 13's attack misses most is off, against evaluations."""
    fig, ((left, right),) = panels(1, 2, size=(3.9, 2.9))
    error = starts.error.isel(evaluation=-1)
    left.plot(starts.score.values.ravel(), error.values.ravel(), "o", color=COLORS["sums"], mfc="w")
    left.set(xlabel="mean square residual between the points", ylabel="error (%)", title="starts of Poisson's network")
    looks = {"one client": ("one client's sums", ":", "o"), "total": ("sums of both", "-", "D")}
    for n, (sums, (words, dash, marker)) in zip(attack.points, looks.items(), strict=True):
        off = attack.off.sel(sums=sums).transpose("seed", "evaluation")
        seeds_and_median(right, off.evaluation.values, off.values, f"{words}: {n} points",
                         color=COLORS["sums"], ls=dash, marker=marker)  # fmt: skip
    right.set(xlabel="evaluation whose sums are attacked", ylabel="worst point off by", title="what sums tell")
    right.legend(fontsize=8)
    for ax in (left, right):
        ax.set(xscale="log", yscale="log")
    plain(left.yaxis)
    plain(right.xaxis)
    return fig
