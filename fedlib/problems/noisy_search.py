"""Settings that FedStNN does not print, chosen by a proper score on fresh observations of other seeds."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.batches import Local
from ..federated.federation import Federation
from ..models.scores import energy_score
from ..models.stochastic import SNN
from ..streams import torch_stream
from . import noisy_curve, noisy_surface
from .fedstnn import fit


class Config(NamedTuple):
    """C, learning rate of Adam, its factor per round, local steps per round."""

    fraction: float
    lr: float
    decay: float
    steps: int

    def __str__(self) -> str:
        return f"C = {self.fraction:g}, lr = {self.lr:g}, decay = {self.decay:g}, {self.steps} steps"


def configs(fractions: Sequence, lrs: Sequence, decays: Sequence, steps: Sequence) -> list[Config]:
    """All combinations, each once."""
    return list(dict.fromkeys(Config(*values) for values in product(fractions, lrs, decays, steps)))


def fresh(known: Mapping[str, Tensor], every: int = 1) -> dict[str, Tensor]:
    """``fedstnn.test_points``, every so many of them, and a new noisy observation y_test [n] at each."""
    some = {name: value if name == "sigma" else value[::every] for name, value in known.items()}
    e = torch.randn(len(some["f_test"]), generator=torch_stream(0, "validation noise"))
    return some | {"y_test": some["f_test"][:, 0] + some["sigma"] * e}


def scored(predict, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of ONE model: mean energy score on the fresh observations, RMSE of its mean and RMS of its spread."""
    out = predict(test["x_test"], test["w_test"])
    std, mean = torch.std_mean(out, -1)
    rmse = ((mean - test["f_test"][:, 0]) ** 2).mean().sqrt()
    return {"energy score": energy_score(out, test["y_test"]).mean(), "RMSE": rmse, "std": (std**2).mean().sqrt()}


def search(net: SNN, federate: Callable, tried: Sequence[Config], batch_size: int, paths: int = 2, **how) -> dict:
    """Config -> metric of ``scored`` -> values [S] over validation seeds, after the last round.

    federate: how (fraction, lr, decay) -> {seed: Federation}. how: pool, rounds, known, backend, device, ..., see
    ``fedstnn.fit``.
    """
    found = {}
    for steps in dict.fromkeys(c.steps for c in tried):  # a stack makes the same number of steps
        now = [c for c in tried if c.steps == steps]
        feds = {
            (c, seed): fed for c in now for seed, fed in federate(fraction=c.fraction, lr=c.lr, decay=c.decay).items()
        }
        local = Local(steps, "steps", batch_size)
        history = fit(net, energy_score, paths, feds, local=local, evaluate=scored, **how)
        found |= {
            c: {m: history.last(m, name=c, client=0).values for m in ("energy score", "RMSE", "std")} for c in now
        }
    return {c: found[c] for c in tried}


def on_surface(net: SNN, tried: Sequence[Config], clients: int, sigma: float, seeds: Sequence[int], **how) -> dict:
    """``search`` for Section 5.2."""
    _, data = noisy_surface.observe(clients, sigma, seeds)
    known = fresh(noisy_surface.known(net, sigma), every=5)

    def federate(**common):
        return {s: Federation(data.at(s, own), seed=s, **common) for s, own in data.shards.items()}

    return search(net, federate, tried, pool=data.pool, known=known, **how)


def on_curve(net: SNN, tried: Sequence[Config], clients: int, sigma: float, seeds: Sequence[int], **how) -> dict:
    """``search`` for Section 5.1, non-IID 110."""
    data = noisy_curve.observe(noisy_curve.Setting(clients, sigma), seeds)
    known = fresh(noisy_curve.known(net, sigma, 100))

    def federate(**common):
        return {
            s: Federation(data.at((sigma, s), own["non-IID 110"]), seed=s, **common) for s, own in data.shards.items()
        }

    return search(net, federate, tried, pool=data.pool, known=known, **how)


def best(found: Mapping[Config, Mapping[str, np.ndarray]]) -> Config:
    """The config of the smallest mean energy score."""
    return min(found, key=lambda c: np.mean(found[c]["energy score"]))
