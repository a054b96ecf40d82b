"""What the paper says of operator learning (FedSciML, Section 6), judged by what a run found.

Every function returns what follows "fedsciml." in the id of a claim -> (it holds, or None: not run; the numbers).
"Below" is read for means over seeds.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from scipy.stats import spearmanr

from ..numerics.metrics import mean_sd
from .operator_examples import LEVELS
from .operator_results import Found
from .operator_study import changes

Said = dict[str, tuple[bool | None, str]]
PAPER_STEPS = 50_000
"""T of all operators (Section 6)."""


def judge(found: Found, function_networks: Mapping | None = None) -> Said:
    """All claims that a run says something about. function_networks: their divergence, matrix -> [S, levels]."""
    said: Said = {}
    for name, e in found.errors.items():
        said |= clients(name, e)
    if "antiderivative" in found.errors:
        said |= jump(found.errors["antiderivative"])
    return said | weights(found, function_networks) | burgers(found.errors) | local(found.local) | examples(found)


def clients(name: str, e: Mapping) -> Said:
    """Q10 and Q12: the federation against its clients, and the clients against each other."""
    n, fed, alone = np.array(e["levels"]), e["federated"].mean(0), e["isolated"].mean(0)
    best, low, ten = alone.min(1), n < 10, n[-1] == 10
    said: Said = {f"q10.below.{name}": ((fed < best).all(), f"best client / federated {listed(best / fed)}")}
    if len(n) > 1:
        said[f"q10.falls.{name}"] = (spearmanr(n, fed).statistic < -0.9, f"{listed(fed)} %")
    if ten and 10 in e["centralised"]:
        centre, what = np.mean(e["centralised"][10]), "target." * (name == "diffusion_reaction")
        said[f"{what}q10.central.{name}"] = (fed[-1] <= 1.5 * centre, f"{fed[-1]:.2f} % and {centre:.2f} %")
    if low.any():
        ratio, what = alone[low, -1] / alone[low, 0], "target." * (name == "antiderivative")
        said[f"{what}q12.below.{name}"] = ((ratio > 1).all(), f"last client / first {listed(ratio)}")
    if ten and len(e["isolated"]) > 1:
        gap, sure = standard_errors(e["isolated"][:, -1, -1] - e["isolated"][:, -1, 0])
        what = "target." * (name != "diffusion_reaction")
        said[f"{what}q12.ten.{name}"] = (gap > sure, f"difference {gap:.2f} %, two standard errors {sure:.2f} %")
    return said


def standard_errors(values: np.ndarray) -> tuple[float, float]:
    """Mean of values over seeds, and two standard errors of it."""
    mean, sd = mean_sd(values)
    return float(mean), float(2 * sd / len(values) ** 0.5)


def jump(e: Mapping) -> Said:
    """Q10, the antiderivative from n = 5 to 6. Medians: at these levels seeds fall into two groups."""
    n, median = e["levels"], np.median(e["federated"], 0)
    falls = {(a, b): f for a, b, f in zip(n, n[1:], median[:-1] / median[1:], strict=False)}
    numbers = "medians fall by " + ", ".join(f"{f:.1f} ({a} to {b})" for (a, b), f in falls.items())
    said: Said = {}
    if n[-1] == 10:
        level = e["federated"].mean(0)[-1]
        said["target.q10.level"] = (level < 5, f"{level:.2f} %")
    if (5, 6) in falls:
        said["q10.jump"] = (falls[5, 6] >= 2, f"{falls[5, 6]:.1f}")
        said["target.q10.largest"] = (max(falls, key=falls.__getitem__) == (5, 6), numbers)
    return said


def weights(found: Found, function_networks: Mapping | None) -> Said:
    """Q11: do the weights of the antiderivative's network react to heterogeneity?"""
    if "antiderivative" not in found.divergence or len(found.union["antiderivative"]) < 2:
        return {}
    own, levels = found.divergence["antiderivative"], found.union["antiderivative"]
    ranks = {matrix: -spearmanr(levels, np.mean(e, 0)).statistic for matrix, e in own.items()}
    factors = list(changes(own).values())
    numbers = ", ".join(f"{matrix}: {r:.1f}" for matrix, r in ranks.items())
    said: Said = {
        "q11.trend": (min(map(abs, ranks.values())) < 0.7, f"rank correlations {numbers}"),
        "target.q11.none": (max(factors) <= 1.2, f"factors {listed(factors)}"),
    }
    if function_networks:
        theirs = list(changes(function_networks).values())
        less = np.mean(np.abs(np.log(factors))) < np.mean(np.abs(np.log(theirs)))
        said["q11.less"] = (less, f"factors {listed(factors)} against {listed(theirs)}")
    return said


