"""The engine does what the paper's two algorithms say, to the last digits."""

import pytest
import torch

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.train import train
from fedlib.papers.fed_deeponet.algorithms import algorithm_1, algorithm_2

LOCAL = {"full batch": Local(3), "steps": Local(5, "steps", 4), "passes": Local(2, "epochs", 4)}


@pytest.mark.parametrize(
    ("algorithm", "optimizer", "fraction", "local"),
    [
        (algorithm_1, sgd(), 1.0, "passes"),
        (algorithm_2, adam(), 1.0, "full batch"),
        (algorithm_2, adam(), 0.67, "steps"),
        (algorithm_2, adam(), (0.1, 1.0), "passes"),
    ],
)
def test_engine_equals_the_plain_loop(problem, algorithm, optimizer, fraction, local):
    net, loss, pool, shards = problem
    fed = Federation(shards, fraction=fraction, lr=0.01, decay=0.8, seed=3)
    plain = algorithm(net, loss, pool, fed, rounds=4, local=LOCAL[local])
    engine = train(
        net, loss, pool, [fed], rounds=4, local=LOCAL[local], optimizer=optimizer, reset_moments=True,
        dtype=torch.float64,
    )  # fmt: skip
    torch.testing.assert_close(engine.model(0), plain, rtol=0, atol=1e-10)
