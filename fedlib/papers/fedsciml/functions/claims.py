"""What FedSciML says of functions (Sections 2 to 4, Figs. 2 to 6).

A claim says nothing of what is not trained. On Schaffer's function it is about the one that the authors' code has.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
import xarray

from ....federated.solved import owners
from ....notebook.claims import Seeded, Verdict
from ....notebook.maps import Panel
from ....numerics.metrics import in_percent, percent, relative_l2
from .problem import wave
from .study import BLOCKS, CLIENTS, SLABS, Results

ONLY_CODE = 200
"""A level of the line that the authors' code has and the paper does not: no verdict on the paper rests on it."""

ALONE = "best client alone"

Quantity = Callable[[Results], xarray.DataArray]


def measured(results: Results) -> dict[str, dict]:
    """Id of a printed number -> ours, one per seed: Schaffer's relative errors at both ends, the smallest W1 in 1D."""
    values = {}
    for id, name in zip(("schaffer2", "schaffer2-printed"), SLABS, strict=True):
        if name in results.best:
            federated = results.best[name].sel(kind="federated") / 100
            values |= {f"fedsciml.{id}.{end}": federated[i].values for end, i in (("coarsest", 0), ("finest", -1))}
    if "line" in results.errors:
        values["fedsciml.w1.smallest"] = [results.errors["line"].distance.values[-1]]
    return {id: {"values": of_seeds} for id, of_seeds in values.items()}


def printed(values: xarray.DataArray) -> xarray.DataArray:
    """Values at the levels that the paper speaks of."""
    return values.drop_sel(level=ONLY_CODE, errors="ignore")


def error(name: str | tuple, kind: str, *levels: int) -> Quantity:
    """Errors (%) after training of a kind of models [level, seed], at these levels, or at all of the paper's."""

    def quantity(results: Results) -> xarray.DataArray:
        values = printed(results.best[name].sel(kind=kind, drop=True))
        return values.sel(level=[*levels]) if levels else values

    return quantity


def divergence(name: str | tuple) -> Quantity:
    """Divergences of the weights [seed, level, matrix]."""
    return lambda results: printed(results.divergences[name])


def on_blocks(kind: str, *clients: int) -> Quantity:
    """Errors (%) of so many clients each [K, level, seed]; beside the level stands the "side" of a block."""

    def quantity(results: Results) -> xarray.DataArray:
        each = [error(("blocks", K), kind)(results).drop_vars("distance") for K in clients]
        values = xarray.concat(each, xarray.Variable("K", [*clients]), join="inner")
        return values.assign_coords(side=1 / values.level)

    return quantity


def gap(results: Results) -> xarray.DataArray:
    """What the best client alone errs more than the federation (percentage points) [K, level, seed]."""
    return on_blocks(ALONE, *CLIENTS)(results) - on_blocks("federated", *CLIENTS)(results)


def worst_alone(results: Results) -> xarray.DataArray:
    """Errors (%) of the worse client alone at 100 pieces [level, seed]."""
    last = results.errors["line"][-1].sel(level=[100])
    alone = last.sel(kind=last.kind.str.endswith("alone"))
    return alone.isel(kind=alone.mean(("level", "seed")).argmax("kind"))


def off(name: str | tuple, level: int, at_home: bool) -> Quantity:
    """Errors (%) of each client alone [client, seed], of one seed: where it has the nearest point along the first axis,
    or elsewhere."""

    def quantity(results: Results) -> xarray.DataArray:
        solved = results.solutions[name]
        nearest = owners(solved.x[:, 0], solved.clouds[level])
        places = [(nearest == k) == at_home for k in (0, 1)]
        alone = [solved.models[level][f"isolated client {k + 1}"] for k in (0, 1)]
        errors = [[percent(alone[k][places[k]], solved.truth[places[k]])] for k in (0, 1)]
        return xarray.DataArray(errors, dims=["client", "seed"], attrs={"units": "%"})

    return quantity


