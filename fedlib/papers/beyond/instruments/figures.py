"""Pictures of instruments: a curve by three ways, what is said of each laboratory, and a point that stands apart."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....federated import suspects
from ....notebook.pictures import curves
from ....notebook.style import CLIENTS, COLORS, OTHERS, panels
from ....numerics.metrics import plus_minus
from .privacy import NOISY
from .problem import SOUND
from .study import OWN, PERFECT, PLAIN

LOOKS = {
    PLAIN: {"color": OTHERS[2], "marker": "s", "ls": "--"},
    OWN: {"color": COLORS["sums"], "marker": "o"},
    PERFECT: {"color": OTHERS[3], "marker": "d", "ls": ":"},
    "FedAvg, own parameters": {"color": COLORS["federated"], "marker": "^"},
    "FedAvg, a network, own parameters": {"color": COLORS["federated"], "marker": "v", "ls": "--"},
    "sums": {"color": COLORS["sums"], "marker": "o"},
    "FedAvg": {"color": COLORS["federated"], "marker": "^"},
}
"""Way -> how it is drawn."""

PLACES = {"anywhere": "each measures anywhere", "windows": "in a window of .3", "pieces": "in two pieces of its own"}


def answer(sent: xarray.Dataset, data, sayings: Sequence[suspects.Suspicion]) -> Figure:
    """Left what is measured, and the curves of two ways [way, x]; right how improbable each laboratory is."""
    fig, ((left, right),) = panels(1, 2, size=(4.2, 2.9))
    measured(left, data)
    for way in (PLAIN, OWN):
        look = {**LOOKS[way], "marker": "", "lw": 2}
        left.plot(sent.x, sent.u.sel(way=way), label=way, **look)
    left.plot(sent.x, sent.truth.sel(way=OWN), color=COLORS["truth"], lw=1, label="truth, what all measure", zorder=5)
    left.legend(fontsize=8)
    who_is_off(right, sayings)
    return fig


def measured(ax: Axes, data) -> None:
    """Every laboratory's table, each in its shade."""
    x, y = (data.pool[name].numpy()[:, 0] for name in "xy")
    for k, shard in enumerate(data.owners):
        ax.plot(x[shard], y[shard], ".", ms=3, color=CLIENTS[k % len(CLIENTS)], alpha=0.5)
    ax.set(xlabel="x", ylabel="measured", title="ten laboratories, one curve")


def who_is_off(ax: Axes, sayings: Sequence[suspects.Suspicion]) -> None:
    """A bar for each laboratory: the odds against chance; dashed where one is named, hatched whom nobody can judge."""
    bound = suspects.LIMIT / len(sayings)
    for k, one in enumerate(sayings):
        named, judged = one.p < bound, one.least <= suspects.LARGE
        ax.bar(
            k + 1, -np.log10(max(one.p, 1e-16)), color=OTHERS[2] if named else "0.7",
            hatch="" if judged else "///", edgecolor="w",
        )  # fmt: skip
    ax.axhline(-np.log10(bound), color="k", ls="--", lw=1)
    ax.text(len(sayings) + 0.5, -np.log10(bound), "named above this", ha="right", va="bottom", fontsize=8)
    ax.set(
        xlabel="laboratory",
        ylabel="by chance: one in 10 to the ...",
        title="who is off?",
        xticks=range(1, len(sayings) + 1),
    )


ANSWER = (
    "left the measurements of ten laboratories, shifted and tilted, and two curves: as they are is off, own parameters "
    "at home lies on the truth; right a bar for each laboratory, and that of the fourth stands out"
)


def errors_by(panels_of: dict[str, xarray.DataArray], x: str) -> Figure:
    """Errors of all ways against x, panels compared."""
    return curves(panels_of, x, "way", looks=LOOKS.get, share=True)


def by_place(errors: xarray.DataArray) -> dict[str, xarray.DataArray]:
    """Errors of each layout, under its words."""
    return {words: errors.sel(layout=name).rename(words) for name, words in PLACES.items() if name in errors.layout}


def by_problem(private: xarray.Dataset) -> dict[str, xarray.DataArray]:
    """Errors where a point is hidden, of each problem, under its name."""
    return {
        name: private.error.sel(problem=name, unit="point", way=[*NOISY[:2]]).rename(name)
        for name in private.problem.values
    }


WAYS_HEADER = ["error (%)", *PLACES.values()]


def way_rows(error: xarray.DataArray) -> list[list[str]]:
    """Medians over data sets [way, layout]."""
    middle = error.median("seed")
    return [[way, *(f"{middle.sel(way=way, layout=name).item():.2f}" for name in PLACES)] for way in middle.way.values]


OUTLIER_HEADER = ["one point apart from", "no noise", "ε = 1000", "100", "10", "1"]
GUESSES = {"off": "nearest of all guesses of two general attacks", "aimed": "the one guess of an aimed attack"}


def outlier_rows(outlier: xarray.Dataset) -> list[list[str]]:
    """How far the guesses of attacks are from the point that stands apart, medians [points, epsilon]."""
    falling = [0, *sorted(outlier.epsilon.values[outlier.epsilon.values > 0], reverse=True)]
    middle = outlier.median("seed").sel(epsilon=falling)
    return [
        [f"{n - 1} others, {words}", *(f"{value:.1g}" for value in middle[name].sel(points=n).values)]
        for name, words in GUESSES.items()
        for n in middle.points.values
    ]


PRIVATE_HEADER = ["hidden is", "ε", "problem", *(f"{way} (%)" for way in NOISY), "sums at", "FedAvg at", "no data (%)"]


def private_rows(private: xarray.Dataset) -> list[list[str]]:
    """Mean errors ± st.dev. over data sets, and the settings that were chosen."""
    rows = []
    for unit, epsilon, problem in product(*(private[name].values.tolist() for name in ("unit", "epsilon", "problem"))):
        one = private.sel(unit=unit, epsilon=epsilon, problem=problem)
        errors = [plus_minus(one.error.sel(way=way).values, 2) for way in NOISY]
        settings = [one.settings.sel(way=way).item() for way in NOISY[:2]]
        rows.append([f"a {unit}", f"{epsilon:g}", problem, *errors, *settings, f"{one.nothing.item():.0f}"])
    return rows


FAULT_HEADER = ["wrong is", "who measures", "data sets", "lab 4 named", "others named", "noisier", "nobody can judge",
                "no model for anybody", "error, and mended (%)"]  # fmt: skip


def fault_rows(accused: xarray.Dataset) -> list[list[str]]:
    """A row for each fault and layout: of how many laboratories what was said."""
    rows, broken = [], SOUND.laboratory
    for fault in accused.fault.values.tolist():
        for layout in accused.layout.values.tolist():
            one = accused.sel(fault=fault, layout=layout)
            sets, others = one.sizes["seed"], one.off.drop_sel(laboratory=broken)
            before, after = (f"{one[name].median().item():.1f}" for name in ("error", "mended"))
            rows.append([
                fault, PLACES[layout], str(sets), f"{one.off.sel(laboratory=broken).sum().item()} of {sets}",
                f"{others.sum().item()} of {others.size}", f"{one.noisy.sum().item()} of {one.noisy.size}",
                f"{(~one.judged).sum().item()} of {one.judged.size}", f"{(~one.fits).sum().item()} of {sets}",
                f"{before}, {after}",
            ])  # fmt: skip
    return rows
