"""Notebook 10's first section: FedWaD round by round, from several starts, as it is stored."""

import numpy as np
import xarray

from ....live.modules import Piece, array
from ....trainings.store import stored
from . import study

ALT = "Two clouds, the shared one between them and how far both go from it."
LEAST = 1e-3  # %: what is below it stands at the foot of the picture


def explorer() -> Piece:
    """Two clouds, the shared one and how far both go from it, in a round that is chosen, of the stored walks."""
    return Piece("clouds", packed(stored(study, "walks", earlier=True)))


def packed(walks: xarray.Dataset) -> dict:
    """What clouds.js takes: clouds in steps of an int16, -32768 where an atom is missing; gaps (%) [start, round]."""
    low, high = (f(walks.cloud.values, (0, 1)) for f in (np.min, np.max))
    low, high = np.floor(low - 0.3), np.ceil(high + 0.3)
    largest = max(float(np.nanmax(np.abs(walks[name].values))) for name in ("cloud", "xi", "eta"))
    step = largest / 32767
    clouds = {
        name: walks[name].transpose(*(dim for dim in DIMS if dim in walks[name].dims)).values
        for name in ("cloud", "xi", "eta")
    }
    in_steps = {
        name: array(np.where(np.isnan(values), -32768, np.rint(np.nan_to_num(values) / step)), "<i2")
        for name, values in clouds.items()
    }
    gaps = walks.gap.transpose("start", "round").values
    controls = [
        {"name": "round", "options": walks["round"].values.tolist(), "start": 0},
        {"name": "start", "label": "the shared cloud starts as", "kind": "list", "options": walks.start.values.tolist(),
         "start": 0},
    ]  # fmt: skip
    return in_steps | {
        "step": step, "atoms": walks.sizes["atom"], "distance": float(walks.distance), "gaps": gaps.tolist(),
        "alt": ALT, "controls": controls, "limits": [low.tolist(), high.tolist()],
        "xticks": [*range(int(low[0]), int(high[0]) + 1, 2)], "yticks": [*range(int(low[1]), int(high[1]) + 1, 2)],
        "span": [LEAST / 1.5, float(gaps.max() * 1.5)], "ticks": [0.001, 0.01, 0.1, 1, 10, 100],
    }  # fmt: skip


DIMS = ("start", "round", "client", "atom", "axis")
