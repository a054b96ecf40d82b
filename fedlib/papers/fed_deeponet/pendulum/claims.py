"""What Fed-DeepONet says in words of Experiments 1 and 2, as pure functions of ``Results``."""

from collections.abc import Callable

import numpy as np

from ....notebook.claims import LEARNT, Seeded, Verdict, fewest, where
from ....notebook.maps import Panel
from ..trainings import last
from .study import PRINTED, Results, by_name

CLOSE, ROBUST = 1.25, 2
"""What is within so many times another error keeps its accuracy; how much settings may differ."""


def adam_is_faster(results: Results) -> Verdict:
    """At the end Algorithm 1 has at least 3 times the training loss of Algorithm 2, whatever its rate."""
    plain = results.algorithm_1.loss.isel(loss_round=-1).mean(["level", "seed"]).min()
    adam = results.clients.loss.isel(loss_round=-1).sel(level=results.algorithm_1.level).mean(["level", "seed"])
    ratio = (plain / adam).item()
    return Verdict(ratio > 3, f"{ratio:.1f} x")


def keeps_accuracy(work: str, metric: str = "error") -> Callable[[Results], Verdict]:
    """The federation errs at most CLOSE times as much as one model with all triplets; work: what is kept equal.

    With as many steps as a client that is the better one of two: whose moments are kept, or begin anew as a client's
    do (C = 1).
    """

    def claim(results: Results) -> Verdict:
        central = last(results.centralised, metric).sel(work=work)
        federated = last(results.clients, metric)
        models = [central.mean().item()]
        if work == "same steps" and 1 in federated.level:
            models.append(federated.sel(level=1).mean().item())
        error = federated.sel(level=central.level).mean().item()
        return Verdict(error < min(CLOSE * min(models), LEARNT), f"{error / min(models):.2f} x")

    return claim


def printed(results: Results) -> list[int]:
    """Numbers of clients that Table 1 has, of those that were trained."""
    return [C for C in results.clients.level.values.tolist() if C in PRINTED]


def is_robust(results: Results) -> Verdict:
    """Of the mean errors of Tables 1 and 2 the largest is at most ROBUST times the smallest."""
    rows = by_name(results)
    names = [f"C={C}" for C in printed(results)] + [name for name in rows if name.startswith("alpha=")] + ["varying"]
    errors = {name: rows[name].mean().item() for name in names}
    worst, best = max(errors, key=errors.get), min(errors, key=errors.get)
    numbers = f"{errors[worst] / errors[best]:.2f} x: {errors[worst]:.2f} %, {worst}, {errors[best]:.2f} %, {best}"
    return Verdict(errors[worst] <= min(ROBUST * errors[best], LEARNT), numbers)


def share_may_vary(results: Results) -> Verdict:
    """A share that varies costs at most CLOSE times the error of that of Table 1."""
    fixed = last(results.clients).sel(level=results.shares.level).mean().item()
    error = by_name(results)["varying"].mean().item()
    return Verdict(error < min(CLOSE * fixed, LEARNT), f"{error / fixed:.2f} x")


def grows_with_clients(results: Results) -> Verdict:
    """The mean error grows with every step in the number of clients of Table 1."""
    errors = last(results.clients).mean("seed").sel(level=sorted(printed(results))).values
    if len(errors) < 2:
        return Verdict(None, "one number of clients")
    return Verdict(bool((np.diff(errors) > 0).all()), f"{errors[-1] / errors[0]:.1f} x")


NEEDS = {
    "fed-deeponet.adam": (adam_is_faster, ("clients", "algorithm_1")),
    "fed-deeponet.centralised.steps": (keeps_accuracy("same steps"), ("clients", "centralised")),
    "fed-deeponet.centralised.passes": (keeps_accuracy("same passes"), ("clients", "centralised")),
    "fed-deeponet.centralised.unseen.steps": (keeps_accuracy("same steps", "unseen"), ("clients", "centralised")),
    "fed-deeponet.centralised.unseen.passes": (keeps_accuracy("same passes", "unseen"), ("clients", "centralised")),
    "fed-deeponet.robust": (is_robust, ("clients", "shares")),
    "fed-deeponet.varying.share": (share_may_vary, ("clients", "shares")),
    "fed-deeponet.target.clients.rising": (grows_with_clients, ("clients",)),
}
"""Id of data/claims.yaml -> claim, and the results that it rests on."""


def has(needs: tuple[str, ...]) -> Callable[[Results], bool]:
    """Whether results have all of these."""
    return lambda results: all(getattr(results, name) for name in needs)


def seeds(needs: tuple[str, ...]) -> Callable[[Results], int]:
    """The fewest seeds of these."""
    return lambda results: fewest(*(last(getattr(results, name)) for name in needs))


CLAIMS = {id: Seeded(where(has(needs), claim), seeds(needs)) for id, (claim, needs) in NEEDS.items()}


FULL = "N, R, K, C, alpha as printed, twenty seeds"

PANELS = (
    Panel("Fig. 1", "section 2", "a DeepONet, drawn by code"),
    Panel("Algorithms 1, 2", "section 3, B1", "plain loops, equal to the engine in float64; Eq. 8 mended"),
    Panel("Fig. 2", "B3, fig2", "as printed, five seeds; rates are ours", ("fed-deeponet.adam",)),
    Panel("Fig. 3", "B4, fig3", "alpha = 1, first seed; which three trajectories is not said"),
    Panel("Fig. 4", "B4, fig4 and conventions", "alpha = 1, twenty seeds, four conventions",
          ("fed-deeponet.centralised.unseen.steps", "fed-deeponet.centralised.unseen.passes")),
    Panel("Table 1", "section 4, B5, tables", FULL,
          ("fed-deeponet.robust", "fed-deeponet.centralised.steps", "fed-deeponet.centralised.passes",
           "fed-deeponet.target.clients.rising")),
    Panel("Table 2", "B5, tables", FULL, ("fed-deeponet.robust",)),
    Panel("alpha in [0.1, 1]", "B5", FULL, ("fed-deeponet.varying.share",)),
)  # fmt: skip
"""Where Figs. 1 to 4 and Tables 1 and 2 are in notebook 01."""
