"""What FedSciML says of functions (Sections 2 to 4, Figs. 2 to 6): id -> claim(results) -> ``Verdict``.

A claim says nothing, None, of what is not trained. One that other rooms of the paper have, too, is judged by
``yardsticks``; those of this room alone are here.
"""

from collections.abc import Callable, Hashable, Mapping

import numpy as np
import torch
import xarray
from scipy.stats import spearmanr

from ....federated.solved import Solved
from ....notebook.claims import Verdict, fewest, on_seeds, where
from ....notebook.maps import Panel
from ....numerics.metrics import percent, relative_l2
from ..yardsticks import POSITIVE, RHO, agrees, between, falls, grows
from .problem import wave
from .study import SLABS, Results

ONLY_CODE = 200
"""A level of the line that the authors' code has and the paper does not: no verdict on the paper rests on it."""

Claim = Callable[[Results], Verdict | None]


def printed(values: xarray.DataArray) -> xarray.DataArray:
    """Values at the levels that the paper speaks of."""
    return values.drop_sel(level=ONLY_CODE, errors="ignore")


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


# Fig. 2


def on_partitions(judge: Callable[[xarray.Dataset], Verdict]) -> Claim:
    """Judge W1 of the partitions, as of ``problem.partitions``."""
    return where(lambda results: results.partitions is not None, lambda results: judge(results.partitions))


def falls_on_line(w1: xarray.Dataset) -> Verdict:
    values = w1.line.sel(clients=2).values
    why = f"from {values[0]:.2f} to {values[-1]:.2f} in {len(values)} levels"
    return Verdict(bool((np.diff(values) < 0).all()), why)


def some_blocks(w1: xarray.Dataset) -> xarray.DataArray:
    """W1 [K, level] of so many clients on checkerboards."""
    return w1.blocks.sel(blocks_per_axis=[3, 5, 11]).rename(clients="K")


def falls_with_blocks(w1: xarray.Dataset) -> Verdict:
    values = some_blocks(w1)
    return Verdict(bool((np.diff(values.sel(K=[3, 4, 5])) < 0).all()), by_K(values))


def difference_vanishes(w1: xarray.Dataset) -> Verdict:
    """Q16: W1 of two clients with 2, 4, 10 and 20 slabs, and with as many blocks per axis."""
    slabs = w1.slabs.sel(clients=2, slabs_each=[1, 2, 5, 10]).values
    gap = slabs - w1.blocks.sel(clients=2, blocks_per_axis=[2, 4, 10, 20]).values
    return Verdict(bool((np.diff(gap) < 0).all() and gap[-1] < 0.05), ", ".join(f"{g:.3f}" for g in gap))


def rises(values: xarray.DataArray) -> Verdict:
    """Whether values [K, level] grow with every client more, at all levels."""
    return Verdict(bool((values.diff("K") > 0).all()), by_K(values))


def by_K(values: xarray.DataArray) -> str:
    """Values [K, level] as a line of text."""
    rows = zip(values.K.values, values.transpose("K", ...).values, strict=True)
    return "; ".join(f"K = {K}: {', '.join(f'{v:.2f}' for v in row)}" for K, row in rows)


# Fig. 4


def on_line(judge: Callable[[xarray.DataArray], Verdict]) -> Claim:
    """Judge the errors [kind, level, seed] on the line, with the best client alone."""
    return where(lambda results: "line" in results.best, lambda results: judge(printed(results.best["line"])))


def with_halves(judge: Callable[[xarray.DataArray], Verdict]) -> Claim:
    """The same of two subdomains, if they were trained."""
    return on_line(lambda errors: judge(errors.sel(level=2)) if 2 in errors.level else None)


def worst_alone(results: Results) -> Verdict | None:
    """Q3: the worse client alone at the finest level agrees with the centralised model."""
    if "line" not in results.errors:
        return None
    errors = printed(results.errors["line"][-1])
    alone = [kind for kind in errors.kind.values if kind.endswith("alone")]
    finest = errors.sel(kind=alone, level=errors.level.max()).mean("seed")
    return agrees(errors, alone[int(finest.argmax("kind"))])


