"""What FedSciML says of functions (Sections 2 to 4, Figs. 2 to 6), as pure functions of labelled arrays.

A claim gets errors (%) after training by name [kind, level, seed], with the clients' distance along level, or what else
it needs, and says (holds, numbers); None where it cannot be told.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray
from scipy.stats import spearmanr

from ....federated.experiment import data_of
from ....federated.partitions import hammersley
from ....notebook.maps import Panel
from ....federated.solved import Solved
from ....numerics.heterogeneity import mean_pairwise_w1
from ....numerics.metrics import mean_sd, percent, relative_l2
from .figures import partition
from .problem import CLIENTS, EARLIER, SUBDOMAINS, gramacy_lee, wave, x_and_xy

Verdict = tuple[bool | None, str]
Errors = Mapping[str, xarray.DataArray]

ONLY_CODE = (200,)
"""A level of the line that the authors' code has and the paper does not: no verdict on the paper rests on it."""

SQUARE = ("slabs/coded", "slabs/printed")
BLOCKS = tuple(f"blocks/{K} clients" for K in CLIENTS)


def judged(errors: Errors, divergences: Errors, solutions: Mapping[str, Solved], walks, theorem, what_if: Errors):
    """Id -> (holds, numbers) of all claims on what was trained.

    errors: [kind, level, seed] after training; divergences [seed, level, matrix]; solutions: of the first seed; walks,
    theorem: as of ``weights``; what_if: variant -> federated errors (%) [level, seed].
    """
    errors, divergences = printed_levels(errors), printed_levels(divergences)
    verdicts = partitions() | {"fig3.apart": grow_apart(walks), "q17": adam_beats_descent(what_if)}
    verdicts |= {"q18": stays_below(theorem)}
    square = squares(errors)
    for place, name, of in (("line", "line", newest(errors, ["line"])), ("square", SQUARE[0], square)):
        if of:
            verdicts |= {f"q1.{place}": between(of), f"q2.{place}": falls(of)}
        if name in divergences:
            verdicts[f"q4.{place}"] = diverges(divergences[name])
    if "line" in errors:
        verdicts |= on_the_line(errors["line"], solutions["line"])
    if square:
        verdicts |= {"fig5.better": better_at_the_ends(square)}
    if there := {name: solutions[name] for name in SQUARE if name in solutions}:
        verdicts |= errs_elsewhere(there)
    if blocks := newest(errors, BLOCKS):
        verdicts |= more_clients([*blocks.values()])
    return {f"fedsciml.{id}": verdict for id, verdict in verdicts.items()}


def numbers(errors: Errors) -> dict[str, np.ndarray]:
    """Id of a printed number -> ours, one per seed: Schaffer's relative errors at both ends, the smallest W1 in 1D."""
    values = {}
    for id, of in zip(("schaffer2", "schaffer2-printed"), squares(errors).values(), strict=False):
        for end, at in (("coarsest", 0), ("finest", -1)):
            values[f"fedsciml.{id}.{end}"] = of.sel(kind="federated").isel(level=at).values / 100
    return values | {"fedsciml.w1.smallest": [errors["line"].distance.values[-1]]}


def printed_levels(arrays: Errors) -> Errors:
    """The arrays at the levels that the paper speaks of."""
    only_code = {"line": ONLY_CODE}
    return {
        name: of.sel(level=[n for n in of.level.values if n not in only_code.get(name, ())])
        for name, of in arrays.items()
    }


def newest(errors: Errors, names: Sequence[str]) -> Errors:
    """The errors of these names, as long as there are none those of the earlier run; nothing where one is missing."""
    for chosen in (names, [name + EARLIER for name in names]):
        if all(name in errors for name in chosen):
            return {name: errors[name] for name in chosen}
    return {}


def squares(errors: Errors) -> Errors:
    """Schaffer's function as coded and as printed, each from its newest run."""
    return {name: of for each in SQUARE for name, of in newest(errors, [each]).items()}


def untold(why: str) -> Verdict:
    """No verdict."""
    return None, why


# one or several sweeps


