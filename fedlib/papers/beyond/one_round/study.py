"""What notebook 13 trains and computes, and the labelled arrays that its figures and claims take."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.experiment import data_of, rule_changes
from ....federated.history import History
from ....federated.rules import RULES as AGAINST_DRIFT
from ....federated.schedules import Cosine
from ....federated.solved import answer
from ....federated.sweep import errors, models_of
from ....notebook import rules
from ....trainings.calls import TIMED, Call, Computed, Tolerance
from ....trainings.settings import paper
from ....trainings.store import Name, stored
from ...fedsciml.forward import study as forward
from ...fedsciml.reaction import problem as reaction_problem
from ...fedsciml.reaction import study as reaction
from .. import ways
from ..drift.study import REPAIR
from ..ways import Place, Way
from .attack import points_of_sums
from .coefficient import coefficient_by_sums
from .curve import error_bars
from .networks import by_gauss_newton
from .operators import kernel_in_one_round, steps_in_one_round
from .pendulum import pendulum_in_one_round
from .privacy import in_a_crowd, private_in_a_crowd, under_noise
from .problem import EQUATIONS, bytes_of_all, equation_in_halves, in_one_round
from .table import SHOWN, places
from .windows import allen_cahn_in_windows

NOTEBOOK = "13_one_round"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "rules_poisson"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

RULES = {"problems": rules.one_of(*EQUATIONS), "levels": rules.whole(2), "rates": rules.positive()}
"""Parameter -> what it may be."""

BEST = REPAIR
"""The rule with the smallest error in notebook 11, on 8 subdomains; on 4 x 4 blocks FedAvg comes as near."""

SEEDS = [0, 1, 2, 3, 4]  # of features, data and initial weights
FALLING = {"poisson": [0.001, 0.003, 0.01, 0.03]}
"""Rates that fall to 0 as a cosine."""

AVERAGED = {"helmholtz": {"levels": [2], "rules": ["FedAvg"]}}
"""Where FedAvg and the best rule are not trained at all levels: notebook 11 has the trainings at 4 x 4 blocks."""

OTHERS = {
    "wave": {"levels": [20], "features": [100, 150, 200], "scales": [10.0, 15.0, 20.0, 30.0]},
    "schaffer": {"levels": [4], "features": [150, 300, 600], "scales": [5.0, 8.0, 11.0, 15.0, 20.0]},
    "beam": {"levels": [2], "features": [6, 12, 20, 30], "scales": [0.5, 1.0, 2.0, 4.0]},
}
"""Functions, and the beam, at the levels of notebook 14."""

NEWTON = {
    "poisson": {"levels": [2, 8, 32], "seeds": SEEDS, "rounds": 150},
    "helmholtz": {"levels": [4], "seeds": [0], "rounds": 40},
}
MESSAGES = {"12 sines": [12, None], "60 sines": [60, None], "20 directions of 60 sines": [60, 20]}
"""On which there is noise: (sines, directions kept of them)."""

RIDGES = {**dict.fromkeys(("gcv", "error_of_all", "error"), Tolerance(relative=0.2)), "seconds": TIMED}
"""The least ridge is what rounding leaves of the largest singular value: where it is chosen, so are its errors."""

ROUNDED = RIDGES | dict.fromkeys(("error", "error_of_all"), Tolerance(relative=0.5, absolute=1e-6))
ROUNDED |= dict.fromkeys(("gcv", "bytes"), Tolerance(absolute=np.inf))
"""The wave and the beam are solved to rounding by several features, so that rounding chooses among these."""

WALKED = {"error": Tolerance(relative=1e-2, first={"round": 8})}
"""A step of a network that falls or rises by rounding changes the damping, and all that comes after it."""

WINDOWS = {"rounds": Tolerance(absolute=3), "bytes": Tolerance(relative=0.1), "seconds": TIMED}
"""Ten windows, each of which ends where the fall is below a share."""

LEAK = {
    **dict.fromkeys(("off", "middle"), Tolerance(absolute=np.inf)),
    "error": RIDGES["error"],
    "products": Tolerance(absolute=2),
}
"""Points are found to rounding, or may be anywhere; the claims of the room say which must be found."""

ANYWHERE = {"found": Tolerance(absolute=np.inf)}
CROWD = ANYWHERE | {"apart": Tolerance(absolute=0.02), "products": Tolerance(absolute=3)}
NOISE = ANYWHERE | {"error": RIDGES["error"]}

COEFFICIENT = {"seconds": TIMED, **dict.fromkeys(("error_of_all", "error_u"), Tolerance(relative=0.02))}
"""u is right to 1e-6, of which rounding is seen; of scales that were not chosen the ridge may be at its end."""


def check(p: Mapping) -> None:
    """ValueError where a table lacks a problem, or an equation's points do not allow a level."""
    rules.check_tables(p, p["problems"], [*EQUATIONS], "levels", "rounds", "sines")
    for name in p["problems"]:
        for level in p["levels"][name]:
            data_of(EQUATIONS[name](), level)


