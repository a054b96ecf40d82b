"""Maps of the unit square: what models of a function make of it, and where they err (Fig. 5C-E)."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ..notebook.style import panels


def error_maps(truth: np.ndarray, rows: Mapping[str, tuple[int, Mapping[str, np.ndarray]]]) -> Figure:
    """Fig. 5: left the function [n, n], then |model - f| of each model, all on one logarithmic scale.

    rows: title -> (slabs in x, {model: values [n, n]}), first index x. Dashed lines are the slabs' borders.
    """
    models = list(next(iter(rows.values()))[1])
    fig, axes = panels(len(rows), len(models) + 1, size=(7.8 / (len(models) + 1), 1.75), sharex=True, sharey=True)
    norm = LogNorm(1e-3, 1)
    for i, (row, (title, (slabs, fields))) in enumerate(zip(axes, rows.items(), strict=True)):
        function = picture(row[0], truth, slabs)
        row[0].set(ylabel=f"{title}\ny")
        for ax, name in zip(row[1:], models, strict=True):
            wrong = np.abs(fields[name] - truth)
            errors = picture(ax, np.maximum(wrong, 1e-3), slabs if slabs < 10 else 0, norm=norm, cmap="magma")
            relative = 100 * np.linalg.norm(wrong) / np.linalg.norm(truth)
            ax.set_title(f"{name}\n" * (not i) + f"{relative:.2g} %", fontsize=8)
    axes[0, 0].set_title("f(x, y)\n", fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("x")
    fig.colorbar(function, ax=axes[:, :1], location="left", shrink=0.8, aspect=30)
    fig.colorbar(errors, ax=axes[:, 1:], label="|model - f|", shrink=0.8, aspect=30)
    return fig


def picture(ax, values: np.ndarray, slabs: int, **how):
    """Values [n, n] on the unit square with the borders of slabs in x, thin where they are many."""
    image = ax.imshow(np.transpose(values), extent=(0, 1, 0, 1), origin="lower", **how)
    for border in np.arange(1, slabs) / slabs:
        ax.axvline(border, color="w", ls="--", lw=1 if slabs < 10 else 0.3)
    ax.set(xticks=(0, 1), yticks=(0, 1))
    return image


def kinds_of_difference(kinds: Mapping[str, tuple[str, Sequence[np.ndarray], float]], colors: Sequence[str]) -> Figure:
    """Table 1: kind -> (its equations, clouds of (x, y) [n, 2] of the clients, W1 of their x), a panel each."""
    fig, axes = panels(1, len(kinds), size=(7.8 / len(kinds), 2.5))
    for ax, (title, (equations, clouds, w1)) in zip(axes[0], kinds.items(), strict=True):
        for k, cloud in enumerate(clouds):
            ax.plot(*cloud.T, "o", ms=3, mew=0, alpha=0.6, color=colors[k], label=f"client {k + 1}")
        ax.set(xlabel=f"x\n$W_1$ of the inputs {w1:.2f}", xticks=(), yticks=())
        ax.set_title(f"{title}\n{equations}", fontsize=8)
    axes[0, 0].set_ylabel("y")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig
