"""Our own criteria for notebook 13, of what it computed; no paper claims them."""

from collections.abc import Callable

import xarray

from ....notebook.maps import Panel
from ..ways import by_problem
from .study import Results
from .table import TITLES


def spread_over_levels(results: Results) -> float | None:
    """How many times the least error of one round the largest one is, over levels; of all equations and seeds."""
    ratios = [once.error.max("level") / once.error.min("level") for once in results.once.values()]
    return max(float(ratio.max()) for ratio in ratios) if ratios else None


def median(name: str, way: str, times: float = 1.0) -> Callable[[Results], xarray.DataArray]:
    """So many times the errors (%) of a way in the end [level, seed], of which medians count."""

    def quantity(results: Results) -> xarray.DataArray:
        error = results.ways[name][way].error.isel(round=-1, drop=True)
        return (times * error).assign_attrs(middle="median", units="%")

    return quantity


def pendulum(results: Results, sums: bool) -> float | None:
    """The largest error (%) of the linear map, or the least of all networks of notebook 01."""
    error = by_problem(results.places)[TITLES["pendulum"]]
    ours = error.pop("one round of sums")
    return float(ours.max()) if sums else float(min(errors.min() for errors in error.values()))


def missed(sums: str) -> Callable[[Results], xarray.DataArray]:
    """By how much the attack misses the worst point, with twelve sines and with more, of all seeds."""
    return lambda results: results.leak.off.sel(sums=sums).where(results.leak.m >= 12).max()


def share_found(results: Results) -> xarray.DataArray:
    """The least share of points (mean) that an attack finds of sums whose noise leaves an error (median) below 5 %."""
    return results.noise.found.mean("seed").max("attack").where(results.noise.error.median("seed") < 5).min()


def of_k(results: Results) -> xarray.DataArray:
    """Errors (%) of k by one message at ten inner points [seed], at the worst level."""
    return results.coefficient.error_k.sel(points="10 inner").max("level").assign_attrs(middle="median", units="%")


def of_network(results: Results) -> xarray.DataArray:
    """Those of notebook 06b's network with all observations [seed]."""
    error = results.networks_of_k.error.sel(kind="centralised").isel(level=0)
    return error.assign_attrs(middle="median", units="%")


CLAIMS = {
    "fedsciml.target.sums.levels": (spread_over_levels, "<", 1.01),
    "fedsciml.target.sums.poisson": (median("poisson", "one round of sums", 100), "<", median("poisson", "best rule")),
    "fedsciml.target.sums.helmholtz": (
        median("helmholtz", "one round of sums", 100),
        "<",
        median("helmholtz", "best rule"),
    ),
    "fed-deeponet.target.sums.linear": (lambda r: pendulum(r, sums=True), "<", lambda r: pendulum(r, sums=False)),
    "fedsciml.target.sums.client": (missed("one client"), "<", 1e-6),
    "fedsciml.target.sums.total": (missed("total"), "<", 1e-3),
    "fedsciml.target.sums.noise": (share_found, ">", 0.5),
    "fedsciml.target.sums.crowd": (lambda r: r.private.error.sel(points=100_000, epsilon=10).max(), "<", 1),
    "fedsciml.target.sums.coefficient": (of_k, "<", of_network),
}
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""

PANELS = (
    Panel("beyond FedSciML, Figs. 7A, 8A", "section 3, race and levels", "notebook 05's points, levels and tests; five "
          "seeds", tuple(f"fedsciml.target.sums.{id}" for id in ("levels", "poisson", "helmholtz"))),
    Panel("beyond Fed-DeepONet, Exp. 2", "section 4, every_problem", "10 000 triplets, 20 clients; five seeds",
          ("fed-deeponet.target.sums.linear",)),
    Panel("beyond FedSciML, Fig. 11", "notebook 06b", "its observations and points; five draws of sines",
          ("fedsciml.target.sums.coefficient",)),
    Panel("what sums tell", "section 5, noise, and B2, told and hiding", "Poisson; three and five draws",
          tuple(f"fedsciml.target.sums.{id}" for id in ("client", "total", "noise", "crowd"))),
)  # fmt: skip
"""Where each question beyond the papers stands in notebook 13."""
