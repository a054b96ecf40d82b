"""Why a federated PINN stays behind a centralised one where its clients are alike: rules and E at one level."""

from collections.abc import Mapping, Sequence

import numpy as np

from . import drift, drift_study, forward

HEADER = ("rule", "E", "relative error / 1e-5, median", "smallest to largest", "MB sent up")


def gap(level: int, seeds: Sequence[int], rules: Sequence[str], Es: Sequence[int], *, rounds: int, lr: float, **how):
    """Poisson's equation at a level with every rule of ``drift_study.RULES`` and every E, equal steps T = 5 rounds.

    A rule with a knob of its own takes the one with the smallest error on every second test point; errors are those on
    the others. how: of ``train``.

    Returns:
        "rule, E = ..." -> "error_percent" [S], "megabytes" that all clients send up in all (float32), "E", "rule".
    """
    tasks = {seed: drift.equation(forward.poisson(), level) for seed in seeds}
    share = 5 * rounds / next(iter(tasks.values())).steps
    found = {}
    for rule in rules:
        for E in Es:
            done = drift_study.best(drift_study.run(tasks, rule, [lr], E=E, share=share, **how))
            sent = done.bytes(max(1, round(5 * rounds / E))) / 1e6
            found[f"{rule}, E = {E}"] = {"error_percent": done.error(), "megabytes": float(sent), "E": E, "rule": rule}
    return found


def rows(found: Mapping[str, Mapping], centralised: Sequence[float]) -> list[list[str]]:
    """Rows of HEADER by falling median, the centralised model last. found: as of ``gap``; centralised [S] (%)."""

    def said(e):
        return [f"{1000 * np.median(e):.0f}", f"{1000 * np.min(e):.0f} to {1000 * np.max(e):.0f}"]

    ranked = sorted(found.values(), key=lambda of: -np.median(of["error_percent"]))
    table = [[of["rule"], str(of["E"]), *said(of["error_percent"]), f"{of['megabytes']:.0f}"] for of in ranked]
    return [*table, ["centralised", "-", *said(centralised), "0"]]


def closes(found: Mapping[str, Mapping], centralised: Sequence[float], within: float = 2.0) -> list[str]:
    """Which rules come within a factor of the centralised error (medians over seeds)."""
    limit = within * np.median(centralised)
    return [name for name, of in found.items() if np.median(of["error_percent"]) <= limit]
