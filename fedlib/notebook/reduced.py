"""What a run has less of than the paper: its parameters beside data/paper_settings.yaml."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from pathlib import Path

import yaml

from ..files import ROOT
from .outputs import core_seconds


@cache
def paper_settings(path: Path = ROOT / "data" / "paper_settings.yaml") -> dict[str, list[dict]]:
    """notebook -> its parts, see the file."""
    return yaml.safe_load(path.read_text())["notebooks"]


def lines(p: Mapping) -> list[int]:
    """Places and times of the 101 x 101 grid that enter the loss of the diffusion-reaction operator."""
    return [100 // every + 1 for every in p["diffusion_reaction_every"]]


DERIVED = {
    "stop": lambda p: p.get("stop") or p["rounds"]["navier_stokes"],
    "residual_points": lambda p: sum(p["residual"]),
    "allen_cahn_points": lambda p: p["allen_cahn_lines"] * p["allen_cahn_times"],
    "allen_cahn_seeds": lambda p: p.get("allen_cahn_seeds", p["seeds"]),
    "allen_cahn_activation": lambda p: p.get("allen_cahn_activation", "tanh"),  # the only one of older runs
    "diffusion_reaction_points": lambda p: prod(lines(p)),
    "burgers_points": lambda p: (100 // p["burgers_every"] + 1) * len(p["burgers_times"]),
}
"""What the papers state and a notebook has in other words: name -> function of the run's parameters."""


def value_of(name: str, parameters: Mapping):
    """A run's value of a setting: a parameter, an entry of a dict ("levels.poisson"), or ``DERIVED``; else None."""
    head, _, entry = name.partition(".")
    try:
        if entry and head == "steps":
            return parameters["rounds"][entry] * parameters["local_updates"]
        given = DERIVED[name](parameters) if name in DERIVED else parameters[head]
    except (KeyError, TypeError):
        return None
    if not entry:
        return given
    older = given if entry in ("antiderivative", "navier_stokes") else None  # runs that had one problem
    own = given.get(entry) if isinstance(given, Mapping) else older
    return sorted({*own, parameters["local_updates"]}) if own and head == "E_values" else own  # it trains that, too


def share(ours, paper) -> float:
    """How much of the paper's value a run has, from 0 to 1: of a list its entries, of a number the ratio.

    A list where the paper has a number counts as many, such as seeds.
    """
    own = list(ours) if isinstance(ours, Sequence) and not isinstance(ours, str) else None
    if isinstance(paper, list):
        return len(set(paper) & set([ours] if own is None else own)) / len(paper)
    if ours is None:
        return 0.0
    if isinstance(paper, str):
        return float(ours == paper)
    return min(1.0, (ours if own is None else len({*own})) / paper)


def parts_of(notebook: str, parameters: Mapping) -> list[dict]:
    """The parts of the papers that a run works on: those of its problems, and those of no problem."""
    problems = parameters.get("problems", ())
    found = [part for part in paper_settings().get(notebook, ()) if part.get("problem") in (None, *problems)]
    needs = [[n for n in part["wants"] if n.startswith("E_values")] for part in found]  # Fig. 15 has two operators
    return [part for part, need in zip(found, needs, strict=True) if not need or value_of(need[0], parameters)]


def reduced(notebook: str, parameters: Mapping) -> dict[str, dict[str, dict]]:
    """part -> setting -> {"ours": ..., "paper": ...} where a run has less than the paper; nothing where nothing is.

    Args:
        notebook: e.g. "05_pinn_forward"; one without an entry has nothing to compare with.
        parameters: of the run, or of a result file, old ones too.
    """
    found = {}
    for part in parts_of(notebook, parameters):
        pairs = {name: {"ours": value_of(name, parameters), "paper": paper} for name, paper in part["wants"].items()}
        if short := {name: pair for name, pair in pairs.items() if share(pair["ours"], pair["paper"]) < 1}:
            found[part["part"]] = short
    return found


def times_longer(short: Mapping[str, Mapping]) -> float:
    """How many times the work of a run a part at the paper's settings is; work is taken as their product.

    short: setting -> ours and paper's. What a run has nothing of is no factor. A run that was stopped has its rounds.
    """
    shares = [share(pair["ours"], pair["paper"]) for pair in short.values()]
    return prod(1 / s for s in shares if s)


def text(name: str, ours, paper) -> str:
    """A setting in words: "levels.flow: 2, 6 of 2, 4, 6", "seeds: 1 of 5"."""
    plain = lambda v: ", ".join(map(str, v)) if isinstance(v, list) else str(v)  # noqa: E731
    own = len({*ours}) if isinstance(ours, list) and not isinstance(paper, list) else ours
    return f"{name} {'none' if own is None else plain(own)} of {plain(paper)}"


def told(notebook: str, parameters: Mapping) -> dict[str, str]:
    """part -> what it has less of than the paper, in words."""
    found = reduced(notebook, parameters)
    return {part: "; ".join(text(name, **pair) for name, pair in short.items()) for part, short in found.items()}


def still_reduced(results: Sequence[Mapping]) -> list[str]:
    """A line per run and part with less than the paper's settings, and what the whole part would cost.

    Core-hours: the run's wall time and processes times ``times_longer``; "at most" where a run has several parts,
    whose times the result does not tell apart.
    """
    found = []
    for r in results:
        parts, words = parts_of(r["notebook"], r["parameters"]), told(r["notebook"], r["parameters"])
        for part, short in reduced(r["notebook"], r["parameters"]).items():
            hours = core_seconds(r) / 3600 * (times_longer(short) - 1)
            more = f"{'at most ' * (len(parts) > 1)}{hours:.2g} core-hours more"
            found.append(f"  {r['notebook']} ({r['profile']}), {part}: {words[part]} [{more}]")
    return found