def at_best(values: xarray.DataArray) -> xarray.DataArray:
    """Errors [seed] where their mean is smallest."""
    means = values.mean("seed")
    return values.isel(means.argmin([*means.dims]))


def without_wave(results: Results) -> float:
    """Half of the error (%) of the polynomial without its wave."""
    x = torch.linspace(-1, 1, 1000)[:, None]
    return 50 * float(relative_l2((x[:, 0] + 0.5) ** 4, wave(x)))


def good_at_home_only(results: Results) -> Verdict | None:
    """Of two subdomains each client alone knows its own one."""
    if "line" not in results.solutions or 2 not in results.solutions["line"].models:
        return None
    home, elsewhere = (off("line", 2, at_home)(results).values[:, 0] for at_home in (True, False))
    words = f"{', '.join(map(in_percent, home))} at home, {', '.join(map(in_percent, elsewhere))} elsewhere"
    return Verdict(bool((home < 10).all() and (elsewhere > 50).all()), words)


def difference_vanishes(results: Results) -> Verdict | None:
    """Q16: W1 of two clients with 2, 4, 10 and 20 slabs, and with as many blocks per axis."""
    if (w1 := results.partitions) is None:
        return None
    slabs = w1.slabs.sel(clients=2, slabs_each=[1, 2, 5, 10]).values
    differences = slabs - w1.blocks.sel(clients=2, blocks_per_axis=[2, 4, 10, 20]).values
    falls = (np.diff(differences) < 0).all() and differences[-1] < 0.05
    return Verdict(bool(falls), ", ".join(f"{one:.3f}" for one in differences))


def some_blocks(results: Results, *clients: int) -> xarray.DataArray:
    """W1 [clients, blocks_per_axis] of so many clients on checkerboards."""
    return results.partitions.blocks.sel(clients=[*clients], blocks_per_axis=[3, 5, 11])


def claims_on(name: str | tuple, words: str) -> dict[str, tuple]:
    """Id -> claim, of the three that the paper makes of both functions."""
    federated = error(name, "federated")
    return {
        f"fedsciml.q1.{words}": (federated, "between", (error(name, "centralised"), error(name, ALONE))),
        f"fedsciml.q2.{words}": (federated, "grows with", "distance"),
        f"fedsciml.q4.{words}": (divergence(name), "goes with", "distance"),
    }


line, coded = partial(error, "line"), partial(error, SLABS[0])
CLAIMS = {
    "fedsciml.fig2a": (lambda r: r.partitions.line.sel(clients=2), "falls along", "pieces_each"),
    "fedsciml.fig2d.trend": (lambda r: some_blocks(r, 3, 4, 5), "falls along", "blocks_per_axis"),
    "fedsciml.fig2d.clients": (lambda r: some_blocks(r, *CLIENTS), "rises along", "clients"),
    "fedsciml.q16": difference_vanishes,
    "fedsciml.q18": (lambda r: r.theorem.distance, "<", lambda r: r.theorem.bound),
    **claims_on("line", "line"),
    "fedsciml.q3.function": (line("federated", 100), "agrees with", line("centralised", 100)),
    "fedsciml.q3.function.alone": (worst_alone, "agrees with", line("centralised", 100)),
    "fedsciml.fig4c.better": (line("federated", 2), "<", line(ALONE, 2)),
    "fedsciml.fig4c.wave": (
        lambda r: line("federated", 2)(r).assign_attrs(middle="median"),
        "<",
        without_wave,
    ),
    "fedsciml.fig4c.alone": Seeded(good_at_home_only, lambda r: 1),
    **claims_on(SLABS[0], "square"),
    "fedsciml.fig5.better": (coded("federated", 2, 50), "<", coded(ALONE, 2, 50)),
    "fedsciml.fig5.missing.coarse": (off(SLABS[0], 2, at_home=False), ">", off(SLABS[0], 2, at_home=True)),
    "fedsciml.fig5.missing.fine": (off(SLABS[0], 50, at_home=False), ">", off(SLABS[0], 50, at_home=True)),
    "fedsciml.q6.two-five": (error(BLOCKS[0], "federated"), "<", error(BLOCKS[-1], "federated")),
    "fedsciml.q6.trend": (on_blocks("federated", 3, 4, 5), "grows with", "side"),
    "fedsciml.q6.alone": (on_blocks(ALONE, *CLIENTS), "rises along", "K"),
    "fedsciml.q6.gap": (gap, "rises along", "K"),
    "fedsciml.q17": (
        lambda r: at_best(line("federated")(r).sel(level=r.descent.level)),
        "<",
        lambda r: at_best(r.descent),
    ),
    "fedsciml.fig3.apart": (lambda r: r.walks.distance.expand_dims(seed=[0]), "grows with", "round"),
}
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""

