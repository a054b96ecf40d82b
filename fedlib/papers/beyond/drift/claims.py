"""Our own criteria for notebook 11, as pure functions of what it trained; no paper claims them."""

from ....notebook.claims import Verdict
from .study import REPAIR, Results, ratio


def repaired(results: Results, name: str = "line_20") -> Verdict | None:
    """At 20 pieces of the wave the repair has less than a fifth of FedAvg's error, each at its own rate."""
    errors = results.errors.get(name)
    if errors is None or not {REPAIR, "FedAvg"} <= {*errors["rule"].values.tolist()}:
        return None
    times = ratio(errors, REPAIR)
    return Verdict(times.mean < 1 / 5, f"{times} x")


def stale(results: Results, name: str = "line_20", E: int = 20) -> Verdict | None:
    """And with twenty local steps it has not."""
    errors = results.local_steps.get(name)
    if errors is None or E not in errors.E or not {REPAIR, "FedAvg"} <= {*errors["rule"].values.tolist()}:
        return None
    times = ratio(errors.sel(E=E), REPAIR)
    return Verdict(times.mean > 1 / 5, f"{times} x")


def everywhere(results: Results) -> Verdict | None:
    """The repair is better than FedAvg on every problem, in means over seeds."""
    pairs = [e for e in results.errors.values() if {REPAIR, "FedAvg"} <= {*e["rule"].values.tolist()}]
    if not pairs:
        return None
    better = sum(float(errors.sel(rule=REPAIR).mean()) < float(errors.sel(rule="FedAvg").mean()) for errors in pairs)
    return Verdict(better == len(pairs), f"{better} of {len(pairs)}")


CLAIMS = {
    "fedsciml.target.drift.repaired": repaired,
    "fedsciml.target.drift.stale": stale,
    "fedsciml.target.drift.everywhere": everywhere,
}
"""Id of data/claims.yaml -> claim."""
