"""What notebook 13 trains and computes, and the labelled arrays that its figures and claims take."""

import json
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
from ....trainings.settings import FIGURES, committed, paper
from ....trainings.store import Name, stored
from ...fedsciml.forward import study as forward
from ...fedsciml.reaction import problem as reaction_problem
from ...fedsciml.reaction import study as reaction
from ..drift import study as drift
from ..leak import study as leak
from .attack import points_of_sums
from .coefficient import coefficient_by_sums
from .curve import error_bars
from .digits import digits_in_one_round, trained
from .flow import flow_in_one_round
from .letters import letters_in_one_round
from .networks import after_fedavg, by_gauss_newton
from .operators import maps_in_one_round, steps_in_one_round
from .partitions import whoever_owns_what
from .pendulum import pendulum_in_one_round
from .pictures import pictures_of_sums
from .privacy import in_a_crowd, private_in_a_crowd, under_noise
from .problem import EQUATIONS, FLOAT32, OTHERS, bytes_of_all, equation_in_halves, in_one_round
from .table import Place, by_sums, chosen, other_places
from .torques import torques_of_sums
from .windows import allen_cahn_in_windows

NOTEBOOK = "13_one_round"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "rules_poisson"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

RULES = {"problems": rules.one_of(*EQUATIONS), "levels": rules.whole(2), "rates": rules.positive()}
"""Parameter -> what it may be."""

BEST = drift.REPAIR
"""The rule with the smallest error in notebook 11, on 8 subdomains; on 4 x 4 blocks FedAvg comes as near."""

SHOWN = {"poisson": 8, "helmholtz": 4}
"""The level at which ways are compared first, that of notebook 11."""

TITLES = {"poisson": "Poisson", "helmholtz": "Helmholtz"}
IN_WORDS = {"poisson": "{} pieces", "helmholtz": "{0} x {0} blocks"}

IN_THE_PICTURE = (
    "Poisson, 8 pieces", "Helmholtz, 4 x 4 blocks", "wave, 20 pieces", "Schaffer, 4 slabs", "beam, 2 pieces",
    "Allen-Cahn, 2 pieces", "pendulum's operator, 20 clients", "letters, 30 clients", "digits, one class each",
    "antiderivative, n = 2", "antiderivative, n = 10", "diffusion-reaction, n = 2", "diffusion-reaction, n = 10",
    "Burgers, 2 clients, n = 10",
)  # fmt: skip
"""Of operators two levels; the table has all."""

SINGLE = {"poisson": 3e-6, "helmholtz": 2.3e-5}
"""Error (%) of the exact solution itself: the stored test values have single precision, and nothing below is seen."""

PENDULUM_NETWORK = 10_251  # parameters of notebook 01's

RIDGES = {**dict.fromkeys(("gcv", "error_of_all", "error"), Tolerance(relative=0.2)), "seconds": TIMED}
"""The least ridge is what rounding leaves of the largest singular value: where it is chosen, so are its errors."""

ROUNDED = RIDGES | dict.fromkeys(("error", "error_of_all"), Tolerance(relative=0.5, absolute=1e-6))
ROUNDED |= dict.fromkeys(("gcv", "bytes"), Tolerance(absolute=np.inf))
"""The wave and the beam are solved to rounding by several features, so that rounding chooses among these."""

NEWTON = {"error": Tolerance(relative=1e-2, first={"round": 8})}
"""A step of a network that falls or rises by rounding changes the damping, and all that comes after it."""

WINDOWS = {"rounds": Tolerance(absolute=3), "bytes": Tolerance(relative=0.1), "seconds": TIMED}
"""Ten windows, each of which ends where the fall is below a share."""

WRONG = dict.fromkeys(("error", "edge"), Tolerance(relative=0.1, absolute=0.1)) | {"seconds": TIMED}
"""A pixel whose score is that of the last white one may be black."""

READ = {"error": Tolerance(absolute=0.05), "seconds": TIMED}
"""A digit of which two classes score alike may be read as the other one."""

TUNING = 100
"""The seed of digits and start that rates are chosen by."""

