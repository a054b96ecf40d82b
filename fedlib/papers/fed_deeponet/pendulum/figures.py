"""Figures and tables of notebook 01, functions of the arrays of ``study.Results``."""

from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from ....federated.experiment import Data
from ....notebook.pictures import curves
from ....notebook.style import CLIENTS, COLORS, OTHERS, panels, shards
from ....notebook.verdicts import paper_numbers
from ....numerics.metrics import in_percent
from ..physics import OUT_OF_DISTRIBUTION
from ..trainings import joined, last
from .study import PRINTED, TWENTY, VARIES, Results

# the problem


def torques_and_angles(data: Data) -> Figure:
    """What an operator does: torques (rad/s^2) of the tests and their angles (rad) over t (s), each pair in one colour;
    right the targets s (rad) that each client owns."""
    fig, ((left, middle, right),) = panels(1, 3, size=(2.7, 2.4))
    u, x = data.test["GRF u"].numpy(), data.test["GRF x1"].numpy()
    t, targets = np.linspace(0, 1, u.shape[1]), [data.pool["s"][owner].numpy() for owner in data.owners]
    for torque, angle, color in zip(u, x, cycle(OTHERS)):
        left.plot(t, torque, color=color)
        middle.plot(t, angle, color=color)
    left.set(xlabel="t (s)", ylabel="torque u (rad/s$^2$)", title="what the network is given")
    middle.set(xlabel="t (s)", ylabel="angle $x_1$ (rad)", title="what it has to say")
    shards(targets, right, "angle s at a random time (rad)", color="0.4")
    right.set(title=f"what {len(targets)} clients own", ylabel="client, one a row", yticks=())
    return fig


# schematics


def box(ax: Axes, x: float, y: float, words: str, color: str, wide: float = 1.6) -> None:
    """A box with words around (x, y)."""
    patch = FancyBboxPatch((x - wide / 2, y - 0.35), wide, 0.7, "round,pad=0.05", fc="white", ec=color, lw=1.5)
    ax.add_patch(patch)
    ax.text(x, y, words, ha="center", va="center", fontsize=8)


def arrow(ax: Axes, start: tuple, end: tuple, color: str = "0.3", dash: str = "-") -> None:
    """From one place to another."""
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=10, color=color, ls=dash, lw=1.2))


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of boxes: axes without ticks whose unit is 0.55 inches."""
    fig, ((ax,),) = panels(1, 1, size=(0.55 * width, 0.55 * height))
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    return fig, ax


def deeponet_schematic() -> Figure:
    """Two networks and a product (Fed-DeepONet, Fig. 1)."""
    fig, ax = blank(12, 3)
    box(ax, 1.5, 2.2, "torque at m times\n$u(t_1), \\ldots, u(t_m)$", OTHERS[0], 2.6)
    box(ax, 1.5, 0.8, "a time $y$", OTHERS[0], 2.6)
    box(ax, 5, 2.2, "branch network\n50 numbers", COLORS["federated"], 2.4)
    box(ax, 5, 0.8, "trunk network\n50 numbers", COLORS["federated"], 2.4)
    box(ax, 8, 1.5, "product,\nsum, + b", "0.3", 1.7)
    box(ax, 10.8, 1.5, "angle\n$G_\\theta(u)(y)$", COLORS["truth"], 1.9)
    for start, end in (
        ((2.9, 2.2), (3.7, 2.2)), ((2.9, 0.8), (3.7, 0.8)), ((6.3, 2.2), (7.1, 1.7)), ((6.3, 0.8), (7.1, 1.3)),
        ((8.95, 1.5), (9.75, 1.5)),
    ):  # fmt: skip
        arrow(ax, start, end)
    return fig


def round_schematic() -> Figure:
    """A round of Algorithm 2: weights go to who is available, K steps of Adam at home, and the mean comes back."""
    fig, ax = blank(12, 4)
    box(ax, 1.4, 2, "server\n$\\theta$", COLORS["federated"], 1.5)
    box(ax, 10.4, 2, "server\n$\\theta \\leftarrow \\sum_c p_c\\, \\gamma^c$", COLORS["federated"], 2.2)
    for y, words, color in zip((3.4, 2.45, 0.6), ("client 1", "client 2", "client C"), CLIENTS, strict=False):
        silent = words == "client 2"
        steps = "silent in this round" if silent else "K steps of Adam, moments from 0"
        box(ax, 5.7, y, f"{words}: {steps}", "0.7" if silent else color, 4.6)
        if not silent:
            arrow(ax, (2.3, 2), (3.2, y), color)
            arrow(ax, (8.2, y), (9.1, 2), color)
    ax.text(5.7, 1.5, r"$\vdots$", ha="center", va="center")
    return fig


# results


def error_against_clients(results: Results) -> Figure:
    """Error (%) against C: client 1 alone, the federation, printed values, and one model with all triplets and
    everybody's work. At C = 1 one client has all triplets."""
    place = last(results.centralised).sel(work="same passes", drop=True).squeeze("level", drop=True)
    kinds = {"client 1 alone": last(results.alone), "federated": last(results.clients), "centralised": place}
    errors = joined(kinds, "kind").rename(None).assign_attrs(level="clients C, who share the same 10 000 examples")
    return curves({"": errors}, size=(6.0, 3.0), printed={"": {C: printed(f"table1.C{C}") for C in PRINTED}})


