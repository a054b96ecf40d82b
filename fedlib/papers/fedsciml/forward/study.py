"""What notebook 05 trains, and what its figures and claims take: the equations of ``problem``, one table.

``python -m fedlib train 05_pinn_forward --only poisson`` trains what is not stored of one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray
from torch import nn

from ....federated import sweep
from ....federated.batches import Local
from ....federated.experiment import Experiment, data_of
from ....federated.history import History
from ....federated.schedules import Cosine
from ....federated.solved import Solved, stored_solutions
from ....notebook import rules
from ....trainings.calls import Call
from ....trainings.settings import paper
from .problem import allen_cahn, euler_beam, helmholtz, poisson, poisson_in_halves

NOTEBOOK = "05_pinn_forward"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "poisson"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""


class Studied(NamedTuple):
    """An equation of the notebook.

    make: its function. levels: numbers of subdomains, from clients that differ most to those that hardly differ; these
    and ``rounds`` hold where the notebook's parameters have no others. arguments: parameters -> arguments of make.
    seeds: name of the parameter that has them. code_only: levels that the authors' code has and the paper has not, on
    which no verdict rests. apart: a row takes half an hour.
    """

    make: Callable[..., Experiment]
    levels: Sequence[int]
    rounds: int
    arguments: Callable[[Mapping], dict] = lambda p: {}
    seeds: str = "seeds"
    code_only: Sequence[int] = ()
    apart: bool = False


def helmholtz_arguments(p: Mapping) -> dict:
    """Of the parameters, where k0 is in units of pi; without share_points nobody shares any."""
    boundary = p["share_points"] * p["helmholtz_boundary"]
    return {"k0": np.pi * p["helmholtz_k0"], "side": p["helmholtz_side"], "boundary": boundary}


def allen_cahn_arguments(clients: int) -> Callable[[Mapping], dict]:
    """The same but for the number of clients."""

    def arguments(p: Mapping) -> dict:
        settings = {name: p[f"allen_cahn_{name}"] for name in ("lines", "times", "d", "k")}
        settings |= {name: p["share_points"] * p[f"allen_cahn_{name}"] for name in ("boundary", "initial")}
        return {"clients": clients, **settings, "activation": nn.Tanh}  # the code; the paper's Table 4 says sine

    return arguments


STUDIES = {
    "poisson": Studied(poisson, (2, 4, 6, 8, 10, 16, 32), 1000, seeds="poisson_seeds", code_only=(2, 4)),
    "helmholtz": Studied(helmholtz, (2, 4, 6, 10, 12, 24), 2000, helmholtz_arguments),
    "allen_cahn_2": Studied(
        allen_cahn, (2, 4, 6, 8, 10, 20, 32, 40), 10_000, allen_cahn_arguments(2), "allen_cahn_seeds", apart=True
    ),
    "allen_cahn_3": Studied(
        allen_cahn, (3, 6, 9, 12, 15, 18, 30, 60), 10_000, allen_cahn_arguments(3), "allen_cahn_seeds", apart=True
    ),
    "beam": Studied(euler_beam, (*range(2, 21, 2), 50), 1000, lambda p: {"share": p["share_points"]}),
}
"""Figs. 7 to 9, and the beam of the authors' code."""

