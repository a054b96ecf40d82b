"""Poisson's equation on a line that two clients own in turn: what each finds alone, what their sums give, and what
notebook 05's federated network says, for any number of pieces, sines and points."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated import sums
from ....federated.experiment import Data, Experiment
from ....federated.solved import clouds_of, owners, stored_solutions
from ....federated.sweep import errors
from ....numerics.metrics import percent
from ....numerics.tabulated import tabulated
from ....trainings.store import stored
from ...fedsciml.forward import problem as forward
from ...fedsciml.forward import study as forward_study
from .problem import answers, start, with_sines

SCALE = 6.0  # st.dev. of the sines' frequencies
MODELS = ["client 1 alone", "client 2 alone", "sums"]
NETWORK_POINTS = 32  # on which notebook 05 has trained


@cache
def dealt(pieces: int, points: int) -> Data:
    """Who owns which points."""
    return forward.poisson(points).data(pieces, 0)


@cache
def rows(sines: int, points: int, seed: int) -> tuple[Experiment, Tensor]:
    """The equation with random sines, and the rows [J, r] of all points, of which each client computes its own."""
    experiment = with_sines("poisson", sines, SCALE, seed)
    return experiment, sums.rows(experiment, dealt(2, points).pool, start(experiment))


def solutions(pieces: int, sines: int, points: int, seed: int) -> list[sums.Solution]:
    """What each client finds alone, and what the sums of both give, as ``MODELS``."""
    _, A = rows(sines, points, seed)
    clients = [A[shard] for shard in dealt(pieces, points).owners]
    messages = [sums.Sums(torch.linalg.qr(A, mode="r").R, float(len(A)), True) for A in clients]
    return [sums.solve(message) for message in (*messages, sums.added(messages))]


def curves_and_errors(
    pieces: Sequence[int], sines: Sequence[int], points: Sequence[int], seeds: Sequence[int]
) -> xarray.Dataset:  # fmt: skip
    """u of the first seed [pieces, sines, points, model, x], error (%) [pieces, sines, points, model, seed].

    model: of ``MODELS``, and "federated". A seed of the sums is another draw of sines; a seed of "federated" is another
    start of notebook 05's network, which was trained on 32 points: with others it is NaN. Coordinates: truth [x], and
    owner [pieces, x], the client who has the nearest point.
    """
    test = dealt(2, NETWORK_POINTS).test
    x, truth = test["x"][:, 0].double().numpy(), test["u"].double().numpy()

    def cell(**labels) -> dict:
        experiment, _ = rows(labels["sines"], labels["points"], labels["seed"])
        u = [answers(experiment, solution.step, test) for solution in solutions(**labels)]
        return {"u": (("model", "x"), u), "error": ("model", [percent(values, truth) for values in u])}

    table = tabulated(cell, pieces=pieces, sines=sines, points=points, seed=seeds).assign_coords(model=MODELS, x=x)
    table = table.assign(u=table.u.isel(seed=0))
    everywhere = {"model": ["federated"], "sines": [*sines], "points": [NETWORK_POINTS]}
    table = xarray.concat([table, network(pieces, x).expand_dims(everywhere)], "model", join="outer")
    owner = [owners(x, clouds_of(dealt(n, NETWORK_POINTS))) for n in pieces]
    table = table.assign_coords(truth=("x", truth), owner=(("pieces", "x"), owner))
    return table.transpose("pieces", "sines", "points", "model", "x", "seed")


def network(pieces: Sequence[int], x: np.ndarray) -> xarray.Dataset:
    """u of the first seed [pieces, x], error (%) [pieces, seed] of notebook 05's federated network."""
    history = stored(forward_study, "poisson")
    models = stored_solutions(history, forward.poisson()).models
    u = xarray.DataArray([models[n]["federated"] for n in pieces], {"pieces": [*pieces], "x": x})
    error = errors(history)[-1].sel(kind="federated", level=[*pieces]).reset_coords(drop=True)
    return xarray.Dataset({"u": u, "error": error.rename(level="pieces")})