def burgers(errors: Mapping[str, Mapping]) -> Said:
    """Q13 and Q14: two clients and three of Burgers."""
    said: Said = {}
    if len(errors.get("burgers_2", {"levels": []})["levels"]) > 1:
        alone = errors["burgers_2"]["isolated"].mean(0)
        steepest = (alone[:-1] / alone[1:]).max(0)  # [clients]
        numbers = f"largest falls of client 1 and 2: {listed(steepest)}"
        said["q13.sharp"] = (steepest[1] > steepest[0], numbers)
    if "burgers_3" in errors:
        n, (one, two, three) = np.array(errors["burgers_3"]["levels"]), errors["burgers_3"]["isolated"].mean(0).T
        numbers = f"n = {n[n < 10].tolist()}: {listed(two[n < 10])} and {listed(three[n < 10])} %"
        worse = np.minimum(two, three) - one
        if (n < 10).any():
            said["q12.both.burgers_3"] = ((worse[n < 10] > 0).all(), f"{numbers}, client 1 {listed(one[n < 10])} %")
            said["q12.similar.burgers_3"] = ((np.abs(two - three) < worse)[n < 10].all(), numbers)
    if {"burgers_2", "burgers_3"} <= set(errors):
        said |= three_clients(errors["burgers_2"], errors["burgers_3"])
    return said


def three_clients(two: Mapping, three: Mapping) -> Said:
    """Q14: three clients are better than two below n = 10; a level tells neither way within two standard errors."""
    common = [n for n in two["levels"] if n in three["levels"] and n < 10]
    if not common:
        return {}
    (a, b), gaps = ([dict(zip(e["levels"], e["federated"].T, strict=True)) for e in (two, three)]), {}
    for n in common:
        sure = sum(standard_errors(e[n])[1] ** 2 for e in (a, b)) ** 0.5
        gaps[n] = (np.mean(a[n]) - np.mean(b[n]), sure)
    holds = all(gap > -sure for gap, sure in gaps.values()) and any(gap > sure for gap, sure in gaps.values())
    numbers = ", ".join(f"n = {n}: {gap:.1f} ± {sure:.1f}" for n, (gap, sure) in gaps.items())
    numbers = f"two less three clients (%), two standard errors, {numbers}"
    return {"q14.better": (holds, numbers), "target.q14.strict": (all(gap > 0 for gap, _ in gaps.values()), numbers)}


def local(studies: Mapping[str, Mapping]) -> Said:
    """Q15: the number E of local steps between two averages."""
    said: Said = {}
    for name, of in studies.items():
        e = np.array(list(of["percent"].values()))  # [E, S, levels]
        ratio = e.mean(1).max(0) / e.mean(1).min(0)
        close = (ratio <= 1.5).all() if len(e) > 1 else None
        numbers = f"largest / smallest over E {listed(ratio)} at n = {of['levels']}, T = {of['steps']}"
        said[f"target.q15.ratio.{name}"] = (close, numbers)
        if name == "diffusion_reaction":  # with fewer steps there are fewer averages, which is not the paper's question
            said[f"q15.{name}"] = (close if of["steps"] >= PAPER_STEPS else None, numbers)
        if name == "antiderivative" and e.shape[1] > 1:
            over_E, over_seeds = mean_sd(e.mean(1))[1], mean_sd(e, 1)[1].mean(0)
            numbers = f"n = {of['levels']}: {listed(over_E)} and {listed(over_seeds)} %"
            said["q15.antiderivative"] = ((over_E < over_seeds).all(), numbers)
    return said


def examples(found: Found) -> Said:
    """Q10 and Q12 in the paper's examples, one test function each."""
    said: Said = {}
    for name, of in found.examples.items():
        own = {n: of[n]["example"] for n in LEVELS.get(name, ()) if n in of}
        if not own:
            continue
        best = [e["federated"] < min(v for who, v in e.items() if who.startswith("isolated")) for e in own.values()]
        trio = ("federated", "isolated 1", "isolated 2")
        numbers = "; ".join(f"n = {n}: " + listed(e[who] for who in trio) + " %" for n, e in own.items())
        said[f"{'target.' * (name == 'burgers_2')}q10.example.{name}"] = (all(best), numbers)
        if name == "diffusion_reaction":
            said[f"q12.example.{name}"] = (all(e["isolated 2"] > e["isolated 1"] for e in own.values()), numbers)
    return said


def plain(holds) -> bool | None:
    """A verdict as a result file keeps it."""
    return None if holds is None else bool(holds)


def listed(values: Iterable[float]) -> str:
    """Numbers with two digits, those from ten on whole."""
    return ", ".join(f"{v:.0f}" if v >= 10 else f"{v:.1f}" if v >= 1 else f"{v:.2f}" for v in values)
