"""Fig. 3 of FedSciML with real weights: where server, clients and the centralised model are during training."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..federated.batches import Local
from ..federated.federation import Federation, centralised, slices_of
from ..federated.optimizers import Optimizer, adam
from ..federated.rounds import play
from ..models.networks import glorot_uniform
from .functions import loss


class Paths(NamedTuple):
    """Weights on the way, all in one space of P parameters, for some rounds r [R] (1 is the first).

    server [R, 2, P]: before the round and after it. clients [R, K, E + 1, P]: from the server's model through their E
    local steps. central [R, E + 1, P]: the model on all points, which goes on in the meantime.
    """

    rounds: np.ndarray
    server: np.ndarray
    clients: np.ndarray
    central: np.ndarray

    def apart(self) -> np.ndarray:
        """Distance of server and centralised model after each of the rounds, |theta_fed - theta_central| [R]."""
        return np.linalg.norm(self.server[:, 1] - self.central[:, -1], axis=-1)


def watched(optimizer: Optimizer, seen: list[Tensor]) -> Optimizer:
    """The same optimiser; it appends the models after every local step to ``seen``."""

    def apply(theta, gradient, state, lr):
        optimizer.apply(theta, gradient, state, lr)
        seen.append(theta.clone())

    return Optimizer(optimizer.init, apply)


def spread_rounds(rounds: int, n: int = 60) -> list[int]:
    """The first two of so many rounds, the last, and about n between them in equal steps of their logarithm."""
    return sorted({1, min(2, rounds), *np.geomspace(1, rounds, n).round().astype(int).tolist()})


def paths(net: nn.Module, pool: Mapping[str, Tensor], cuts: Mapping[Hashable, Sequence[np.ndarray]], rounds: int,
          E: int, seed: int, *, lr: float, keep: Sequence[int] | None = None,
          dtype=torch.float32) -> dict[Hashable, Paths]:  # fmt: skip
    """Train federations and the centralised model together, Adam in all, and keep what ``Paths`` has of each.

    pool: x [n, d] and f [n]; cuts: key -> K index arrays. keep: numbers of the rounds, 1, 2, ...
    """
    seen, kept = [], {key: [] for key in cuts}
    feds = [Federation(shards, lr=lr, seed=seed) for shards in cuts.values()]
    feds += [centralised([np.arange(len(pool["x"]))], lr=lr, seed=seed)]
    keep = spread_rounds(rounds) if keep is None else keep
    how = dict(optimizer=watched(adam(), seen), init=glorot_uniform, backend="eager", dtype=dtype)
    played = play(net, loss, pool, feds, local=Local(E), rounds=rounds, **how)
    for r in range(1, rounds + 1):
        seen.clear()
        done = next(played)
        if r in keep:
            began, after = done.began.models(), done.after
            walk = torch.cat([began[None], in_order(seen, done.at_hand, E)]).transpose(0, 1)  # [M, E + 1, P]
            for own, key in zip(slices_of(feds), cuts, strict=False):
                server = torch.stack([began[own.start], after[own.start]])
                kept[key].append((server, walk[own], walk[-1]))
    return {
        key: Paths(np.array(keep), *(torch.stack(parts).numpy() for parts in zip(*found, strict=True)))
        for key, found in kept.items()
    }


def in_order(seen: Sequence[Tensor], at_hand: Tensor, E: int) -> Tensor:
    """Models after every local step [E, M, P] in the order of the clients; seen: block after block, E steps each."""
    steps = torch.cat([torch.stack(list(seen[i : i + E])) for i in range(0, len(seen), E)], 1)
    return steps[:, torch.argsort(at_hand)]


def plane(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first two principal components of points [n, P]: (middle [P], axes [2, P], their shares of the variance)."""
    middle = points.mean(0)
    _, s, axes = np.linalg.svd(points - middle, full_matrices=False)
    return middle, axes[:2], s[:2] ** 2 / max((s**2).sum(), 1e-300)
