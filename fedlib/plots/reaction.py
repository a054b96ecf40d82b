"""Pictures of the unknown reaction rate: what is known of u and k, and what the models make of them."""

from collections.abc import Mapping, Sequence
from itertools import product

import ipywidgets
import numpy as np
from matplotlib.figure import Figure

from ..federated.history import History
from ..live.widgets import explore, slider
from ..notebook.style import CLIENTS, COLORS, panels
from ..numerics.heterogeneity import mean_pairwise_w1
from ..numerics.metrics import percent
from ..numerics.solutions import reaction_rate
from ..problems.reaction import KINDS, weak


def data_view(
    truth: Mapping[str, np.ndarray], observed: Mapping[str, np.ndarray], own: Sequence[np.ndarray], version: str
) -> Figure:  # fmt: skip
    """The problem: u with the clients' observations, and k, which nobody observes, beside the other version of it.

    Args:
        truth: {"x" [n, 1], "u" [n], "k" [n]}; observed: {"x" [N, 1], "u" [N]}; own: index array of each client;
        version: of k.
    """
    fig, ((left, right),) = panels(1, 2, size=(3.9, 2.7))
    x, other = truth["x"][:, 0], "code" if version == "paper" else "paper"
    left.plot(x, truth["u"], color=COLORS["truth"], label="u")
    for j, shard in enumerate(own):
        left.plot(observed["x"][shard, 0], observed["u"][shard], "o", ms=5, color=CLIENTS[j], label=f"client {j + 1}")
    right.plot(x, truth["k"], color=COLORS["truth"], label=f"k, {version}")
    right.plot(x, reaction_rate(x, other), ":", color="0.4", lw=2, label=f"k, {other}")
    for ax, name, label in ((left, "u", None), (right, "k", "|u| < 20 % of its peak")):
        of_panel = {"transform": ax.get_xaxis_transform(), "color": "0.9", "lw": 0}
        ax.fill_between(x, 0, 1, where=weak(truth["u"]), label=label, **of_panel)
        ax.set(xlabel="x", ylabel=name)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=3)
    return fig


def reaction_view(
    x: np.ndarray, truth: Mapping[str, np.ndarray], models: Mapping[str, Mapping[str, np.ndarray]],
    clouds: Sequence[np.ndarray], titles: tuple[str, str] = ("u", "k"),
) -> Figure:  # fmt: skip
    """u and k of some models, and who observes u where.

    Args:
        x [n]; truth: {"u": [n], "k": [n]}; models: label -> the same; the label starts with "isolated", "federated" or
            "centralised". clouds: each client's observation points. titles: of the two panels.
    """
    fig, ((left, right),) = panels(1, 2, size=(4.2, 2.6))
    for ax, name in ((left, "u"), (right, "k")):
        ax.plot(x, truth[name], color=COLORS["truth"], lw=2.5, alpha=0.5, label="truth")
        for j, (label, fields) in enumerate(models.items()):
            kind = label.split()[0]
            dash = ("--", ":")[j % 2] if kind == "isolated" else "-"
            error = ", ".join(f"e({m}) = {error_text(fields[m], truth[m])} %" for m in "uk")
            ax.plot(x, fields[name], color=COLORS[kind], ls=dash, lw=1.5, label=f"{label}: {error}")
        spread = np.ptp(truth[name])
        ax.set(xlabel="x", ylabel=name)
        ax.set_ylim(truth[name].min() - 0.4 * spread, truth[name].max() + 0.4 * spread)
    for k, own in enumerate(clouds):
        left.plot(own, np.full(len(own), 0.05 * (k + 1)), "|", ms=8, mew=2, color=CLIENTS[k], clip_on=False,
                  transform=left.get_xaxis_transform())  # fmt: skip
    fig.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    left.set_title(titles[0])
    right.set_title(titles[1])
    return fig


def error_text(prediction: np.ndarray, truth: np.ndarray) -> str:
    """Relative error in % with three digits: 1.07, 5420."""
    return f"{float(f'{percent(prediction, truth):.3g}'):g}"


def trained_fields(history: History, seed: int) -> dict[int, dict]:
    """What ``draw_reaction`` takes, of a history of ``federations``: n -> label -> {"rounds" [V], "u", "k" [V, x]}."""
    found = {n: {} for n in history.labels("n") if n is not None}
    for n, kind in product(found, KINDS):
        of = dict(kind=kind, n=None if kind == "centralised" else n, seed=seed)
        u, k = (history.metric(name, **of).transpose("client", "round", ...).values for name in "uk")
        for j in range(len(u) if kind == "isolated" else 1):
            label = f"isolated client {j + 1}" if kind == "isolated" else kind
            found[n][label] = {"rounds": history.rounds, "u": u[j], "k": k[j]}
    return found


def draw_reaction(x, truth, xk, shards, histories: Mapping[int, Mapping], n: int, at: int = -1) -> Figure:
    """The picture of ``reaction_view`` for n subdomains at the at-th recorded round.

    Args:
        xk [points]; shards: n -> index array of each client. histories: n -> label -> {"rounds" [V], "u", "k" [V, x]}.
    """
    models = {label: {name: history[name][at] for name in "uk"} for label, history in histories[n].items()}
    r = next(iter(histories[n].values()))["rounds"][at]
    clouds = [xk[own] for own in shards[n]]
    titles = f"{n} subdomains, $W_1$ = {mean_pairwise_w1(clouds):.3f}", f"after round {r}"
    return reaction_view(x, truth, models, clouds, titles)


def reaction_explorer(x, truth, xk, shards, histories: Mapping[int, Mapping]) -> ipywidgets.GridBox:
    """Pick a partition and scrub through its training; arguments as of ``draw_reaction``."""
    rounds = next(iter(next(iter(histories.values())).values()))["rounds"]
    return explore(
        lambda n, moment: draw_reaction(x, truth, xk, shards, histories, n, rounds.index(moment)),
        "left u, right the reaction rate k: truth, clients alone, federation and centralised model",
        n=slider(list(histories), words="subdomains n"),
        moment=slider(rounds, rounds[len(rounds) // 2], "after round"),
    )