OPERATORS = {
    "maps": (maps_in_one_round, RIDGES | {"gcv": Tolerance(absolute=1e-12), "error": Tolerance(relative=0.5)}),
    "steps": (steps_in_one_round, RIDGES),
}
"""Parameter -> what operators are computed by; a linear map is exact to rounding, and so is its score."""

LEAK = {
    **dict.fromkeys(("off", "middle"), Tolerance(absolute=np.inf)),
    "error": RIDGES["error"],
    "products": Tolerance(absolute=2),
}
"""Points are found to rounding, or may be anywhere; the claims of the room say which must be found."""

ANYWHERE = {"found": Tolerance(absolute=np.inf)}
CROWD = ANYWHERE | {"apart": Tolerance(absolute=0.02), "products": Tolerance(absolute=3)}
TORQUES = dict.fromkeys(("off", "share", "u"), Tolerance(absolute=np.inf))
NOISE = ANYWHERE | {"error": RIDGES["error"]}

COEFFICIENT = {"seconds": TIMED, **dict.fromkeys(("error_of_all", "error_u"), Tolerance(relative=0.02))}
"""u is right to 1e-6, of which rounding is seen; of scales that were not chosen the ridge may be at its end."""

FLOW = {"seconds": TIMED, **dict.fromkeys(("gcv", "error", "error_of_all"), Tolerance(relative=0.2, absolute=0.05))}
"""A step more where the score moves by a hundredth, or not."""

GAPS = {"gap": Tolerance(relative=0, absolute=1e-9)}
"""What is left of equal things by rounding alone."""


def check(p: Mapping) -> None:
    """ValueError where a table lacks a problem, or an equation's points do not allow a level."""
    rules.check_tables(p, p["problems"], [*EQUATIONS], "levels", "sines")
    for name in p["problems"]:
        for level in p["levels"][name]:
            data_of(EQUATIONS[name](), level)
    if unknown := {*p["others"]} - {*OTHERS}:
        raise ValueError(f"others has {', '.join(sorted(unknown))}: expected some of {', '.join(OTHERS)}")


