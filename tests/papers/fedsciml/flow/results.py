"""Made-up results of notebook 06: coefficients on a straight way to the truth."""

import numpy as np
import xarray

from fedlib.papers.fedsciml.flow import problem
from fedlib.papers.fedsciml.flow.study import Results

R = 100
LABELS = ("n = 2", "n = 6", "n = 10", "centralised, 700", "centralised, 7000", "aliased, n = 2")


def way(arrival, end, seed):
    """Values [R] that go from 0 to 1 in ``arrival`` rounds, and then to ``end``."""
    rounds = np.arange(1, R + 1)
    value = np.where(rounds <= arrival, rounds / arrival, 1 + (end - 1) * (rounds - arrival) / max(1, R - arrival))
    return value * (1 + 0.001 * seed)


def made(C1=(60, 50, 40, 30, 25, 50), C2=(20, 25, 30, 15, 12, 20), ends1=(1.05, 1.02, 1.01, 1.001, 1.001, 1),
         ends2=(1.4, 1.2, 1.05, 1.01, 1.01, 1), seeds=2, whole=R, spread=(3, 2, 1, 1, 1, 1)) -> Results:  # fmt: skip
    """Models of LABELS; when each coefficient arrives at the truth, and where it ends, as a share of the truth."""
    C = [
        [
            np.stack([way(C1[m], ends1[m], spread[m] * s), 0.01 * way(C2[m], ends2[m], spread[m] * s)])
            for s in range(seeds)
        ]
        for m in range(len(LABELS))
    ]
    coords = {"model": [*LABELS], "seed": [*range(seeds)], "coefficient": ["C1", "C2"], "round": range(1, R + 1)}
    C = xarray.DataArray(np.array(C), coords, ("model", "seed", "coefficient", "round"))
    truth = problem.middle(problem.cylinder_wake())["u"].numpy()
    models = coords["model"][:5]
    scale = xarray.DataArray(1 + 0.1 / np.arange(1.0, 6), {"model": models}) * xarray.ones_like(C.seed)
    fields = scale * xarray.DataArray(truth, dims=("place", "field"))
    last = 100 * abs(C.sel(model=models).isel(round=-1, drop=True) / [1, 0.01] - 1).rename(coefficient="quantity")
    both = xarray.concat([last, (10 * scale - 10).expand_dims(quantity=["velocity", "pressure"])], "quantity")
    return Results(C, whole, fields, truth, both.transpose("model", "seed", "quantity"), 0.0)
