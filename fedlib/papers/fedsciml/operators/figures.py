"""Pictures of notebook 07: who knows which functions, errors and weights against it, and single functions."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from ....federated.stack import predict
from ....notebook.pictures import in_legend, legend_above, matrix_styles, panels_of, seeds_and_median, style_of
from ....notebook.style import CLIENTS, COLORS, log_axis, ordered, panels
from ....notebook.verdicts import paper_numbers
from ....numerics.metrics import in_percent, percent, plus_minus
from ....numerics.solutions import antiderivative, burgers, diffusion_reaction
from ....numerics.spaces import TERMS, chebyshev_series, fourier_series, support
from .problem import SUPPORTS, TITLES, draws, known_terms, learn
from .study import LINE, Results

INPUT = "0.45"  # the colour of an input, which is nobody's
X = np.linspace(0, 1, 101)
MIXED = (0.5, -0.4, 0.3, 0, 0, 0.6, 0, 0, -0.3, 0)
"""Coefficients of a function that mixes the first and the last terms; the piece begins with it, too."""

PANELS = {LINE: "Fig. 12A", "burgers_2": "Fig. 14A", "burgers_3": "Fig. 14B"}
N_LABEL = "terms that each client knows, n"


def titled(name: str, steps: int | None = None) -> str:
    """An operator, the paper's panel of it, and after how many local steps."""
    panel = f" ({PANELS[name]})" if name in PANELS else ""
    return TITLES[name] + panel + (f", T = {thousands(steps)}" if steps else "")


def thousands(steps: int) -> str:
    """50000 -> "50 000"."""
    return f"{steps:,}".replace(",", " ")


def error_axis(axis) -> None:
    """Of errors (%): logarithmic, or from 0 where they are nearly alike."""
    low, high = axis.get_data_interval()
    if high < 3 * low:
        axis.axes.set(**{f"{axis.axis_name}lim": (0, 1.1 * high)})
        return axis.set_major_locator(MaxNLocator(5))
    log_errors(axis)


def log_errors(axis) -> None:
    """A logarithmic axis with 0.1, 1, 10, 100, not powers of ten."""
    log_axis(axis)
    if np.divide(*axis.get_view_interval()[::-1]) >= 50:
        axis.set_major_formatter("{x:g}")


def level_axis(ax: Axes, title: str, ylabel: str = "error (%)") -> None:
    """The paper's axes: errors over the number of terms."""
    ax.set(xlabel=N_LABEL, ylabel=ylabel, title=title, xlim=(0.5, TERMS + 0.5), xticks=range(1, TERMS + 1))
    error_axis(ax.yaxis)


def all_above(fig: Figure, axes: Iterable[Axes], columns: int) -> None:
    """One legend of what any of the panels has."""
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(handles.values(), handles, loc="outside upper center", ncols=columns)


# who knows what


def terms(ax: Axes, c: np.ndarray, n: int) -> None:
    """Bars of the coefficients c [TERMS], and squares below the terms that each of two clients knows at level n."""
    ax.bar(range(TERMS), c, color=INPUT)
    for k, kind in enumerate(("forward", "inverse")):
        indices = np.arange(TERMS)[support(kind, n)]
        ax.plot(
            indices, np.full(len(indices), -1.25 - 0.25 * k), "s", ms=6, color=CLIENTS[k], label=f"client {k + 1} knows"
        )
    ax.set(xlabel="term", xlim=(-0.7, TERMS - 0.3), ylim=(-1.7, 1.1), xticks=range(TERMS))
    ax.set_yticks([-1.5, -1.25, 0, 1], ["client 2", "client 1", "0", "1"])
    ax.axhline(0, color="0.6", lw=0.6)


def draw_answers(ax: Axes, x: np.ndarray, truth: np.ndarray, answers: Mapping[str, np.ndarray]) -> None:
    """The truth [a], and what models say of it, label -> [a], with their errors."""
    ax.plot(x, truth, color=COLORS["truth"], lw=4, alpha=0.3, label="truth")
    for label, u in answers.items():
        look = {key: value for key, value in style_of(label).items() if key != "marker"} | {"lw": 1.7}
        ax.plot(x, u, label=f"{label}: {in_percent(percent(u, truth))}", **look)