def trainings(p: Mapping) -> dict[Name, Call | Computed]:
    """What notebook 13 trains ("rules_...", FedAvg and the best rule at several rates; "falling_...", the same with
    rates that fall to 0 as a cosine; "digits_trained") and computes (all the others).

    Of Helmholtz' equation notebooks 05 and 11 have the trainings.
    """
    calls, seeds = {}, p["seeds"]
    for name in p["problems"]:
        levels = p["levels"][name]
        for part, rates in (("rules", p["rates"].get(name)), ("falling", p["falling"].get(name))):
            if rates:
                rounds, two = p["rounds"][name], {rule: rule_changes(rule) for rule in ("FedAvg", BEST)}
                changes = {"rounds": rounds, "evaluations": min(20, rounds)}
                changes |= {"decay": Cosine(rounds)} if part == "falling" else {}
                some = {"levels": levels, "rules": [*two]} | p["averaged"].get(name, {})
                over = {"rule": {rule: two[rule] for rule in some["rules"]}, "lr": rates}
                call = Call(equation_in_halves, {"name": name}, some["levels"], seeds, ("federated",), over, changes)
                calls[f"{part}_{name}"] = call
        arguments = {"name": name, "levels": levels, "seeds": seeds}
        calls[f"one_round_{name}"] = Computed(in_one_round, arguments | p["sines"][name], tolerances=RIDGES)
        calls[f"heads_{name}"] = Computed(after_fedavg, arguments)
        if name in p["newton"]:
            calls[f"newton_{name}"] = Computed(by_gauss_newton, {"name": name} | p["newton"][name], tolerances=NEWTON)
    for name, arguments in p["others"].items():
        arguments = {"name": name, "seeds": seeds} | arguments
        calls[f"one_round_{name}"] = Computed(in_one_round, arguments, tolerances=ROUNDED)
    calls["allen_cahn"] = Computed(allen_cahn_in_windows, p["allen_cahn"], numerics=2, tolerances=WINDOWS)
    calls["pendulum"] = Computed(pendulum_in_one_round, {"seeds": seeds} | p["pendulum"], tolerances={"seconds": TIMED})
    calls["letters"] = Computed(letters_in_one_round, {"seeds": seeds} | p["letters"], tolerances=WRONG)
    data = p["digits"]["data"]
    calls["digits"] = Computed(digits_in_one_round, {"seeds": seeds} | data | p["digits"]["sums"], tolerances=READ)
    for kind in ("federated", "centralised"):
        one = p["digits"][kind]
        for rows, whose in (("rows", seeds), ("rates", [TUNING])):
            if one[rows]:
                calls["digits_trained", kind, rows] = trained(data, kind, one["batch"], one[rows], whose)
    for kind, (make, tolerances) in OPERATORS.items():
        for name, arguments in p[kind].items():
            arguments = {"name": name, "seeds": seeds} | arguments
            calls[f"{kind}_{name}"] = Computed(make, arguments, tolerances=tolerances)
    arguments = {"seeds": seeds} | p["coefficient"]
    calls["coefficient"] = Computed(coefficient_by_sums, arguments, tolerances=COEFFICIENT)
    calls["flow"] = Computed(flow_in_one_round, {"seeds": seeds} | p["flow"], tolerances=FLOW)
    calls["error_bars"] = Computed(error_bars, {"seeds": seeds} | p["curve"])
    calls["leak"] = Computed(points_of_sums, p["leak"], tolerances=LEAK)
    calls["crowd"] = Computed(in_a_crowd, {"seeds": seeds} | p["crowd"], tolerances=CROWD)
    calls["noise"] = Computed(under_noise, {"seeds": seeds} | p["noise"], tolerances=NOISE)
    calls["torques"] = Computed(torques_of_sums, {"seeds": seeds} | p["torques"], tolerances=TORQUES)
    calls["pictures"] = Computed(pictures_of_sums, p["pictures"])
    calls["private"] = Computed(private_in_a_crowd, {"seeds": seeds} | p["private"])
    calls["partitions"] = Computed(whoever_owns_what, p["partitions"], tolerances=GAPS)
    return calls


# what figures and claims take


class Way(NamedTuple):
    """A way to learn together. error (%) [round, level, seed], with the coordinate notebook [level]: the other one that
    has trained it, "" for this one; bytes [round, level] that a client has sent by then, of one round also for the
    features that cross-validation did not choose."""

    error: xarray.DataArray
    bytes: xarray.DataArray


class Results(NamedTuple):
    """What was computed, beside what other notebooks have; of equations by name.

    ways: label -> Way. places: errors of all problems. tried: problem -> gcv, error (%) of all features. once, newton,
    heads: what ``in_one_round``, ``by_gauss_newton``, ``after_fedavg`` computed. error_bars, leak, partitions, crowd,
    noise, private, torques: what their functions did; None where it is not there. readings: how far notebook 12's
    readings of torques are off (%) [optimizer, E, points, client]. compared: what the function does. messages: way ->
    what NVIDIA FLARE carried.
    coefficient, pictures: what their functions did. networks_of_k: see its function.
    """

    ways: Mapping[str, Mapping[str, Way]]
    places: list[Place]
    tried: Mapping[str, xarray.Dataset]
    once: Mapping[str, xarray.Dataset]
    newton: Mapping[str, xarray.Dataset]
    heads: Mapping[str, xarray.Dataset]
    error_bars: xarray.Dataset | None
    leak: xarray.Dataset | None
    partitions: xarray.Dataset | None
    crowd: xarray.Dataset | None
    noise: xarray.Dataset | None
    private: xarray.Dataset | None
    torques: xarray.Dataset | None
    compared: Mapping[str, Mapping[str, np.ndarray]]
    readings: xarray.DataArray
    messages: Mapping[str, Mapping]
    coefficient: xarray.Dataset | None = None
    pictures: xarray.Dataset | None = None
    networks_of_k: xarray.Dataset | None = None