LINE_SETTING = "19 levels, 5 seeds, T = 15 000"
SLABS_SETTING = "printed: 11 levels, authors' function: 2, 10, 20, 50; 5 seeds"
BLOCKS_SETTING = "an earlier run, 1600 of the 2304 points, 3 seeds"

PANELS = (
    Panel("Fig. 1", "section 3, one round by hand", "any"),
    Panel("Table 1", "B2, four_kinds", "an example of each kind"),
    Panel("Fig. 2A", "B2, fig2_w1", "200 points, 2 clients", ("fedsciml.fig2a",)),
    Panel("Fig. 2B, C", "B2, partitions, fig2_w1", "1600 points", ("fedsciml.q16",)),
    Panel("Fig. 2D", "B2, fig2_w1", "3, 4, 5 clients", ("fedsciml.fig2d.trend", "fedsciml.fig2d.clients")),
    Panel("Fig. 2E", "notebook 07, B2, inputs", "operators"),
    Panel("Fig. 3", "section 3, watch it train; B2, paths", "real weights, 2 and 100 subdomains",
          ("fedsciml.fig3.apart",)),
    Panel("Fig. 4A", "section 4, error_level", LINE_SETTING, ("fedsciml.q1.line", "fedsciml.q2.line")),
    Panel("Fig. 4B", "B2, divergence", LINE_SETTING, ("fedsciml.q4.line",)),
    Panel("Fig. 4C left", "the first picture, answer", "2 subdomains; drawn: one seed",
          ("fedsciml.fig4c.alone", "fedsciml.fig4c.better", "fedsciml.fig4c.wave")),
    Panel("Fig. 4C right", "section 1, answer_100", "100 subdomains; drawn: one seed",
          ("fedsciml.q3.function", "fedsciml.q3.function.alone")),
    Panel("Fig. 5A", "B2, error_slabs", SLABS_SETTING, ("fedsciml.q1.square", "fedsciml.q2.square")),
    Panel("Fig. 5B", "B2, divergence", "2, 10, 20 and 50 slabs, 5 seeds", ("fedsciml.q4.square",)),
    Panel("Fig. 5C, D, E", "B2, slabs_coded_coarse and _fine", "2 and 50 slabs; drawn: one seed",
          ("fedsciml.fig5.better", "fedsciml.fig5.missing.coarse", "fedsciml.fig5.missing.fine")),
    Panel("Fig. 6A-C", "B2, error_blocks", BLOCKS_SETTING,
          ("fedsciml.q6.trend", "fedsciml.q6.alone", "fedsciml.q6.gap")),
    Panel("Fig. 6D", "B2, federations", BLOCKS_SETTING, ("fedsciml.q6.two-five",)),
    Panel("Sec. 2.1.2, Adam", "B4, in words", "3 levels, 5 seeds, 3 rates of descent", ("fedsciml.q17",)),
    Panel("Theorem 3.1", "B2, theorem", "E to 20, 100 rounds", ("fedsciml.q18",)),
)  # fmt: skip
"""Where the panels of FedSciML's Sections 2 to 4 are in notebook 04."""