def answer(results: Results) -> Figure:
    """Error (%) of one client alone, of all together, and of one network with all triplets and then with everybody's
    work, too: a row each, dots are seeds, and a mark their median."""
    alone, together, place = (last(values) for values in (results.alone, results.clients, results.centralised))
    work = place.sel(work="same passes").squeeze("level")
    rows = {
        "one client alone, 500 examples": (alone.sel(level=TWENTY), "isolated"),
        "twenty together, 500 each": (together.sel(level=TWENTY), "federated"),
        "one client with all 10 000": (alone.sel(level=1), "isolated"),
        "all 10 000, and the work of all": (work, "centralised"),
    }
    fig, ((ax,),) = panels(1, 1, size=(6.6, 2.2))
    for y, (errors, role) in enumerate(rows.values()):
        middle = errors.median().item()
        ax.plot(errors, np.full(errors.size, y), "o", color=COLORS[role], alpha=0.3, ms=5, mew=0)
        ax.plot(middle, y, "|", color=COLORS[role], ms=20, mew=3)
        ax.text(middle, y - 0.32, in_percent(middle), ha="center", va="bottom")
    ax.set_yticks(range(len(rows)), [*rows])
    ax.set(xlabel="mean error (%)", xlim=(0, None), ylim=(len(rows) - 0.5, -0.8))
    return fig


def training(results: Results) -> Figure:
    """Left the training loss (rad^2), right the test error (%), both over the rounds (Fig. 2): Algorithm 1 at each of
    its rates, and Algorithm 2."""
    plain, C = results.algorithm_1, results.algorithm_1.level.item()
    ways = {f"Algorithm 1, SGD, rate {lr:g}": plain.sel(lr=lr, drop=True) for lr in plain.lr.values}
    both = joined(ways | {"Algorithm 2, Adam": results.clients.sel(level=[C])}, "way").squeeze("level", drop=True)
    colors = dict(zip(both.way.values, (*OTHERS[:2], COLORS["federated"]), strict=True))
    values = {"": both.loss.rename(loss_round="round").rename(None), " ": both.error.rename(None)}
    return curves(values, "round", "way", looks=lambda way: {"color": colors[way]}, size=(4.2, 2.7))


def tables(results: Results) -> Figure:
    """Tables 1 and 2: printed values and ours, and one model with all triplets, which does as many steps as a client,
    or as all who answer together."""
    clients, shares = last(results.clients), last(results.shares).squeeze("level", drop=True).drop_sel(share=VARIES)
    clients = clients.sel(level=[C for C in clients.level.values if C in PRINTED] or clients.level.values)
    shares = shares.rename(share="level").assign_coords(level=shares.share.astype(float).values)
    tables = {
        r"Table 1, $\alpha$ = 0.75": (clients, "clients C", "table1.C{}"),
        "Table 2, C = 20": (shares, r"participating share $\alpha$", "table2.a{}"),
    }
    central = last(results.centralised).squeeze("level", drop=True)
    places = {f"one place, {work}": central.sel(work=work, drop=True) for work in central.work.values}
    errors, values = {}, {}
    for title, (ours, level, id) in tables.items():
        errors[title] = joined({"federated": ours} | places, "kind").rename(None).assign_attrs(level=level)
        numbers = {place: id.format(f"{place if place > 1 else 100 * place:g}") for place in ours.level.values.tolist()}
        values[title] = {place: printed(number) for place, number in numbers.items()}
    return curves(errors, looks=PLACES.get, share=True, printed=values, size=(4.2, 2.7))


PLACES = {
    "federated": {"color": COLORS["federated"]},
    "one place, same steps": {"color": COLORS["centralised"], "marker": "d", "ls": "--"},
    "one place, same passes": {"color": COLORS["centralised"], "marker": "d"},
}


def printed(id: str) -> float:
    """The paper's value (%); NaN where it has none."""
    numbers = paper_numbers()
    return numbers[f"fed-deeponet.{id}"].value if f"fed-deeponet.{id}" in numbers else np.nan


def conventions(results: Results) -> Figure:
    """Error (%) of each unseen torque under each convention, and the printed values."""
    errors = last(results.conventions, "unseen").squeeze("level", drop=True).stack(convention=("time", "init"))
    places = [f"{time} {start}" for time, start in errors.convention.values]
    errors = errors.drop_vars(("convention", "time", "init")).assign_coords(convention=places)
    errors.convention.attrs["long_name"] = "times seen, and start"
    errors = errors.expand_dims(kind=["federated"]).rename(None)
    panels = {f"u = {torque}": errors.isel(i=i) for i, torque in enumerate(OUT_OF_DISTRIBUTION)}
    numbers = (printed(id) for id in ("fig4.t", "fig4.sin", "fig4.tsin"))
    values = {title: dict.fromkeys(places, number) for title, number in zip(panels, numbers, strict=True)}
    return curves(panels, "convention", looks=lambda kind: {"color": COLORS[kind], "ls": ""}, printed=values)