def answer_figure(models: Mapping[str, Tensor], n: int, c: Sequence[float] = MIXED) -> Figure:
    """A function of ten terms, which of them each client knows, and its antiderivative as the models of level n say it,
    label -> parameters [P]."""
    c, operator = np.array(c, float), learn(LINE)
    x, y = operator.points[:, 0], torch.as_tensor(operator.points).float()
    v, truth = chebyshev_series(c[None], x), antiderivative(c[None], x)[0]
    fig, ((left, middle, right),) = panels(1, 3, size=(2.9, 2.6))
    left.plot(x, v[0], color=INPUT)
    left.set(xlabel="x", title="the function v")
    terms(middle, c, n)
    middle.set_title(f"its terms; who knows them, n = {n}")
    inputs = torch.as_tensor(v).float(), y
    draw_answers(
        right, x, truth, {name: predict(operator.net(), row, *inputs)[0].numpy() for name, row in models.items()}
    )
    right.set(xlabel="x", title="its antiderivative u, and who is off by how much")
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def inputs_figure(seed: int, levels: Sequence[int] = (2, 6, 10), count: int = 3) -> Figure:
    """Fig. 2E: some inputs of three clients, a row for each n, a column for each kind of SUPPORTS."""
    fig, axes = panels(len(levels), len(SUPPORTS), size=(2.7, 1.5), sharex=True, sharey=True)
    colors = dict(zip(("forward", "inverse", "middle"), CLIENTS, strict=False))
    words = {"forward": "the first n terms", "middle": "n in the middle", "inverse": "the last n"}
    for row, n in zip(axes, levels, strict=True):
        for ax, kind in zip(row, SUPPORTS, strict=True):
            ax.plot(X, chebyshev_series(draws(kind, n, count, seed), X).T, color=colors[kind], lw=1.2)
            ax.set(ylim=(-4.2, 4.2))
        row[0].set_ylabel(f"n = {n}")
    for ax, kind in zip(axes[0], SUPPORTS, strict=True):
        ax.set_title(words[kind])
    for ax in axes[-1]:
        ax.set_xlabel("x")
    return fig


def cover_figure() -> Figure:
    """How many of the ten terms somebody knows, and how many both of two clients know, against n."""
    fig, ((ax,),) = panels(1, 1, size=(3.6, 2.4))
    for count, color, label in zip(known_terms(), ("federated", "other"), ("by somebody", "by both"), strict=True):
        ax.plot(range(1, TERMS + 1), count, "o-", ms=4, lw=2, color=COLORS[color], label=label)
    ax.set(xlabel=N_LABEL, ylabel="terms known", xticks=range(1, TERMS + 1), yticks=range(0, 11, 2))
    legend_above(fig, ax, 2)
    return fig


# what the operators do


def field(ax: Axes, u: np.ndarray, title: str, **style) -> None:
    """A field u(x, t) [a, b] as a picture, symmetric around 0."""
    top = np.abs(u).max()
    look = {"cmap": "RdBu_r", "vmin": -top, "vmax": top} | style
    ax.figure.colorbar(ax.imshow(u.T, origin="lower", extent=(0, 1, 0, 1), aspect="auto", **look), ax=ax)
    ax.set(xlabel="x", ylabel="t", title=title)


def reacted(c: np.ndarray) -> np.ndarray:
    """Diffusion-reaction for inputs c [n, TERMS] on the whole grid [n, 101, 101]."""
    return diffusion_reaction(lambda x: chebyshev_series(c, x), X)


def solutions_figure(c: np.ndarray, waves: np.ndarray, nu: float) -> Figure:
    """An input of coefficients c [1, TERMS] and what the three operators make of it; Burgers of a Fourier input [1, 2,
    J], which has no jump, too."""
    v = chebyshev_series(c, X)
    fig, axes = panels(1, 5, size=(2.1, 2.1))
    first, second, *rest = axes[0]
    first.plot(X, v[0], color=INPUT)
    first.set(xlabel="x", title="input v(x)")
    second.plot(X, antiderivative(c, X)[0], color=COLORS["truth"])
    second.set(xlabel="x", title="antiderivative u(x)")
    clean = fourier_series(waves, X, (0, np.pi / 2))
    fields = {"diffusion-reaction": reacted(c), "Burgers": burgers(v[:, :-1], nu)}
    fields["Burgers, Fourier input"] = burgers(clean[:, :-1], nu)
    for ax, (title, u) in zip(rest, fields.items(), strict=True):
        field(ax, u[0], title)
    return fig


# errors against what the clients know