def between(errors: Errors) -> Verdict:
    """Q1: centralised <= federated <= the best client alone, means with one st.dev. of slack."""
    inside = {}
    for name, of in errors.items():
        mean, sd = (
            dict(zip(of.kind.values, values.transpose("kind", "level").values, strict=True))
            for values in mean_sd(of, "seed")
        )
        best = np.min([v for kind, v in mean.items() if "alone" in kind], 0)
        above = mean["federated"] + sd["federated"] >= mean["centralised"] - sd["centralised"]
        inside[name] = above & (mean["federated"] - sd["federated"] <= best)
    said = "; ".join(f"{name}: {of.sum()} of {of.size} levels" for name, of in inside.items())
    return bool(all(of.all() for of in inside.values())), said


def falls(errors: Errors) -> Verdict:
    """Q2: the federated error falls with the distance of the clients."""
    return correlates({name: (of.distance.values, federated(of)) for name, of in errors.items()})


def diverges(divergences: xarray.DataArray) -> Verdict:
    """Q4: the divergence of every weight matrix grows with the distance."""
    of = divergences.mean("seed").transpose("matrix", "level")
    return correlates({f"matrix {i.item()}": (of.distance.values, of.sel(matrix=i).values) for i in of.matrix})


def correlates(pairs: Mapping[str, tuple[np.ndarray, np.ndarray]], least: float = 0.8) -> Verdict:
    """Whether Spearman's rank correlation of all pairs of values reaches ``least``; three levels are needed."""
    if any(len(values) < 3 for _, values in pairs.values()):
        return untold("three levels are needed")
    rho = {name: float(spearmanr(*pair).statistic) for name, pair in pairs.items()}
    return min(rho.values()) >= least, ", ".join(f"{name} {r:.2f}" for name, r in rho.items())


def federated(errors: xarray.DataArray) -> np.ndarray:
    """Mean over seeds [level]."""
    return errors.sel(kind="federated").mean("seed").values


def best(errors: xarray.DataArray) -> np.ndarray:
    """Mean over seeds of the client alone that is best at each level [level]."""
    alone = [kind for kind in errors.kind.values if "alone" in kind]
    return errors.sel(kind=alone).mean("seed").min("kind").values


# Fig. 2: the partitions


def partitions() -> dict[str, Verdict]:
    """W1 of the partitions alone, at the paper's levels."""
    line, points = gramacy_lee(), hammersley(1600)
    w1 = np.array([line.distance(data_of(line, n)) for n in SUBDOMAINS])
    xy = np.array([[mean_pairwise_w1(partition("xy", K, s, points)) for s in (3, 5, 11)] for K in CLIENTS])
    slabs, blocks = x_and_xy().T
    gap, ratio = slabs - blocks, (slabs / blocks)[2]
    return {
        "fig2a": (bool((np.diff(w1) < 0).all()), f"from {w1[0]:.2f} to {w1[-1]:.2f} in {len(w1)} levels"),
        "fig2d.trend": (bool((np.diff(xy[1:], axis=1) < 0).all()), by_K(xy, 2)),
        "fig2d.clients": (bool((np.diff(xy, axis=0) > 0).all()), by_K(xy, 2)),
        "q16": (bool((np.diff(gap) < 0).all() and gap[-1] < 0.05), ", ".join(f"{g:.3f}" for g in gap)),
        "target.q16": (bool(ratio < 1.5), f"ratio {ratio:.2f} at 10 parts per axis"),
    }


def by_K(values: np.ndarray, digits: int) -> str:
    """Values [K, level] as a line of text."""
    rows = (", ".join(f"{v:.{digits}f}" for v in row) for row in values)
    return "; ".join(f"K = {K}: {row}" for K, row in zip(CLIENTS, rows, strict=True))


# Fig. 4


