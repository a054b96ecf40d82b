"""What FedSciML says of operators (Section 6, Figs. 12 to 15).

Errors are means over seeds, at the antiderivative's jump medians: at these levels seeds fall into two groups.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import xarray

from ....notebook.claims import Seeded, Verdict, fewest
from ....notebook.maps import Panel
from ....notebook.relations import judged
from ....numerics.metrics import mean_sd
from ....numerics.spaces import TERMS
from .problem import known_terms
from .study import EXAMPLES, JUMP, LINE, Results

Quantity = Callable[[Results], xarray.DataArray | None]

FIELD, TWO, THREE = "diffusion_reaction", "burgers_2", "burgers_3"
FIRST, SECOND, THIRD = (f"client {k} alone" for k in (1, 2, 3))
ALONE = {LINE: [FIRST, SECOND], FIELD: [FIRST, SECOND], TWO: [FIRST, SECOND], THREE: [FIRST, SECOND, THIRD]}


def error(name: str, kind: str | Sequence[str], below_ten: bool = False) -> Quantity:
    """Errors (%) after training [level, seed] of a kind of models, or of several [kind, level, seed], where there is a
    federation; below_ten: where clients know different terms."""

    def quantity(results: Results) -> xarray.DataArray:
        last = results.last[name]
        trained = last.sel(kind="federated").notnull().any("seed") & (not below_ten or last.level < TERMS)
        return last.sel(kind=kind).isel(level=trained.values)

    return quantity


def at_ten(name: str, kind: str) -> Quantity:
    """The same where all clients know all terms [seed]."""
    return lambda results: error(name, kind)(results).sel(level=TERMS)


def median(n: int, times: int = 1) -> Quantity:
    """So many times the antiderivative's federated errors at level n [seed], of which the median counts."""
    attrs = {"middle": "median", "units": "%"}
    return lambda results: (times * error(LINE, "federated")(results).sel(level=n)).assign_attrs(attrs)


def steepest(kind: str) -> Quantity:
    """The largest fall from level to level of an error of Burgers [seed], one over the other."""

    def quantity(results: Results) -> xarray.DataArray:
        values = error(TWO, kind)(results)
        return (values.shift(level=1) / values).max("level").drop_attrs()

    return quantity


def half_way(results: Results) -> xarray.DataArray:
    """An error (%) [level] below which client 1's is farther from those of clients 2 and 3 than these are apart."""
    others = error(THREE, [SECOND, THIRD], below_ten=True)(results).mean("seed")
    return 2 * others.min("kind") - others.max("kind")


def example(name: str, *kinds: str) -> Quantity:
    """Errors (%) at the paper's examples [level, seed] of the best of some models; they have one seed."""

    def quantity(results: Results) -> xarray.DataArray:
        first = [results.examples[name, n].error.sel(model=[*kinds]).min("model") for n in EXAMPLES[name]]
        return (
            xarray.concat(first, xarray.Variable("level", [*EXAMPLES[name]]))
            .expand_dims("seed")
            .assign_attrs(units="%")
        )

    return quantity


# local steps

PAPER_STEPS = 50_000
"""T of all operators (Section 6). With fewer steps there are fewer averages, which is not the paper's question."""


def every_E(results: Results, name: str) -> xarray.DataArray:
    """Errors (%) [E, level, seed] of the levels that have every E."""
    tried = results.local[name].dropna("E", how="all")
    return tried.sel(level=tried.notnull().any("seed").all("E"))


def ratio_over_E(results: Results) -> xarray.DataArray | None:
    """The largest error of diffusion-reaction over the smallest one [level, seed], after all steps."""
    values = every_E(results, FIELD)
    return values.max("E") / values.min("E") if values.attrs["steps"] >= PAPER_STEPS else None


def spread_over_E(results: Results) -> xarray.DataArray:
    """St.dev. over E of the antiderivative's errors (%) [level], means over seeds."""
    return mean_sd(every_E(results, LINE).dropna("seed").mean("seed"), "E")[1]


def spread_over_seeds(results: Results) -> xarray.DataArray | None:
    """The same over seeds, mean over E [level]; one seed has none."""
    values = every_E(results, LINE).dropna("seed")
    return mean_sd(values, "seed")[1].mean("E") if values.sizes["seed"] > 1 else None


