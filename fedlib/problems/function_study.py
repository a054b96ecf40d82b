"""Sweeps over levels of heterogeneity: centralised, federated and isolated models of a function, and their errors."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn

from ..federated.federation import Federation, centralised
from ..federated.heterogeneity import weight_divergence
from ..federated.history import History
from ..federated.mixing import isolated
from ..federated.stack import as_dict, predict
from ..federated.train import train
from ..models.networks import glorot_uniform
from . import functions

KINDS = ("central", "federated", "isolated")


class Case(NamedTuple):
    """One federation of a sweep: who talks to whom, the level (K, p) of heterogeneity (central: None), the seed."""

    kind: str
    level: tuple[int, int] | None
    seed: int


def federations(
    levels: Mapping[tuple, Sequence[np.ndarray]], seeds: Sequence[int], n: int, kinds=KINDS, **settings
) -> dict[Case, Federation]:
    """For every seed one model on all n points, and for every level a federation and its clients alone.

    levels: (K, p) -> K index arrays. settings: of every ``Federation``.
    """
    cases = {}
    for seed in seeds:
        how = settings | dict(seed=seed)
        cases[Case("central", None, seed)] = centralised([np.arange(n)], **how)
        for level, shards in levels.items():
            cases[Case("federated", level, seed)] = Federation(shards, **how)
            cases[Case("isolated", level, seed)] = Federation(shards, mixing=isolated, **how)
    return {case: fed for case, fed in cases.items() if case.kind in kinds}


@dataclass(frozen=True)
class Sweep:
    """A trained sweep: its levels (K, p) -> shards, its history by ``Case``, and how long it took."""

    levels: Mapping[tuple[int, int], Sequence[np.ndarray]]
    history: History
    seconds: float

    def errors(self, kind: str, K: int | None = None) -> np.ndarray:
        """Relative L2 errors: central [S], federated [S, L], isolated [S, L, K].

        K: of the levels with K clients only; else a level with fewer clients than another one has NaN for the rest.
        """
        own = slice(K) if kind == "isolated" else 0  # a federation's clients all hold the same
        e = self.history.last("e", kind=kind).isel(client=own)
        if kind == "central":
            return e.values
        mine = [level for level in self.levels if K in (None, level[0])]
        return e.sel(level=mine).transpose("seed", "level", ...).values

    def ways(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Errors federated [S, L], isolated [S, L, K] and centralised [S]."""
        return self.errors("federated"), self.errors("isolated"), self.errors("central")

    def weights(self, net: nn.Module, kind: str, level: tuple | None = None) -> dict[str, Tensor]:
        """Weights of the models of all seeds as a stack: name -> [S, ...]."""
        seeds = self.history.labels("seed")
        return as_dict(net, torch.stack([self.history.model(kind, level, seed) for seed in seeds]))

    def models(self, seed: int) -> dict[tuple, Tensor]:
        """(kind, K, p) -> parameters [K, P] of a seed's isolated clients, [1, P] of its federation."""
        alone = {("isolated", *level): self.history.models("isolated", level, seed) for level in self.levels}
        together = {("federated", *level): self.history.models("federated", level, seed)[:1] for level in self.levels}
        return alone | together

    def record(self) -> dict:
        """Errors for a result file: central [S], federated and isolated by level."""
        by_level = {"federated": {}, "isolated": {}}
        for i, (K, p) in enumerate(self.levels):
            by_level["federated"][f"({K}, {p})"] = self.errors("federated")[:, i]
            by_level["isolated"][f"({K}, {p})"] = self.errors("isolated")[:, i, :K]
        return {"central": self.errors("central")} | by_level

    def timing(self, net: nn.Module, n: int, steps: int) -> dict[str, float]:
        """Models in the stack, seconds and ``gflops``, for a table and a result file."""
        rate = self.gflops(net, n, steps)
        return {"rows": len(self.history.theta), "seconds": round(self.seconds, 1), "gflops": round(rate, 1)}

    def gflops(self, net: nn.Module, n: int, steps: int) -> float:
        """Arithmetic rate of the training on n points, without counting tanh, Adam and averaging.

        A forward and a backward pass cost about 6 operations per weight and point.
        """
        weights = sum(layer.weight.numel() for layer in net if isinstance(layer, nn.Linear))
        points = len(self.history.labels("seed")) * n * (1 + 2 * len(self.levels))  # all clients twice
        return 6 * weights * points * steps / self.seconds / 1e9


def sweep(net: nn.Module, data, levels, seeds, rounds: int, kinds=KINDS, *, lr, common_init=True, **how) -> Sweep:
    """Train all levels and seeds as one stack; errors are taken after the last round.

    data: (pool, test) of x and f. levels, seeds, kinds: of ``federations``. how: local, optimizer, ..., see ``train``.
    """
    pool, test = data
    start = time.perf_counter()
    history = train(
        net,
        functions.loss,
        pool,
        federations(levels, seeds, len(pool["x"]), kinds, lr=lr, common_init=common_init),
        init=glorot_uniform,
        progress=True,
        evaluate=functions.relative_error,
        test=lambda key: test,
        rounds=rounds,
        evaluate_every=rounds,
        **how,
    )
    return Sweep(levels, history, time.perf_counter() - start)


def drift(net: nn.Module, federated: Sweep, central: Sweep) -> dict[str, np.ndarray]:
    """Relative divergence of every weight matrix from the centralised model's: layer -> [S, L]."""
    centre = central.weights(net, "central")
    apart = [weight_divergence(federated.weights(net, "federated", level), centre) for level in federated.levels]
    return {f"layer {i + 1}": torch.stack([d[key] for d in apart], 1).numpy() for i, key in enumerate(apart[0])}


def fits(net: nn.Module, sweep: Sweep, z: Tensor, seed: int) -> dict[tuple, tuple]:
    """(K, p) -> (shards, the federation's fit [n], each client's own [K, n]) at points z [n, 1]."""

    def fit(row):
        return predict(net, row, z.float())[:, 0].numpy()

    def alone(level):
        return np.stack([fit(row) for row in sweep.history.models("isolated", level, seed)])

    together = {level: fit(sweep.history.model("federated", level, seed)) for level in sweep.levels}
    return {level: (shards, together[level], alone(level)) for level, shards in sweep.levels.items()}


def ranks(pairs: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    """Spearman's correlation of W1 [L] with the mean over seeds of values [S, L]; left out with fewer than 3 levels."""
    return {
        name: round(float(spearmanr(w1, values.mean(0))[0]), 2) for name, (w1, values) in pairs.items() if len(w1) > 2
    }


def correlates(found: Mapping[str, float], least: float = 0.8) -> bool | None:
    """Whether all rank correlations reach a value; None if there is none."""
    return min(found.values()) >= least if found else None


def in_words(found: Mapping[str, float]) -> str:
    """Rank correlations as a line of text."""
    return ", ".join(f"{name} {r}" for name, r in found.items()) or "three levels are needed"
