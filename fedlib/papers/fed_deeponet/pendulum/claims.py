"""What Fed-DeepONet says of Experiments 1 and 2 (Figs. 1 to 4, Tables 1 and 2), and what it prints of them."""

from collections.abc import Callable

import xarray

from ....notebook.claims import LEARNT
from ....notebook.maps import Panel
from ..trainings import last
from .study import PRINTED, Results, by_name

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Of Table 2."""

CLOSE, ROBUST = 1.25, 2
"""What is within so many times another error keeps its accuracy; how much settings may differ."""

FASTER = 3
"""So many times less training loss is far less."""


def error(name: str, metric: str = "error") -> Callable[[Results], xarray.DataArray]:
    """Error (%) [seed] of a model of ``by_name``; of several torques their mean."""

    def quantity(results: Results) -> xarray.DataArray:
        values = by_name(results, metric)[name]
        return values.mean("i", keep_attrs=True) if "i" in values.dims else values

    return quantity


def times(factor: float, *names: str, metric: str = "error") -> Callable[[Results], float | None]:
    """So many times the mean error (%) of the best of these models that are trained, if it has learnt something."""

    def quantity(results: Results) -> float | None:
        means = [error(name, metric)(results).mean().item() for name in names if name in by_name(results)]
        return min(factor * min(means), LEARNT) if means else None

    return quantity


def losses(results: Results, way: str) -> xarray.DataArray:
    """Training loss after the last round [seed, ...] at Algorithm 1's number of clients."""
    values = getattr(results, way).loss.isel(loss_round=-1, drop=True)
    return values.sel(level=results.algorithm_1.level.item(), drop=True)


def table_1(results: Results) -> xarray.DataArray:
    """Error (%) [level, seed] at the numbers of clients that Table 1 has."""
    errors = last(results.clients)
    return errors.sel(level=[C for C in sorted(errors.level.values.tolist()) if C in PRINTED])


TABLES = (*(f"C={C}" for C in PRINTED), *(f"alpha={a}" for a in SHARES), "alpha=varies")
"""Models of Tables 1 and 2."""


def worst(results: Results) -> xarray.DataArray | None:
    """Error (%) [seed] of the one with the largest mean."""
    rows = [values for name, values in by_name(results).items() if name in TABLES]
    return max(rows, key=lambda values: values.mean().item(), default=None)


CENTRAL = {work: f"centralised, same {work}" for work in ("steps", "passes")}
STEPS = (CENTRAL["steps"], "C=1")
"""With as many steps as a client there are two models: whose moments are kept, and who is alone with all triplets."""

CLAIMS = {
    "fed-deeponet.adam": (
        lambda r: losses(r, "algorithm_1"), ">", lambda r: FASTER * losses(r, "clients").mean().item(),
    ),
    "fed-deeponet.centralised.steps": (error("C=20"), "<", times(CLOSE, *STEPS)),
    "fed-deeponet.centralised.passes": (error("C=20"), "<", times(CLOSE, CENTRAL["passes"])),
    "fed-deeponet.centralised.unseen.steps": (error("C=20", "unseen"), "<", times(CLOSE, *STEPS, metric="unseen")),
    "fed-deeponet.centralised.unseen.passes": (
        error("C=20", "unseen"), "<", times(CLOSE, CENTRAL["passes"], metric="unseen"),
    ),
    "fed-deeponet.robust": (worst, "<", times(ROBUST, *TABLES)),
    "fed-deeponet.varying.share": (error("alpha=varies"), "<", times(CLOSE, "C=20")),
    "fed-deeponet.target.clients.rising": (table_1, "rises along", "level"),
}  # fmt: skip
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""


def measured(results: Results) -> dict[str, dict]:
    """Printed number -> our values (%), one per seed. Figs. 3 and 4 are those of alpha = 1."""
    errors, spreads, unseen = (by_name(results, metric) for metric in ("error", "spread", "unseen"))
    names = {f"table1.C{C}": f"C={C}" for C in PRINTED}
    names |= {f"table2.a{100 * a:g}": f"alpha={a}" for a in SHARES} | {"varying": "alpha=varies"}
    values = {id: errors[name] for id, name in names.items() if name in errors}
    values |= {f"{id}.sd": spreads[name] for id, name in names.items() if name in errors}
    if "alpha=1.0" in errors:
        values |= dict.fromkeys(("exp2.mean", "fig3.1", "fig3.2", "fig3.3"), errors["alpha=1.0"])
        values |= {f"fig4.{name}": unseen["alpha=1.0"].isel(i=i) for i, name in enumerate(("t", "sin", "tsin"))}
    return {f"fed-deeponet.{id}": {"values": of_seeds.values} for id, of_seeds in values.items()}


FULL = "N, R, K, C, alpha as printed, twenty seeds"

PANELS = (
    Panel("Fig. 1", "section 2", "a DeepONet, drawn by code"),
    Panel("Algorithms 1, 2", "section 3, B3", "plain loops, equal to the engine in float64; Eq. 8 mended"),
    Panel("Fig. 2", "B2, fig2", "as printed, five seeds; rates are ours", ("fed-deeponet.adam",)),
    Panel("Fig. 3", "B2, fig3", "alpha = 1, first seed; which three trajectories is not said"),
    Panel("Fig. 4", "B2, fig4 and conventions", "alpha = 1, twenty seeds, four conventions",
          ("fed-deeponet.centralised.unseen.steps", "fed-deeponet.centralised.unseen.passes")),
    Panel("Table 1", "section 4, B2, tables", FULL,
          ("fed-deeponet.robust", "fed-deeponet.centralised.steps", "fed-deeponet.centralised.passes",
           "fed-deeponet.target.clients.rising")),
    Panel("Table 2", "B2, tables", FULL, ("fed-deeponet.robust",)),
    Panel("alpha in [0.1, 1]", "B1", FULL, ("fed-deeponet.varying.share",)),
)  # fmt: skip
"""Where Figs. 1 to 4 and Tables 1 and 2 are in notebook 01."""
