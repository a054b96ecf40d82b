"""Figures of notebook 04 that no other room has; the others are ``notebook.pictures``."""

from collections.abc import Mapping

import ipywidgets
import numpy as np
import xarray
from matplotlib.figure import Figure

from ....federated.experiment import Experiment, data_of
from ....federated.history import History
from ....federated.partitions import checkerboard, hammersley, index_rule, slices
from ....federated.sweep import errors
from ....live.widgets import choice, explore, slider
from ....notebook.pictures import (
    Solved,
    alone_and_together,
    best_alone,
    clients_apart,
    divergence_of,
    legend_above,
    seeds_and_median,
    shade,
    stored_solutions,
    with_distance,
)
from ....notebook.style import CLIENTS, COLORS, MARKERS, around, log_axis, ordered, owners, panels
from ....numerics.heterogeneity import mean_pairwise_w1
from ....numerics.metrics import plus_minus
from ....streams import stream
from ....trainings.store import Call, calls_of, file_of, folder_of, levels_of, read_call
from ... import stored
from . import problem
from .problem import CLIENTS as ALL_K
from .problem import EARLIER, NOTEBOOK, distances, earlier_calls


def solution_figure(solutions: Solved, level: int) -> Figure:
    """What each client finds alone, and what both find together, over the pieces that they own."""
    return alone_and_together(solutions, level)


def solution_slider(solutions: Solved) -> ipywidgets.GridBox:
    """A slider over the number of pieces that was trained."""
    words = "two clients' fits, each right on its own pieces, and the one that they find together"
    pieces = slider([*solutions.models], min(solutions.models), "pieces")
    return explore(lambda pieces: solution_figure(solutions, pieces), words, pieces=pieces)


def half_waves(experiment: Experiment, level: int) -> Figure:
    """What is left of the curve without its polynomial, over the pieces of both clients."""
    fig, ((ax,),) = panels(1, 1, size=(5.8, 2.2))
    data = data_of(experiment, level)
    x, f = (data.pool[name].numpy() for name in ("x", "f"))
    shade(ax, x[:, 0], data.owners)
    fine = np.linspace(-1, 1, 1000)
    ax.plot(fine, -np.sin(10 * np.pi * fine) / (2 * fine + 3), color=COLORS["truth"], lw=1, label="its wave")
    for k, shard in enumerate(data.owners):
        wave = f[shard] - (x[shard, 0] + 0.5) ** 4
        ax.plot(x[shard, 0], wave, MARKERS[k], ms=3, mew=0, color=CLIENTS[k], label=f"client {k + 1} knows")
    ax.set(xlabel="x", ylabel="u(x) without (x + 1/2)⁴", xlim=(-1, 1), title=f"{level} pieces: half a wave each")
    fig.legend(loc="outside right center")
    return fig


# arrays


def arrays(calls: Mapping[str, Call], histories: Mapping[str, History]) -> tuple[dict, dict, dict]:
    """(experiments, errors [round, kind, level, seed], divergences [seed, level, matrix]) by name, of those that are
    trained at the two ends of their levels: of others nothing can be said yet.

    Kinds: of two clients each one alone; on blocks the best of those who are alone. calls: of ``trainings``.
    """
    experiments, errors, divergences = {}, {}, {}
    for name in ("line", "slabs/coded", "slabs/printed", *(f"blocks/{K} clients" for K in ALL_K)):
        levels = levels_of(histories[name]) if name in histories else []
        if not {min(calls[name].levels), max(calls[name].levels)} <= {*levels}:
            continue
        experiments[name] = calls[name].experiment()
        errors[name] = errors_of(name, calls[name], histories[name])
        if name in ("line", "slabs/coded"):
            divergence = divergence_of(experiments[name], histories[name], levels)
            distance = dict(zip(levels, errors[name].distance.values, strict=True))
            divergences[name] = with_distance(divergence, experiments[name], distance)
    return experiments, with_central(errors), divergences


def errors_of(name: str, call: Call, history: History) -> xarray.DataArray:
    """Errors (%) [round, kind, level, seed] with the clients' distance along the levels."""
    levels, experiment = levels_of(history), call.experiment()
    errors = clients_apart(history).sel(level=levels)
    if name.startswith("blocks"):
        errors, experiment = best_alone(errors), experiment._replace(name=f"{name.split('/')[1]} on blocks")
    return with_distance(errors, experiment, distances(call, levels))


