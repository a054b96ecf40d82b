"""Notebook 08's training to play with: a few clients learn a noisy sine, each of them mostly in its own part."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..federated.batches import Local
from ..federated.federation import Federation, centralised
from ..federated.partitions import focused
from ..live.watched import Watched
from ..models.scores import energy_score, gaussian_nll, local_loss, squared_error
from ..models.stochastic import SNN, init_snn
from ..streams import stream, torch_stream
from .fedstnn import curve, curve_grid

N, SHOWN, PATHS = 2000, 60, 64
"""Points that can be observed; points where models are judged and drawn; paths at each of those."""
LOSSES = {"energy score": energy_score, "likelihood": gaussian_nll, "squared error": squared_error}


class Curve(NamedTuple):
    """Points [n], the true f [n] and the noise of paths there; the data's sigma; (x, y) [n_k] of each client."""

    x: np.ndarray
    f: Tensor
    w: Tensor
    sigma: float
    seen: list[tuple[np.ndarray, np.ndarray]]


def law(predict, shown: Curve) -> Tensor:
    """Mean and spread of the paths of ONE model: [2, n]."""
    x = torch.as_tensor(shown.x, dtype=torch.float32)[:, None]
    std, mean = torch.std_mean(predict(x, shown.w), -1)
    return torch.stack([mean, std])


def distance(predict, shown: Curve) -> Tensor:
    """How far the learnt law is from that of the data, in % of f: the Wasserstein distance of two normal laws,

    whose square is (difference of means)^2 + (difference of spreads)^2, here averaged over x."""
    mean, std = law(predict, shown)
    return 100 * (((mean - shown.f) ** 2 + (std - shown.sigma) ** 2).mean() / (shown.f**2).mean()).sqrt()


def training(
    loss: str = "energy score", sigma: float = 0.2, paths: int = 8, clients: int = 4, others: int = 10, E: int = 16,
    lr: float = 0.01,
) -> Watched:  # fmt: skip
    """K clients own 100 points of one part of the interval each and some of the rest; E Adam steps with M paths.

    loss: of LOSSES. sigma: st.dev. of the data's noise.
    """
    if paths < (least := {"energy score": 2, "likelihood": 8}.get(loss, 1)):
        raise ValueError(f"the {loss} needs at least {least} paths of the network for each point: paths = {paths}")
    x = curve_grid(N)
    y = curve(x) + sigma * stream(0, "live").standard_normal(N)
    shards = focused(np.array_split(np.arange(N), clients), N, clients, 100, others, stream(1, "live"))
    net = SNN(1, 8, 16, N=2)
    at = np.linspace(0, 2 * np.pi, SHOWN)
    w = torch.randn(SHOWN, *net.noise(PATHS), generator=torch_stream(0, "live"))
    shown = Curve(at, torch.as_tensor(curve(at)).float(), w, sigma, [(x[own], y[own]) for own in shards])
    feds = {"federated": Federation(shards, lr=lr), "centralised": centralised(shards, lr=lr)}
    how = dict(local=Local(E, "steps", 32), init=init_snn, noise=net.noise(paths), reset_moments=True)
    pool = {"x": torch.as_tensor(x[:, None]).float(), "y": torch.as_tensor(y).float()}
    return Watched(net, local_loss(LOSSES[loss]), pool, feds, how | {"dtype": torch.float32},
                    lambda predict: distance(predict, shown), shown)  # fmt: skip
