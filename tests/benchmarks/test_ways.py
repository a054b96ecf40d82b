"""The ways of the benchmark do the same work: all of them end at the plain loop's weights."""

import pytest
import torch
from torch import nn

from benchmarks import common, peer_deepxde, problems, ways
from fedlib.federated.batches import Local

SMALL = {
    "line": lambda: problems.line(20),
    "sweep": lambda: problems.sweep(seeds=1, levels=(1, 3)),
    "Helmholtz": problems.helmholtz_pinn,
    "antiderivative": problems.antiderivative,
    "pendulum": lambda: with_work(problems.pendulum(3, n=60, batch=8), Local(5, "steps", 8)),
    "stochastic": lambda: with_work(problems.stochastic(2), Local(8, "steps", 16)),
}


def with_work(problem, local):
    return problem._replace(experiment=problem.experiment._replace(local=local))


@pytest.mark.parametrize("way", [*ways.PEERS, "eager", "xla"])
def test_a_way_ends_where_the_plain_loop_does(way):
    if way in ways.PEERS and not ways.installed(ways.PEERS[way]):
        pytest.skip(f"{way} is not installed (extra bench)")
    tried = 0
    for make in SMALL.values():
        problem = make()
        if known := ways.ways_of(problem).get(way):
            found, expected = known(problem)(2), ways.plain_loop(problem)(2)
            # float32: Adam's first steps are signs of gradients, also of tiny ones
            torch.testing.assert_close(found, expected[: len(found)], rtol=0, atol=2e-4)
            assert (found - expected[: len(found)]).abs().mean() < 1e-6
            tried += 1
    assert tried >= (1 if way == "FedStNN" else 3)


def test_another_algorithm_is_no_way():
    problem, other = SMALL["line"](), {"plain loop": ways.plain_loop, "other": lambda p: lambda n: 0 * start(p)}
    start = lambda p: ways.plain_loop(p)(1)  # noqa: E731
    with pytest.raises(ArithmeticError, match=r"line: other ends .* from the plain loop"):
        common.take_turns(problem, other, 1, 0.0)


def test_the_authors_round_ends_with_the_mean_of_the_clients():
    class Client:
        """What a DeepXDE model offers: a net, and train, here one that adds 1 per iteration."""

        def __init__(self, weight):
            self.net = nn.Linear(1, 1, bias=False)
            nn.init.constant_(self.net.weight, weight)

        def train(self, iterations, **_):
            with torch.no_grad():
                self.net.weight += iterations

    clients = [Client(0.0), Client(10.0)]
    peer_deepxde.rounds(clients, 2, 3)
    assert [c.net.weight.item() for c in clients] == [11.0, 11.0]
