"""What FedSciML says of the flow (Section 5.5, Fig. 10, Table 2).

Times are first passages, as in the paper, in thousands of rounds: "never" is later than any. Where a training *ends* is
looked at after the last round that all federations have, and told from half of the rounds on.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray

from ....notebook.claims import Seeded, fewest
from ....notebook.maps import Panel
from ....notebook.relations import judged
from ....notebook.verdicts import paper_numbers
from ....numerics.metrics import mean_sd
from .problem import TRUTH
from .study import TOLERANCES, Results, off, reached, trained

Quantity = Callable[[Results], xarray.DataArray | None]


def federations(results: Results) -> xarray.DataArray:
    """C of all federations [pieces, ...] from few pieces to many, of the seeds that all of them have."""
    pieces = sorted(int(label[4:]) for label in results.C.model.values if label.startswith("n = "))
    C = results.C.sel(model=[f"n = {n}" for n in pieces]).rename(model="pieces").assign_coords(pieces=pieces)
    return C.isel(seed=np.flatnonzero((trained(C) > 0).all("pieces")))


def passages(results: Results, within: float) -> xarray.DataArray:
    """Of federations [pieces, seed, coefficient], NaN where one has not come yet."""
    return reached(federations(results), results.whole).sel(within=within, drop=True) / 1000


def until(name: str) -> Quantity:
    """When a coefficient comes within 10 % [pieces, seed]; unknown where one has not come yet."""

    def quantity(results: Results) -> xarray.DataArray | None:
        times = passages(results, 10).sel(coefficient=name)
        return None if times.isnull().any() else times

    return quantity


def end(*names: str, pieces: int | slice = slice(None)) -> Quantity:
    """Errors (%) of coefficients [pieces, seed, coefficient] after the last round."""

    def quantity(results: Results) -> xarray.DataArray | None:
        C = federations(results)
        errors = off(C.isel(round=-1, drop=True)).sel(coefficient=[*names]).assign_attrs(units="%")
        return errors.isel(pieces=pieces, drop=True) if 2 * C["round"][-1] >= results.whole else None

    return quantity


def spread(name: str, pieces: int | slice) -> Quantity:
    """The largest st.dev. of a coefficient over seeds, mean over the rounds; one seed has none."""

    def quantity(results: Results) -> xarray.DataArray | None:
        C = federations(results).sel(coefficient=name).dropna("round").isel(pieces=pieces)
        return mean_sd(C, "seed")[1].mean("round").max() if C.sizes["seed"] > 1 and C.size else None

    return quantity


FEWEST, MORE = 0, slice(1, None)
"""Pieces: of the most heterogeneous federation, and of the others."""

CLAIMS = {
    **{f"fedsciml.q8.sooner.{name}": (until(name), "falls along", "pieces") for name in TRUTH},
    "fedsciml.q8.accuracy": (
        lambda results: passages(results, 0.5).fillna(trained(federations(results)) / 1000),  # or later than that
        ">",
        lambda results: passages(results, 10).where(np.isfinite),
    ),
    "fedsciml.q8.similar": (lambda results: results.apart, "<", 1e-4),
    **{f"fedsciml.q8.error.{C}": (end(C, pieces=FEWEST), ">", end(C, pieces=MORE)) for C in TRUTH},
    **{
        f"fedsciml.q8.spread.{C}": Seeded(
            partial(judged, (spread(C, FEWEST), ">", spread(C, MORE))), lambda results: fewest(federations(results))
        )
        for C in TRUTH
    },
    "fedsciml.q8.converge": (end(*TRUTH), "<", 10),
}
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""

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
