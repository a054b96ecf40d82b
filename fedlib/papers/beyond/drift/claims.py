"""Our own criterion for notebook 11; no paper claims it."""

import xarray

from .study import REPAIR, Results


def error(results: Results, rule: str, name: str = "line_20", E: int = 20) -> xarray.DataArray:
    """Of a rule with so many local steps in a round [seed]."""
    return results.local_steps[name].sel(rule=rule, E=E)


CLAIMS = {
    "fedsciml.target.drift.stale": (
        lambda results: error(results, REPAIR),
        "surely >",
        lambda results: error(results, "FedAvg") / 5,
    ),
}
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""