def trainings(p: Mapping) -> dict[Name, Call | Computed]:
    """What notebook 13 trains ("rules_...", FedAvg and the best rule at several rates; "falling_...", the same with
    rates that fall to 0 as a cosine) and computes (all the others).

    Of Helmholtz' equation notebooks 05 and 11 have the trainings.
    """
    calls, seeds = {}, {"seeds": SEEDS}
    for name in p["problems"]:
        levels, rounds = p["levels"][name], p["rounds"][name]
        changes = {"rounds": rounds, "evaluations": min(20, rounds)}
        some = {"levels": levels, "rules": ["FedAvg", BEST]} | AVERAGED.get(name, {})
        parts = {"rules": (p["rates"].get(name), changes)}
        parts["falling"] = FALLING.get(name), changes | {"decay": Cosine(rounds)}
        for part, (rates, changed) in parts.items():
            if rates:
                over = {"rule": {rule: rule_changes(rule) for rule in some["rules"]}, "lr": rates}
                calls[f"{part}_{name}"] = Call(
                    equation_in_halves, {"name": name}, some["levels"], SEEDS, ("federated",), over, changed
                )
        arguments = {"name": name, "levels": levels} | seeds | p["sines"][name]
        calls[f"one_round_{name}"] = Computed(in_one_round, arguments, tolerances=RIDGES)
        calls[f"newton_{name}"] = Computed(by_gauss_newton, {"name": name} | NEWTON[name], tolerances=WALKED)
    for name, arguments in OTHERS.items():
        calls[f"one_round_{name}"] = Computed(in_one_round, {"name": name} | seeds | arguments, tolerances=ROUNDED)
    windows = {"lines": 80, "times": 100, "windows": 10, "waves": [40, 60, 76], "degrees": [4, 6]}  # the paper's 80
    calls["allen_cahn"] = Computed(allen_cahn_in_windows, windows, numerics=2, tolerances=WINDOWS)
    linear = {"triplets": 10_000, "inputs": [4, 8, 12], "degrees": [6, 10]}  # 10 000 in the paper
    calls["pendulum"] = Computed(pendulum_in_one_round, seeds | linear, tolerances={"seconds": TIMED})
    kernel = {"name": "antiderivative", "levels": [1, 2, 5, 10], "functions": 100, "tests": 1000}
    calls["kernel"] = Computed(
        kernel_in_one_round, seeds | kernel, tolerances=RIDGES | {"error": Tolerance(relative=0.5)}
    )
    step = {"name": "diffusion_reaction", "levels": [2, 5, 10], "functions": 250, "tests": 1000}
    step |= {"reaches": [4, 8], "degrees": [1, 2]}
    calls["steps_diffusion_reaction"] = Computed(steps_in_one_round, seeds | step, tolerances=RIDGES)
    unknown = {"inside": [10, 38], "with_ends": [8], "levels": [2, 4, 6, 8, 12, 24], "sines": [60, 200]}
    unknown |= {"scales": [6.0, 9.0, 12.0, 15.0], "scales_of_k": [4.0, 6.0, 8.0, 10.0]}
    calls["coefficient"] = Computed(coefficient_by_sums, seeds | unknown, tolerances=COEFFICIENT)
    calls["error_bars"] = Computed(error_bars, seeds | p["curve"])
    calls["leak"] = Computed(points_of_sums, p["leak"], tolerances=LEAK)
    crowd = {"features": [4, 6, 8, 12, 20, 60], "points": [4, 8, 16, 32, 64]}
    calls["crowd"] = Computed(in_a_crowd, seeds | crowd, tolerances=CROWD)
    noise = {"messages": MESSAGES, "noise": [1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1]}
    calls["noise"] = Computed(under_noise, seeds | noise, tolerances=NOISE)
    calls["private"] = Computed(private_in_a_crowd, seeds | p["private"])
    return calls


# what figures and claims take


