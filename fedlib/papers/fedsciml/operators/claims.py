"""What FedSciML says of operators (Section 6, Figs. 12 to 15), as pure functions of ``Results``.

"Below" is read of means over seeds, the antiderivative's jump of medians: at these levels seeds fall into two groups.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import xarray

from ....notebook.claims import LEARNT, Seeded, Verdict, fewest, on_seeds
from ....notebook.maps import Panel
from ....numerics.metrics import mean_sd
from ....numerics.spaces import TERMS
from .. import yardsticks
from .problem import TITLES, known_terms
from .study import EXAMPLES, JUMP, LINE, Results

Claim = Callable[[Results], Verdict | None]


def listed(values: Iterable[float]) -> str:
    """Numbers with two digits, those from ten on whole."""
    return ", ".join(f"{v:.0f}" if v >= 10 else f"{v:.1f}" if v >= 1 else f"{v:.2f}" for v in values)


def distant(values: xarray.DataArray) -> xarray.DataArray:
    """With a distance beside the level, which the yardsticks ask for: how many of the ten terms a client does not
    know."""
    return values.assign_coords(distance=("level", TERMS - values.level.values))


def twice_error(values: np.ndarray) -> tuple[float, float]:
    """Mean of values over seeds, and two standard errors of it."""
    values = values[np.isfinite(values)]
    mean, sd = mean_sd(values)
    return float(mean), float(2 * sd / len(values) ** 0.5)


def trained(last: xarray.DataArray) -> xarray.DataArray:
    """Errors (%) [kind, level, seed] of the levels that have a federation."""
    return last.isel(level=last.sel(kind="federated").notnull().any("seed").values)


def clients(last: xarray.DataArray) -> xarray.DataArray:
    """Those of the clients alone."""
    return trained(last).sel(kind=[kind for kind in last.kind.values if kind.endswith("alone")])


def federated(last: xarray.DataArray) -> xarray.DataArray:
    """Those of the federation, means over seeds [level]."""
    return trained(last).sel(kind="federated", drop=True).mean("seed")


def few(values: xarray.DataArray) -> xarray.DataArray:
    """Those of the levels at which clients know different terms."""
    return values.isel(level=values.level.values < TERMS)


def below(last: xarray.DataArray) -> Verdict:
    """Q10: the federated error is below every client's, at every level."""
    ratio = clients(last).mean("seed").min("kind") / federated(last)
    return Verdict(bool((ratio > 1).all()), f"best client / federated {listed(ratio.values)}")


def falls(last: xarray.DataArray) -> Verdict:
    """Q10: the federated error falls with n."""
    verdict = yardsticks.falls(distant(trained(last)))
    return Verdict(verdict.holds, f"{listed(federated(last).values)} %; {verdict.why}")


def central(last: xarray.DataArray) -> Verdict | None:
    """Q10: at n = 10 the federation is within half of the centralised model."""
    mean = trained(last).mean("seed")
    if TERMS not in mean.level or "centralised" not in mean.kind:
        return None
    together, centre = (mean.sel(kind=kind, level=TERMS).item() for kind in ("federated", "centralised"))
    near = together <= 1.5 * centre and together < LEARNT
    return Verdict(near, f"{together:.2f} % and {centre:.2f} %") if centre == centre else None


def last_worse(last: xarray.DataArray) -> Verdict | None:
    """Q12: below n = 10 the client with the last terms is worse than the one with the first."""
    alone = few(clients(last)).mean("seed")
    ratio = alone[-1] / alone[0]
    return Verdict(bool((ratio > 1).all()), f"last client / first {listed(ratio.values)}") if ratio.size else None


def worse_at_ten(last: xarray.DataArray) -> Verdict | None:
    """Q12: at n = 10, too, by more than two standard errors; one seed does not tell."""
    alone = clients(last)
    if TERMS not in alone.level or alone.sel(level=TERMS)[0].notnull().sum() < 2:
        return None
    gap, sure = twice_error((alone[-1] - alone[0]).sel(level=TERMS).values)
    return Verdict(gap > sure, f"difference {gap:.2f} %, two standard errors {sure:.2f} %")