def earlier() -> dict[str, xarray.DataArray]:
    """What the earlier run had: errors of Schaffer's function, as of ``arrays``."""
    path, errors = file_of(folder_of(NOTEBOOK), "earlier"), {}
    for name, call in earlier_calls().items():
        history, _ = read_call(call, path)
        of = errors_of(name, call, history)
        errors[name + EARLIER] = of.rename(f"{of.name}{EARLIER}")
    return with_central(errors)


def with_central(errors: Mapping[str, xarray.DataArray]) -> dict[str, xarray.DataArray]:
    """The errors; on blocks with the centralised model, which is one for all numbers of clients."""
    whole = dict(errors)
    for two in [name for name in errors if name.startswith("blocks/2")]:
        central = errors[two].sel(kind=["centralised"]).drop_vars("distance")
        for K in ALL_K[1:]:
            if (name := two.replace("2", str(K), 1)) in errors:
                of = errors[name]
                at_these = central.reindex(level=of.level, seed=of.seed).assign_coords(distance=of.distance)
                whole[name] = xarray.concat([of, at_these], "kind").rename(of.name).assign_attrs(of.attrs)
    return whole


def solutions(experiments: Mapping[str, Experiment], histories: Mapping[str, History]) -> dict[str, Solved]:
    """What the models of the first seed say, by name; those on blocks are not kept."""
    return {n: stored_solutions(histories[n], of) for n, of in experiments.items() if not n.startswith("blocks")}


def tried(histories: Mapping[str, History], what: str) -> dict[str, xarray.DataArray]:
    """Federated errors (%) [level, seed] of the variants of a training, "what_if" or "fall"."""
    return {
        name.split("/")[1]: at_the_end(history) for name, history in histories.items() if name.startswith(f"{what}/")
    }


def at_the_end(history: History) -> xarray.DataArray:
    """Federated errors (%) [level, seed]."""
    return errors(history).sel(kind="federated").isel(round=-1, drop=True)


def fall(histories: Mapping[str, History]) -> dict[str, xarray.DataArray]:
    """Federated errors (%) [level, seed] of what could make Schaffer's error fall, at two levels; first as it is."""
    variants = tried(histories, "fall")
    if not variants or "slabs/coded" not in histories:
        return variants
    first = next(iter(variants.values()))
    as_above = at_the_end(histories["slabs/coded"], "slabs n").reindex(level=first.level, seed=first.seed)
    return {"as above": as_above, **variants}


def stored_fall() -> dict[str, xarray.DataArray]:
    """``fall`` of what is stored at the paper's settings."""
    names = [name for name in calls_of(problem) if name.startswith("fall/") or name == "slabs/coded"]
    return fall({name: stored(NOTEBOOK, name) for name in names})


FALL_HEADER = ("what changes", "seeds", "2 slabs, error (%)", "50 slabs", "fall")


def fall_rows(tried: Mapping[str, xarray.DataArray]) -> list[list[str]]:
    """Rows of FALL_HEADER: errors as mean ± st.dev. over seeds, and the ratio of the means at both ends."""
    rows = []
    for name, errors in tried.items():
        ends = [errors.sel(level=pick(errors.level.values)).dropna("seed").values for pick in (min, max)]
        cells = [plus_minus(of, 2) for of in ends]
        rows.append([name, str(len(ends[0])), *cells, f"{ends[0].mean() / ends[1].mean():.1f}"])
    return rows


# who owns what, and how far apart (Table 1, Fig. 2)


