"""What notebook 12 states, as pure functions of ``Results``; each statement on privacy names the attack."""

from ....notebook.claims import Verdict
from .study import Results


def equal(results: Results) -> Verdict | None:
    """A federation of sites is the training in one process."""
    d = results.difference
    return None if d is None else Verdict(d < 1e-12, f"{d:.0e}")


def hidden(results: Results) -> Verdict | None:
    """No number of a client's points stands in a message."""
    n = results.common
    return None if n is None else Verdict(n == 0, f"in {n} arrays")


def one_point(results: Results) -> Verdict | None:
    """By ratios the server reads every client's only torque after one step of gradient descent."""
    if results.messages is None or 1 not in results.messages.points or 1 not in results.messages.E:
        return None
    worst = results.messages.off.sel(optimizer="SGD", E=1, points=1).max().item()
    return Verdict(worst < 1, f"off by at most {worst:.2g} %")


def ten_points(results: Results) -> Verdict | None:
    """By their span it tells torques of a client with ten points from another client's."""
    if results.messages is None or 10 not in results.messages.points or 1 not in results.messages.E:
        return None
    right = results.messages.span.sel(optimizer="SGD", E=1, points=10).mean().item()
    return Verdict(right > 90, f"{right:.0f} %")


def wire(results: Results) -> Verdict | None:
    """Off the recorded messages the span tells nothing."""
    if results.wire is None:
        return None
    span, fit = (results.wire[name].mean().item() for name in ("span", "fit"))
    return Verdict(span < 55, f"{span:.0f} % by their span, {fit:.0f} % by their fit")


def price(results: Results) -> Verdict | None:
    """A round over messages takes less than twice the CPU time of one in one process."""
    x = results.overhead
    return None if x is None else Verdict(x < 2, f"{x:.1f} x")


CLAIMS = {
    f"fed-deeponet.target.sites.{id}": claim
    for id, claim in {
        "equal": equal, "hidden": hidden, "leak": one_point, "recognised": ten_points, "wire": wire, "price": price,
    }.items()
}  # fmt: skip
"""Id of data/claims.yaml -> claim."""