def draw_errors(ax: Axes, last: xarray.DataArray, kinds: Sequence[str] = ()) -> None:
    """Errors (%) [kind, level, seed] against n: every seed a dot, and lines through medians."""
    for kind in kinds or last.kind.values:
        values = last.sel(kind=kind).dropna("level", how="all")
        seeds_and_median(ax, values.level, values.transpose("seed", "level").values, in_legend(kind), **style_of(kind))


def printed_marks(ax: Axes, printed: Mapping[int, float]) -> None:
    """What the paper prints: n -> error (%)."""
    ax.plot([*printed], [*printed.values()], "s", ms=7, mfc="none", color=COLORS["paper"], label="printed, federated")


def printed_errors() -> dict[int, float]:
    """The federated errors (%) that the paper prints, of the antiderivative: n -> %."""
    return {n: paper_numbers()[f"fedsciml.antiderivative.n{n}"].value for n in (5, 6)}


def error_figure(
    last: Mapping[str, xarray.DataArray], steps: Mapping[str, int], printed: Mapping[int, float]
) -> Figure:
    """Figs. 12A, 14A, 14B: errors (%) [kind, level, seed] against n, a panel for each operator. printed: of the
    antiderivative's federation, n -> %."""
    fig, axes = panels_of([*last], (5.4, 3.2) if len(last) == 1 else (3.4, 2.9), 2 if len(last) in (2, 4) else 3)
    for name, ax in axes.items():
        draw_errors(ax, last[name])
        if name == LINE:
            printed_marks(ax, printed)
        level_axis(ax, titled(name, steps[name]))
    all_above(fig, axes.values(), 3)
    return fig


def jump_figure(last: xarray.DataArray, levels: tuple[int, int] = (5, 6), printed: Mapping[int, float] = {}) -> Figure:
    """Errors (%) [kind, level, seed] at two levels: a line for each seed, a thick one through the medians; left of the
    federation, right of one model with all functions."""
    fig, axes = panels(1, 2, size=(2.9, 2.8), sharey=True)
    for ax, kind in zip(axes[0], ("federated", "centralised"), strict=True):
        values = last.sel(kind=kind, level=[*levels]).dropna("seed").transpose("level", "seed").values
        ax.plot([0, 1], values, "o-", ms=3, mew=0, lw=0.8, alpha=0.35, color=COLORS[kind], label="_seeds")
        ax.plot([0, 1], np.median(values, 1), "o-", ms=6, lw=2.5, color=COLORS[kind], label=f"{kind}, median")
        ax.set(xticks=(0, 1), xticklabels=[f"n = {n}" for n in levels], xlim=(-0.4, 1.4), ylabel="error (%)")
        ax.set_title(f"{in_legend(kind)}, {values.shape[1]} starts")
        ax.label_outer()
    if {*levels} <= {*printed}:
        axes[0, 0].plot(
            [0, 1], [printed[n] for n in levels], "s", ms=7, mfc="none", color=COLORS["paper"], label="printed"
        )
    error_axis(axes[0, 0].yaxis)
    all_above(fig, axes[0], 3)
    return fig


def clients_figure(last: Mapping[str, xarray.DataArray]) -> Figure:
    """Fig. 14C: federations of two and of three clients, and the centralised models of the same functions."""
    fig, ((ax,),) = panels(1, 1, size=(4.4, 2.8))
    for name, color, marker, K in (("burgers_2", "federated", "o", 2), ("burgers_3", "other", "^", 3)):
        values = last[name].sel(kind="federated").dropna("level", how="all").transpose("seed", "level")
        look = {"color": COLORS[color], "marker": marker, "lw": 2.5}
        seeds_and_median(ax, values.level, values.values, f"{K} clients", **look)
        if "centralised" in last[name].kind and np.isfinite(top := last[name].sel(kind="centralised")[-1].median()):
            look = {"ls": "--" if K == 2 else ":", "lw": 1.5, "color": COLORS["centralised"]}
            ax.axhline(top, label=f"centralised, functions of {K} clients", **look)
    level_axis(ax, "Burgers, federated (Fig. 14C)")
    legend_above(fig, ax, 2)
    return fig


# weights


