"""The authors' way beside ours: every seed of both sides, with medians."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from fedlib.files import replacing
from fedlib.notebook import style
from fedlib.notebook.style import COLORS, panels

SIDES = {"DeepXDE": (COLORS["paper"], "X"), "ours": (COLORS["federated"], "o")}
NAMES = {("poisson", "u"): "Poisson, u", ("reaction", "u"): "reaction, u", ("reaction", "k"): "reaction, k(x)",
         ("antiderivative", "G"): "antiderivative"}  # fmt: skip


def figure(result: Mapping) -> Figure:
    """A panel per error: a mark per seed on either side, a line at the median, and the tests' p in the title.

    result: as of ``deepxde_seeds.result_of``.
    """
    pairs = [(name, e) for name, found in result["problems"].items() for e in found["errors_percent"]]
    fig, axes = panels(1, len(pairs), size=(2.6, 2.9))
    for ax, (name, e) in zip(np.ravel(axes), pairs, strict=True):
        found = result["problems"][name]
        for place, (side, (color, marker)) in enumerate(SIDES.items()):
            values = np.sort(found["errors_percent"][e][side])
            ax.plot(place + np.linspace(-0.2, 0.2, len(values)), values, marker, color=color, ms=6, mec="w", mew=0.5)
            ax.hlines(np.median(values), place - 0.3, place + 0.3, color=color, lw=2)
        p = found["compared"][e]
        ax.set_title(
            f"{NAMES[name, e]}\nn = {found['level']}, T = {found['E'] * found['rounds']:,} "
            f"of {found['E'] * found['of_rounds']:,}\np = {p['p_kolmogorov_smirnov']:.2f} (KS), "
            f"{p['p_mann_whitney']:.2f} (MW)", fontsize=8,
        )  # fmt: skip
        ax.set_xticks(range(len(SIDES)), SIDES)
        ax.set_xlim(-0.6, 1.6)
        ax.set_ylim(0, None)
    np.ravel(axes)[0].set_ylabel("relative $L_2$ error (%)")
    return fig


def draw(result: Mapping, path: Path) -> None:
    """The figure as a PNG."""
    with replacing(path) as partial, rc_context():
        style.use("page")
        figure(result).savefig(partial, format="png", dpi=150, bbox_inches="tight")