def better_than_alone(errors: xarray.DataArray) -> Verdict:
    """The federation before the best client, means of seeds, at all levels of errors [kind, (level,) seed]."""
    federated, alone = means(errors)
    digits = 2 if federated.ndim else 1
    pairs = zip(np.atleast_1d(federated), np.atleast_1d(alone), strict=True)
    why = ", ".join(f"{fed:.{digits}f} %, better client {best:.{digits}f} %" for fed, best in pairs)
    return Verdict(bool((federated < alone).all()), why)


def means(errors: xarray.DataArray) -> list[xarray.DataArray]:
    """Means over seeds of the federation and of the best client alone."""
    return [errors.sel(kind=kind, drop=True).mean("seed") for kind in ("federated", "best client alone")]


def follows_the_wave(errors: xarray.DataArray) -> Verdict:
    """The federated fit is nearer than the polynomial without its wave."""
    x = torch.linspace(-1, 1, 1000)[:, None]
    without = 100 * float(relative_l2((x[:, 0] + 0.5) ** 4, wave(x)))
    median = errors.sel(kind="federated").median().item()
    return Verdict(median < without / 2, f"median {median:.1f} %, the polynomial alone {without:.1f} %")


def good_at_home_only(results: Results) -> Verdict | None:
    """Of two subdomains each client alone knows its own one."""
    if "line" not in results.solutions or 2 not in results.solutions["line"].models:
        return None
    halves = home_and_elsewhere(results.solutions["line"], 2)
    return Verdict(all(home < 10 and other > 50 for home, other in halves), in_words(halves))


def home_and_elsewhere(solved: Solved, level: int) -> list[tuple[float, float]]:
    """Relative errors (%) of each client alone where it has the nearest point along the first axis, and elsewhere."""
    x, clouds = solved.x[:, :1], solved.clouds[level]
    nearest = np.stack([np.abs(x - cloud[:, 0]).min(1) for cloud in clouds]).argmin(0)
    alone = [solved.models[level][f"isolated client {k + 1}"] for k in range(len(clouds))]
    return [
        tuple(percent(u[places], solved.truth[places]) for places in (nearest == k, nearest != k))
        for k, u in enumerate(alone)
    ]


def in_words(halves: list[tuple[float, float]]) -> str:
    return ", ".join(
        f"client {k + 1} {home:.2g} % at home, {other:.2g} % elsewhere" for k, (home, other) in enumerate(halves)
    )


# Figs. 5 and 6


def on_square(judge: Callable[[xarray.DataArray], Verdict]) -> Claim:
    """Judge the errors on the square with slabs."""
    return lambda results: of_authors({name: (e.name, judge(e)) for name, e in results.best.items() if name in SLABS})


def of_authors(verdicts: Mapping[Hashable, tuple[str, Verdict]]) -> Verdict | None:
    """Of SLABS: whether a claim holds of the function that the authors' code has, which the printed numbers count for,
    too; those of the printed function stand beside."""
    if (coded := verdicts.get(SLABS[0])) is None:
        return None
    return Verdict(coded[1].holds, "; ".join(f"{name}: {verdict.why}" for name, verdict in verdicts.values()))


def diverges(name: Hashable) -> Claim:
    """Q4: the divergence of every weight matrix is positively correlated with the distance."""

    def claim(results: Results) -> Verdict | None:
        if name not in results.divergences:
            return None
        return grows(printed(results.divergences[name]).mean("seed").transpose("matrix", "level"), POSITIVE)

    return claim


def errs_elsewhere(end: Callable) -> Claim:
    """Each client alone errs more where it has no data, at one end of the levels."""

    def judge(solved: Solved) -> Verdict:
        halves = home_and_elsewhere(solved, end(solved.models))
        return Verdict(all(other > home for home, other in halves), in_words(halves))

    def claim(results: Results) -> Verdict | None:
        solutions = {name: solved for name, solved in results.solutions.items() if name in SLABS}
        return of_authors({name: (solved.experiment.name, judge(solved)) for name, solved in solutions.items()})

    return claim


def on_blocks(judge: Callable[[xarray.DataArray, xarray.DataArray], Verdict]) -> Claim:
    """Judge errors (%) [K, level] of the federation and of the best client alone."""

    def claim(results: Results) -> Verdict | None:
        if not results.blocks:
            return None
        of_K = [means(errors.drop_vars("distance")) for errors in results.blocks.values()]
        return judge(*(xarray.concat(one, xarray.Variable("K", [*results.blocks])) for one in zip(*of_K, strict=True)))

    return claim