# what is no comparison, or knows no seeds


def coverage(results: Results) -> Verdict | None:
    """Q10: n = 6 is the first level at which the clients know all terms together."""
    first = 1 + known_terms()[0].index(TERMS)
    return Verdict(first == 6, f"all terms are known from n = {first} on") if LINE in results.last else None


def twice_error(values: np.ndarray) -> tuple[float, float]:
    """Mean of values over seeds, and two standard errors of it."""
    values = values[np.isfinite(values)]
    mean, sd = mean_sd(values)
    return float(mean), float(2 * sd / len(values) ** 0.5)


ENDS, PIECES = (1, TERMS), (2, 100)
"""The paper's ends of the levels: Fig. 12B, and of functions Fig. 4B."""


def change(values: xarray.DataArray | None, ends: tuple[int, int]) -> np.ndarray:
    """Of each seed, the mean over matrices of how much the divergence changes, |log(first / last)| [seed]; none, where
    the ends are not there."""
    if values is None or not {*ends} <= {*values.level.values}:
        return np.empty(0)
    first, last = (values.sel(level=level) for level in ends)
    return np.abs(np.log(first / last)).mean("matrix").values


def less(results: Results) -> Verdict | None:
    """Q11: it changes less than that of the functions' networks, by more than two standard errors."""
    changes = [change(results.divergence, ENDS), change(results.functions, PIECES)]
    if min(np.isfinite(values).sum() for values in changes) < 2:
        return None
    (one, sure), (other, other_sure) = map(twice_error, changes)
    numbers = f"|log| {one:.2f} ± {sure:.2f} against {other:.2f} ± {other_sure:.2f}, two standard errors"
    return Verdict(bool(other - one > (sure**2 + other_sure**2) ** 0.5), numbers)


def better(results: Results) -> Verdict | None:
    """Q14: three clients are better than two somewhere below n = 10, and nowhere worse, by more than two standard
    errors."""
    if not {TWO, THREE} <= {*results.last}:
        return None
    two, three = (error(name, "federated", below_ten=True)(results) for name in (TWO, THREE))
    gaps = {}
    for n in sorted({*two.level.values.tolist()} & {*three.level.values.tolist()}):
        (a, s), (b, t) = (twice_error(values.sel(level=n).values) for values in (two, three))
        gaps[n] = a - b, (s**2 + t**2) ** 0.5
    holds = all(gap > -sure for gap, sure in gaps.values()) and any(gap > sure for gap, sure in gaps.values())
    numbers = ", ".join(f"n = {n}: {gap:.1f} ± {sure:.1f}" for n, (gap, sure) in gaps.items())
    return Verdict(holds, f"two less three clients (%), two standard errors, {numbers}") if gaps else None


CLAIMS = {
    **{
        f"fedsciml.{'target.' * (name == FIELD)}q10.below.{name}": (error(name, "federated"), "<", error(name, kinds))
        for name, kinds in ALONE.items()
    },
    **{f"fedsciml.q10.falls.{name}": (error(name, "federated"), "grows with", "unknown") for name in ALONE},
    **{
        f"fedsciml.{'target.' * (name == FIELD)}q10.central.{name}": (
            at_ten(name, "federated"), "agrees with", at_ten(name, "centralised"),
        )
        for name in ALONE
    },
    **{
        f"fedsciml.{'target.' * (name != TWO)}q12.below.{name}": (
            error(name, SECOND, below_ten=True), ">", error(name, FIRST, below_ten=True),
        )
        for name in (TWO, LINE, FIELD)
    },
    "fedsciml.q10.jump": (median(5), ">", median(6, times=2)),
    "fedsciml.target.q10.level": (at_ten(LINE, "federated"), "<", 5),
    "fedsciml.q10.coverage": coverage,
    "fedsciml.q11.trend": (lambda results: results.divergence, "has no trend with", "unknown"),
    "fedsciml.q11.less": Seeded(less, lambda results: fewest(results.divergence)),
    "fedsciml.q13.sharp": (steepest(SECOND), ">", steepest(FIRST)),
    "fedsciml.q13.decay": (lambda results: results.faded, "<", 10),
    "fedsciml.q12.both.burgers_3": (
        error(THREE, [SECOND, THIRD], below_ten=True), ">", error(THREE, FIRST, below_ten=True),
    ),
    "fedsciml.q12.similar.burgers_3": (error(THREE, FIRST, below_ten=True), "<", half_way),
    "fedsciml.q14.better": Seeded(better, lambda results: fewest(results.last[TWO], results.last[THREE])),
    "fedsciml.q15.antiderivative": Seeded(
        partial(judged, (spread_over_E, "<", spread_over_seeds)), lambda results: fewest(every_E(results, LINE))
    ),
    "fedsciml.q15.diffusion_reaction": (ratio_over_E, "<", 1.5),
    **{
        f"fedsciml.q10.example.{name}": (example(name, "federated"), "<", example(name, FIRST, SECOND))
        for name in (LINE, FIELD)
    },
    "fedsciml.q12.example.diffusion_reaction": (example(FIELD, SECOND), ">", example(FIELD, FIRST)),
}  # fmt: skip
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""


