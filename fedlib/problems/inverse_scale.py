"""What a run of the inverse problems leaves out of the paper's settings (FedSciML, Sections 5.5 and 5.6)."""

from collections.abc import Mapping, Sequence

PAPER = {
    "navier_stokes": {"seeds": 5, "levels": (2, 4, 6, 8, 10, 20), "rounds": 40_000},
    "reaction": {"seeds": 5, "levels": (2, 4, 6, 8, 12, 24), "rounds": 20_000},
}
"""Seeds as in most of the authors' scripts: the paper does not say how many runs its bands have."""


RESIDUAL = (700, 200, 100)  # residual points of the flow: inside, on the sides, at t = 0


def reduced(given: Mapping, problems: Sequence[str], stop: int = 0) -> dict[str, dict[str, str]]:
    """What each problem has less of than the paper: problem -> what -> "ours of the paper's", nothing if nothing.

    Args:
        given: parameters of the notebook: seeds, levels, rounds (by problem) and residual. stop: rounds after which
            the flow was stopped, 0 for none.
    """
    found = {}
    for name in problems:
        wanted, short = PAPER[name], {}
        rounds = stop if stop and name == "navier_stokes" else given["rounds"][name]
        seeds, levels = len(set(given["seeds"][name])), sorted(set(given["levels"][name]))
        if seeds < wanted["seeds"]:
            short["seeds"] = f"{seeds} of {wanted['seeds']}"
        if set(wanted["levels"]) - set(levels):
            short["levels"] = f"{', '.join(map(str, levels))} of {', '.join(map(str, wanted['levels']))}"
        if rounds < wanted["rounds"]:
            short["rounds"] = f"{rounds} of {wanted['rounds']}"
        if name == "navier_stokes" and sum(given["residual"]) < sum(RESIDUAL):
            short["residual points"] = f"{sum(given['residual'])} of {sum(RESIDUAL)}"
        if short:
            found[name] = short
    return found