def fewer_is_better(federated: xarray.DataArray) -> Verdict:
    """Two clients have a smaller error than five, at all levels."""
    return Verdict(bool((federated[0] < federated[-1]).all()), by_K(federated))


def trend(results: Results) -> Verdict | None:
    """With three, four and five clients, too, the error falls with the distance; one of which it does not decides."""
    verdicts = {errors.name: falls(errors) for K, errors in results.blocks.items() if K > 2}
    holds = [verdict.holds for verdict in verdicts.values()]
    why = "; ".join(f"{name}: {verdict.why}" for name, verdict in verdicts.items())
    return Verdict(None if None in holds and False not in holds else all(holds), why) if holds else None


# weights


def grow_apart(results: Results) -> Verdict | None:
    """Fig. 3: centralised and federated model are the farther apart the more rounds."""
    if results.walks is None:
        return None
    distance = results.walks.distance
    rho = {n: spearmanr(distance["round"], distance.sel(level=n)).statistic for n in distance.level.values}
    return Verdict(bool(min(rho.values()) >= RHO), ", ".join(f"{n} subdomains {r:.2f}" for n, r in rho.items()))


def adam_beats_descent(results: Results) -> Verdict | None:
    """Sec. 2.1.2: at its best level Adam has a smaller mean error than gradient descent at any rate tried."""
    if results.descent is None or "line" not in results.best:
        return None
    both = xarray.align(results.best["line"].sel(kind="federated"), results.descent, join="inner")
    adam, descent = (errors.mean("seed").min().item() for errors in both)
    return Verdict(adam < descent, f"{adam:.2f} % against {descent:.2f} %")


def stays_below(results: Results) -> Verdict | None:
    """Theorem 3.1: the distance of the models stays below the bound."""
    if results.theorem is None:
        return None
    below = results.theorem.distance <= results.theorem.bound
    return Verdict(bool(below.all()), f"{int(below.sum())} of {below.size}")


CLAIMS: dict[str, Claim] = {
    "fedsciml.fig2a": on_partitions(falls_on_line),
    "fedsciml.fig2d.trend": on_partitions(falls_with_blocks),
    "fedsciml.fig2d.clients": on_partitions(lambda w1: rises(some_blocks(w1))),
    "fedsciml.q16": on_partitions(difference_vanishes),
    "fedsciml.q18": stays_below,
    **on_seeds(lambda results: fewest(results.best["line"]), {
        "fedsciml.q1.line": on_line(lambda errors: between(errors, "best client alone")),
        "fedsciml.q2.line": on_line(falls),
        "fedsciml.q4.line": diverges("line"),
        "fedsciml.q3.function": on_line(lambda errors: agrees(errors, "federated")),
        "fedsciml.q3.function.alone": worst_alone,
        "fedsciml.fig4c.better": with_halves(better_than_alone),
        "fedsciml.fig4c.wave": with_halves(follows_the_wave),
    }),
    **on_seeds(lambda results: fewest(results.best[SLABS[0]]), {
        "fedsciml.q1.square": on_square(lambda errors: between(errors, "best client alone")),
        "fedsciml.q2.square": on_square(falls),
        "fedsciml.q4.square": diverges(SLABS[0]),
        "fedsciml.fig5.better": on_square(lambda errors: better_than_alone(errors[:, [0, -1]])),
    }),
    **on_seeds(lambda results: fewest(*results.blocks.values()), {
        "fedsciml.q6.two-five": on_blocks(lambda federated, alone: fewer_is_better(federated)),
        "fedsciml.q6.trend": trend,
        "fedsciml.q6.alone": on_blocks(lambda federated, alone: rises(alone)),
        "fedsciml.q6.gap": on_blocks(lambda federated, alone: rises(alone - federated)),
    }),
    **on_seeds(lambda results: fewest(results.descent), {"fedsciml.q17": adam_beats_descent}),
    **on_seeds(lambda results: 1, {
        "fedsciml.fig3.apart": grow_apart,
        "fedsciml.fig4c.alone": good_at_home_only,
        "fedsciml.fig5.missing.coarse": errs_elsewhere(min),
        "fedsciml.fig5.missing.fine": errs_elsewhere(max),
    }),
}  # fmt: skip

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
    Panel("Fig. 3", "B2, paths", "real weights, 2 and 100 subdomains", ("fedsciml.fig3.apart",)),
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
