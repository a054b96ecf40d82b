"""What notebook 08b trains of three ways, and the labelled arrays that its figures and claims take.

``python -m fedlib train 08b_as_coded --only curve`` trains what is not stored of Section 5.1.
"""

from collections.abc import Hashable, Mapping

from ....notebook import rules
from ....trainings.calls import Call
from .coded import Coded, statistics
from .problem import CASES, coded, mended, one_client, printed, running_only

NOTEBOOK = "08b_as_coded"

RULES = {
    **dict.fromkeys(
        ("rounds_2d", "steps", "steps_2d", "steps_alone", "steps_mended", "steps_mended_2d", "batch", "batch_2d"),
        rules.whole(),
    ),
    **dict.fromkeys(("sigma", "sigmas", "rate", "rate_2d"), rules.positive()),
    **dict.fromkeys(("fraction", "decay", "decay_2d"), rules.share()),
    "test_paths": rules.whole(2),
    "clients": rules.whole(10, 1000),
    "clients_2d": rules.whole(4),
}
"""Parameter -> what it may be."""

SEARCHED = {"rates": rules.positive(), "rates_2d": rules.positive()}
"""The same of lists that may be empty: nothing is searched."""


def check(p: Mapping) -> None:
    """ValueError where sigma is not among the noises that are trained."""
    rules.check(p, **{name: rule for name, rule in SEARCHED.items() if p[name]})
    if p["sigma"] not in p["sigmas"]:
        raise ValueError(f"sigmas = {p['sigmas']}: expected sigma = {p['sigma']:g} among them")


PATHS = ("frozen paths", "fresh paths")


def trainings(p: Mapping) -> dict[Hashable, Call]:
    """("curve", way), ("surface", way): federations. ("rates", case): those tried for SGD. ("statistics", "own"): as
    coded, but each client keeps its own of the batch normalisation. ("alone", paths): one client, frozen or fresh."""
    calls = {(case, way): call for case in CASES for way, call in federations(p, case).items()}
    for case, fewer in (("curve", 1), ("surface", 5)):
        if rates := p["rates" + SUFFIX[case]]:
            call = calls[case, "as printed"]
            arguments = call.arguments | {"steps": -(-call.arguments["steps"] // fewer), "choice": True}
            calls["rates", case] = call._replace(
                arguments=arguments, levels=[p["sigma"]], seeds=p["validation_seeds"], over={"lr": rates}, models={}
            )
    call = calls["curve", "as coded"]
    own = {"personal": statistics(Coded(*CASES["curve"].widths)), "evaluate": running_only}
    calls["statistics", "own"] = call._replace(levels=[p["sigma"]], changes=call.changes | own)
    for paths in PATHS:
        arguments = {name: call.arguments[name] for name in ("clients", "batch", "tests")}
        arguments |= {"steps": p["steps_alone"], "frozen": paths == "frozen paths"}
        calls["alone", paths] = call._replace(
            make=one_client, arguments=arguments, kinds=["isolated"], changes={"rounds": 1, "lr": 1e-3}
        )
    return calls


SUFFIX = {"curve": "", "surface": "_2d"}
"""Case -> how its parameters end."""


def federations(p: Mapping, case: str) -> dict[Hashable, Call]:
    """Way -> its federations. On the surface models are kept: at all points answers are too much to keep."""
    clients, steps, batch, few, rate, decay, rounds, seeds = (
        p[name + SUFFIX[case]]
        for name in ("clients", "steps", "batch", "steps_mended", "rate", "decay", "rounds", "seeds")
    )
    common = {"rounds": rounds, "fraction": p["fraction"]}
    levels, tests, models = (p["sigmas"], p["test_paths"], {}) if case == "curve" else ([p["sigma"]], 20, None)

    def call(make, steps: int, batch: int, **changes) -> Call:
        arguments = {"case": case, "clients": clients, "steps": steps, "batch": batch, "tests": tests}
        return Call(make, arguments, levels, seeds, ["federated"], changes=common | changes, models=models)

    return {
        "as printed": call(printed, steps, batch, lr=rate),
        "as coded": call(coded, steps, batch),
        "mended": call(mended, few, 32, lr=p["lr"], decay=decay),
    }
