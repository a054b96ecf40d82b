"""What notebook 08 trains of the surface (FedStNN, Section 5.2), and what its figures and claims take."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.batches import Local
from ....federated.history import History
from ....trainings.calls import Call
from ..experiment import beside, judged
from ..network import SNN
from ..plane import SLICES, answered, first, observations, on_grid, on_slice, probes, quadrants, surface_grid
from .problem import shared

NAME, OUTSIDE = "surface", 10
"""Points of a client outside of its quadrant."""


def trainings(p: Mapping) -> dict[Hashable, Call]:
    """("surface", ...): federated and centralised, and the first client of each quadrant alone; ("search", "surface"):
    rates, their falls and steps."""
    sizes = {"clients": p["clients_2d"], "sigma": p["sigma"]}
    changes = {"rounds": p["rounds_2d"], "fraction": p["fraction_2d"]}
    chosen = {"lr": p["lr_2d"], "decay": p["decay_2d"]}
    chosen |= changes | {"local": Local(p["local_updates_2d"], "steps", p["batch_size"])}
    levels, seeds, alone = [OUTSIDE], p["seeds"], {"alone": True}
    calls = {
        (NAME, "together"): Call(shared, sizes, levels, seeds, ["federated", "centralised"], changes=chosen),
        (NAME, "alone"): Call(shared, sizes | alone, levels, seeds, ["isolated"], changes=chosen),
    }
    if tries := settings(p):
        kinds, over = ["federated"], {("lr", "decay", "steps"): tries}
        calls["search", NAME] = Call(shared, sizes, levels, p["search_seeds"], kinds, over, changes, models={})
    return calls


def settings(p: Mapping) -> dict[tuple, dict]:
    """(rate, its factor from round to round, steps of a client in a round) -> changes."""
    return {
        (lr, decay, steps): {"lr": lr, "decay": decay, "local": Local(steps, "steps", p["batch_size"])}
        for lr in p["search_lrs"]
        for decay in p["search_decays"]
        for steps in p["search_steps"]
    }


class Results(NamedTuple):
    """What figures and claims take; None: nothing of it is trained.

    answers: Dataset of ``Answers`` at all points of the grid [model, seed, x]; models "federated", "centralised", and
    "client 1 alone", the first of each quadrant. observed [seed, x]. tried: of ``scored`` [seed, lr, decay, steps].
    sigma, clients: of the run.
    """

    answers: xarray.Dataset | None
    observed: xarray.DataArray | None
    tried: xarray.Dataset | None
    sigma: float
    clients: int


def results(p: Mapping, histories: Mapping[Hashable, History]) -> Results:
    """The labelled arrays; what models say is computed here, for at all points it is too much to keep."""
    together, alone = (histories.get((NAME, name)) for name in ("together", "alone"))
    models = {} if together is None else {kind: (together, kind, OUTSIDE) for kind in ("federated", "centralised")}
    if alone is not None:
        models |= {
            f"client {k + 1} alone": (alone, "isolated", OUTSIDE, i) for i, k in enumerate(first(p["clients_2d"]))
        }
    net = SNN(2, 16, 32)
    constants = probes(net, p["sigma"])
    answers = beside("model", {label: answered(net, constants, *row) for label, row in models.items()})
    z = None
    if answers is not None:
        seeds = answers.seed.values.tolist()
        z = xarray.DataArray([observations(seed, p["sigma"]) for seed in seeds], {"seed": seeds}, ("seed", "x"))
    return Results(answers, z, tried(histories.get(("search", NAME))), p["sigma"], p["clients_2d"])


def tried(history: History | None) -> xarray.Dataset | None:
    """Energy score, RMSE and std of what was tried [seed, lr, decay, steps]."""
    if history is None:
        return None
    names = ("energy score", "RMSE", "std")
    return xarray.Dataset({n: history.last(n, kind="federated", client=0, level=OUTSIDE) for n in names}).drop_attrs()


def judged_at(results: Results, model: str, where=slice(None)) -> xarray.Dataset:
    """``judged`` [seed] of a model at some points of the grid, with ONE path for "in band", and its "MSE" against the
    observations, point by point."""
    answers, f = results.answers.sel(model=model).isel(x=where), on_grid()[where]
    path, observed = answers["path"].values, results.observed.values[:, where]
    share = (np.abs(path - f) < 2 * results.sigma).mean(1)
    return judged(answers, f, results.sigma).assign(
        {"in band": ("seed", share), "MSE": ("seed", ((path - observed) ** 2).mean(1))}
    )


def report(results: Results) -> dict[str, xarray.Dataset]:
    """``judged_at`` on the whole grid, on slices, in the own quadrant and elsewhere: row -> Dataset [seed]."""
    rows = {"federated, whole grid": judged_at(results, "federated")}
    rows |= {f"federated, slice {name}": judged_at(results, "federated", on_slice(name)) for name in SLICES}
    rows["all data in one place"] = judged_at(results, "centralised")
    everywhere = np.arange(len(on_grid()))
    for k, quadrant in zip(first(results.clients), quadrants(surface_grid()), strict=True):
        name = f"client {k + 1} alone"
        rows[f"{name}, own quadrant"] = judged_at(results, name, quadrant)
        rows[f"{name}, elsewhere"] = judged_at(results, name, np.setdiff1d(everywhere, quadrant))
    return rows