def kinds(n: int = 60) -> dict[str, tuple[str, list[np.ndarray], float]]:
    """Table 1: kind -> (what is equal and what is not, clouds of (x, y) [n, 2] of two clients, W1 of their x).

    Two of the four ways to differ are about places x, two about what is measured there.
    """
    rng = stream(0, "kinds of heterogeneity")
    x, noise = np.sort(rng.uniform(-1, 1, (2, n)), 1), 0.08 * rng.standard_normal((2, n))
    label = np.arange(n) % 2 > 0  # a class for each point: half and half
    few, most = np.arange(n) % 5 == 0, np.arange(n) % 5 > 0
    shift = np.array([[0.0], [0.8]])
    ways = {
        "covariance shift": (r"$P(x)$ differs, $P(y|x)$ does not", (x - 1) / 2 + [[0], [1]], None),
        "prior probability shift": (r"$P(y)$ differs, $P(x|y)$ does not", None, np.stack([few, most])),
        "concept drift": (r"$P(x|y)$ differs, $P(y)$ does not", None, np.stack([label, label])),
        "concept shift": (r"$P(y|x)$ differs, $P(x)$ does not", np.stack([x[0], x[0]]), None),
    }
    table = {}
    for kind, (words, places, classes) in ways.items():
        if classes is not None:  # two classes, at x about -1/2 and 1/2
            places = classes - 0.5 + 2 * noise + (0.35 * shift if kind == "concept drift" else 0)
            y = classes + noise[::-1] / 2
        else:
            y = np.sin(3 * places) + noise + (shift if kind == "concept shift" else 0)
        clouds = [np.stack([a, b], 1) for a, b in zip(places, y, strict=True)]
        table[kind] = words, clouds, mean_pairwise_w1([cloud[:, :1] for cloud in clouds])
    return table


def four_kinds() -> Figure:
    """Table 1 as pictures."""
    table = kinds()
    fig, axes = panels(1, len(table), size=(2.1, 2.4))
    for ax, (title, (equations, clouds, w1)) in zip(axes[0], table.items(), strict=True):
        for k, cloud in enumerate(clouds):
            ax.plot(*cloud.T, MARKERS[k], ms=3, mew=0, alpha=0.6, color=CLIENTS[k], label=f"client {k + 1}")
        ax.set(xlabel=f"x\n$W_1$ of the inputs {w1:.2f}", xticks=(), yticks=())
        ax.set_title(f"{title}\n{equations}", fontsize=8)
    axes[0, 0].set_ylabel("y")
    legend_above(fig, axes[0, 0], 2)
    return fig


def partition(method: str, clients: int, blocks: int, points: np.ndarray) -> list[np.ndarray]:
    """Clouds of the clients: "x", so many slabs each, or "xy", blocks x blocks of a checkerboard."""
    x, y = points.T
    shards = slices(x, 0, 1, clients, blocks) if method == "x" else checkerboard(x, y, (0, 1), clients, blocks)
    return [points[shard] for shard in shards]


def partitions(n: int = 500) -> Figure:
    """Fig. 2B to D: slabs and checkerboards of n points."""
    shown = [("x", 2, 2), ("x", 3, 2), *(("xy", K, 4) for K in ALL_K)]
    fig, axes = panels(1, len(shown), size=(1.35, 1.9), sharey=True)
    for ax, (method, K, blocks) in zip(axes[0], shown, strict=True):
        owners(partition(method, K, blocks, hammersley(n)), ax)
        ax.set(xlabel="x", xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=(0, 1), yticks=(0, 1))
        ax.set_title(f"{method} method\n{K} clients")
    axes[0, 0].set_ylabel("y")
    return fig