def divergence_figure(divergences: Mapping[str, xarray.DataArray], apart: xarray.DataArray | None) -> Figure:
    """Fig. 12B: relative divergence [seed, level, matrix] of the weights against n; hollow: of the antiderivative's
    clients that start apart."""
    fig, axes = panels_of([*divergences], (3.6, 2.8))
    deepest = max(divergences, key=lambda name: divergences[name].sizes["matrix"])
    looks = dict(zip(names := divergences[deepest].matrix.values.tolist(), matrix_styles(len(names)), strict=True))
    for name, ax in axes.items():
        for matrix in divergences[name].transpose("matrix", "seed", "level"):
            look = looks[matrix.matrix.item()] | {"ls": "-" if matrix.matrix.item().startswith("branch") else "--"}
            seeds_and_median(ax, matrix.level, matrix.values, matrix.matrix.item(), **look)
            if name == LINE and apart is not None:
                far = apart.sel(matrix=matrix.matrix.item()).median("seed")
                ax.plot(far.level, far, look["marker"], ms=8, mfc="none", color=look["color"], label="_apart")
        level_axis(ax, f"{TITLES[name]} (Fig. 12B)" if name == LINE else TITLES[name], "relative divergence")
    if apart is not None and LINE in axes:
        axes[LINE].plot([], [], "s", ms=8, mfc="none", color="0.4", label="started apart")
    all_above(fig, axes.values(), 4)
    return fig


# local steps


def local_steps_figure(local: Mapping[tuple[str, int], xarray.DataArray]) -> Figure:
    """Fig. 15: federated errors (%) [E, level, seed] against n, the paper's axis, and against E; at most six lines."""
    fig, axes = panels(len(local), 2, size=(3.9, 2.7))
    for row, ((name, T), values) in zip(axes, local.items(), strict=True):
        letter = {LINE: " (Fig. 15A)", "diffusion_reaction": " (Fig. 15B)"}.get(name, "")
        for ax, along, other, word in zip(row, ("level", "E"), ("E", "level"), ("E", "n"), strict=True):
            tried = values.dropna(other, how="all")
            full = tried.notnull().any("seed").sum(along)
            some = tried.isel({other: np.sort(np.argsort(-full.values, kind="stable")[:6])})
            for one, look in zip(some.transpose(other, "seed", along), ordered(some.sizes[other]), strict=True):
                one = one.dropna(along, how="all")
                seeds_and_median(ax, one[along], one.values, f"{word} = {one[other].item()}", lw=1.2, **look)
            ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        level_axis(row[0], f"{TITLES[name]}{letter}, T = {thousands(T)}")
        row[0].set_xticks(values.level.values)
        row[1].set(xlabel="local steps E between two averages", ylabel="error (%)", xscale="log")
        row[1].set_xticks(values.E.values, map(str, values.E.values), fontsize=7, rotation=45)
        row[1].set_xticks([], minor=True)
        error_axis(row[1].yaxis)
    return fig


# single functions


def among_all(ax: Axes, error: xarray.DataArray) -> None:
    """A dot for each function and client: its error (%) [model, function] alone against the federation's; the first
    function is a star."""
    together = error.sel(model="federated").values
    alone = [model for model in error.model.values if model.endswith("alone")]
    for model in alone:
        errors_alone, color = error.sel(model=model).values, style_of(model)["color"]
        ax.plot(errors_alone, together, "o", ms=2.5, mew=0, alpha=0.25, color=color, rasterized=True)
        ax.plot(errors_alone[0], together[0], "*", ms=11, mec="black", mew=0.7, color=color)
    both = error.sel(model=["federated", *alone]).values
    limits = both.min() / 1.3, both.max() * 1.3
    ax.plot(limits, limits, color="0.6", lw=1, zorder=0)
    ax.set(xscale="log", yscale="log", xlim=limits, ylim=limits, xlabel="error of a client alone (%)")
    ax.set(ylabel="error of the federation (%)", title=f"{len(together)} functions; star: this one")
    for axis in (ax.xaxis, ax.yaxis):
        log_errors(axis)
    paper = {"facecolor": "white", "alpha": 0.7, "lw": 0, "pad": 1}
    ax.text(0.97, 0.03, "federation better", transform=ax.transAxes, ha="right", fontsize=7, color="0.3", bbox=paper)
    ax.text(0.03, 0.93, "client better", transform=ax.transAxes, fontsize=7, color="0.3", bbox=paper)


