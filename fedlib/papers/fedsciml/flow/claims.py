"""What FedSciML says of the flow (Section 5.5, Fig. 10, Table 2): id -> claim(results) -> ``Verdict``.

Claims rest on means over seeds. Times are first passages, as in the paper, in thousands of rounds: "never" is later
than any, and of what is not seen in the rounds that are trained nothing can be told. Where a training *ends* is looked
at after the last round that all federations have, and told from half of the rounds on.
"""

from collections.abc import Callable, Sequence

import numpy as np
import xarray

from ....notebook.claims import Verdict, fewest, on_seeds
from ....notebook.maps import Panel
from ....numerics.metrics import in_percent, mean_sd
from .problem import TRUTH
from .study import Results, reached, settled, trained

Claim = Callable[[Results], Verdict | None]


def of_all(results: Results, models: Sequence[str] = ()) -> xarray.DataArray:
    """C of some models, by default of all federations from few pieces to many, of the seeds that all of them have."""
    labels = [label for label in results.C.model.values if label.startswith("n = ")]
    C = results.C.sel(model=[*models] or sorted(labels, key=lambda label: int(label[4:])))
    return C.isel(seed=np.flatnonzero((trained(C) > 0).all("model")))


def times(passage: xarray.DataArray, name: str, tolerance: float) -> list[float]:
    """Mean over seeds of passages [model, seed, coefficient, within], of each model, in thousands."""
    return (passage.sel(coefficient=name, within=tolerance).mean("seed", skipna=False) / 1000).values.tolist()


def in_words(values: Sequence[float]) -> str:
    """Times, the first model's first."""
    return ", ".join("later" if np.isnan(v) else f"{v:.3g}k" if np.isfinite(v) else "never" for v in values)


def unless_unknown(holds: bool, values: Sequence[float], words: str) -> Verdict:
    """A verdict, unless some value is not known yet."""
    return Verdict(None if np.isnan(values).any() else bool(holds), words)


def falls(values: Sequence[float]) -> Verdict | None:
    """Times get shorter from model to model."""
    if len(values) < 2:
        return None
    return unless_unknown(
        [*values] == sorted(values, reverse=True) and values[0] > values[-1], values, in_words(values)
    )


def sooner(name: str) -> Claim:
    """With more pieces a coefficient comes within 10 % sooner."""
    return lambda results: falls(times(reached(of_all(results), results.whole), name, 10))


def stays_sooner(name: str) -> Claim:
    """With more pieces a coefficient stays within 10 % sooner."""
    return at_the_end(lambda C: falls(times(settled(C), name, 10)))


def accuracy(results: Results) -> Verdict:
    """What comes within 10 % takes longer to 0.5 %."""
    passage = reached(of_all(results), results.whole)
    pairs = [pair for name in TRUTH for pair in zip(*(times(passage, name, t) for t in (10, 0.5)), strict=True)]
    longer = [not late <= early for early, late in pairs if np.isfinite(early)]
    return Verdict(all(longer) if longer else None, f"{sum(longer)} of {len(longer)} coefficients within 10 %")


def at_the_end(judge: Callable[[xarray.DataArray], Verdict | None], *models: str) -> Claim:
    """Judge C [model, seed, coefficient, round] up to the last round that all models have."""

    def claim(results: Results) -> Verdict | None:
        if not {*models} <= {*results.C.model.values}:
            return None
        C = of_all(results, models)
        rounds = int(trained(C).min())
        verdict = judge(C.sel(round=slice(None, rounds)))
        if verdict is None or rounds == results.whole:
            return verdict
        why = f"{verdict.why}, after {rounds} of {results.whole} rounds"
        return Verdict(verdict.holds if 2 * rounds >= results.whole else None, why)

    return claim


def errors(C: xarray.DataArray) -> xarray.DataArray:
    """Error (%) after the last round, mean over seeds [model, coefficient]."""
    truth = xarray.DataArray([*TRUTH.values()], dims="coefficient")
    return (100 * abs(C.isel(round=-1, drop=True) / truth - 1)).mean("seed")


def largest(values: xarray.DataArray) -> Verdict | None:
    """The largest of values [model] is the first one, and no other is as large."""
    if len(values) < 2:
        return None
    return Verdict(bool((values[0] > values[1:]).all()), str(values.model.values[int(values.values.argmax())]))


def worst(name: str) -> Claim:
    """A coefficient ends worst with the fewest pieces."""
    return at_the_end(lambda C: largest(errors(C).sel(coefficient=name)))


def widest(name: str) -> Claim:
    """The st.dev. of a coefficient over seeds, mean over the rounds, is largest with the fewest pieces."""

    def claim(results: Results) -> Verdict | None:
        C = of_all(results).sel(coefficient=name).dropna("round")
        return largest(mean_sd(C, "seed")[1].mean("round")) if C.sizes["seed"] > 1 else None

    return claim


def within(**limits: float) -> Callable[[xarray.DataArray], Verdict]:
    """All models end within so many % of C1 and C2."""

    def judge(C: xarray.DataArray) -> Verdict:
        off = errors(C).sel(coefficient=[*limits])
        words = "; ".join(f"{m}: {', '.join(map(in_percent, off.sel(model=m).values))}" for m in off.model.values)
        return Verdict(bool((off < xarray.DataArray([*limits.values()], dims="coefficient")).all()), words)

    return judge


def aliasing(n: int) -> Claim:
    """C1 comes within 10 % sooner where the clients' steps are summed."""

    def claim(results: Results) -> Verdict | None:
        if f"aliased, n = {n}" not in results.C.model.values:
            return None
        C = of_all(results, [f"n = {n}", f"aliased, n = {n}"])
        return falls(times(reached(C, results.whole), "C1", 10))

    return claim


CLAIMS: dict[str, Claim] = on_seeds(lambda results: fewest(of_all(results)), {
    **{f"fedsciml.q8.sooner.{name}": sooner(name) for name in TRUTH},
    "fedsciml.q8.accuracy": accuracy,
    "fedsciml.q8.similar": lambda results: Verdict(results.apart == 0, f"clients differ by {results.apart:g}"),
    **{f"fedsciml.q8.error.{name}": worst(name) for name in TRUTH},
    **{f"fedsciml.q8.spread.{name}": widest(name) for name in TRUTH},
    "fedsciml.q8.converge": at_the_end(within(C1=10, C2=10)),
}) | {
    **{f"fedsciml.target.stays.{name}": stays_sooner(name) for name in TRUTH},
    **{f"fedsciml.target.flow.central/{n}": at_the_end(within(C1=1, C2=5), f"centralised, {n}") for n in (700, 7000)},
    "fedsciml.target.flow.aliasing/2": aliasing(2),
}  # fmt: skip
"""Id of data/claims.yaml -> claim."""

PANELS = (
    Panel("Fig. 10A-C", "section 5, pieces", "2, 6, 10 pieces, five seeds, the first 10 000 of T = 40 000 rounds",
          ("fedsciml.q8.error.C1", "fedsciml.q8.error.C2", "fedsciml.q8.spread.C1", "fedsciml.q8.spread.C2",
           "fedsciml.q8.converge", "fedsciml.q8.similar")),
    Panel("Table 2", "B3, table2", "the same, C in every round; the centralised model has 7000 observations",
          ("fedsciml.q8.sooner.C1", "fedsciml.q8.sooner.C2", "fedsciml.q8.accuracy")),
)  # fmt: skip
"""Where Fig. 10 and Table 2 are in notebook 06."""