def on_the_line(errors: xarray.DataArray, solved: Solved) -> dict[str, Verdict]:
    """Fig. 4C, its left and its right picture."""
    fed, alone, n = federated(errors), best(errors), errors.level.values
    central = errors.sel(kind="centralised").mean().item()
    worst = max(
        errors.sel(kind=kind).isel(level=-1).mean("seed").item() for kind in errors.kind.values if "alone" in kind
    )
    verdicts = {
        "q3.function": (bool(fed[-1] < 2 * central), f"{fed[-1] / central:.2f} x at {n[-1]} subdomains"),
        "q3.function.alone": (bool(worst < 2 * central), f"worse client {worst / central:.2f} x at {n[-1]} subdomains"),
    }
    if n[0] != 2:
        return verdicts
    without = 100 * float(
        relative_l2((torch.linspace(-1, 1, 1000) + 0.5) ** 4, wave(torch.linspace(-1, 1, 1000)[:, None]))
    )
    median = errors.sel(kind="federated").isel(level=0).median().item()
    halves = own_and_other(solved, 2)
    return verdicts | {
        "fig4c.better": (bool(fed[0] < alone[0]), f"{fed[0]:.1f} %, better client {alone[0]:.1f} %"),
        "fig4c.wave": (median < without / 2, f"median {median:.1f} %, the polynomial alone {without:.1f} %"),
        "target.function.coarsest": (bool(alone[0] > 10 * fed[0]), f"ratio {alone[0] / fed[0]:.1f}"),
        "fig4c.alone": (all(home < 10 and other > 50 for home, other in halves), in_words(halves)),
    }


def own_and_other(of: Solved, level: int) -> list[tuple[float, float]]:
    """Relative errors (%) of each client alone where it has the nearest point along the first axis, and elsewhere."""
    x, clouds = of.x[:, :1], of.clouds[level]
    nearest = np.stack([np.abs(x - cloud[:, 0]).min(1) for cloud in clouds]).argmin(0)
    return [
        tuple(percent(u[there], of.truth[there]) for there in (nearest == k, nearest != k))
        for k, u in enumerate(of.models[level][f"isolated client {k + 1}"] for k in range(len(clouds)))
    ]


def in_words(halves: list[tuple[float, float]]) -> str:
    return ", ".join(
        f"client {k + 1} {own:.2g} % at home, {other:.2g} % elsewhere" for k, (own, other) in enumerate(halves)
    )


# Figs. 5 and 6


def better_at_the_ends(square: Errors) -> Verdict:
    """The federation is better than either client alone at the coarsest and at the finest level."""
    ends = [(name, federated(of)[i], best(of)[i]) for name, of in square.items() for i in (0, -1)]
    said = "; ".join(f"{name} {fed:.2f} %, better client {alone:.2f} %" for name, fed, alone in ends)
    return all(bool(fed < alone) for _, fed, alone in ends), said


def errs_elsewhere(solutions: Mapping[str, Solved]) -> dict[str, Verdict]:
    """Each client alone errs more where it has no data, at the coarsest and at the finest level."""
    verdicts = {}
    for end, pick in (("coarse", min), ("fine", max)):
        halves = {name: own_and_other(of, pick(of.models)) for name, of in solutions.items()}
        said = "; ".join(f"{name}: {in_words(of)}" for name, of in halves.items())
        verdicts[f"fig5.missing.{end}"] = all(other > own for of in halves.values() for own, other in of), said
    return verdicts


def more_clients(blocks: list[xarray.DataArray]) -> dict[str, Verdict]:
    """Fig. 6: the same blocks for 2 to 5 clients."""
    fed, alone = np.stack([federated(of) for of in blocks]), np.stack([best(of) for of in blocks])
    rises = {"target.q6.order": fed, "q6.alone": alone, "q6.gap": alone - fed, "target.q6.ratio": alone / fed}
    return {
        "q6.two-five": (bool((fed[0] < fed[-1]).all()), by_K(fed, 2)),
        "q6.trend": falls({f"K = {K}": of for K, of in zip(CLIENTS[1:], blocks[1:], strict=True)}),
        **{id: (bool((np.diff(v, axis=0) > 0).all()), by_K(v, 2)) for id, v in rises.items()},
    }


# weights


