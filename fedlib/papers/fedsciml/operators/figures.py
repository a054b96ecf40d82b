"""Pictures of notebook 07: who knows which functions, errors and weights against it, and single functions."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from ....federated.stack import predict
from ....notebook.pictures import label_in_words, style_of
from ....notebook.style import CLIENTS, COLORS, OTHERS, log_axis, panels
from ....notebook.verdicts import paper_numbers
from ....numerics.metrics import in_percent, percent, plus_minus
from ....numerics.solutions import antiderivative
from ....numerics.spaces import TERMS, chebyshev_series, support
from .problem import SUPPORTS, TITLES, draws, known_terms, learn
from .study import JUMP, LINE

INPUT = "0.45"  # the colour of an input, which is nobody's
X = np.linspace(0, 1, 101)
MIXED = (0.5, -0.4, 0.3, 0, 0, 0.6, 0, 0, -0.3, 0)
"""Coefficients of a function that mixes the first and the last terms; the piece begins with it, too."""

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
        look = style_of(label) | {"marker": None, "lw": 1.7}
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


def cover() -> xarray.DataArray:
    """How many of the ten terms somebody knows, and how many both of two clients [whose, level]."""
    axes = {"whose": ["known to somebody", "known to both"], "level": range(1, TERMS + 1)}
    values = xarray.DataArray([*known_terms()], axes, [*axes], attrs={"long_name": "terms", "scale": "linear"})
    values["level"].attrs = {"scale": "linear"}
    return values.assign_attrs(level="terms that each client knows, n")


def whose(label: str) -> dict:
    """Colour of a label of ``cover``."""
    return {"color": OTHERS[0 if label.endswith("both") else 2], "lw": 2.5}


# errors against what the clients know


def printed_errors() -> dict[int, float]:
    """The federated errors (%) that the paper prints, of the antiderivative: n -> %."""
    return {n: paper_numbers()[f"fedsciml.antiderivative.n{n}"].value for n in JUMP}


def jump_figure(last: xarray.DataArray, printed: Mapping[int, float]) -> Figure:
    """Errors (%) [kind, level, seed] at the levels of JUMP: a line for each seed, a thick one through the medians; left
    of the federation, right of one model with all functions."""
    fig, axes = panels(1, 2, size=(2.9, 2.8), sharey=True)
    for ax, kind in zip(axes[0], ("federated", "centralised"), strict=True):
        values = last.sel(kind=kind, level=[*JUMP]).dropna("seed").transpose("level", "seed").values
        ax.plot([0, 1], values, "o-", ms=3, mew=0, lw=0.8, alpha=0.35, color=COLORS[kind])
        ax.plot([0, 1], np.median(values, 1), "o-", ms=6, lw=2.5, color=COLORS[kind], label=f"{kind}, median")
        ax.set(xticks=(0, 1), xticklabels=[f"n = {n}" for n in JUMP], xlim=(-0.4, 1.4), ylabel="error (%)")
        ax.set_title(f"{kind}, {values.shape[1]} starts")
        ax.label_outer()
    squares = {"ms": 7, "mfc": "none", "color": COLORS["paper"], "label": "printed"}
    axes[0, 0].plot([0, 1], [printed[n] for n in JUMP], "s", **squares)
    for ax in axes[0]:
        ax.legend(loc="lower left")
    log_axis(axes[0, 0].yaxis)
    return fig


def of_two_and_three(last: Mapping[str, xarray.DataArray]) -> xarray.DataArray:
    """Fig. 14C: errors (%) of Burgers [clients, level, seed], of federations of two and of three clients, and of one
    model with the same functions."""
    rows = {f"{K} clients, {kind}": last[f"burgers_{K}"].sel(kind=kind, drop=True)
            for kind in ("federated", "centralised") for K in (2, 3)
            if kind in last[f"burgers_{K}"].kind}  # fmt: skip
    return xarray.concat(rows.values(), xarray.Variable("clients", [*rows]), join="outer").rename("Burgers")


def look_of_two_and_three(label: str) -> dict:
    """Colour and marker of a label of ``of_two_and_three``."""
    role = "centralised" if label.endswith("centralised") else "federated"
    return {"color": COLORS[role]} | ({"marker": "o"} if label.startswith("2") else {"marker": "^", "ls": "--"})


# single functions

SHOWN = {LINE: 6, "burgers_2": 5}
"""Operator -> level n of the example that has a picture."""


def field(ax: Axes, u: np.ndarray, top: float, title: str) -> None:
    """A field u(x, t) [a, b] as a picture, from -top to top."""
    look = {"cmap": "RdBu_r", "vmin": -top, "vmax": top}
    ax.figure.colorbar(ax.imshow(u.T, origin="lower", extent=(0, 1, 0, 1), aspect="auto", **look), ax=ax)
    ax.set(xlabel="x", ylabel="t", title=title)


def example_figure(example: xarray.Dataset, title: str) -> Figure:
    """One function, its image, and what models say of it, or how far they are off; of ``study.example``."""
    gaps = {model: f"{model}: {in_percent(e)}" for model, e in example.error.to_series().items()}
    if example.sizes["place"] == example.sizes["x"]:
        fig, ((left, right),) = panels(1, 2, size=(3.6, 2.7))
        draw_answers(right, example.x, example.truth.values, {name: example.u.sel(model=name).values for name in gaps})
        right.set(xlabel="x", title="u(x)")
        fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    else:
        shown = ["federated", *(model for model in gaps if model.endswith("alone"))]
        fig, ((left, middle, right), below) = panels(2, len(shown), size=(2.9, 2.6))
        truth, answers = (values.values.reshape(-1, 101, 101) for values in (example.truth, example.u.sel(model=shown)))
        for ax, u, words in ((middle, truth[0], "u(x, t)"), (right, answers[0], "as the federation says it")):
            field(ax, u, np.abs(truth).max(), words)
        off = dict(zip(shown, np.abs(answers - truth), strict=True))
        look = {"cmap": "magma", "vmin": 0, "vmax": max(map(np.max, off.values()))}
        for ax, model in zip(below, shown, strict=True):
            picture = ax.imshow(off[model].T, origin="lower", extent=(0, 1, 0, 1), aspect="auto", **look)
            ax.set(xlabel="x", ylabel="t", title=gaps[model])
        fig.colorbar(picture, ax=below, label="|error|")
    left.plot(example.x, example.v, color=INPUT)
    left.set(xlabel="x", title="input v(x)")
    fig.suptitle(title, fontsize=10)
    return fig


# tables


def level_rows(values: Mapping[str, xarray.DataArray], hue: str) -> list[list[str]]:
    """Errors (%) [hue, level, seed] of each operator at n = 1 to 10: a row for each of hue, mean and st.dev. over
    seeds."""
    rows = []
    for named in values.values():
        for one in named.transpose(hue, "level", "seed").reindex(level=range(1, TERMS + 1)):
            seeds = [some[np.isfinite(some)] for some in one.values]
            cells = [plus_minus(some, 2 if some.mean() < 10 else 1) if len(some) else "" for some in seeds]
            rows.append([f"{named.name}, {label_in_words(named[hue], one[hue].item())}", *cells])
    return rows


EXAMPLE_HEADER = ["example", "federated", "client 1 alone", "client 2 alone"]


def example_rows(examples: Mapping[tuple[str, int], xarray.Dataset]) -> list[list[str]]:
    """Errors of each example."""
    return [
        [f"{TITLES[name]}, n = {n}", *map(in_percent, one.error.sel(model=EXAMPLE_HEADER[1:]).values)]
        for (name, n), one in examples.items()
    ]


def as_table(values: xarray.DataArray) -> dict:
    """Labels of each axis, and values with None for what is not there: as a result file keeps them."""
    labels = {axis: values[axis].values.tolist() for axis in values.dims}
    return labels | {"values": np.where(np.isfinite(values.values), values.values, None).tolist()}
