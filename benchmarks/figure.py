"""How fast every way of the benchmark is, as a multiple of the plain PyTorch loop."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator, StrMethodFormatter

from fedlib.notebook.style import COLORS, OTHERS, panels

LIMIT = "matrix products alone"
LOOKS = {
    "xla": {"color": COLORS["federated"], "marker": "o", "lw": 3, "ms": 7, "label": "engine, XLA"},
    "eager": {"color": OTHERS[1], "marker": "s", "ls": "--", "label": "engine, eager"},
    "JAX": {"color": OTHERS[0], "marker": "D", "label": "JAX by hand"},
    "plain loop": {"color": COLORS["truth"], "marker": "", "label": "plain PyTorch loop"},
    "DeepXDE": {"color": COLORS["paper"], "marker": "X", "label": "authors' way, DeepXDE"},
    "FedStNN": {"color": COLORS["paper"], "marker": "P", "label": "authors' way, FedStNN"},
}
"""Way -> its line; from the fastest down, as a bar each."""

TITLES = {
    "line": "a function on the line",
    "pendulum": "pendulum DeepONet",
    "sweep": "sweep of notebook 04, 385 models",
    "Helmholtz": "Helmholtz PINN, 2 clients",
    "antiderivative": "antiderivative, 2 clients",
    "stochastic": "FedStNN's curve, 10 clients",
}


def draw_speed(result: Mapping) -> Figure:
    """A panel for each problem: lines over the number of clients where several were timed, else a bar for each way.

    result: as ``side_by_side.bench`` gives it. Higher, or longer, is faster; 1 is the plain loop.
    """
    cases = {}
    for case in result["problems"]:
        cases.setdefault(case["problem"], []).append(case)
    columns = min(3, len(cases))
    rows = -(-len(cases) // columns)
    fig, axes = panels(rows, columns, size=(3.3, 2.7))
    for ax, (name, own) in zip(axes.flat, cases.items(), strict=False):
        (over_clients if len(own) > 1 else bars)(ax, own)
        ax.set_title(TITLES.get(name, name))
    for ax in axes.flat[len(cases) :]:
        ax.remove()
    handles = {label: h for ax in fig.axes for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    order = [look["label"] for look in LOOKS.values() if look["label"] in handles] + [LIMIT] * (LIMIT in handles)
    fig.legend([handles[label] for label in order], order, loc="outside upper center", ncols=min(5, 2 * columns))
    return fig


def over_clients(ax, cases: list[Mapping]) -> None:
    """Ratio to the plain loop against the number of clients, a line for each way; the limit on top."""
    clients = [case["clients"] for case in cases]
    for way, look in LOOKS.items():
        points = [(c["clients"], c["ways"][way]["times_plain"]) for c in cases if way in c["ways"]]
        if points:
            ax.plot(*zip(*points, strict=True), **{"ms": 5} | look)
    ax.plot(clients, [case["limit_times_plain"] for case in cases], ":", color="0.3", label=LIMIT)
    ax.set(xlabel="clients", ylabel="times as fast as the loop", xscale="log", yscale="log")
    ax.set_xticks(clients, [str(n) for n in clients])
    ax.xaxis.set_minor_locator(NullLocator())
    plain_numbers(ax.yaxis)


def bars(ax, cases: list[Mapping]) -> None:
    """Ratio to the plain loop, a bar for each way with its number, and the limit as a line."""
    (case,) = cases
    ways = [way for way in LOOKS if way in case["ways"]]
    ratios = [case["ways"][way]["times_plain"] for way in ways]
    places = range(len(ways))[::-1]
    ax.axvline(1, color=COLORS["truth"], lw=0.8)
    drawn = ax.barh(places, ratios, color=[LOOKS[way]["color"] for way in ways])
    readable = {"fontsize": 7, "bbox": {"fc": "w", "ec": "none", "pad": 0.3}}
    ax.bar_label(drawn, [f"{ratio:.3g} ×" for ratio in ratios], padding=2, **readable)
    ax.axvline(case["limit_times_plain"], ls=":", color="0.3", zorder=0, label=LIMIT)
    ax.set_yticks(places, [SHORT.get(way, way) for way in ways])
    ends = min(0.5, *ratios) / 1.5, 3 * max(case["limit_times_plain"], *ratios)
    ax.set(xscale="log", xlabel="times as fast as the loop", xlim=ends)
    plain_numbers(ax.xaxis)


SHORT = {"plain loop": "loop", "xla": "XLA"}


def plain_numbers(axis) -> None:
    """0.5, 10 and 100, not powers."""
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