def grow_apart(walks: xarray.Dataset | None) -> Verdict:
    """Fig. 3: centralised and federated model are the farther apart the more rounds."""
    if walks is None:
        return untold("not trained yet")
    return correlates(
        {f"{n} subdomains": (walks["round"].values, walks.distance.sel(level=n).values) for n in walks.level.values}
    )


def adam_beats_descent(what_if: Errors) -> Verdict:
    """Sec. 2.1.2: at its best level Adam has a smaller mean error than gradient descent at any rate tried."""
    descent = [of.mean("seed").min().item() for name, of in what_if.items() if name.startswith("SGD")]
    if not descent or "as above" not in what_if:
        return untold("not trained yet")
    adam = what_if["as above"].mean("seed").min().item()
    return adam < min(descent), f"{adam:.2f} % against {min(descent):.2f} %"


def stays_below(theorem: xarray.Dataset | None) -> Verdict:
    """Theorem 3.1: the distance of the models stays below the bound."""
    if theorem is None:
        return untold("not computed yet")
    below = theorem.distance <= theorem.bound
    return bool(below.all()), f"{int(below.sum())} of {below.size}"


LINE = "19 levels, 5 seeds, T = 15 000"
SLABS = "2, 10, 20 and 50 of 11 levels, 5 seeds"
BLOCKS_WERE = "an earlier run, 1600 of the 2304 points, 3 seeds"

PANELS = (
    Panel("Fig. 1", "section 3, one round by hand", "any"),
    Panel("Table 1", "B1, four_kinds", "an example of each kind"),
    Panel("Fig. 2A", "B1, fig2_w1", "200 points, 2 clients", ("fedsciml.fig2a",)),
    Panel("Fig. 2B, C", "B1, partitions, fig2_w1", "500 points", ("fedsciml.q16", "fedsciml.target.q16")),
    Panel("Fig. 2D", "B1, fig2_w1", "3, 4, 5 clients", ("fedsciml.fig2d.trend", "fedsciml.fig2d.clients")),
    Panel("Fig. 2E", "notebook 07, first figure", "operators"),
    Panel("Fig. 3", "B6, paths", "real weights, 2 and 100 subdomains", ("fedsciml.fig3.apart",)),
    Panel("Fig. 4A", "section 4, error_level", LINE,
          ("fedsciml.q1.line", "fedsciml.q2.line", "fedsciml.target.function.coarsest")),
    Panel("Fig. 4B", "B2, divergence", LINE, ("fedsciml.q4.line",)),
    Panel("Fig. 4C left", "the first picture, answer", "2 subdomains; drawn: one seed",
          ("fedsciml.fig4c.alone", "fedsciml.fig4c.better", "fedsciml.fig4c.wave")),
    Panel("Fig. 4C right", "section 1, answer_100", "100 subdomains; drawn: one seed",
          ("fedsciml.q3.function", "fedsciml.q3.function.alone")),
    Panel("Fig. 5A", "B3, error_slabs", SLABS, ("fedsciml.q1.square", "fedsciml.q2.square")),
    Panel("Fig. 5B", "B2, divergence", SLABS, ("fedsciml.q4.square",)),
    Panel("Fig. 5C, D, E", "B3, slabs_coded_coarse and _fine", "2 and 50 slabs; drawn: one seed",
          ("fedsciml.fig5.better", "fedsciml.fig5.missing.coarse", "fedsciml.fig5.missing.fine")),
    Panel("Fig. 6A-C", "B4, error_blocks", BLOCKS_WERE,
          ("fedsciml.q6.trend", "fedsciml.q6.alone", "fedsciml.q6.gap", "fedsciml.target.q6.ratio")),
    Panel("Fig. 6D", "B4, federations", BLOCKS_WERE, ("fedsciml.q6.two-five", "fedsciml.target.q6.order")),
    Panel("Sec. 2.1.2, Adam", "B5, what_if", "3 levels, 5 seeds", ("fedsciml.q17",)),
    Panel("Theorem 3.1", "B6, theorem", "E to 20, 100 rounds", ("fedsciml.q18",)),
)  # fmt: skip
"""Where the panels of FedSciML's Sections 2 to 4 are in notebook 04."""
