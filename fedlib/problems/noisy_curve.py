"""Noisy observations of a curve, shared among clients in ten groups (FedStNN, Section 5.1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.federation import Federation, centralised, join
from ..federated.mixing import isolated
from ..federated.partitions import deal, focused
from ..streams import stream
from .fedstnn import curve, curve_grid


def partitions(K: int, seed: int, n: int = 10_000) -> dict[str, list[np.ndarray]]:
    """The ways to share n points among K clients: name -> shards.

    IID: every client owns random points. Non-IID: client k of group m owns points of the m-th tenth of the interval
    and 10 in total of the rest. Dealt: every point has one owner.
    """
    tenths = np.split(np.arange(n), 10)
    return {
        "IID 110": focused([np.arange(n)], n, K, 110, 0, stream(seed, "iid")),
        "non-IID 110": focused(tenths, n, K, 100, 10, stream(seed, "non-iid", 100)),
        "non-IID 60": focused(tenths, n, K, 50, 10, stream(seed, "non-iid", 50)),
        "dealt": deal(n, K, stream(seed, "dealt")),
    }


def growing_sigma(x: np.ndarray) -> np.ndarray:
    """A noise that grows with x: sigma from 0.05 at 0 to 0.2 at 2 pi."""
    return 0.05 + 0.15 * x / (2 * np.pi)


@dataclass(frozen=True)
class Setting:
    """What is observed by whom.

    clients: K. sigma: st.dev. of the noise. levels: other values of it. pairs: (sigma of even clients, of odd ones),
    Eq. 38. alone: clients 1..K that also train without the others.
    """

    clients: int
    sigma: float
    levels: Sequence[float] = ()
    pairs: Sequence[tuple[float, float]] = ()
    alone: Sequence[int] = (1,)

    def spreads(self, dealt: Sequence[np.ndarray]) -> dict:
        """st.dev. of the noise at each of the n points [n], for every variant of the data.

        A sigma: the same everywhere. A pair: the clients' in turn, who own the points ``dealt``. "x": growing with x.
        """
        n = sum(map(len, dealt))
        found = {sigma: np.full(n, sigma) for sigma in (self.sigma, *self.levels)}
        for pair in self.pairs:
            found[pair] = np.empty(n)
            for k, shard in enumerate(dealt):
                found[pair][shard] = pair[k % 2]
        return found | {"x": growing_sigma(curve_grid(n))}


class Data(NamedTuple):
    """Data of several seeds in one pool.

    shards: seed -> who owns what. at: ``at(key, shards)`` are these shards of the data set ``key``, see ``join``.
    """

    shards: Mapping
    pool: Mapping[str, Tensor]
    at: Callable


def observe(setting: Setting, seeds: Sequence[int]) -> Data:
    """y = f(x) + sigma e for all seeds and variants of sigma: keys (variant, seed); e is the same in all variants."""
    pools, shards = {}, {seed: partitions(setting.clients, seed) for seed in seeds}
    for seed, own in shards.items():
        x = curve_grid()
        e = stream(seed, "noise of the data").standard_normal(len(x))
        for variant, spread in setting.spreads(own["dealt"]).items():
            pools[variant, seed] = {"x": inputs(x), "y": torch.as_tensor(curve(x) + spread * e)}
    return Data(shards, *join(pools))


def federations(setting: Setting, data: Data, fraction: float, **common) -> dict[tuple, Federation]:
    """(name, seed) -> Federation: three ways to share the points, and what is compared with the second of them.

    "alone": some of its clients; "own starts": all of them, from different parameters; a pair: clients with different
    noise. fraction: of the clients who talk. common: settings of all.
    """
    feds = {}
    for seed, own in data.shards.items():
        plain, pairs = (setting.sigma, seed), {pair: data.at((pair, seed), own["dealt"]) for pair in setting.pairs}
        talking = {name: data.at(plain, own[name]) for name in ("IID 110", "non-IID 110", "non-IID 60")}
        alone = [talking["non-IID 110"][k - 1] for k in setting.alone]
        how = common | dict(seed=seed)
        found = {name: Federation(shards, fraction=fraction, **how) for name, shards in (talking | pairs).items()}
        found["alone"] = Federation(alone, mixing=isolated, **how)
        found["own starts"] = Federation(talking["non-IID 110"], fraction=fraction, common_init=False, **how)
        feds |= {(name, seed): fed for name, fed in found.items()}
    return feds


def central(data: Data, variants: Sequence, **common) -> dict[tuple, Federation]:
    """(variant, seed) -> one model that sees all points of this variant of the data."""
    return {
        (variant, seed): centralised(data.at((variant, seed), own["dealt"]), seed=seed, **common)
        for seed, own in data.shards.items()
        for variant in variants
    }


def inputs(x: np.ndarray) -> Tensor:
    """Points [n] of [0, 2 pi] as inputs [n, 1] of a network, in [-1, 1]."""
    return torch.as_tensor(x / np.pi - 1)[:, None]


def regions(clients: Sequence[int], K: int) -> list[tuple[float, float]]:
    """(low, high) of the tenth of the interval that each of these clients 1..K knows."""
    tenths = [(k - 1) * 10 // K for k in clients]
    return [(m * np.pi / 5, (m + 1) * np.pi / 5) for m in tenths]


def errors_alone(mean: np.ndarray, x: np.ndarray, known: Sequence[tuple]) -> tuple[np.ndarray, np.ndarray]:
    """RMSE [S, K] of means [S, K, n] at x [n], in the region (low, high) that each client knows, and elsewhere."""
    home = np.array([(low <= x) & (x < high) for low, high in known])
    own, elsewhere = (np.sqrt(((mean - curve(x)) ** 2).mean(-1, where=where)) for where in (home, ~home))
    return own, elsewhere
