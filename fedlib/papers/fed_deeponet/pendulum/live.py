"""Notebook 01 live: clients with a random share of the triplets each."""

from ....federated.partitions import deal
from ....live.stage import MIXING
from ....live.watched import Watched
from ....live.widgets import choice, slider
from ....streams import stream
from .. import live
from ..live import Angles, N


def dealt(
    clients: int = 5, fraction: float = 1.0, K: int = 20, lr: float = 0.003, optimizer: str = "Adam",
    mixing: str = "FedAvg",
) -> Watched:  # fmt: skip
    """C clients with a random share each, a share alpha of them in a round, K local steps."""
    (pool, _), (u, x1, _) = live.triplets(), live.tests()
    shards = deal(N, clients, stream(0, "deal"))
    targets = [pool["s"][shard].numpy() for shard in shards]
    shown = Angles(*live.widest(u, x1), "targets s that a client owns (rad)", targets)
    return live.learning(pool, shards, u, x1, shown, K, lr, optimizer, mixing, fraction)


def show() -> None:
    """Their networks go apart in the local steps, and the average snaps them together."""
    live.show(
        "01", dealt, clients=live.clients(), fraction=slider([0.2, 0.4, 0.6, 0.8, 1.0], 1.0, "share alpha"),
        **live.steps_and_rate(), optimizer=live.optimizer(), mixing=choice(list(MIXING)[:2], "FedAvg", "mixing"),
    )  # fmt: skip
