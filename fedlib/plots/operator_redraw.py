"""Figures and verdicts of a committed result once more, from its numbers: `python -m fedlib.plots.operator_redraw`.

An hour of training need not be repeated because a figure is drawn better, or a claim is read more rightly.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

from ..files import write_atomically
from ..notebook import models, pages, style
from ..notebook.verdicts import paper_numbers
from ..papers.fedsciml.operators.problem import TITLES, choose
from ..problems import operator_claims, operator_examples, operator_results
from ..trainings.profiles import committed, folder_of, read_result
from . import operator_examples as draw_examples
from . import operators as draw

NOTEBOOK = "07_operator_learning"


def figures(result: Mapping) -> dict[str, Figure]:
    """name -> figure: those that need numbers of the result file only, and no trained model."""
    found, printed = operator_results.read(result), paper_numbers()
    drawn = {}
    if found.errors:
        fed = {n: printed[f"fedsciml.antiderivative.n{n}"].value for n in (5, 6)}
        drawn["fig12_14_error"] = draw.error_view(found.errors, {"antiderivative": fed})
    if {"burgers_2", "burgers_3"} <= set(found.errors):
        drawn["fig14c_clients"] = draw.clients_view(found.errors["burgers_2"], found.errors["burgers_3"])
    if found.divergence:
        apart = result["metrics"]["weight_divergence_independent_start"]
        at = [n for n in found.union.get("antiderivative", []) if n in result["parameters"]["independent_levels"]]
        drawn["divergence"] = draw.divergence_view(found.union, found.divergence, at, apart)
    if found.local:
        local = found.local
        if result["profile"] == "local_steps":
            local = operator_results.joined(local, operator_results.read(committed(NOTEBOOK)))
        drawn["fig15_local_updates"] = draw.local_updates_view(local)
    return drawn


def judged(result: Mapping) -> dict[str, dict]:
    """Claims as a result file keeps them, judged by today's rules; those that its numbers do not decide are kept."""
    drift = committed("04_function_approximation")["metrics"]["weight_divergence"]["line"]  # [seed, level, matrix]
    drift = dict(enumerate(np.moveaxis(drift, 2, 0)))
    said = operator_claims.judge(operator_results.read(result), drift)
    return result["claims"] | {
        f"fedsciml.{id}": {"holds": operator_claims.plain(h), "why": why} for id, (h, why) in said.items()
    }


def examples(result: Mapping, kept: Mapping) -> tuple[dict[str, Figure], dict[str, dict]]:
    """Figures of the examples by name, and operator -> n -> what they show.

    kept: the models beside the result, (operator, label, n) -> [1, parameters].
    """
    problems = choose(list(dict.fromkeys(name for name, _, _ in kept)), nu=result["parameters"]["viscosity"])
    drawn, found = {}, {}
    for name, n in dict.fromkeys((name, n) for name, _, n in kept):
        rows = {label: torch.as_tensor(row[0]) for (of, label, level), row in kept.items() if (of, level) == (name, n)}
        c = operator_examples.functions(result["parameters"]["seeds"][0], result["parameters"]["test_functions"][name])
        e, title = operator_examples.errors(problems[name], c, rows), f"{TITLES[name]}, n = {n}"
        drawn[f"example_{name}_n{n}"] = draw_examples.view(problems[name], c[:1], rows, e, title)
        found.setdefault(name, {})[str(n)] = operator_examples.findings(e)
    return drawn, found


def redraw(folder: Path) -> None:
    """Write the figures and claims of the result in a folder anew."""
    result = read_result(folder / "result.json")
    label = result.get("label", f"{result['profile']} profile")
    drawn, found = examples(result, models.load(folder))
    if found:
        result["metrics"]["examples"] = found
    for name, fig in (figures(result) | drawn).items():
        fig.text(1, 0, label, ha="right", va="top", fontsize=6, color="0.4")
        write_atomically(folder / f"{name}.png", pages.png(fig))
    result["claims"] = judged(result)
    write_atomically(folder / "result.json", json.dumps(result, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    style.use()
    for profile in sys.argv[1:] or ("paper", "diffusion_reaction", "panels", "local_steps"):
        redraw(folder_of(NOTEBOOK, profile))