def of_operator(name: str, yardstick: Callable[[xarray.DataArray], Verdict | None]) -> Claim:
    """A yardstick of the errors (%) [kind, level, seed] of an operator."""
    return Seeded(
        lambda results: yardstick(results.last[name]) if name in results.last else None,
        lambda results: fewest(trained(results.last[name])),
    )


# the antiderivative's jump


def medians(last: xarray.DataArray) -> xarray.DataArray:
    return last.sel(kind="federated").median("seed").dropna("level")


def jump(last: xarray.DataArray) -> Verdict | None:
    """Q10: from n = 5 to 6 the median falls by at least two; with every seed's own fall."""
    median = medians(last)
    if not {5, 6} <= {*median.level.values}:
        return None
    five, six = (last.sel(kind="federated", level=n) for n in (5, 6))
    paired = (five / six).dropna("seed").values
    fall = (median.sel(level=5) / median.sel(level=6)).item()
    numbers = f"{fall:.1f}; {(paired > 2).sum()} of {len(paired)} seeds fall by two or more"
    return Verdict(fall >= 2, numbers)


def largest(last: xarray.DataArray) -> Verdict | None:
    """Target: no step from one level to the next has a larger fall of the median."""
    median = medians(last)
    n = median.level.values
    fall = {(a, b): median.sel(level=a).item() / median.sel(level=b).item() for a, b in pairwise(n)}
    if (5, 6) not in fall:
        return None
    steps = ", ".join(f"{f:.1f} ({a} to {b})" for (a, b), f in fall.items())
    return Verdict(max(fall, key=fall.__getitem__) == (5, 6), f"medians fall by {steps}")


def below_five(last: xarray.DataArray) -> Verdict | None:
    """Target: at n = 10 the federated error is below 5 %."""
    if TERMS not in (mean := federated(last)).level:
        return None
    return Verdict(mean.sel(level=TERMS).item() < 5, f"{mean.sel(level=TERMS).item():.2f} %")


def coverage(results: Results) -> Verdict | None:
    """Q10: n = 6 is the first level at which the clients know all terms together."""
    somebody, _ = known_terms()
    numbers = f"terms known at n = 5, 6: {somebody[4:6]}"
    return Verdict(somebody[4] < somebody[5], numbers) if LINE in results.last else None


# weights


def trend(results: Results) -> Verdict | None:
    """Q11: the divergence of no matrix has a trend with n, up or down."""
    if (values := results.divergence) is None:
        return None
    if values.sizes["level"] < yardsticks.LEVELS:
        return Verdict(None, f"{values.sizes['level']} of at least {yardsticks.LEVELS} levels")
    values = values.mean("seed").transpose("matrix", "level")
    rho = yardsticks.correlations(distant(values))
    numbers = ", ".join(f"{matrix}: {r:.2f}" for matrix, r in zip(values.matrix.values, rho, strict=True))
    return Verdict(max(map(abs, rho)) < yardsticks.RHO, f"rank correlations with what is not known {numbers}")


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


# Burgers

BURGERS = ("burgers_2", "burgers_3")


def sharp(last: xarray.DataArray) -> Verdict | None:
    """Q13: the largest fall of client 2's error from level to level is larger than that of client 1's."""
    alone = clients(last).mean("seed").transpose("level", "kind").values
    if len(alone) < 2:
        return None
    steepest = (alone[:-1] / alone[1:]).max(0)
    return Verdict(bool(steepest[-1] > steepest[0]), f"largest falls of client 1 and 2: {listed(steepest)}")


def decay(results: Results) -> Verdict | None:
    """Q13: at t = 1 less than a tenth of the variation in x is left."""
    if results.faded is None or "burgers_2" not in results.last:
        return None
    return Verdict(results.faded < 10, f"{results.faded:.1f} % left at t = 1")


def apart(last: xarray.DataArray) -> np.ndarray:
    """Errors (%) of the clients alone below n = 10 [client, level]."""
    return few(clients(last)).mean("seed").transpose("kind", "level").values


def both(last: xarray.DataArray) -> Verdict | None:
    """Q12: clients 2 and 3 are both worse than client 1, below n = 10."""
    one, two, three = apart(last)
    numbers = f"{listed(two)} and {listed(three)} %, client 1 {listed(one)} %"
    return Verdict(bool((np.minimum(two, three) > one).all()), numbers) if one.size else None