def draw_partition(method: str, clients: int, blocks: int) -> Figure:
    """400 points of the unit square in the colours of their owners, and how far apart these are."""
    clouds = partition(method, clients, blocks, hammersley(400))
    fig, ((ax,),) = panels(size=(6.4, 3.4))
    for k, cloud in enumerate(clouds):
        ax.plot(*cloud.T, "o", ms=4, mew=0, color=CLIENTS[k], label=f"client {k + 1}: {len(cloud)} points")
    ax.set(xlabel="x", ylabel="y", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_title(f"mean pairwise $W_1$ = {mean_pairwise_w1(clouds):.3f}")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside right center")
    return fig


def partition_explorer() -> ipywidgets.GridBox:
    """Partitions of the square."""
    return explore(
        draw_partition,
        "points of the unit square in the colours of the clients that own them",
        method=choice(["xy", "x"]),
        clients=slider([2, 3, 4, 5], 2, "clients K"),
        blocks=slider(range(1, 13), 4),
    )


def w1_by_method(n_line: int = 200, n_square: int = 500) -> dict[str, tuple[str, dict[int, tuple]]]:
    """W1 against levels: method -> (name of the levels, {K: (levels, W1, closed form)}).

    Closed forms are those of continuous uniform pieces: h (K + 1) / 3 for slabs of width h, on a line of length 2 or
    in x; h / 3 for blocks of side h and two clients (NaN for more).
    """
    on_line, points = np.linspace(-1, 1, n_line)[:, None], hammersley(n_square)
    names = {
        "line [-1, 1]": "subdomains n",
        "square, x method": "slabs n",
        "square, xy method": "blocks per axis s",
    }
    methods = {title: (name, {}) for title, name in names.items()}
    line, slabs, blocks = (of for _, of in methods.values())
    p, s = np.array([1, 2, 3, 5, 10, 20]), np.array([3, 4, 6, 8, 11])
    for K in ALL_K:
        q, few = p[p * K <= n_line], p[p <= 10]
        of_line = [mean_pairwise_w1([on_line[shard] for shard in index_rule(n_line, K, i)]) for i in q]
        line[K] = q * K, of_line, 2 * (K + 1) / (3 * q * K)
        of_slabs = [mean_pairwise_w1(partition("x", K, i, points)) for i in few]
        slabs[K] = few * K, of_slabs, (K + 1) / (3 * few * K)
        closed = 1 / (3 * s) if K == 2 else np.full(len(s), np.nan)
        blocks[K] = s, [mean_pairwise_w1(partition("xy", K, i, points)) for i in s], closed
    return methods


def w1_curves(methods: Mapping[str, tuple[str, Mapping[int, tuple]]]) -> Figure:
    """Fig. 2: W1 over levels, as of ``w1_by_method``; the closed form is dotted."""
    fig, axes = panels(1, len(methods), size=(2.6, 2.6))
    for ax, (title, (label, of_K)) in zip(axes[0], methods.items(), strict=True):
        for (K, (levels, values, closed)), style in zip(of_K.items(), ordered(len(of_K)), strict=True):
            ax.plot(levels, values, ms=4, label=f"K = {K}", **style)
            ax.plot(levels, closed, ":", color=style["color"], lw=1)
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
        ax.set(xlabel=label, title=title)
    axes[0, 0].set_ylabel("mean pairwise $W_1$")
    legend_above(fig, axes[0, 0], 4)
    return fig


# Fig. 6D, Theorem 3.1, Fig. 3


def federations(errors: Mapping[str, xarray.DataArray]) -> Figure:
    """Fig. 6D: federated errors (%) of 2 to 5 clients on the same blocks, from few blocks to many."""
    fig, ((ax,),) = panels(1, 1, size=(4.2, 2.8))
    on_blocks = {name: of.isel(round=-1) for name, of in errors.items() if name.startswith("blocks/")}
    for (name, of), style in zip(on_blocks.items(), ordered(len(on_blocks)), strict=True):
        values = of.sel(kind="federated").transpose("seed", "level").values
        seeds_and_median(ax, of.level, values, name.split("/")[1].split(",")[0], **style)
    values = of.sel(kind="centralised").transpose("seed", "level").values
    seeds_and_median(ax, of.level, values, "centralised", color=COLORS["centralised"], marker="d")
    log_axis(ax.xaxis)
    log_axis(ax.yaxis)
    levels = of.level.values.tolist()
    ax.set_xticks(levels, levels)
    ax.set(xlabel="blocks per axis s", ylabel="error (%)")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside right center")
    return fig


def bound(theorem: xarray.Dataset) -> Figure:
    """Theorem 3.1: measured distances of the models (solid), a panel each, below the bound (dotted)."""
    fig, axes = panels(1, theorem.sizes["level"], size=(3.4, 2.6), sharey=True)
    drawn = theorem.sel(E=[E for E in theorem.E.values if E > 1])
    for ax, level in zip(axes[0], theorem.level.values, strict=True):
        for E, style in zip(drawn.E.values, ordered(drawn.sizes["E"]), strict=True):
            ax.plot(drawn["rounds"], drawn.distance.sel(E=E, level=level), ms=4, label=f"E = {E}", **style)
            ax.plot(drawn["rounds"], drawn.bound.sel(E=E), ":", **style, ms=3)
        log_axis(ax.xaxis)
        ax.set(xlabel="rounds l", yscale="log", title=f"{level} subdomains")
    axes[0, 0].set_ylabel(r"$\|\theta_{fed} - \theta_{central}\|$")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center", title="dotted: bound")
    return fig


SERVER = {"color": COLORS["federated"], "lw": 2}
CENTRAL = {"color": COLORS["centralised"], "ls": "--", "lw": 1.5}


def near(ax, steps: np.ndarray, server: np.ndarray, share: np.ndarray, central: np.ndarray | None = None) -> None:
    """The local steps [n, K, E + 1, 2] of rounds from the server's model on, and their means [n + 1, 2]."""
    for r, of_round in enumerate(steps):
        for k, path in enumerate(of_round):
            name = f"_{k}" if r else f"client {k + 1}, each step"
            ax.plot(*path.T, marker=".", color=CLIENTS[k % len(CLIENTS)], label=name)
            ax.plot(*np.stack([path[-1], server[r + 1]]).T, ":", lw=1, color="0.5", label="_mean")
    if central is not None:
        ax.plot(*central.T, marker=".", **CENTRAL, label="centralised")
    ax.plot(*server.T, marker="o", ms=5, **SERVER, label="server")
    ax.set(xlabel=f"PC 1 ({share[0]:.0%})", ylabel=f"PC 2 ({share[1]:.0%})")


def far(ax, of: xarray.Dataset, moments: int | None = None) -> None:
    """The whole training of one level; moments: so many of its rounds, the rest faint."""
    for path, style, name in ((of.central, CENTRAL, "centralised"), (of.server, SERVER, "server")):
        ax.plot(*path.values.T, **style | {"alpha": 0.2, "label": f"_{name}"})
        now = path.values[: None if moments is None else moments + 1]
        ax.plot(*now.T, **style, label=name)
        ax.plot(*now[-1], "o", ms=6, color=style["color"], label="_now")
    ax.plot(*of.server.values[0], "k*", ms=9, label="start")
    ax.set(xlabel=f"PC 1 ({of.share.values[0]:.0%})", ylabel=f"PC 2 ({of.share.values[1]:.0%})")


def paths(walks: xarray.Dataset) -> Figure:
    """Fig. 3: the first two rounds at the coarsest partition, the whole training at every one, and the distance."""
    levels = walks.level.values
    fig, axes = panels(1, len(levels) + 2, size=(2.5, 2.7))
    first, last = walks.sel(level=levels[0]), axes[0, -1]
    arrays = (first[name].values for name in ("first_steps", "first_server", "first_share", "first_central"))
    near(axes[0, 0], *arrays)
    axes[0, 0].set_title(f"the first rounds, {levels[0]} subdomains")
    for ax, level, ls, marker in zip(axes[0, 1:-1], levels, ("-", "--"), "os", strict=False):
        of = walks.sel(level=level)
        far(ax, of)
        ax.set_title(f"{of['round'].values[-1]} rounds, {level} subdomains")
        last.plot(of["round"], of.distance, ls=ls, marker=marker, ms=3, color=COLORS["federated"],
                  label=f"{level} subdomains")  # fmt: skip
    last.set(xlabel="round $l$", ylabel=r"$|\theta_{fed} - \theta_{central}|$", title="how far apart")
    log_axis(last.xaxis)
    last.legend(loc="upper left")
    steps, whole = (ax.get_legend_handles_labels() for ax in axes[0, :2])
    fig.legend(*(steps[i] + whole[i][-1:] for i in (0, 1)), loc="outside upper center", ncols=5)
    return fig


def one_round(walks: xarray.Dataset, subdomains: int, round: int) -> Figure:
    """One step of the slider: left the training so far, right this round magnified."""
    of = walks.sel(level=subdomains)
    i = int(np.searchsorted(of["round"].values, round))
    fig, ((left, right),) = panels(1, 2, size=(3.7, 3.1))
    far(left, of, i + 1)
    steps, mean = of.steps.values[i], of["mean"].values[i]
    near(right, steps[None], np.stack([0 * mean, mean]), of.near_share.values[i])
    limits = around(steps, mean)
    right.set(xlim=limits, ylim=limits, title=f"round {round}, magnified")
    left.set_title(f"up to round {round}: {of.distance.values[i]:.3g} apart")
    close, whole = (ax.get_legend_handles_labels() for ax in (right, left))
    fig.legend(*(close[i][:-1] + whole[i] for i in (0, 1)), loc="outside upper center", ncols=3)
    return fig


def paths_explorer(walks: xarray.Dataset) -> ipywidgets.GridBox:
    """Fig. 3 with a slider for the round."""
    rounds, levels = walks["round"].values.tolist(), walks.level.values.tolist()
    return explore(
        lambda subdomains, round: one_round(walks, subdomains, round),
        "left the paths of server and centralised model up to a round, right the clients' local steps in it",
        subdomains=slider(levels, levels[0]),
        round=slider(rounds, rounds[len(rounds) // 2]),
    )
