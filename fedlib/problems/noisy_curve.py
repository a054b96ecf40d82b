"""Noisy observations of a curve, shared among clients in ten groups (FedStNN, Section 5.1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.federation import Federation, centralised, join
from ..federated.history import History
from ..federated.mixing import isolated
from ..federated.partitions import deal, focused
from ..models.stochastic import SNN
from ..streams import stream
from .fedstnn import Learnt, curve, curve_grid, learnt, quality, rms, test_points


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
    Eq. 38.
    """

    clients: int
    sigma: float
    levels: Sequence[float] = ()
    pairs: Sequence[tuple[float, float]] = ()

    @property
    def alone(self) -> list[int]:
        """Clients 1..K that also train without the others: of 100 clients 1, 25, 50, 76 and 100, as in the paper."""
        K = self.clients
        return sorted({1, K // 4, K // 2, 3 * K // 4 + 1, K})

    @property
    def regions(self) -> list[tuple[float, float]]:
        """(low, high) of the tenth of the interval that each of these clients knows."""
        tenths = [(k - 1) * 10 // self.clients for k in self.alone]
        return [(m * np.pi / 5, (m + 1) * np.pi / 5) for m in tenths]

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


def setting(clients: int, sigma: float, sigmas: Sequence[float], client_sigmas: Sequence) -> Setting:
    """A ``Setting`` of a notebook's parameters: levels in order and pairs as tuples, each of them once."""
    for pair in client_sigmas:
        if not (isinstance(pair, Sequence) and len(pair) == 2 and all(0 < s < np.inf for s in pair)):
            raise ValueError(f"client_sigmas: {pair!r} is no pair of numbers > 0, such as [0.05, 0.15]")
    return Setting(clients, sigma, sorted(set(sigmas)), list(dict.fromkeys(map(tuple, client_sigmas))))


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


def seen(setting: Setting, data: Data) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Points x [n], their observations y [n] in the first seed, and the shards of "non-IID 110"."""
    seed, x = next(iter(data.shards)), curve_grid()
    (at,) = data.at((setting.sigma, seed), [np.arange(len(x))])
    return x, data.pool["y"][at].numpy(), data.shards[seed]["non-IID 110"]


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


def grid() -> np.ndarray:
    """The 200 points x [n] where models are judged."""
    return np.linspace(0, 2 * np.pi, 200, endpoint=False)


def known(net: SNN, sigma: float, paths: int) -> dict[str, Tensor]:
    """``fedstnn.test_points`` of the grid."""
    return test_points(net, inputs(grid()), curve(grid()), sigma, paths, "test paths")


def report(models: Mapping[str, Learnt], sigma: float) -> dict[str, dict[str, np.ndarray]]:
    """Name -> ``quality``, and "in band": the share of paths within f +- 2 sigma, which is how the paper judges."""
    truth = curve(grid())
    return {name: quality(of.mean, of.std, truth, sigma) | {"in band": of.inside} for name, of in models.items()}


def two_kinds(history: History, pairs: Sequence[tuple[float, float]]) -> dict[str, dict]:
    """What the federations of clients with noise (low, high) learn [S], beside two means of both: name -> quantity."""
    return {
        f"{low}, {high}": {
            "learnt std": rms(learnt(history, (low, high)).std),
            "mean of the sigmas": (low + high) / 2,
            "root of their mean square": rms(np.array([low, high])),
        }
        for low, high in pairs
    }


def errors_alone(setting: Setting, mean: np.ndarray) -> dict[str, np.ndarray]:
    """RMSE [S, K] of the means [S, K, n] of the clients alone: in the "own" region that each knows, and "elsewhere"."""
    x = grid()
    own = np.array([(low <= x) & (x < high) for low, high in setting.regions])
    return {
        name: np.sqrt(((mean - curve(x)) ** 2).mean(-1, where=where))
        for name, where in (("own", own), ("elsewhere", ~own))
    }


def growing_error(std: np.ndarray) -> np.ndarray:
    """RMS distance [S] of a learnt spread [S, n] from the noise that grows with x."""
    return rms(std - growing_sigma(grid()))
