"""What notebook 15 trains and computes, and the labelled arrays that its figures and claims take."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
import xarray

from ....federated import sums, suspects
from ....federated.experiment import Data, Experiment
from ....federated.history import History
from ....federated.schedules import Cosine
from ....federated.stack import parameter_count
from ....federated.sweep import errors
from ....notebook import rules
from ....numerics.metrics import after_holm
from ....numerics.tabulated import tabulated
from ....trainings.calls import Call, Computed, Task, Tolerance
from ....trainings.settings import paper
from .privacy import outlier, side_by_side
from .problem import LABORATORIES, LAYOUTS, SOUND, Fault, bent, evaluate, instruments

NOTEBOOK = "15_instruments"
PAPER = paper(NOTEBOOK)
"""The settings of the stored trainings; no paper has any."""
AGAIN = "waves"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""

TRIED = [100, 101, 102, 103, 104]
"""Data sets on which rates and schedules are chosen; those that count are others."""

MODELS = {"waves": (0.01, 0.03, 0.1, 0.3), "network": (0.001, 0.003, 0.01)}
"""Model -> rates that are tried with FedAvg."""

PERFECT, PLAIN, OWN = "perfect instruments", "sums as they are", "own parameters at home"
WAYS = {PLAIN: {"personal": False}, OWN: {}, PERFECT: {"personal": False, "offset": 0.0}}
"""Way -> arguments of ``instruments``."""

FAULTS = {
    "nobody": (SOUND, {}),
    "lab 4's scale, 1.3": (Fault(scale=1.3), {}),
    "and lab 1 has 3 times the noise": (Fault(scale=1.3, noises=(3.0,)), {}),
    "noises from half to twice": (Fault(noises=tuple(np.geomspace(0.5, 2, LABORATORIES).tolist())), {}),
    "a kink that no wave has": (Fault(truth=bent), {}),
    "four waves where five are needed": (SOUND, {"waves": 4}),
}
"""What is wrong -> the fault, and other arguments of ``instruments``."""

RULES = {
    "seeds": rules.whole(0),
    "layouts": rules.one_of(*LAYOUTS),
    "rounds": rules.whole(),
    "offsets": rules.number(0),
    "faults": rules.one_of(*FAULTS),
    "epsilons": rules.positive(),
    "crowds": rules.whole(2),
}
"""Parameter -> what it may be."""


GUESSED = {name: Tolerance(absolute=0.3) for name in ("off", "aimed")}
"""A guess under noise may be that of another point, by rounding."""


def check(p: Mapping) -> None:
    """Nothing that RULES do not say."""


def messages(experiment: Experiment, data: Data) -> list[sums.Sums]:
    """What each laboratory sends."""
    zero = torch.zeros(parameter_count(experiment.net)).double()
    return [sums.statistics(experiment, points, zero) for points in sums.parts(data)]


def model(experiment: Experiment, sent: Sequence[sums.Sums]) -> torch.Tensor:
    """The common model [P] that messages give; what is a laboratory's own is 0 in it."""
    zero = torch.zeros(parameter_count(experiment.net)).double()
    return sums.in_common(experiment, zero, sums.solve(sums.added(sent)).step)


def error(experiment: Experiment, data: Data, theta: torch.Tensor) -> float:
    """Of a model [P], in %."""
    return float(evaluate(sums.predicting(experiment, theta), data.test)["error"])


def by_sums(layouts: Sequence[str], offsets: Sequence[float], seeds: Sequence[int]) -> xarray.Dataset:
    """One message of each laboratory. error (%) [way, layout, offset, seed]; u, truth [..., x]: the curves, each less
    its mean."""

    def one(way: str, layout: str, offset: float, seed: int) -> dict:
        experiment = instruments(**{"offset": offset} | WAYS[way])
        data = experiment.data(layout, seed)
        theta, test = model(experiment, messages(experiment, data)), data.test
        u = sums.predicting(experiment, theta)(test["x"][::5])[:, 0]
        truth = test["y"][::5]
        return {"error": error(experiment, data, theta), "u": ("x", u - u.mean()), "truth": ("x", truth - truth.mean())}

    table = tabulated(one, way=[*WAYS], layout=layouts, offset=offsets, seed=seeds)
    return table.assign_coords(x=np.linspace(0, 1, 101))


def accused(faults: Sequence[str], layouts: Sequence[str], seeds: Sequence[int], offset: float) -> xarray.Dataset:
    """What is said of each laboratory: off, noisy, judged [fault, layout, seed, laboratory]: whether it is named, has
    more noise than others, could be judged. fits [fault, layout, seed]: False where so many seemed off that nobody is
    named. error, mended (%) [..]: with all messages, and without those of whom is named."""

    def one(fault: str, layout: str, seed: int) -> dict:
        wrong, arguments = FAULTS[fault]
        experiment = instruments(offset=offset, fault=wrong, **arguments)
        data = experiment.data(layout, seed)
        sent = messages(experiment, data)
        seem, sayings = suspects.off(sent), suspects.suspicions(sent)
        named = seem if suspects.fits(seem, sent) else []
        left = [message for k, message in enumerate(sent) if k not in named]
        return {
            "off": ("laboratory", np.isin(np.arange(LABORATORIES), named)),
            "noisy": ("laboratory", after_holm([one.p_noise for one in sayings], suspects.LIMIT)),
            "judged": ("laboratory", [one.least <= suspects.LARGE for one in sayings]),
            "fits": suspects.fits(seem, sent),
            "error": error(experiment, data, model(experiment, sent)),
            "mended": error(experiment, data, model(experiment, left)),
        }  # fmt: skip

    return tabulated(one, fault=faults, layout=layouts, seed=seeds)


