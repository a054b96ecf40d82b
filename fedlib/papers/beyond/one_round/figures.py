"""Figures of notebook 13: error against rounds, bytes and levels; four problems; error bars; what sums tell."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import ipywidgets
import numpy as np
import xarray
from matplotlib.figure import Figure

from ....federated.history import History
from ....federated.rules import RULES
from ....federated.sweep import errors
from ....live.widgets import explore, slider
from ....notebook.pictures import seeds_and_median
from ....notebook.run import committed
from ....notebook.style import CLIENTS, COLORS, panels
from ....trainings.profiles import FIGURES
from ....trainings.store import calls_of
from ... import stored
from . import problem
from .problem import RULES as BEST

TITLES = {"poisson": "Poisson", "helmholtz": "Helmholtz"}
IN_WORDS = {"poisson": "{} pieces", "helmholtz": "{0} x {0} blocks"}
SINGLE = {"poisson": 3e-6, "helmholtz": 2.3e-5}
"""Error (%) of the exact solution itself: the stored test values have single precision, and nothing below is seen."""

SUMS = COLORS["centralised"]  # what sums give is the centralised solution


class Way(NamedTuple):
    """A way to learn together. error (%) [round, level, seed]; bytes [round, level] that a client has sent by then, of
    one round also for the features that cross-validation did not choose."""

    label: str
    error: xarray.DataArray
    bytes: xarray.DataArray
    style: dict


def ways(name: str, results: Mapping[str, History | xarray.Dataset]) -> list[Way]:
    """What there is of an equation: FedAvg as notebook 05 has it; FedAvg and the best rule of notebook 11, each at its
    best rate of every level; Gauss-Newton on the same network; one round."""
    printed = stored("05_pinn_forward", name)
    blue, P = COLORS["federated"], printed.theta.shape[1]
    error = errors(printed).sel(kind="federated", drop=True)
    made = [way("FedAvg, as printed", error, P, {"color": blue, "marker": "o", "mfc": "w", "ms": 4, "ls": ":"})]
    looks = {"FedAvg": {"color": blue, "marker": "o", "ms": 4}}
    looks[BEST[name]] = {"color": COLORS["light"], "marker": "s", "ms": 4, "lw": 2.5}
    for rule, look in looks.items():
        label = "FedAvg, best rate" if rule == "FedAvg" else "best rule"
        sent = P * RULES[rule].optimizer(RULES[rule].knobs[0]).sent
        if (error := trained(name, rule, results)) is not None:
            made.append(way(label, error, sent, look))
    if f"newton_{name}" in results:
        newton = results[f"newton_{name}"]
        style = {"color": COLORS["other"], "lw": 2.5}
        made.append(Way("Gauss-Newton", newton.error, newton.bytes.isel(seed=0, drop=True), style))
    once = results[f"one_round_{name}"]
    sent = xarray.DataArray([problem.bytes_of_all(name, n, once) for n in once.level.values], {"level": once.level})
    of_one = (values.expand_dims("round").assign_coords(round=[1]) for values in (once.error, sent))
    made.append(Way("one round of sums", *of_one, {"color": SUMS, "marker": "*", "ms": 13, "ls": ""}))
    return made


def way(label: str, error: xarray.DataArray, sent: int, style: dict) -> Way:
    """Of a training in which a client sends so many numbers of single precision in a round."""
    size = 4.0 * sent * error["round"] * xarray.ones_like(error.isel(round=0, seed=0, drop=True))
    return Way(label, error.transpose("round", "level", "seed"), size, style)


def trained(name: str, rule: str, results: Mapping[str, History | xarray.Dataset]) -> xarray.DataArray | None:
    """Error of a rule at its best rate of each level that has all rates, by validation points; Helmholtz' on 4 x 4
    blocks as notebook 11 has it, at the end."""
    error, of = None, [h for key, h in results.items() if key.startswith(f"rules_{name}/{rule}, ")]
    if of:
        metrics = [
            xarray.concat([errors(h, what).sel(kind="federated", drop=True) for h in of], "rate")
            for what in ("validation error", "error")
        ]
        score = metrics[0].isel(round=-1, drop=True).median("seed").fillna(np.inf)
        error = metrics[1].isel(rate=score.argmin("rate"), drop=True).sel(level=np.isfinite(score).all("rate"))
    if name == "helmholtz" and (error is None or 4 not in error.level):
        values = committed("11_client_drift", "blocks")["metrics"]["error_percent"]["Helmholtz, 4 x 4 blocks"][rule]
        coords = {"round": [2000], "level": [4], "seed": np.arange(len(values))}
        last = xarray.DataArray(np.array(values)[None, None], coords, [*coords])
        error = last if error is None else xarray.concat([error, last], "level", join="outer").sortby("level")
    return error


def race(of: Mapping[str, list[Way]], levels: Mapping[str, int]) -> Figure:
    """Error against rounds, and against what a client sends, of each equation at a level; medians over seeds."""
    fig, axes = panels(len(of), 2, size=(3.6, 2.4))
    for (left, right), (name, ways) in zip(axes, of.items(), strict=True):
        absent = []
        for way in ways:
            if levels[name] not in way.error.level:
                absent.append(way.label)
                continue
            error = way.error.sel(level=levels[name]).median("seed")
            left.plot(error["round"], error, label=way.label, **way.style)
            right.plot(way.bytes.sel(level=levels[name]) / 1e6, error, **way.style)
        left.set(xlabel="round", ylabel="error (%)", ylim=(SINGLE[name] / 3, 300))
        right.set(xlabel="MB sent by a client", ylim=left.get_ylim())
        for ax in (left, right):
            ax.set(xscale="log", yscale="log")
            ax.axhline(SINGLE[name], color="0.6", lw=1, ls=":")
        left.set_xlim(0.8, 3e3)
        right.set_xlim(1e-3, 300)
        left.text(2.5e3, 1.6 * SINGLE[name], "all digits that the test has", fontsize=7, color="0.4", ha="right")
        if absent:
            words = "\n".join(["not trained here:", *absent])
            left.text(0.03, 0.5, words, fontsize=7, color="0.4", va="center", transform=left.transAxes)
        left.set_title(f"{TITLES[name]}, {IN_WORDS[name].format(levels[name])}")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


def stored_ways(name: str) -> list[Way]:
    """All ways of an equation, as the paper profile has them."""
    names = (f"rules_{name}/", f"newton_{name}", f"one_round_{name}")
    return ways(name, {of: stored(problem.NOTEBOOK, of) for of in calls_of(problem) if of.startswith(names)})


def solution_slider() -> ipywidgets.VBox:
    """A slider over the levels of each equation, before what is stored."""
    controls, of = {}, {name: stored_ways(name) for name in TITLES}
    for name, ways in of.items():
        levels = ways[-1].error.level.values.tolist()
        words = {"poisson": "pieces of Poisson", "helmholtz": "blocks of Helmholtz"}[name]
        controls[name] = slider(levels, {"poisson": 8, "helmholtz": 4}[name], words)
    words = "error against rounds and against megabytes: FedAvg, the best rule, Gauss-Newton, and one round of sums"
    return explore(lambda **levels: race(of, levels), words, **controls)


def against_level(of: Mapping[str, list[Way]]) -> Figure:
    """Errors at the end against the level; dots are seeds, lines medians."""
    fig, axes = panels(1, len(of), size=(3.7, 2.8))
    for ax, (name, ways) in zip(axes[0], of.items(), strict=True):
        for way in ways:
            last = way.error.isel(round=-1).transpose("seed", "level")
            style = {"marker": "D"} | {k: v for k, v in way.style.items() if k in ("color", "marker", "mfc")}
            dash = ":" if "mfc" in style else "-"
            seeds_and_median(ax, last.level.values, last.values, way.label, ls=dash, **style)
        levels = ways[-1].error.level.values
        ax.set(xscale="log", yscale="log", xlabel={"poisson": "pieces", "helmholtz": "blocks per axis"}[name])
        ax.set_xticks(levels, levels)
        ax.minorticks_off()
        ax.axhline(SINGLE[name], color="0.6", lw=1, ls=":")
        ax.set(title=TITLES[name], ylabel="error (%)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return fig


# four problems


class Place(NamedTuple):
    """An error (%) of a problem [seeds], by whom, and in how many rounds."""

    problem: str
    way: str
    error: np.ndarray
    rounds: int
    bytes: float  # that a client sends up, in all; of sums also for the features that were not chosen
    seconds: float | None = None


def places(results: Mapping[str, History | xarray.Dataset]) -> list[Place]:
    """Every problem by every way that is there: ours from this run, those of networks as stored by their notebooks."""
    of = []
    for name, level in (("poisson", 8), ("helmholtz", 4)):
        if f"one_round_{name}" not in results:
            continue
        title = f"{TITLES[name]}, {IN_WORDS[name].format(level)}"
        for way in ways(name, results):
            if level in way.error.level:
                last = way.error.sel(level=level).isel(round=-1)
                seconds = None
                if way.label == "one round of sums":
                    seconds = float(results[f"one_round_{name}"].seconds.sel(level=level).mean())
                sent = float(way.bytes.sel(level=level).isel(round=-1))
                of.append(Place(title, way.label, last.values.ravel(), int(way.error["round"][-1]), sent, seconds))
    whole = committed("05_pinn_forward")["metrics"]["error_percent"]["allen_cahn_2"]
    network = 4.0 * 8577
    of.append(
        Place("Allen-Cahn, 2 pieces", "FedAvg, as printed", np.array(whole["federated"])[:, 0], 10_000, 1e4 * network)
    )
    if "allen_cahn" in results:
        best = chosen(results["allen_cahn"], ("waves", "degree"))
        rounds, seconds = (float(best[what]) for what in ("rounds", "seconds"))
        sent = float(results["allen_cahn"].bytes.sum())
        label = "sums, in windows of time"
        of.append(Place("Allen-Cahn, 2 pieces", label, best.error.values.ravel(), int(rounds), sent, seconds))
    pendulum = committed("01_pendulum")["metrics"]["mean_error_percent"]
    title, network = "pendulum's operator, 20 clients", 4.0 * 10_251
    of.append(Place(title, "FedAvg, best rate", np.array(pendulum["alpha=1.0"]), 20, 20 * network))
    of.append(Place(title, "all data in one place", np.array(pendulum["centralised, same passes"]), 0, 0.0))
    if "pendulum" in results:
        best = chosen(results["pendulum"], ("inputs", "degree"))
        sent, seconds = float(results["pendulum"].bytes.mean("seed").sum()), float(best.seconds.mean())
        of.append(Place(title, "one round of sums", best.error.values.ravel(), 1, sent, seconds))
    return of


def tried_rows(results: Mapping[str, History | xarray.Dataset]) -> list[list[str]]:
    """All features that were tried: problem, what, score by cross-validation, error (%); medians over seeds."""
    rows = []
    axes = {"one_round_poisson": ("m", "scale"), "one_round_helmholtz": ("m", "scale"),
            "allen_cahn": ("waves", "degree"), "pendulum": ("inputs", "degree")}  # fmt: skip
    for name, (a, b) in axes.items():
        if name not in results:
            continue
        of = results[name]
        errors = of.error_of_all if "error_of_all" in of else of.error
        for i, j in np.ndindex(of.sizes[a], of.sizes[b]):
            at = {a: i, b: j}
            score, error = (float(np.median(values.isel(at))) for values in (of.gcv, errors))
            best = all(int(k) == at[axis] for axis, k in least(of, (a, b)).items())
            words = f"{a} {of[a].values[i]}, {b} {of[b].values[j]:g}" + " (chosen)" * best
            rows.append(
                [
                    name.replace("one_round_", ""),
                    words,
                    f"{score:.1e}",
                    f"{error:.2g}" if error > 0.1 else f"{error:.1e}",
                ]
            )
    return rows


def least(tried: xarray.Dataset, axes: Sequence[str]) -> dict[str, xarray.DataArray]:
    """Where the median over seeds of the cross-validation score has its minimum."""
    gcv = tried.gcv.median("seed") if "seed" in tried.gcv.dims else tried.gcv
    return gcv.argmin(axes)


def chosen(tried: xarray.Dataset, axes: Sequence[str]) -> xarray.Dataset:
    """Of all features that were tried those with the least cross-validation score, the median over seeds."""
    return tried.isel(least(tried, axes))


def four_problems(of: Sequence[Place]) -> Figure:
    """A row for each problem: the error of every way, seeds small, medians large."""
    problems = [*dict.fromkeys(place.problem for place in of)]
    fig, ((ax,),) = panels(1, 1, size=(8.0, 0.75 * len(problems) + 1))
    blue, grey = COLORS["federated"], "0.4"
    colors = {"FedAvg, as printed": blue, "FedAvg, best rate": blue, "best rule": COLORS["light"],
              "Gauss-Newton": COLORS["other"], "all data in one place": grey}  # fmt: skip
    shapes = {"FedAvg, as printed": "v", "FedAvg, best rate": "o", "best rule": "s", "Gauss-Newton": "D",
              "all data in one place": "d"}  # fmt: skip
    for place in of:
        y = -problems.index(place.problem)
        others = [np.median(other.error) for other in of if other.problem == place.problem]
        color, marker = colors.get(place.way, SUMS), shapes.get(place.way, "*")
        ax.plot(place.error, np.full(len(place.error), y), "|", ms=7, color=color, alpha=0.5)
        large = 13 if marker == "*" else 7
        ax.plot(np.median(place.error), y, marker, ms=large, color=color)
        words = f"{place.rounds} round{'s' * (place.rounds != 1)}" if place.rounds else "one network"
        above = -15 if sorted(others).index(np.median(place.error)) % 2 else 9  # in turn, for neighbours are near
        ax.annotate(words, (np.median(place.error), y), (0, above), textcoords="offset points", ha="center", fontsize=7)
    for way in dict.fromkeys(place.way.replace(", in windows of time", "") for place in of):
        label = "sums" if way.startswith(("one round", "sums")) else way
        ax.plot([], [], shapes.get(way, "*"), color=colors.get(way, SUMS), label=label)
    handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    fig.legend(handles.values(), handles, loc="outside upper center", ncols=6, columnspacing=1)
    ax.set_yticks([-i for i in range(len(problems))], problems)
    ax.set(xscale="log", xlabel="error (%)", ylim=(-len(problems) + 0.4, 0.6))
    return fig


PLACES = ("problem", "how", "error (%), median", "smallest to largest", "seeds", "rounds", "MB a client sends", "CPU s")


def place_rows(of: Sequence[Place]) -> list[list[str]]:
    """Rows of PLACES."""
    return [
        [
            place.problem, place.way, f"{np.median(place.error):.2g}",
            f"{place.error.min():.2g} to {place.error.max():.2g}", str(len(place.error)), str(place.rounds or "-"),
            f"{place.bytes / 1e6:.3g}" if place.bytes else "-", f"{place.seconds:.2g}" if place.seconds else "-",
        ]
        for place in of
    ]  # fmt: skip


MESSAGES = ("on NVIDIA FLARE", "rounds", "messages", "kB down", "kB up", "error (%)")


def message_rows() -> list[list[str]]:
    """Rows of MESSAGES, as tools/sums_on_machines.py has counted them: all sites, of Poisson in four pieces."""
    counts = json.loads((FIGURES / problem.NOTEBOOK / "machines.json").read_text(encoding="utf-8"))["flare"]
    return [
        [
            way, f"{of['rounds']:,}", f"{of['messages']:,}", *(f"{of[what] / 1000:,.1f}" for what in ("down", "up")),
            f"{of['error']:.1g}",
        ]
        for way, of in counts.items()
    ]  # fmt: skip


# error bars; the last layer


def bars(of: xarray.Dataset, sigma: float = 0.1) -> Figure:
    """The noisy curve with its band, magnified, and what a new observation's band covers for each client."""
    fig, ((left, right),) = panels(1, 2, size=(3.6, 2.6))
    first = of.isel(seed=0)
    off, band = first["mean"] - np.sin(first.x), 2 * first.spread
    left.fill_between(first.x, off - band, off + band, color=SUMS, alpha=0.25, lw=0, label="mean ± 2 st.dev.")
    left.plot(first.x, off, color=SUMS, label="mean of the sums")
    left.axhline(0, color=COLORS["truth"], lw=1, label="the curve")
    left.set(xlabel="x", ylabel="difference from the curve")
    left.legend(fontsize=7)
    clients = np.arange(1, of.sizes["client"] + 1)
    right.plot(clients, 100 * of.coverage.mean("seed"), ".", color=SUMS, label="sums, each client's own tenth")
    network = committed("08_stochastic_regression")["metrics"]["one_d"]["non-IID 110, energy"]["coverage"]
    right.axhline(100 * np.mean(network), color=COLORS["federated"], label="FedStNN's network, mean of all")
    right.axhline(95.4, color="0.5", ls=":", label="95.4, as it should be")
    right.set(xlabel="client", ylabel="inside its band (%)", ylim=(93, 97))
    right.legend(fontsize=7)
    return fig


