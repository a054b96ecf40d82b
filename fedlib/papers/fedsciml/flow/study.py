"""What notebook 06 trains, and what its figures and claims take.

``python -m fedlib train 06_flow --only flow`` trains what is not stored of Table 2's first rounds.
"""

from collections.abc import Mapping, Sequence

from ....federated.batches import Local
from ....federated.schedules import Drop
from ....notebook import rules
from ....trainings.calls import Call
from .problem import flow

NOTEBOOK = "06_flow"

READINGS = {
    "residual points divided": {"divided": True},
    "independent starts": {"common_init": False},
    "moments reset": {"reset_moments": True},
    "both": {"common_init": False, "reset_moments": True},
}
"""What the paper leaves open, read in another way -> arguments of ``flow``, or changes of the experiment; both: of the
two before it."""


RULES = {
    **dict.fromkeys(("levels", "aliased"), rules.whole(2)),
    **dict.fromkeys(("residual", "widths", "drop_after", "many"), rules.whole()),
    "readings": rules.one_of(*READINGS),
    "alone_seeds": rules.whole(0),
    "longer": rules.whole(),
    "observations": rules.whole(2, 55_000),
    "drop": rules.positive(),
}
"""Parameter -> what it may be."""


def trainings(p: Mapping) -> dict[str | tuple, Call]:
    """ "flow", Table 2 and Fig. 10, with C recorded in every round; "many", the centralised model of more observations.

    Beside them "alone", each client by itself; "aliased", C as the authors' code moves it; ("long", ...), the same rows
    to more rounds, for a longer training is another setting; and "readings", at the first level.
    """
    arguments = {name: p[name] for name in ("observations", "residual", "widths", "source")}

    def call(levels: Sequence[int], kinds: Sequence[str], rounds: int, seeds=p["seeds"], **more) -> Call:
        changes = {"rounds": rounds, "local": Local(p["local_updates"]), "lr": p["lr"], "evaluations": rounds}
        changes |= {"decay": Drop(p["drop_after"], p["drop"])}
        changes |= {name: more.pop(name) for name in ("common_init", "reset_moments") if name in more}
        return Call(flow, arguments | more, levels, seeds, kinds, changes=changes, apart=True)

    levels, rounds, many = p["levels"], p["rounds"], {"observations": p["many"]}
    calls: dict[str | tuple, Call] = {"flow": call(levels, ["federated", "centralised"], rounds)}
    calls["many"] = call(levels[:1], ["centralised"], rounds, **many)
    if p["alone_seeds"]:
        calls["alone"] = call(levels, ["isolated"], rounds, p["alone_seeds"])
    if p["aliased"]:
        calls["aliased"] = call(p["aliased"], ["federated"], rounds, aliased=True)
    for level, longer in zip(levels, p["longer"], strict=False):
        calls["long", f"n = {level}"] = call([level], ["federated"], longer)
    if p["longer"]:
        calls["long", "centralised"] = call(levels[-1:], ["centralised"], p["longer"][-1])
        calls["long", "many"] = call(levels[:1], ["centralised"], p["longer"][-1], **many)
    for name in p["readings"]:
        calls["readings", name] = call(levels[:1], ["federated"], p["drop_after"], **READINGS[name])
    return calls