class Results(NamedTuple):
    """What was computed, beside what other notebooks have; of equations by name.

    ways: label -> ``Way`` at all levels, its bytes at the level of SHOWN, of one round also those of the features that
    cross-validation did not choose. places: errors of all problems. once, newton: what ``in_one_round`` and
    ``by_gauss_newton`` computed. error_bars, leak, crowd, noise, private, coefficient: what their functions did; None
    where it is not there. networks_of_k: see its function.
    """

    ways: Mapping[str, Mapping[str, Way]]
    places: list[Place]
    once: Mapping[str, xarray.Dataset]
    newton: Mapping[str, xarray.Dataset]
    error_bars: xarray.Dataset | None
    leak: xarray.Dataset | None
    crowd: xarray.Dataset | None
    noise: xarray.Dataset | None
    private: xarray.Dataset | None
    coefficient: xarray.Dataset | None
    networks_of_k: xarray.Dataset | None


def results(p: Mapping, histories: Mapping[str, History | xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left; networks are those that notebooks 01, 05, 06b, 07, 11 and 14 have stored."""
    once, newton = (
        {name: histories[f"{prefix}_{name}"] for name in p["problems"] if f"{prefix}_{name}" in histories}
        for prefix in ("one_round", "newton")
    )
    equations = {name: ways_of(name, histories) for name in once}
    others = ("error_bars", "leak", "crowd", "noise", "private", "coefficient")
    computed = (histories.get(name) for name in others)
    return Results(equations, places(equations, histories), once, newton, *computed, networks_of_k())


def networks_of_k() -> xarray.Dataset:
    """Notebook 06b's networks, ten inner points: error (%) of k [kind, level, seed], as they are after training; k [x]
    of the first federated one at eight pieces, truth [x]."""
    history = stored(reaction, ("inside_10", "levels"))
    error = reaction.by_field(history).sel(field="k").isel(round=-1).reset_coords(drop=True)
    experiment = reaction_problem.reaction()
    (theta,), test = models_of(history, "federated", 8, error.seed.values[0]), data_of(experiment, 8).test
    k, truth = answer(experiment, theta, test)[:, 1], test["u"][:, 1].numpy()
    return xarray.Dataset({"error": error, "k": ("x", k), "truth": ("x", truth)}, {"x": test["x"][:, 0].numpy()})


def ways_of(name: str, histories: Mapping[str, History | xarray.Dataset]) -> dict[str, Way]:
    """Label -> what there is of an equation: FedAvg as notebook 05 has it; FedAvg and notebook 11's best rule, each
    at every level's best rate; Gauss-Newton on the same network; one round."""
    printed = stored(forward, name)
    P = printed.distinct.shape[1]
    table = {"FedAvg, as printed": ways.network(errors(printed).sel(kind="federated"), P)}
    for label, rule in (("FedAvg, best rate", "FedAvg"), ("best rule", BEST)):
        error = at_best_rates(name, rule, histories)
        if error is not None:
            table[label] = ways.network(error, P * AGAINST_DRIFT[rule].optimizer(AGAINST_DRIFT[rule].knobs[0]).sent)
    if f"newton_{name}" in histories:
        newton = histories[f"newton_{name}"]
        table["Gauss-Newton"] = Way(
            newton.error, newton.bytes.sel(level=SHOWN[name], drop=True).isel(seed=0, drop=True)
        )
    once = histories[f"one_round_{name}"]
    sent = bytes_of_all(name, SHOWN[name], once)
    first = once.error.expand_dims(round=[1])
    return table | {"one round of sums": Way(first, xarray.DataArray([sent], {"round": [1]}))}


def at_best_rates(
    name: str, rule: str, histories: Mapping[str, History | xarray.Dataset]
) -> xarray.DataArray | None:  # fmt: skip
    """Error (%) [round, level, seed] of a rule at the best rate of each level that has all rates, constant and falling,
    by validation points; Helmholtz' on 4 x 4 blocks as notebook 11 has it, at the end."""
    parts, tried = [], [histories[part] for part in (f"rules_{name}", f"falling_{name}") if part in histories]
    if tried := [history for history in tried if rule in history.labels("rule")]:
        error, score = (
            xarray.concat(
                [errors(h, metric).sel(kind="federated", rule=rule).reset_coords(drop=True) for h in tried], "lr"
            )
            for metric in ("error", "validation error")
        )
        score = score.isel(round=-1, drop=True).median("seed").fillna(np.inf)
        whole = np.isfinite(score).all("lr")
        parts.append(error.isel(lr=score.argmin("lr")).sel(level=whole).reset_coords(drop=True))
    if name == "helmholtz" and not (parts and 4 in parts[0].level):
        error, _ = ways.of_drift("helmholtz_4")
        error = error.sel(rule=rule).reset_coords(drop=True)
        parts.append(error.expand_dims(round=[2000], level=[4]).drop_attrs())
    return xarray.concat(parts, "level", join="outer").sortby("level") if parts else None