def similar(last: xarray.DataArray) -> Verdict | None:
    """Q12: clients 2 and 3 are nearer to each other than to client 1, below n = 10."""
    one, two, three = apart(last)
    near = np.abs(two - three) < np.minimum(two, three) - one
    return Verdict(bool(near.all()), f"{listed(two)} and {listed(three)} %") if one.size else None


def better(results: Results) -> Verdict | None:
    """Q14: three clients are better than two somewhere below n = 10, and nowhere worse, by more than two standard
    errors."""
    if not {*BURGERS} <= {*results.last}:
        return None
    one, other = (few(trained(results.last[name])).sel(kind="federated") for name in BURGERS)
    gaps = {}
    for n in sorted({*one.level.values.tolist()} & {*other.level.values.tolist()}):
        (a, s), (b, t) = (twice_error(values.sel(level=n).values) for values in (one, other))
        gaps[n] = a - b, (s**2 + t**2) ** 0.5
    holds = all(gap > -sure for gap, sure in gaps.values()) and any(gap > sure for gap, sure in gaps.values())
    numbers = ", ".join(f"n = {n}: {gap:.1f} ± {sure:.1f}" for n, (gap, sure) in gaps.items())
    return Verdict(holds, f"two less three clients (%), two standard errors, {numbers}") if gaps else None


# local steps

PAPER_STEPS = 50_000
"""T of all operators (Section 6). With fewer steps there are fewer averages, which is not the paper's question."""


def every_E(results: Results, name: str) -> xarray.DataArray | None:
    """Errors (%) [E, level, seed] of the levels that have every E, or None."""
    if name not in results.local:
        return None
    tried = results.local[name].dropna("E", how="all")
    whole = tried.notnull().any("seed").all("E")
    return tried.sel(level=whole) if tried.sizes["E"] > 1 and whole.any() else None


def at_full_length(results: Results) -> Verdict | None:
    """Q15, diffusion-reaction: largest over smallest error over E, means over seeds, is at most 1.5 at every level,
    after all steps."""
    if (values := every_E(results, "diffusion_reaction")) is None:
        return None
    mean, T = values.mean("seed"), values.attrs["steps"]
    largest = (mean.max("E") / mean.min("E")).values
    holds = bool((largest <= 1.5).all()) if T >= PAPER_STEPS else None
    return Verdict(holds, f"{listed(largest)} at n = {values.level.values.tolist()}, T = {T}")


def less_than_seeds(results: Results) -> Verdict | None:
    """Q15, the antiderivative: the spread over E is below that over seeds, at every level that has both."""
    if (values := every_E(results, LINE)) is None or (values := values.dropna("seed")).sizes["seed"] < 2:
        return None
    over_E, over_seeds = mean_sd(values.mean("seed"), "E")[1], mean_sd(values, "seed")[1].mean("E")
    numbers = f"n = {values.level.values.tolist()}: {listed(over_E.values)} and {listed(over_seeds.values)} %"
    return Verdict(bool((over_E < over_seeds).all()), numbers)


# examples


def best_in_examples(name: str) -> Claim:
    """Q10: in the paper's examples the federation is better than all clients alone."""

    def claim(results: Results) -> Verdict | None:
        first = {n: results.examples[name, n].error[:, 0] for n in EXAMPLES[name] if (name, n) in results.examples}
        alone = {n: e.sel(model=[m for m in e.model.values if m.endswith("alone")]) for n, e in first.items()}
        best = [first[n].sel(model="federated").item() < alone[n].min().item() for n in first]
        texts = {n: listed([first[n].sel(model="federated").item(), *alone[n].values]) for n in first}
        return Verdict(all(best), "; ".join(f"n = {n}: {text} %" for n, text in texts.items())) if first else None

    return claim


def second_worse(results: Results) -> Verdict | None:
    """Q12: in the example of diffusion-reaction client 2 errs more than client 1."""
    if (one := results.examples.get(("diffusion_reaction", TERMS))) is None:
        return None
    first, second = one.error[:, 0].sel(model=["client 1 alone", "client 2 alone"]).values
    return Verdict(bool(second > first), f"{listed([first, second])} %")