def results(p: Mapping, histories: Mapping[str, History | xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left; networks are those that notebooks 01, 05, 08 and 11 have stored."""
    once, newton, heads = (
        {name: histories[f"{prefix}_{name}"] for name in p["problems"] if f"{prefix}_{name}" in histories}
        for prefix in ("one_round", "newton", "heads")
    )
    equations = {name: ways(name, histories) for name in once}
    tried = {name: dataset[["gcv", "error_of_all"]].rename(error_of_all="error") for name, dataset in once.items()}
    others = [name for name in ("allen_cahn", "pendulum", "letters", "digits") if name in histories]
    tried |= {name: histories[name][["gcv", "error"]] for name in others}
    messages = json.loads((FIGURES / NOTEBOOK / "machines.json").read_text(encoding="utf-8"))["flare"]
    if "flow" in histories:
        tried["flow"] = histories["flow"][["gcv", "error_of_all"]].rename(error_of_all="error")
    for name, table in histories.items():
        if str(name).startswith("steps_"):
            levels = table.level.values.tolist()
            tried |= {f"{name[6:]}, n = {n}": table[["gcv", "error"]].sel(level=n, drop=True) for n in levels}
    both = compared(p, histories)
    return Results(
        equations, places(equations, histories) + other_places(histories, both), tried, once, newton, heads,
        *(histories.get(name) for name in ("error_bars", "leak", "partitions", "crowd", "noise", "private", "torques")),
        both,
        stored(leak, "messages").off, messages,
        histories.get("coefficient"), histories.get("pictures"), networks_of_k(),
    )  # fmt: skip


def networks_of_k() -> xarray.Dataset:
    """Notebook 06b's networks, ten inner points: error (%) of k [kind, level, seed], as they are after training; k [x]
    of the first federated one at eight pieces, truth [x]."""
    history = stored(reaction, ("inside_10", "levels"))
    error = reaction.by_field(history).sel(field="k").isel(round=-1).reset_coords(drop=True)
    experiment = reaction_problem.reaction()
    (theta,), test = models_of(history, "federated", 8, error.seed.values[0]), data_of(experiment, 8).test
    k, truth = answer(experiment, theta, test)[:, 1], test["u"][:, 1].numpy()
    return xarray.Dataset({"error": error, "k": ("x", k), "truth": ("x", truth)}, {"x": test["x"][:, 0].numpy()})


def compared(p: Mapping, histories: Mapping[str, xarray.Dataset]) -> dict[str, dict[str, np.ndarray]]:
    """Problem -> way -> errors (%) [seeds] in the end: what notebook 14 has stored of five problems, at its levels, and
    one round of sums at the same one, or at the level of SHOWN."""
    table = {}
    for name, final in committed("14_sums_for_networks")["metrics"]["final"].items():
        once = histories.get(f"one_round_{name}")
        level = p["others"][name]["levels"][0] if name in p["others"] else SHOWN.get(name)
        if once is not None and level in once.level:
            kept = {way: np.array(errors) for way, errors in final.items() if "one place" not in way or "Adam" in way}
            table[name] = kept | {"one round": once.error.sel(level=level).values}
    return table


def trained_by(notebook: str, error: xarray.DataArray) -> xarray.DataArray:
    """An error [..., level, ...] with the notebook that has trained it."""
    return error.assign_coords(notebook=("level", [notebook] * error.sizes["level"]))


def ways(name: str, histories: Mapping[str, History | xarray.Dataset]) -> dict[str, Way]:
    """Label -> what there is of an equation: FedAvg as notebook 05 has it; FedAvg and notebook 11's best rule, each
    at every level's best rate; Gauss-Newton on the same network; one round."""
    printed = stored(forward, name)
    P = printed.distinct.shape[1]
    error = errors(printed).sel(kind="federated").reset_coords(drop=True)
    table = {"FedAvg, as printed": network_way(trained_by("05", error), P)}
    for label, rule in (("FedAvg, best rate", "FedAvg"), ("best rule", BEST)):
        error = at_best_rates(name, rule, histories)
        if error is not None:
            table[label] = network_way(error, P * AGAINST_DRIFT[rule].optimizer(AGAINST_DRIFT[rule].knobs[0]).sent)
    if f"newton_{name}" in histories:
        newton = histories[f"newton_{name}"]
        table["Gauss-Newton"] = Way(trained_by("", newton.error), newton.bytes.isel(seed=0, drop=True))
    once = histories[f"one_round_{name}"]
    sent = [bytes_of_all(name, level, once) if level == SHOWN[name] else np.nan for level in once.level.values]
    size = xarray.DataArray(sent, {"level": once.level})  # of others nobody asks, and points take seconds
    first = (values.expand_dims("round").assign_coords(round=[1]) for values in (trained_by("", once.error), size))
    return table | {"one round of sums": Way(*first)}


def network_way(error: xarray.DataArray, sent: int) -> Way:
    """Of a training in which a client sends so many numbers in a round."""
    error = error.transpose("round", "level", "seed")
    return Way(error, FLOAT32 * sent * error["round"] * xarray.ones_like(error.isel(round=0, seed=0, drop=True)))


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
        best = error.isel(lr=score.argmin("lr")).sel(level=whole).reset_coords(drop=True)
        parts.append(trained_by("", best))
    if name == "helmholtz" and not (parts and 4 in parts[0].level):
        tried = {schedule: stored(drift, ("helmholtz_4", parts_of[0]), earlier=True)
                 for schedule, parts_of in drift.SCHEDULES.items()}  # fmt: skip
        error, _ = drift.better({schedule: drift.best(history) for schedule, history in tried.items()})
        error = error.sel(rule=rule).reset_coords(drop=True)
        parts.append(trained_by("11", error.expand_dims(round=[2000], level=[4]).drop_attrs()))
    return xarray.concat(parts, "level", join="outer").sortby("level") if parts else None


def places(
    equations: Mapping[str, Mapping[str, Way]], histories: Mapping[str, History | xarray.Dataset]
) -> list[Place]:  # fmt: skip
    """Every problem by every way that is there: ours of this run, those of networks as stored by their notebooks."""
    rows = []
    for name, table in equations.items():
        level = SHOWN[name]
        for label, way in table.items():
            if level in way.error.level:
                last, sent = (values.sel(level=level).isel(round=-1) for values in way)
                sums = label == "one round of sums"
                seconds = float(histories[f"one_round_{name}"].seconds.sel(level=level).mean()) if sums else None
                title, rounds = f"{TITLES[name]}, {IN_WORDS[name].format(level)}", int(way.error["round"][-1])
                notebook = last.notebook.item()
                rows.append(Place(title, label, last.values.ravel(), rounds, float(sent), seconds, notebook))
    title, printed = "Allen-Cahn, 2 pieces", stored(forward, "allen_cahn_2")
    last = errors(printed).isel(round=-1).sel(kind="federated", level=2)
    rounds, size = int(last["round"]), FLOAT32 * printed.distinct.shape[1]
    rows.append(Place(title, "FedAvg, as printed", last.values, rounds, rounds * size, notebook="05"))
    if "allen_cahn" in histories:
        best, sent = chosen(histories["allen_cahn"]), float(histories["allen_cahn"].bytes.sum())
        error, rounds, seconds = best.error.values.ravel(), int(best.rounds), float(best.seconds)
        rows.append(Place(title, "sums, in windows of time", error, rounds, sent, seconds))
    title, size = "pendulum's operator, 20 clients", FLOAT32 * PENDULUM_NETWORK
    network = committed("01_pendulum")["metrics"]["mean_error_percent"]
    averaged, central = (np.array(network[key]) for key in ("alpha=1.0", "centralised, same passes"))
    rows.append(Place(title, "FedAvg, best rate", averaged, 20, 20 * size, notebook="01"))
    rows.append(Place(title, "all data in one place", central, 0, 0.0, notebook="01"))
    if "pendulum" in histories:
        rows.append(by_sums(title, "one round of sums", histories["pendulum"]))
    return rows
