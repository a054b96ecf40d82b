"""A noisy curve: what sums say of their own error."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
import xarray
from scipy.special import ndtr

from ....federated import sums
from ....federated.experiment import Data, Experiment
from ....federated.partitions import focused
from ....models.features import random_sines
from ....models.jets import VALUE_ONLY
from ....numerics.tabulated import tabulated
from ....streams import stream
from .problem import start


def noisy(m: int, scale: float, clients: int, seed: int, sigma: float = 0.1) -> Experiment:
    """The noisy curve of notebook 08 with random sines; a client knows a tenth of it, and ten points elsewhere."""

    def residuals(predict, batch):
        return predict(batch["x"], VALUE_ONLY) - batch["y"][:, None]

    def data(level, seed: int) -> Data:
        x = 2 * np.pi * np.arange(10_000) / 10_000
        y = np.sin(x) + sigma * stream(seed, "noise of the data").standard_normal(len(x))
        tenths = np.split(np.arange(len(x)), 10)
        owners = focused(tenths, len(x), clients, 100, 10, stream(seed, "non-iid", 100))
        used, owners = np.unique(np.concatenate(owners), return_inverse=True)
        pool = {"x": torch.as_tensor(x[used, None]), "y": torch.as_tensor(y[used])}
        return Data(pool, np.split(owners, clients), partition=False)

    net = random_sines(m, scale, "x", (), stream(seed, "features", m))
    return Experiment("noisy curve", net, residuals, data=data)


def error_bars(
    seeds: Sequence[int], clients: int, features: Sequence[int], scales: Sequence[float], sigma: float = 0.1
) -> xarray.Dataset:
    """Mean and spread of the noisy curve from the same sums [seed, x], and what they cover.

    coverage [seed, client]: the probability that a new observation lies within mean +- 2 st.dev. on the tenth that a
    client knows (nominal 0.954). rmse, noise [seed]. inside [seed]: the share of the curve within its own band.
    """
    grid = [(m, scale) for m in features for scale in scales]

    @cache
    def solve(m: int, scale: float, seed: int) -> sums.Solution:
        experiment = noisy(m, scale, clients, seed)
        return sums.one_round(experiment, experiment.data(None, seed), start(experiment))

    tried = [np.median([solve(*case, seed).gcv for seed in seeds]) for case in grid]
    m, scale = grid[int(np.argmin(tried))]
    x = 2 * np.pi * np.arange(500) / 500
    places, f = torch.as_tensor(x[:, None]), np.sin(x)
    tenth = (10 * np.arange(clients)) // clients

    def bars(seed: int) -> dict:
        experiment = noisy(m, scale, clients, seed)
        solution = solve(m, scale, seed)
        rows = sums.rows(experiment, {"x": places, "y": torch.zeros(len(x)).double()}, start(experiment))[:, :-1]
        mean, spread = (rows @ solution.step).numpy(), solution.spread(rows).numpy()
        off, std = mean - f, (solution.noise**2 + spread**2) ** 0.5
        covered = ndtr((off + 2 * std) / sigma) - ndtr((off - 2 * std) / sigma)
        return {
            "mean": ("x", mean), "spread": ("x", spread), "noise": solution.noise,
            "coverage": ("client", covered.reshape(10, -1).mean(1)[tenth]), "inside": np.mean(np.abs(off) < 2 * spread),
            "rmse": np.sqrt(np.mean(off**2)),
        }  # fmt: skip

    chosen = {"chosen_m": int(m), "chosen_scale": float(scale)}
    return tabulated(bars, seed=seeds).assign_coords(x=x).assign_attrs(chosen)
