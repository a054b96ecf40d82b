"""What notebook 15 trains and computes, and the labelled arrays that its figures and claims take."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import xarray

from ....federated import sums, suspects, sweep
from ....federated.history import History
from ....federated.schedules import Cosine
from ....federated.stack import parameter_count
from ....notebook import rules
from ....numerics.tabulated import tabulated
from ....trainings.calls import Call, Computed, Task
from ....trainings.settings import paper
from .problem import LABORATORIES, LAYOUTS, SOUND, Fault, bent, evaluate, instruments

NOTEBOOK = "15_instruments"
PAPER = paper(NOTEBOOK)
"""The settings of the stored trainings; no paper has any."""
AGAIN = "waves"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

TRIED = range(100, 105)
"""Data sets on which rates and schedules are chosen; those that count are others."""

MODELS = {"waves": (0.003, 0.01, 0.03, 0.1), "network": (0.001, 0.003, 0.01, 0.03)}
"""Model -> rates that are tried with FedAvg."""

WAYS = {"sums": {"own": False}, "sums, own parameters": {}, "sums, perfect instruments": {"own": False, "offset": 0.0}}
"""Way -> arguments of ``instruments``."""

FAULTS = {
    "none": (SOUND, {}),
    "scale 1.3": (Fault(scale=1.3), {}),
    "one with 3 times the noise": (Fault(noises=(3.0,)), {}),
    "noises from half to twice": (Fault(noises=tuple(np.geomspace(0.5, 2, LABORATORIES).tolist())), {}),
    "both, lab 1 noisy": (Fault(scale=1.3, noises=(3.0,)), {}),
    "a kink that no wave has": (Fault(truth=bent), {}),
    "four waves for five": (SOUND, {"waves": 4}),
}
"""What is wrong -> the fault, and other arguments of ``instruments``."""

RULES = {
    "seeds": rules.whole(0),
    "layouts": rules.one_of(*LAYOUTS),
    "rounds": rules.whole(),
    "offset": rules.number(0),
    "faults": rules.one_of(*FAULTS),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """Nothing that RULES do not say."""


def messages(experiment, data) -> list[sums.Sums]:
    """What each laboratory sends."""
    zero = torch.zeros(parameter_count(experiment.net)).double()
    return [sums.statistics(experiment, points, zero) for points in sums.parts(data)]


def error(experiment, data, sent: Sequence[sums.Sums]) -> float:
    """Error (%) of the curve that these messages give."""
    zero = torch.zeros(parameter_count(experiment.net)).double()
    step = sums.solve(sums.added(sent)).step
    own = sums.home_columns(experiment.net, experiment.personal)
    model = zero.clone()
    model[sums.others(own, len(zero))] = step
    return float(evaluate(sums.predicting(experiment, model), data.test)["error"])


def by_sums(layouts: Sequence[str], seeds: Sequence[int], offset: float) -> xarray.Dataset:
    """error (%) of one message each [way, layout, seed]."""

    def one(way: str, layout: str, seed: int) -> dict:
        experiment = instruments(**{"offset": offset} | WAYS[way])
        data = experiment.data(layout, seed)
        return {"error": error(experiment, data, messages(experiment, data))}

    return tabulated(one, way=[*WAYS], layout=layouts, seed=seeds)


def accused(faults: Sequence[str], layouts: Sequence[str], seeds: Sequence[int], offset: float) -> xarray.Dataset:
    """Who is called off [fault, layout, seed, laboratory]; what there is to say of each.

    off, noisy, judged: whether a laboratory is named, has more noise, could be judged. error, mended (%) [fault,
    layout, seed]: with all messages, and without those that are off. names: whether any is named at all.
    """

    def one(fault: str, layout: str, seed: int) -> dict:
        wrong, arguments = FAULTS[fault]
        experiment = instruments(offset=offset, fault=wrong, **arguments)
        data = experiment.data(layout, seed)
        sent = messages(experiment, data)
        off, found = suspects.off(sent), suspects.suspicions(sent)
        left = [message for k, message in enumerate(sent) if k not in off]
        return {
            "off": ("laboratory", np.isin(np.arange(LABORATORIES), off)),
            "noisy": ("laboratory", suspects.after_holm([one.p_noise for one in found], suspects.LIMIT)),
            "judged": ("laboratory", [one.least <= suspects.LARGE for one in found]),
            "error": error(experiment, data, sent),
            "mended": error(experiment, data, left or sent),
        }  # fmt: skip

    return tabulated(one, fault=faults, layout=layouts, seed=seeds)


def trainings(p: Mapping) -> dict[str, Task]:
    """FedAvg with own parameters, by both models at all rates, constant and falling; sums; who is accused."""
    calls = {
        model: Call(
            instruments, {"model": model, "offset": p["offset"]}, p["layouts"], [*p["seeds"], *TRIED], ["federated"],
            over={("schedule", "lr"): {(name, lr): {"lr": lr, "decay": decay} for lr in rates
                                       for name, decay in (("constant", 1.0), ("falling", Cosine(p["rounds"])))}},
            changes={"rounds": p["rounds"], "evaluations": 10}, models={},
        )
        for model, rates in MODELS.items()
    }  # fmt: skip
    common = {"layouts": p["layouts"], "seeds": p["seeds"], "offset": p["offset"]}
    return calls | {"sums": Computed(by_sums, common), "accused": Computed(accused, common | {"faults": p["faults"]})}