def measured(results: Results) -> dict[str, dict]:
    """Ids of the paper's two printed numbers -> ours."""
    if LINE not in results.last:
        return {}
    last = results.last[LINE].sel(kind="federated")
    return {
        f"fedsciml.antiderivative.n{n}": {"values": last.sel(level=n).dropna("seed").values}
        for n in JUMP
        if n in last.level
    }


FIVE = "n = 2, 4, 6, 8, 10, T = 10 000 of 50 000, 21 x 14 of 101 x 101 points, five seeds"
PANELS = (
    Panel("Fig. 2E", "B2, inputs", "three kinds of terms, n = 2, 6, 10"),
    Panel("Fig. 12A", "section 4, line", "ten n, T = 50 000, five seeds; twenty at n = 5, 6",
          tuple(f"fedsciml.q10.{what}" for what in ("below.antiderivative", "falls.antiderivative",
                                                    "central.antiderivative", "jump", "coverage"))),
    Panel("Fig. 12B", "B2, divergence", "ten n, five seeds", ("fedsciml.q11.less", "fedsciml.q11.trend")),
    Panel("Fig. 12C, D", "B2, example_antiderivative and the table", "n = 6 and 10, T = 50 000, one seed",
          ("fedsciml.q10.example.antiderivative",)),
    Panel("Section 6.3, no panel", "B2, errors", "n = 2, 5, 6, 10, T = 50 000, 21 x 11 of 101 x 101 points, one seed",
          ("fedsciml.q10.falls.diffusion_reaction",)),
    Panel("Fig. 13", "B2, the table", "n = 10, T = 50 000, 21 x 11 points, one seed",
          ("fedsciml.q10.example.diffusion_reaction", "fedsciml.q12.example.diffusion_reaction")),
    Panel("Fig. 14A", "B2, errors", FIVE,
          (*(f"fedsciml.{what}.burgers_2" for what in ("q10.below", "q10.falls", "q10.central", "q12.below")),
           "fedsciml.q13.sharp")),
    Panel("Fig. 14B", "B2, errors", FIVE,
          tuple(f"fedsciml.{what}.burgers_3" for what in ("q10.below", "q10.falls", "q10.central", "q12.both",
                                                          "q12.similar"))),
    Panel("Fig. 14C", "B2, clients", FIVE, ("fedsciml.q14.better",)),
    Panel("Fig. 14D, E", "B2, example_burgers_2 and the table", "n = 5 and 10, T = 50 000, 21 x 14 points, one seed",
          ("fedsciml.q13.decay",)),
    Panel("Fig. 15A", "B2, local_steps", "five E at n = 2, 5, 10, five seeds; E = 1, 5, 1000 at all n, one seed",
          ("fedsciml.q15.antiderivative",)),
    Panel("Fig. 15B", "B2, local_steps", "E = 1, 100, 1000 at n = 5, 10, T = 5000 of 50 000, 21 x 11 points, one seed",
          ("fedsciml.q15.diffusion_reaction",)),
)  # fmt: skip
"""Where the panels of Figs. 12 to 15 are in notebook 07."""