def heads(of: Mapping[str, xarray.Dataset]) -> Figure:
    """Error of federated networks before and after one exact round for the last layer, against the level."""
    fig, axes = panels(1, len(of), size=(3.4, 2.6))
    for ax, (name, both) in zip(axes[0], of.items(), strict=True):
        for what, color, marker in (("before", COLORS["federated"], "o"), ("after", SUMS, "*")):
            values = both[what].transpose("seed", "level").values
            label = {"before": "FedAvg, as printed", "after": "then one round for the last layer"}[what]
            seeds_and_median(ax, both.level.values, values, label, color=color, marker=marker)
        ax.set(xscale="log", yscale="log", title=TITLES[name], ylabel="error (%)")
        ax.set_xticks(both.level.values, both.level.values)
        ax.minorticks_off()
        ax.set_xlabel({"poisson": "pieces", "helmholtz": "blocks per axis"}[name])
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


# what sums tell


def told(leak: xarray.Dataset) -> Figure:
    """Error of the solution, and how far the attack on its sums is off, against the number of sines; see
    ``problem.points_of_sums``. Dots are seeds, lines medians; hollow: fewer independent products than points."""
    fig, ((left, right),) = panels(1, 2, size=(3.7, 2.7))
    seeds_and_median(left, leak.m.values, leak.error.values.T, "", color=SUMS, marker="D")
    left.set(ylabel="error (%)", title="what few sines cost")
    looks = {"one client": (0.96, CLIENTS[0], "o", "one client's sums"), "total": (1, SUMS, "D", "the total of both"),
             "total, random": (1.04, COLORS["other"], "s", "a total of random points")}  # fmt: skip
    for n, (sums, (aside, color, marker, words)) in zip(leak.points, looks.items(), strict=True):
        m, off = aside * leak.m, leak.off.sel(sums=sums)
        right.plot(m, off.median("seed"), color=color, lw=1)
        right.plot(m, off.where(leak.products >= n), marker, ms=4, color=color)
        right.plot(m, off.where(leak.products < n), marker, ms=4, color=color, mfc="w")
        right.plot([], [], marker, ms=4, color=color, label=f"{words}: {n} points")
    right.plot([], [], "o", ms=4, color="0.4", mfc="w", label="fewer products than points")
    right.set(ylabel="worst point off by", title="what the server makes of it", ylim=(1e-15, 1e9))
    right.legend(fontsize=7, loc="upper right")
    for ax in (left, right):
        ax.set(xscale="log", yscale="log", xlabel="sines")
        ax.set_xticks(leak.m.values, leak.m.values, fontsize=8)
        ax.minorticks_off()
    right.set_yticks([1e-15, 1e-10, 1e-5, 1])
    return fig
