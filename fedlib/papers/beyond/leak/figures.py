"""Pictures and tables of what a server reads off a client's message, and of a federation of machines."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from matplotlib.figure import Figure

from ....files import packed
from ....machines.messages import Heard, size
from ....notebook.pictures import curves
from ....notebook.style import COLORS, OTHERS, ordered, panels
from .attack import scaled

MADE = {"SGD": "gradient descent", "Adam": "Adam"}
ATTACKS = {"span": "by the span", "fit": "by the fit"}
GUESSING = 50  # % of pairs


def steps(E: int) -> str:
    return f"{E} local step{'s' * (E != 1)}"


def named(values: xarray.DataArray, words: str) -> xarray.DataArray:
    """Shares in % [..., points], with what their axes say."""
    values = values.rename(None).assign_attrs(long_name=words, units="%", scale="linear")
    values.points.attrs["long_name"] = "points of a client"
    return values


def off(messages: xarray.Dataset) -> Figure:
    """How far what is read is from the client's nearest torque, against its points: median over the clients; grey from
    the nearest torque of another client, with one step."""
    median, another = messages[["off", "off_other"]].median("client"), "to another client's torque"
    offs = median.off.assign_coords(E=[*map(steps, median.E.values.tolist())])
    lines = xarray.concat([offs, median.off_other.isel(E=[0]).assign_coords(E=[another])], "E")
    lines = named(lines, "off the nearest torque")
    looks = dict(zip(offs.E.values.tolist(), ordered(offs.sizes["E"]), strict=True))
    looks[another] = {"color": OTHERS[3], "lw": 1, "marker": "x"}
    by_optimizer = {MADE[name]: lines.sel(optimizer=name) for name in lines.optimizer.values.tolist()}
    return curves(by_optimizer, "points", "E", looks=looks.get, size=(3.9, 2.6), share=True)


def pairs_told(messages: xarray.Dataset, attack: str) -> xarray.DataArray:
    """Pairs told apart (%) by an attack [way, points], means over the clients; way: "Adam, 5 local steps"."""
    ways = messages[attack].mean("client").stack(way=("optimizer", "E"))
    names = [f"{MADE[optimizer]}, {steps(E)}" for optimizer, E in ways.way.values]
    return named(ways.drop_vars(("way", "optimizer", "E")).assign_coords(way=names), "pairs of points told apart")


def attacks(messages: xarray.Dataset) -> Figure:
    """Left by the span, right by the fit, after few and many steps."""
    shown = messages.isel(E=slice(1, None, 2))
    shares = {words: pairs_told(shown, attack) for attack, words in ATTACKS.items()}
    fig = curves(shares, "points", "way", size=(3.9, 2.6), share=True)
    for ax in fig.axes:
        ax.axhline(GUESSING, color="0.6", lw=1, ls="--")
        ax.text(0.3, GUESSING - 1, "guessing", va="top", fontsize=8, color="0.4", transform=ax.get_yaxis_transform())
    return fig


def answer(messages: xarray.Dataset, torques: Mapping[int, np.ndarray]) -> Figure:
    """The first client's torques and what is read of its message after the most steps of gradient descent. torques:
    points -> [n, m]."""
    fig, (axes,) = panels(1, len(torques), size=(3.8, 2.8), sharey=True)
    E = int(messages.E.max())
    for ax, (n, some) in zip(axes, torques.items(), strict=True):
        u = messages.u.sel(optimizer="SGD", E=E, points=n).values
        t, many = np.linspace(0, 1, len(u)), n > 1
        look = {"lw": 1, "alpha": 0.4} if many else {"lw": 3.5}
        for i, torque in enumerate(scaled(some)[:20]):
            label = "_" if i else f"the client's true torque{'s' * many}"
            ax.plot(t, torque, color=COLORS["truth"], label=label, **look)
        ax.plot(t, u, color=OTHERS[0], lw=1.8, label="read by the server")
        ax.set(xlabel="t (s)", ylim=(-3.8, 3.8), xlim=(0, 1), title=f"{n} point{'s' * many}")
        ax.legend(loc="lower left")
    axes[0].set_ylabel("torque, r.m.s. 1")
    return fig


# tables


def rows(messages: xarray.Dataset, attack: str) -> list[list[str]]:
    """Pairs told apart, a row for each optimiser and number of local steps."""
    shares = pairs_told(messages, attack)
    return [[way, *(f"{x:.1f}" for x in shares.sel(way=way).values)] for way in shares.way.values.tolist()]


RECORD_HEADER = ["message", "from", "to", "what is in it", "bytes of numbers", "packed"]


def record(heard: Sequence[Heard]) -> list[list[str]]:
    """Rows of RECORD_HEADER: what is in a message, "rows 7 x 5681", and its bytes, without and with its packing."""
    return [
        [
            {"round": f"round {h.number + 1}", "mixed": f"in round {h.number + 1}"}.get(h.what, h.what),
            *((h.site, "server") if h.up else ("server", h.site)),
            ", ".join(f"{name} {' x '.join(map(str, np.shape(v)))}".strip() for name, v in h.content.items()),
            f"{size(h.content):,}",
            f"{len(packed(h.content)):,}",
        ]
        for h in heard
    ]


def price_rows(price: Mapping[str, Mapping | Sequence]) -> list[list[str]]:
    """Against clients per site, of ``study.prices``: megabytes of a round, and CPU time over that of one process."""
    words = {"down": "down, all sites", "up": "up, all sites", "data": "of all points, once"}
    lines = [[f"MB {text}", *(f"{b / 1e6:.2f}" for b in price[name])] for name, text in words.items()]
    (_, alone), *others = price["seconds"].items()
    for name, seconds in others:
        ratios = (f"{x:.1f}" for x in np.array(seconds) / alone)
        lines.append([f"CPU time over one process's, {name}", *ratios])
    return lines