def example_figure(example: xarray.Dataset, title: str) -> Figure:
    """One function, its image and what models say of it, and the errors of all test functions; of ``study.example``."""
    gaps = {model: f"{model}: {in_percent(e)}" for model, e in example.error[:, 0].to_series().items()}
    if example.sizes["place"] == example.sizes["x"]:
        fig, ((left, middle, right),) = panels(1, 3, size=(2.9, 2.7))
        draw_answers(middle, example.x, example.truth.values, {name: example.u.sel(model=name).values for name in gaps})
        middle.set(xlabel="x", title="u(x)")
        fig.legend(*middle.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    else:
        shown = ["federated", *(model for model in gaps if model.endswith("alone"))]
        fig, axes = panels(2, len(shown), size=(2.9, 2.6))
        (left, middle, right, *rest), below = axes
        for ax in rest:
            ax.remove()
        truth = example.truth.values.reshape(101, 101)
        field(middle, truth, "u(x, t)")
        off = {model: np.abs(example.u.sel(model=model).values.reshape(101, 101) - truth) for model in gaps}
        top = max(off[model].max() for model in shown)
        for ax, model in zip(below, shown, strict=True):
            picture = ax.imshow(off[model].T, cmap="magma", vmin=0, vmax=top, origin="lower", extent=(0, 1, 0, 1),
                                aspect="auto")  # fmt: skip
            ax.set(xlabel="x", ylabel="t", title=gaps[model])
        fig.colorbar(picture, ax=below, label="|error|")
    left.plot(example.x, example.v, color=INPUT)
    left.set(xlabel="x", title="input v(x)")
    among_all(right, example.error)
    fig.suptitle(title, fontsize=10)
    return fig


# tables


def level_rows(results: Results, levels: Sequence[int] = range(1, TERMS + 1)) -> list[list[str]]:
    """Errors (%) of all models at all levels, mean and st.dev. over seeds."""
    rows = []
    for name, last in results.last.items():
        for kind in last.kind.values:
            row = last.sel(kind=kind)
            cells = [number(row.sel(level=n).dropna("seed").values) if n in row.level.values else "" for n in levels]
            rows.append([f"{TITLES[name]}, {kind}", *cells])
    return rows


def fewer_rows(results: Results, levels: Sequence[int]) -> list[list[str]]:
    """Federated errors (%) at some levels after fewer steps and after more, of operators that are trained with both."""
    rows = []
    for name in dict.fromkeys(name for name, _ in results.fewer):
        every = {T: e[-1] for (one, T), e in results.fewer.items() if one == name}
        for T, last in sorted((every | {results.steps[name]: results.last[name]}).items()):
            federated = last.sel(kind="federated").reindex(level=[*levels])
            cells = [number(federated.sel(level=n).dropna("seed").values) for n in levels]
            rows.append([f"{TITLES[name]}, T = {thousands(T)}", *cells])
    return rows


def number(values: np.ndarray) -> str:
    """Errors (%), one per seed, as text."""
    return plus_minus(values, 2 if np.mean(values) < 10 else 1) if len(values) else ""


def example_rows(examples: Mapping[tuple[str, int], xarray.Dataset]) -> list[list[str]]:
    """Errors of each example, and at how many of all functions the federation is better than each client, and all."""
    rows = []
    for (name, n), one in examples.items():
        alone = one.error.sel(model=[model for model in one.model.values if model.endswith("alone")])
        better = one.error.sel(model="federated") < alone
        shares = [*better.mean("function").values, better.all("model").mean("function").item()]
        errors = one.error[:, 0].sel(model=["federated", "client 1 alone", "client 2 alone"]).values
        cells = [*map(in_percent, errors), f"{shares[0]:.0%}", f"{shares[1]:.0%}", f"{shares[-1]:.0%}"]
        rows.append([f"{TITLES[name]}, n = {n}", *cells, str(one.sizes["function"])])
    return rows


EXAMPLE_HEADER = ["example", "federated", "client 1", "client 2", "beats client 1", "client 2", "all", "of functions"]


def local_rows(local: Mapping[tuple[str, int], xarray.DataArray], levels: Sequence[int]) -> list[list[str]]:
    """Errors (%) for each number of local steps between two averages, mean and st.dev. over seeds."""
    return [
        [f"{TITLES[name]}, T = {T}, E = {one.E.item()}"]
        + [number(one.sel(level=n).dropna("seed").values) if n in one.level.values else "" for n in levels]
        for (name, T), values in local.items()
        for one in values.transpose("E", "level", "seed")
    ]


def as_table(values: xarray.DataArray) -> dict:
    """Labels of each axis, and values with None for what is not there: as a result file keeps them."""
    labels = {axis: values[axis].values.tolist() for axis in values.dims}
    return labels | {"values": np.where(np.isfinite(values.values), values.values, None).tolist()}
