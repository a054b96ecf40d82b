"""Errors of all levels of all problems against measures of heterogeneity."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from ..notebook.style import CLIENTS, COLORS, panels
from ..problems.drift_levels import MEASURES, relative

LABELS = {
    "W1": "$W_1$, over the problem's largest",
    "B at the start": "B - 1 at the common start",
    "B on the way": "B - 1 on the way",
}
SHADES = [*CLIENTS, COLORS["federated"], COLORS["centralised"], COLORS["paper"]]
SHAPES = "os^Dv<>p"


def against_measures(
    ladders: Mapping[str, Mapping[str, Sequence[float]]], ranks: Mapping[str, Mapping[str, float]]
) -> Figure:
    """Federated errors over the problem's largest, a panel for each measure, a shape for each problem.

    ladders, ranks: as of ``problems.drift_levels``; the rank correlations over all levels of all problems are titles.
    """
    fig, (axes,) = panels(1, len(MEASURES), size=(2.9, 3.0), sharey=True)
    for ax, measure in zip(axes, MEASURES, strict=True):
        for k, (name, of) in enumerate(ladders.items()):
            x = relative(of[measure]) if measure == "W1" else [b - 1 for b in of[measure]]
            style = {"color": SHADES[k % len(SHADES)], "marker": SHAPES[k % len(SHAPES)], "ms": 5, "alpha": 0.8}
            ax.plot(x, relative(of["error"]), ls="", label=name, **style)
        rank = ranks["all together"][measure]
        ax.set(xlabel=LABELS[measure], xscale="log", yscale="log", title=f"rank correlation {rank:.2f}")
    axes[0].set_ylabel("federated error,\nover the problem's largest")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig
