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
from ....notebook.verdicts import paper_numbers
from ....numerics.metrics import in_percent, mean_sd
from .problem import TRUTH
from .study import TOLERANCES, Results, reached, trained

Claim = Callable[[Results], Verdict | None]


def federations(results: Results) -> xarray.DataArray:
    """C of all federations from few pieces to many, of the seeds that all of them have."""
    labels = [label for label in results.C.model.values if label.startswith("n = ")]
    C = results.C.sel(model=sorted(labels, key=lambda label: int(label[4:])))
    return C.isel(seed=np.flatnonzero((trained(C) > 0).all("model")))


def times(results: Results, name: str, tolerance: float) -> list[float]:
    """Mean over seeds of the first passage of each federation, in thousands."""
    passage = reached(federations(results), results.whole).sel(coefficient=name, within=tolerance)
    return (passage.mean("seed", skipna=False) / 1000).values.tolist()


def in_words(values: Sequence[float]) -> str:
    """Times, the first model's first."""
    return ", ".join("later" if np.isnan(v) else f"{v:.3g}k" if np.isfinite(v) else "never" for v in values)


def sooner(name: str) -> Claim:
    """With more pieces a coefficient comes within 10 % sooner; unknown where one has not come yet."""

    def claim(results: Results) -> Verdict | None:
        values = times(results, name, 10)
        if len(values) < 2:
            return None
        falls = values == sorted(values, reverse=True) and values[0] > values[-1]
        return Verdict(None if np.isnan(values).any() else falls, in_words(values))

    return claim


def accuracy(results: Results) -> Verdict:
    """What comes within 10 % takes longer to 0.5 %."""
    pairs = [pair for name in TRUTH for pair in zip(*(times(results, name, t) for t in (10, 0.5)), strict=True)]
    longer = [not late <= early for early, late in pairs if np.isfinite(early)]
    return Verdict(all(longer) if longer else None, f"{sum(longer)} of {len(longer)} coefficients within 10 %")


def at_the_end(judge: Callable[[xarray.DataArray], Verdict | None]) -> Claim:
    """Judge the errors (%) [model, coefficient] of federations after the last round, means over seeds; of less than
    half of a training nothing can be told."""

    def claim(results: Results) -> Verdict | None:
        C = federations(results)
        truth, rounds = xarray.DataArray([*TRUTH.values()], dims="coefficient"), int(C["round"][-1])
        verdict = judge((100 * abs(C.isel(round=-1, drop=True) / truth - 1)).mean("seed"))
        if verdict is None or rounds == results.whole:
            return verdict
        why = f"{verdict.why}, after {rounds} of {results.whole} rounds"
        return Verdict(verdict.holds if 2 * rounds >= results.whole else None, why)

    return claim


def largest(values: xarray.DataArray) -> Verdict | None:
    """The largest of values [model] is the first one, and no other is as large."""
    if len(values) < 2:
        return None
    return Verdict(bool((values[0] > values[1:]).all()), str(values.model.values[int(values.values.argmax())]))


def widest(name: str) -> Claim:
    """The st.dev. of a coefficient over seeds, mean over the rounds, is largest with the fewest pieces."""

    def claim(results: Results) -> Verdict | None:
        C = federations(results).sel(coefficient=name).dropna("round")
        return largest(mean_sd(C, "seed")[1].mean("round")) if C.sizes["seed"] > 1 else None

    return claim


def converge(errors: xarray.DataArray) -> Verdict:
    """All federations end within 10 % of both coefficients."""
    words = "; ".join(f"{m}: {', '.join(map(in_percent, errors.sel(model=m).values))}" for m in errors.model.values)
    return Verdict(bool((errors < 10).all()), words)


CLAIMS: dict[str, Claim] = on_seeds(lambda results: fewest(federations(results)), {
    **{f"fedsciml.q8.sooner.{name}": sooner(name) for name in TRUTH},
    "fedsciml.q8.accuracy": accuracy,
    "fedsciml.q8.similar": lambda results: Verdict(results.apart == 0, f"clients differ by {results.apart:g}"),
    "fedsciml.q8.error.C1": at_the_end(lambda errors: largest(errors.sel(coefficient="C1"))),
    "fedsciml.q8.error.C2": at_the_end(lambda errors: largest(errors.sel(coefficient="C2"))),
    **{f"fedsciml.q8.spread.{name}": widest(name) for name in TRUTH},
    "fedsciml.q8.converge": at_the_end(converge),
})  # fmt: skip
"""Id of data/claims.yaml -> claim."""

ROWS = {"n = 2": "n2", "n = 6": "n6", "n = 10": "n10", "centralised, 7000": "central"}
"""Model -> its columns of Table 2 in data/paper_numbers.yaml; the centralised model's observations are the code's."""


def printed(label: str) -> dict[tuple[str, float], str]:
    """(coefficient, tolerance) -> id of the printed time of a model, if the paper has it."""
    named = {(name, t): f"fedsciml.table2.{ROWS.get(label)}.{name}.{t}" for name in TRUTH for t in TOLERANCES}
    return {key: id for key, id in named.items() if id in paper_numbers()}


def measured(results: Results) -> dict[str, dict]:
    """Id -> arguments of ``run.measure``: our first passage by seed, infinite for never, and where a seed has not come
    yet the bound, of how many rounds it was trained."""
    passages, rows = reached(results.C, results.whole) / 1000, {}
    for label in passages.model.values:
        rounds = trained(results.C.sel(model=label)).values / 1000
        for (name, t), id in printed(label).items():
            values = passages.sel(model=label, coefficient=name, within=t).values[rounds > 0]
            late = np.isnan(values)
            rows[id] = {"values": values, "bound": rounds[rounds > 0][late].min().item() if late.any() else None}
    return rows


PANELS = (
    Panel("Fig. 10A-C", "section 5, pieces", "2, 6, 10 pieces, five seeds, the first 10 000 of T = 40 000 rounds",
          ("fedsciml.q8.error.C1", "fedsciml.q8.error.C2", "fedsciml.q8.spread.C1", "fedsciml.q8.spread.C2",
           "fedsciml.q8.converge", "fedsciml.q8.similar")),
    Panel("Table 2", "B2, table2", "the same, C in every round; the centralised model has 7000 observations",
          ("fedsciml.q8.sooner.C1", "fedsciml.q8.sooner.C2", "fedsciml.q8.accuracy")),
)  # fmt: skip
"""Where Fig. 10 and Table 2 are in notebook 06."""