def some(name: str, seeds: Sequence[int]) -> Sequence[int]:
    """The data sets that a model is trained on: five for the network, which takes minutes."""
    return seeds[:5] if name == "network" else seeds


def trainings(p: Mapping) -> dict[str, Task]:
    """FedAvg with own parameters, by both models, at all rates, constant and falling ("waves", "network"); sums; who is
    named ("accused"); noisy sums beside noisy FedAvg ("private"), and where one point stands apart ("outlier")."""
    offset = max(p["offsets"])
    calls: dict[str, Task] = {
        name: Call(
            instruments, {"model": name, "offset": offset}, p["layouts"], [*some(name, p["seeds"]), *TRIED],
            ["federated"],
            over={("schedule", "lr"): {(words, lr): {"lr": lr, "decay": decay} for lr in rates
                                       for words, decay in (("constant", 1.0), ("falling", Cosine(p["rounds"])))}},
            changes={"rounds": p["rounds"], "evaluations": 10}, models={},
        )
        for name, rates in MODELS.items()
    }  # fmt: skip
    calls["sums"] = Computed(by_sums, {name: p[name] for name in ("layouts", "offsets", "seeds")})
    common = {name: p[name] for name in ("faults", "layouts", "seeds")}
    calls["accused"] = Computed(accused, common | {"offset": offset})
    few = {"epsilons": p["epsilons"], "seeds": p["seeds"][:5]}
    calls["private"] = Computed(side_by_side, few | {"tried": TRIED})
    return calls | {
        "outlier": Computed(outlier, few | {"epsilons": [*p["epsilons"], 0], "points": p["crowds"]}, tolerances=GUESSED)
    }


class Results(NamedTuple):
    """error (%) [way, layout, seed] at the largest offset: of sums, and of FedAvg at the rate and schedule that are
    best on other data sets, ``chosen`` [way, layout]. offsets [way, layout, offset, seed], accused, private, outlier:
    as of ``by_sums``, ``accused`` and ``privacy``. None: not there."""

    error: xarray.DataArray | None
    chosen: dict[str, dict[str, str]]
    offsets: xarray.DataArray | None
    accused: xarray.Dataset | None
    private: xarray.Dataset | None
    outlier: xarray.Dataset | None


FEDAVG = {"waves": "FedAvg, own parameters", "network": "FedAvg, a network, own parameters"}


def results(p: Mapping, histories: Mapping[str, History | xarray.Dataset]) -> Results:
    """Of what ``trainings(p)`` left."""
    sent, parts, chosen = histories.get("sums"), [], {}
    offsets = None if sent is None else sent.error.assign_attrs(long_name="error", units="%")
    if offsets is not None:
        offsets.offset.attrs = {"long_name": "offsets and drifts", "units": "of the curve's st.dev."}
        parts.append(offsets.sel(offset=max(p["offsets"]), drop=True))
    for name in MODELS:
        if name in histories:
            one, chosen[FEDAVG[name]] = at_its_best(histories[name], some(name, p["seeds"]))
            parts.append(one.expand_dims(way=[FEDAVG[name]]))
    both = xarray.concat(parts, "way", join="outer").assign_attrs(long_name="error", units="%") if parts else None
    private, apart = histories.get("private"), histories.get("outlier")
    if private is not None:
        private.error.attrs = {"long_name": "error", "units": "%"}
        private.epsilon.attrs = {"long_name": "ε"}
    return Results(both, chosen, offsets, histories.get("accused"), private, apart)


def at_its_best(history: History, seeds: Sequence[int]) -> tuple[xarray.DataArray, dict[str, str]]:
    """Errors (%) after training [layout, seed] of these seeds, at the rate and schedule with the least geometric mean
    on TRIED; which."""
    values = errors(history).sel(kind="federated").isel(round=-1).reset_coords(drop=True).rename(level="layout")
    table = values.stack(setting=("schedule", "lr"))
    logs = np.log(table.sel(seed=TRIED)).mean("seed", skipna=False).fillna(np.inf)
    best = logs.argmin("setting").reset_coords(drop=True)
    settings = [table.setting.values[int(i)] for i in best]
    words = {
        layout: f"{name}, {lr:g}" for layout, (name, lr) in zip(best.layout.values.tolist(), settings, strict=True)
    }
    return table.isel(setting=best).drop_vars(["setting", "schedule", "lr"]).sel(seed=[*seeds]), words
