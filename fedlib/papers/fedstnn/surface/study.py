"""What notebook 08 trains of the surface (FedStNN, Section 5.2), and what its figures and claims take."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.batches import Local
from ....federated.history import History
from ....trainings.calls import Call
from ..experiment import BATCH, TRIED, TRIED_ON, beside, judged
from ..network import SNN
from ..plane import SLICES, answered, first, observations, on_grid, on_slice, probes, quadrants, surface_grid
from .problem import shared

NAME, OUTSIDE = "surface", 10
"""Points of a client outside of its quadrant."""
LR, DECAY = 0.02, 0.75
"""Adam's rate and its factor in each round, chosen on validation data."""
CLIENTS, FRACTION = 40, 0.1
"""K, ten for each quadrant; C, which the paper recommends, but does not print here."""
ANSWERS = "answers", NAME
DRAWN = "federated", "client 1 alone"


def trainings(p: Mapping) -> dict[Hashable, Call]:
    """("surface", ...): federated and centralised, and the first client of each quadrant alone."""
    levels, seeds, sizes, changes = [OUTSIDE], p["seeds"], sizes_of(p), changes_of(p, LR, DECAY, p["local_updates_2d"])
    return {
        (NAME, "together"): Call(shared, sizes, levels, seeds, ["federated", "centralised"], changes=changes),
        (NAME, "alone"): Call(shared, sizes | {"alone": True}, levels, seeds, ["isolated"], changes=changes),
    }


def search(p: Mapping) -> Call:
    """(rate, its factor from round to round, steps of a client in a round) that were tried on validation data."""
    common = {name: value for name, value in changes_of(p).items() if name in ("rounds", "fraction")}
    tries = {
        setting: {name: value for name, value in changes_of(p, *setting).items() if name not in common}
        for setting in product(*TRIED)
    }
    over = {("lr", "decay", "steps"): tries}
    return Call(shared, sizes_of(p), [OUTSIDE], TRIED_ON, ["federated"], over, common, models={})


def sizes_of(p: Mapping) -> dict:
    """Arguments of federations."""
    return {"clients": CLIENTS, "sigma": p["sigma"]}


def changes_of(p: Mapping, lr: float = LR, decay: float = DECAY, steps: int = 400) -> dict:
    """How federations train."""
    local = Local(steps, "steps", BATCH)
    return {"rounds": p["rounds_2d"], "fraction": FRACTION, "lr": lr, "decay": decay, "local": local}


class Results(NamedTuple):
    """What figures and claims take; None: nothing of it is trained.

    answers: see there. observed [seed, x]. tried: of ``scored`` [seed, lr, decay, steps]. sigma: of the run.
    """

    answers: xarray.Dataset | None
    observed: xarray.DataArray | None
    tried: xarray.Dataset | None
    sigma: float


def results(p: Mapping, histories: Mapping[Hashable, History]) -> Results:
    """The labelled arrays."""
    models = histories[ANSWERS] if ANSWERS in histories else answers(p, histories)
    z = None if models is None else seen(models.seed.values.tolist(), p["sigma"])
    return Results(models, z, tried(histories.get(("search", NAME))), p["sigma"])


def seen(seeds: Sequence[int], sigma: float) -> xarray.DataArray:
    """``observations`` [seed, x]."""
    return xarray.DataArray([observations(seed, sigma) for seed in seeds], {"seed": seeds}, ("seed", "x"))


def answers(p: Mapping, histories: Mapping[Hashable, History]) -> xarray.Dataset | None:
    """``chosen`` of what the trained models say at all points of the grid."""
    together, alone = (histories.get((NAME, name)) for name in ("together", "alone"))
    models = {} if together is None else {kind: (together, kind, OUTSIDE) for kind in ("federated", "centralised")}
    if alone is not None:
        models |= {f"client {k + 1} alone": (alone, "isolated", OUTSIDE, i) for i, k in enumerate(first(CLIENTS))}
    if not models:
        return None
    net = SNN(2, 16, 32)
    constants = probes(net, p["sigma"])
    every = beside("model", {label: answered(net, constants, *row) for label, row in models.items()})
    return chosen(every, seen(every.seed.values.tolist(), p["sigma"]), p["sigma"])


def chosen(every: xarray.Dataset, observed: xarray.DataArray, sigma: float) -> xarray.Dataset:
    """What is drawn and judged of ``Answers`` at all points of the grid [model, seed, x], which are too many to keep:
    mean and std of the first seed [model, x]; path of the federation [seed, x]; judged [row, quantity, seed].

    Models are "federated", "centralised", and "client 1 alone", the first of each quadrant. Rows: on the whole grid, on
    slices, in the own quadrant and elsewhere.
    """
    everywhere, parts = np.arange(len(on_grid())), {"federated, whole grid": ("federated", slice(None))}
    parts |= {f"federated, slice {name}": ("federated", on_slice(name)) for name in SLICES}
    parts["all data in one place"] = "centralised", slice(None)
    for k, quadrant in zip(first(CLIENTS), quadrants(surface_grid()), strict=True):
        name = f"client {k + 1} alone"
        parts[f"{name}, own quadrant"] = name, quadrant
        parts[f"{name}, elsewhere"] = name, np.setdiff1d(everywhere, quadrant)
    models = set(every.model.values.tolist())
    rows = {
        row: judged_at(every.sel(model=model), observed, sigma, where).to_array("quantity")
        for row, (model, where) in parts.items()
        if model in models
    }
    made = every[["mean", "std"]].isel(seed=0, drop=True).sel(model=[name for name in DRAWN if name in models])
    if "federated" in models:
        made["path"] = every["path"].sel(model="federated", drop=True)
    return made.assign(judged=xarray.concat(rows.values(), xarray.Variable("row", [*rows])))


def tried(history: History | None) -> xarray.Dataset | None:
    """Energy score, RMSE and std of what was tried [seed, lr, decay, steps]."""
    if history is None:
        return None
    names = ("energy score", "RMSE", "std")
    return xarray.Dataset({n: history.last(n, kind="federated", client=0, level=OUTSIDE) for n in names}).drop_attrs()


def judged_at(answers: xarray.Dataset, observed: xarray.DataArray, sigma: float, where=slice(None)) -> xarray.Dataset:
    """``judged`` [seed] of a model's answers [seed, x] at some points of the grid, with ONE path for "in band", and its
    "MSE" against the observations, point by point."""
    answers, f = answers.isel(x=where), on_grid()[where]
    path, z = answers["path"].values, observed.values[:, where]
    share = (np.abs(path - f) < 2 * sigma).mean(1)
    return judged(answers, f, sigma).assign({"in band": ("seed", share), "MSE": ("seed", ((path - z) ** 2).mean(1))})


def report(results: Results) -> dict[str, xarray.Dataset]:
    """Row -> quantities [seed], see ``chosen``."""
    table = results.answers["judged"]
    return {row: table.sel(row=row).to_dataset("quantity") for row in table.row.values.tolist()}
