"""What a run of operator learning found, live or read from its result file, also from older ones."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np


class Found(NamedTuple):
    """Numbers of a run, by name of the operator.

    errors: as of ``operator_study.errors``. divergence: matrix -> [S, levels] at the levels ``union``. local: studies
    of local steps, {"levels": n's, "steps": T, "percent": {E: [S, levels]}}. examples: n -> what
    ``operator_examples.findings`` says.
    """

    errors: dict[str, dict]
    divergence: dict[str, dict]
    union: dict[str, list[int]]
    local: dict[str, dict]
    examples: dict[str, dict]


def read(result: Mapping) -> Found:
    """``Found`` of a result file; empty where it has nothing, as everything is of no result at all."""
    if not result:
        return Found({}, {}, {}, {}, {})
    metrics, parameters = result["metrics"], result["parameters"]
    union = {name: sorted(set(parameters["union_levels"].get(name, []))) for name in metrics["levels"]}
    errors = {}
    for name, levels in metrics["levels"].items():
        kinds = {kind: np.array(e) for kind, e in metrics["error_percent"][name].items()}
        central = np.transpose(metrics["centralised_percent"].get(name, []))
        errors[name] = {"levels": levels, **kinds, "centralised": dict(zip(union[name], central, strict=True))}
    divergence = {
        name: {matrix: np.array(values) for matrix, values in of.items()}
        for name, of in metrics["weight_divergence"].items()
    }
    examples = {name: {int(n): found for n, found in of.items()} for name, of in metrics.get("examples", {}).items()}
    return Found(errors, divergence, union, local_steps(metrics, parameters), examples)


def local_steps(metrics: Mapping, parameters: Mapping) -> dict[str, dict]:
    """``Found.local`` of a result file; older runs have the antiderivative only."""
    if "local_updates" in metrics:
        return {name: of | {"percent": by_number(of["percent"])} for name, of in metrics["local_updates"].items()}
    if not metrics.get("local_updates_percent"):
        return {}
    steps = parameters["rounds"]["antiderivative"] * parameters["local_updates"]
    percent = by_number(metrics["local_updates_percent"])
    return {"antiderivative": {"levels": parameters["E_levels"], "steps": steps, "percent": percent}}


def by_number(percent: Mapping) -> dict[int, np.ndarray]:
    """E -> [S, levels] with numbers for keys, in rising order."""
    return {E: np.array(e) for E, e in sorted((int(E), e) for E, e in percent.items())}


def joined(local: Mapping, paper: Found, E: int = 5) -> dict[str, dict]:
    """The studies of local steps of an extra profile, and the paper profile's federations of the same seed and T.

    Args:
        local: ``Found.local`` of one seed. paper: of the paper profile, whose first seed it is; trained with E.
    """
    own = dict(local)
    if "antiderivative" in own and "antiderivative" in paper.errors:
        study, e = own["antiderivative"], paper.errors["antiderivative"]
        same = study["levels"] == e["levels"] and study["steps"] == paper.local["antiderivative"]["steps"]
        if same and E not in study["percent"]:
            percent = study["percent"] | {E: e["federated"][:1]}
            own["antiderivative"] = study | {"percent": dict(sorted(percent.items()))}
    return own