RULES = {
    "problems": rules.one_of(*STUDIES),
    **dict.fromkeys(("poisson_seeds", "allen_cahn_seeds"), rules.whole(0)),
    **dict.fromkeys(("allen_cahn_boundary", "allen_cahn_initial", "helmholtz_boundary"), rules.whole(0)),
    **dict.fromkeys(("levels", "helmholtz_side", "allen_cahn_lines", "allen_cahn_times"), rules.whole(2)),
    **dict.fromkeys(("helmholtz_k0", "allen_cahn_d", "allen_cahn_k"), rules.positive()),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where tables have an equation that there is not, or the points of one do not allow a level."""
    rules.check_tables(p, [], [*STUDIES], "levels", "rounds")
    if p["rates"]:
        rules.check(p, rates=rules.positive())
    distances(p)


def levels(p: Mapping, name: str) -> list[int]:
    """The levels of an equation, each once, in the order in which they are trained."""
    return [*dict.fromkeys(p["levels"].get(name, STUDIES[name].levels))]


def experiments(p: Mapping) -> dict[str, Experiment]:
    """Name -> experiment of the equations that a notebook's parameters name."""
    return {name: STUDIES[name].make(**STUDIES[name].arguments(p)) for name in p["problems"]}


def distances(p: Mapping) -> dict[str, dict[int, float]]:
    """Name -> level -> W1 of the clients' own points, trained or not, the coarsest partition first; ValueError if a
    level does not fit."""
    return {
        name: {level: experiment.distance(data_of(experiment, level)) for level in sorted(levels(p, name))}
        for name, experiment in experiments(p).items()
    }


def trainings(p: Mapping) -> dict[str, Call]:
    """Each equation at its levels; of Poisson's "rates", with every rate, constant and falling to 0 as a cosine, and
    "longer"."""
    calls, common = {}, {"lr": p["lr"], "evaluations": p["evaluations"]}
    for name in p["problems"]:
        study = STUDIES[name]
        changes = {"rounds": rounds(p, name), "local": Local(p["local_updates"]), **common}
        arguments, seeds = study.arguments(p), p[study.seeds]
        calls[name] = Call(study.make, arguments, levels(p, name), seeds, changes=changes, apart=study.apart)
    if "poisson" in calls and p["rates"]:
        G, in_halves = rounds(p, "poisson"), Call(poisson_in_halves, {}, levels(p, "poisson"), p["seeds"], models={})
        changes = {"rounds": G, "local": Local(p["local_updates"]), "evaluations": 1}
        calls["rates"] = in_halves._replace(
            seeds=p["poisson_seeds"], kinds=["federated", "centralised"], changes=changes,
            over={("schedule", "lr"): {(name, lr): {"lr": lr, "decay": decay} for lr in p["rates"]
                                       for name, decay in (("constant", 1.0), ("falling", Cosine(G)))}},
        )  # fmt: skip
        longer = {"rounds": LONGER * G, "lr": p["lr"], "evaluations": 2 * LONGER}
        calls["longer"] = in_halves._replace(kinds=["federated"], changes=changes | longer)
    return calls


LONGER = 10
"""Times the rounds, at the paper's rate: whether a level is only slow."""


def rounds(p: Mapping, name: str) -> int:
    """Of an equation."""
    return p["rounds"].get(name, STUDIES[name].rounds)


class Results(NamedTuple):
    """What figures and claims take, by name of the equation.

    errors: (%) [round, kind, level, seed], and divergences: of the weights, [seed, level, matrix], both with the
    clients' distance along level. solutions: what the first seed's models say.
    """

    errors: dict[str, xarray.DataArray]
    divergences: dict[str, xarray.DataArray]
    solutions: dict[str, Solved]

    @property
    def last(self) -> dict[str, xarray.DataArray]:
        """Errors (%) after training [kind, level, seed]."""
        return {name: errors.isel(round=-1) for name, errors in self.errors.items()}


def results(p: Mapping, histories: Mapping[str, History]) -> Results:
    """The labelled arrays of what is trained at the two ends of its levels: of others nothing can be said yet."""
    errors, divergences, solutions = {}, {}, {}
    for name, experiment in experiments(p).items():
        whole = sweep.whole_levels(histories[name]) if name in histories else []
        if {min(levels(p, name)), max(levels(p, name))} <= {*whole}:
            errors |= errors_of({name: histories[name]})
            divergences[name] = sweep.divergences(histories[name], experiment.net, whole)
            solutions[name] = stored_solutions(histories[name], experiment)
    return Results(errors, divergences, solutions)


def errors_of(histories: Mapping[str, History]) -> dict[str, xarray.DataArray]:
    """Errors (%) [round, kind, level, seed] at the levels that have all rows."""
    return {name: sweep.errors(h).sel(level=sweep.whole_levels(h)) for name, h in histories.items()}


def federated(history: History, metric: str = "error") -> xarray.DataArray:
    """Errors (%) of federations [round, level, seed, *over], of "longer" or "rates"."""
    return sweep.errors(history, metric).sel(kind="federated", drop=True).reset_coords(drop=True)


def rated(history: History) -> xarray.Dataset:
    """What becomes of Poisson's equation at other rates.

    Returns:
        error, validation (%) of federations [schedule, lr, level, seed]; centralised (%) [schedule, lr, seed].
    """
    arrays = {"error": federated(history), "validation": federated(history, "validation error")}
    arrays["centralised"] = sweep.errors(history).sel(kind="centralised", drop=True).isel(level=0, drop=True)
    last = xarray.Dataset(arrays).isel(round=-1, drop=True).reset_coords(drop=True).drop_attrs()
    return last.transpose("schedule", "lr", "level", "seed")