OF_ALL = {
    "q10.below": (below, [LINE, "burgers_2", "burgers_3"], ["diffusion_reaction"]),
    "q10.falls": (falls, [*TITLES], []),
    "q10.central": (central, [LINE, "burgers_2", "burgers_3"], ["diffusion_reaction"]),
    "q12.below": (last_worse, ["burgers_2"], [LINE, "diffusion_reaction"]),
    "q12.ten": (worse_at_ten, ["diffusion_reaction"], ["burgers_2"]),
}
"""Yardstick, of which operators the paper says it, and of which it is a target of ours that was met."""

CLAIMS: dict[str, Claim] = {
    f"fedsciml.{sort}{what}.{name}": of_operator(name, yardstick)
    for what, (yardstick, claimed, met) in OF_ALL.items()
    for sort, names in (("", claimed), ("target.", met))
    for name in names
} | {
    "fedsciml.q10.jump": of_operator(LINE, jump),
    "fedsciml.target.q10.largest": of_operator(LINE, largest),
    "fedsciml.target.q10.level": of_operator(LINE, below_five),
    "fedsciml.q10.coverage": coverage,
    **on_seeds(lambda results: fewest(results.divergence), {
        "fedsciml.q11.trend": trend,
        "fedsciml.q11.less": less,
    }),
    "fedsciml.q13.sharp": of_operator("burgers_2", sharp),
    "fedsciml.q13.decay": decay,
    "fedsciml.q12.both.burgers_3": of_operator("burgers_3", both),
    "fedsciml.q12.similar.burgers_3": of_operator("burgers_3", similar),
    "fedsciml.q14.better": Seeded(better, lambda results: fewest(*(results.last[name] for name in BURGERS))),
    "fedsciml.q15.antiderivative": Seeded(less_than_seeds, lambda results: fewest(every_E(results, LINE))),
    "fedsciml.q15.diffusion_reaction": Seeded(
        at_full_length, lambda results: fewest(every_E(results, "diffusion_reaction"))
    ),
    "fedsciml.target.q10.example.burgers_2": best_in_examples("burgers_2"),
    **on_seeds(lambda results: 1, {
        "fedsciml.q10.example.antiderivative": best_in_examples(LINE),
        "fedsciml.q10.example.diffusion_reaction": best_in_examples("diffusion_reaction"),
        "fedsciml.q12.example.diffusion_reaction": second_worse,
    }),
}  # fmt: skip
"""Id of data/claims.yaml -> claim."""


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
    Panel("Fig. 12C, D", "B2, example_antiderivative_n6 and the table", "n = 6 and 10, T = 50 000, one seed",
          ("fedsciml.q10.example.antiderivative",)),
    Panel("Section 6.3, no panel", "B2, errors", "n = 2, 5, 6, 10, T = 50 000, 21 x 11 of 101 x 101 points, one seed",
          ("fedsciml.q10.falls.diffusion_reaction", "fedsciml.q12.ten.diffusion_reaction")),
    Panel("Fig. 13", "B2, the table", "n = 10, T = 50 000, 21 x 11 points, one seed",
          ("fedsciml.q10.example.diffusion_reaction", "fedsciml.q12.example.diffusion_reaction")),
    Panel("Fig. 14A", "B2, errors", FIVE,
          (*(f"fedsciml.{what}.burgers_2" for what in ("q10.below", "q10.falls", "q10.central", "q12.below")),
           "fedsciml.q13.sharp")),
    Panel("Fig. 14B", "B2, errors", FIVE,
          tuple(f"fedsciml.{what}.burgers_3" for what in ("q10.below", "q10.falls", "q10.central", "q12.both",
                                                          "q12.similar"))),
    Panel("Fig. 14C", "B2, clients", FIVE, ("fedsciml.q14.better",)),
    Panel("Fig. 14D, E", "B2, example_burgers_2_n5 and the table", "n = 5 and 10, T = 50 000, 21 x 14 points, one seed",
          ("fedsciml.q13.decay",)),
    Panel("Fig. 15A", "B2, local_steps", "five E at n = 2, 5, 10, five seeds; E = 1, 5, 1000 at all n, one seed",
          ("fedsciml.q15.antiderivative",)),
    Panel("Fig. 15B", "B2, local_steps", "E = 1, 100, 1000 at n = 5, 10, T = 5000 of 50 000, 21 x 11 points, one seed",
          ("fedsciml.q15.diffusion_reaction",)),
)  # fmt: skip
"""Where the panels of Figs. 12 to 15 are in notebook 07."""
