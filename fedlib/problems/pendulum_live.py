"""Trainings to play with in notebook 02."""

import torch

from ..federated.partitions import pick_sources, sorted_shards
from ..live.watched import Watched
from ..papers.fed_deeponet.live import SCALE, Angles, N, learning, tests, triplets, widest
from ..streams import stream


def skewed(data: str = "sorted shards", shards_each: int = 1, delta: float = 0.0, clients: int = 5, K: int = 20,
           optimizer: str = "Adam", lr: float = 0.003) -> Watched:  # fmt: skip
    """Notebook 02: "sorted shards", so many for each client; or "two fields", length scales l_1 and l_1 + delta."""
    (pool, _), (u, x1, _) = triplets(), tests()
    if data == "two fields":
        both = pool, triplets(SCALE + delta)[0]
        pool = {name: torch.cat([one[name] for one in both]) for name in pool}
        shards, _ = pick_sources(N, clients, stream(0, "sources"))
    else:
        shards = sorted_shards(pool["s"].numpy(), shards_each * clients, clients, stream(0, "shards"))
    shown = Angles(*widest(u, x1), "targets s that a client owns (rad)", [pool["s"][own].numpy() for own in shards])
    return learning(pool, shards, u, x1, shown, K, lr, optimizer)
