"""What Fed-DeepONet says in words of Experiment 4, and what we add, as pure functions of ``Results``."""

from ....notebook.claims import LEARNT, Verdict, fewest, on_seeds
from ....notebook.maps import Panel
from ..trainings import last
from .study import TOLD, Results, of_torques


def generalises(results: Results) -> Verdict | None:
    """Unseen torques, with k at random, cost at most twice the error of trajectories such as it has seen."""
    if not results.paper:
        return None
    unseen, seen = of_torques(results.paper).mean().item(), last(results.paper).mean().item()
    return Verdict(unseen <= min(2 * seen, LEARNT), f"{unseen / seen:.2f} x: {unseen:.2f} against {seen:.2f} %")


def ratios(results: Results, T: float) -> list[float] | None:
    """By how many times hiding k raises the error where it is mixed, seed by seed; None where it is not trained."""
    cases, hidden = results.cases, "mixed, hidden"
    if not cases or not {TOLD, hidden} <= {*cases.case.values} or T not in cases.level.values:
        return None
    errors = last(cases).sel(level=T)
    return (errors.sel(case=hidden) / errors.sel(case=TOLD)).dropna("seed").values.tolist()


def hiding_hurts_later(results: Results) -> Verdict | None:
    """Hidden k costs more after the longest time than after the shortest, for every seed."""
    if not results.cases or results.cases.sizes["level"] < 2:
        return None
    first, final = (ratios(results, T) for T in (min(results.cases.level.values), max(results.cases.level.values)))
    if not first or not final:
        return None
    words = f"at least {min(final):.2f} times, before at most {max(first):.2f}"
    return Verdict(min(final) > max(first), words)


CLAIMS = on_seeds(lambda results: fewest(last(results.paper)), {"fed-deeponet.library.generalises": generalises}) | {
    "fed-deeponet.target.library.hidden": hiding_hurts_later
}
"""Id of data/claims.yaml -> claim."""

FULL = "N, R, K, C, alpha as printed, twenty seeds"

PANELS = (
    Panel("Fig. 7", "B3, fig7", f"{FULL}; which three trajectories is not said"),
    Panel("Fig. 8", "B4, fig8", f"{FULL}; 200 draws of k", ("fed-deeponet.library.generalises",)),
    Panel("not in the paper", "section 4, told", "k hidden, one pendulum a client, 3 s; three seeds",
          ("fed-deeponet.target.library.hidden",)),
)  # fmt: skip
"""Where Figs. 7 and 8 are in notebook 03."""
