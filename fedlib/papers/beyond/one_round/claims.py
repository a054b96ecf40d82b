"""Our own criteria for notebook 13, as pure functions of what it computed; no paper claims them."""

from collections.abc import Callable

from ....notebook.claims import Verdict
from ....notebook.maps import Panel
from ..points import every_point
from ..ways import by_problem
from .study import Results
from .table import TITLES


def same_at_all_levels(results: Results) -> Verdict | None:
    """The error of one round does not know the level: within 1 %, each seed."""
    if "poisson" not in results.once:
        return None
    ratios = [table.error.max("level") / table.error.min("level") for table in results.once.values()]
    spread = max(float(ratio.max()) for ratio in ratios)
    return Verdict(spread < 1.01, f"largest ratio {spread:.4f}")


def better(name: str) -> Callable[[Results], Verdict | None]:
    """A hundred times below the best rule of notebook 11, in medians, at every level where both are."""

    def claim(results: Results) -> Verdict | None:
        last = {label: way.error.isel(round=-1).median("seed") for label, way in results.ways.get(name, {}).items()}
        if "best rule" not in last:
            return None
        ratio = last["best rule"] / last["one round of sums"]  # at the levels that both have
        if not ratio.size:
            return None
        return Verdict(bool((ratio > 100).all()), f"{float(ratio.min()):.0f} times, {ratio.sizes['level']} levels")

    return claim


def linear_map(results: Results) -> Verdict | None:
    """The pendulum's linear map errs less than every network of notebook 01, federated or not."""
    error = by_problem(results.places).get(TITLES["pendulum"], {})
    if "one round of sums" not in error:
        return None
    ours = error["one round of sums"]
    least = min(errors.min() for way, errors in error.items() if way != "one round of sums")
    return Verdict(bool(ours.max() < least), f"at most {ours.max():.3f} %, the best network {least:.3f} %")


def points(sums: str, within: float) -> Callable[[Results], Verdict | None]:
    """With twelve sines and with more, the attack finds every point of these sums, in every seed."""

    def claim(results: Results) -> Verdict | None:
        if results.leak is None:
            return None
        return every_point(results.leak.off.sel(sums=sums, m=results.leak.m >= 12), within)

    return claim


def noise(results: Results) -> Verdict | None:
    """No noise leaves the solution an error (median) below 5 %, and hides half of the points (mean) from the attack."""
    if results.noise is None:
        return None
    share = results.noise.found.mean("seed").max("attack")
    useful = share.where(results.noise.error.median("seed") < 5)
    if not useful.notnull().any():
        return None
    return Verdict(bool(useful.min() > 0.5), f"finds {100 * float(useful.min()):.0f} % or more")


def crowd(results: Results) -> Verdict | None:
    """Of 100 000 points, with one of them hidden at epsilon 10, the error is below 1 %, in every seed."""
    if results.private is None or not (100_000 in results.private.points and 10 in results.private.epsilon):
        return None
    largest = float(results.private.error.sel(points=100_000, epsilon=10).max())
    return Verdict(largest < 1, f"at most {largest:.2f} %")


def coefficient(results: Results) -> Verdict | None:
    """At ten inner points k errs less than notebook 06b's network with all observations, in the median."""
    if results.coefficient is None:
        return None
    ours = float(results.coefficient.error_k.sel(points="10 inner").max("level").median())
    network = float(results.networks_of_k.error.sel(kind="centralised").isel(level=0).median())
    return Verdict(ours < network, f"{ours:.1f} %, the network {network:.1f} %")


CLAIMS = {
    "fedsciml.target.sums.levels": same_at_all_levels,
    "fedsciml.target.sums.poisson": better("poisson"),
    "fedsciml.target.sums.helmholtz": better("helmholtz"),
    "fed-deeponet.target.sums.linear": linear_map,
    "fedsciml.target.sums.client": points("one client", 1e-6),
    "fedsciml.target.sums.total": points("total", 1e-3),
    "fedsciml.target.sums.noise": noise,
    "fedsciml.target.sums.crowd": crowd,
    "fedsciml.target.sums.coefficient": coefficient,
}
"""Id of data/claims.yaml -> claim."""

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
