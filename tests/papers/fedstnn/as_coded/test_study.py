"""The three ways of FedStNN: an optimiser as torch's, trainings as plain loops of the authors' kind, loop and stack."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from fedlib import Local
from fedlib.federated import reference
from fedlib.federated.batches import participants
from fedlib.federated.federation import Federation
from fedlib.federated.stack import draw_parameters, load
from fedlib.federated.train import train
from fedlib.models.networks import fan_in_uniform
from fedlib.papers.fedstnn import experiment, sine
from fedlib.papers.fedstnn.as_coded import claims, coded, problem, study
from fedlib.papers.fedstnn.as_coded.coded import Coded
from fedlib.streams import stream, torch_stream


def torchs_adam(net, lr):
    """torch.optim.Adam with weight decay on all but running statistics, which an SGD of rate MOMENTUM updates."""
    named = dict(net.named_parameters())
    statistic = coded.statistics(net)
    own = torch.optim.Adam([p for k, p in named.items() if k not in statistic], lr, weight_decay=1e-8)
    update = torch.optim.SGD([named[k] for k in statistic], coded.MOMENTUM)
    return lambda: (own.step(), update.step())


@pytest.mark.parametrize("gradient", ["exact", "coded 2D"])
def test_as_coded_loop_and_stack_agree(gradient):
    """Frozen paths, batches with replacement that are larger than a client, 2 of 4 clients; float64."""
    rng = stream(0, "small")
    x = torch.as_tensor(rng.uniform(-1, 1, (20, 1)))
    pool = {"x": x, "y": torch.sin(3 * x[:, 0]) + 0.1 * torch.as_tensor(rng.normal(size=20))}
    fed = Federation(np.split(np.arange(20), 4), fraction=0.5, lr=1e-3, seed=3)
    net, local = Coded(1, 3, 5, gradient=gradient).double(), Local(4, "steps", 7, replacement=True, frozen=True)
    theta = draw_parameters(net, fan_in_uniform, torch_stream(3, "init"))
    for r in range(3):
        here = np.flatnonzero(participants(3, r, 4, 0.5))
        clients = [load(deepcopy(net), theta) for _ in here]
        for k, own in zip(here, clients, strict=True):
            step = torchs_adam(own, 1e-3)
            for batch in reference.client_batches(pool, fed, k, r, local, net.noise(1)):
                own.zero_grad()
                coded.coded_error(own, batch).backward()
                step()
        theta = reference.average(clients, fed.p[here])
    how = dict(noise=net.noise(1), optimizer=problem.decaying(net), reset_moments=True, init=fan_in_uniform)
    for backend in ("eager", "xla"):
        found = train(
            net, coded.coded_error, pool, [fed], rounds=3, local=local, dtype=torch.float64, backend=backend, **how
        )
        assert (found.model(0) - theta).abs().max() < 1e-10


def test_arms_are_what_they_say():
    printed = problem.printed(1, 8, 16, 30, 16, 0.1)
    as_coded, proper = problem.coded(1, 8, 16, 30, 16, "coded 1D"), problem.proper(2, 16, 32, 20, 32, 0.02, 0.9)
    assert (printed.local, printed.paths, printed.optimizer.init(torch.zeros(1, 2))) == (Local(30, "steps", 16), 1, {})
    assert as_coded.local == Local(30, "steps", 16, replacement=True, frozen=True)
    assert as_coded.common == {"lr": 1e-4, "decay": 1.0} and proper.common == {"lr": 0.02, "decay": 0.9}
    assert sum(p.numel() for p in as_coded.net.parameters()) == 25 + 2 * 4 * 280 + 4 * 32
    assert proper.paths == 2 and proper.net.noise(2) == (4, 2, 16)


@pytest.fixture(scope="module")
def data():
    return study.observe(20, [0.1, 0.4], [3, 1])


def test_every_client_has_noise_of_its_own(data):
    """The same e at all noise levels; two clients who share a point see two values there."""
    assert list(data.shards) == [3, 1]
    x, e = data.pool["x"][:, 0].numpy(), {}
    for sigma in (0.1, 0.4):
        at = np.concatenate(data.joined((sigma, 1), data.shards[1][study.POINTS]))
        e[sigma] = (data.pool["y"][at].numpy() - np.sin(np.pi * (x[at] + 1))) / sigma
    np.testing.assert_allclose(e[0.1], e[0.4], atol=1e-9)
    assert (
        abs(e[0.1].std() - 1) < 4 / (2 * len(at)) ** 0.5 and [len(s) for s in data.shards[1][study.POINTS]] == [60] * 20
    )
    shared = {}
    for where, noise in zip(np.round(x[at], 9), e[0.4], strict=True):
        shared.setdefault(where, set()).add(round(float(noise), 9))
    assert max(map(len, shared.values())) > 1


def test_federations_of_the_arms(data):
    way = problem.coded(1, 8, 16, 2, 4, "coded 1D")
    feds = study.federations(way, data, [0.4, 0.1], 0.1)
    assert list(feds) == [(s, seed) for seed in (3, 1) for s in (0.4, 0.1)]
    assert feds[0.1, 3].seed == 3 and feds[0.1, 3].lr == 1e-4 and len(feds[0.1, 3].shards) == 20
    (one,) = study.alone(way, data, [0.1])[0.1, 1].shards
    assert len(one) == 110
    found = study.rates(data, (0.1,), study.POINTS, 0.5, [0.3, 0.2])
    assert [(key, fed.lr) for key, fed in found.items()] == [((lr, s), lr) for s in (3, 1) for lr in (0.3, 0.2)]


def test_a_path_against_f():
    """A mean that is 0.3 too high and a spread of 0.4: a path is 0.5 away, root mean square."""
    found = experiment.Answers(np.full((1, 9), 0.3), np.full((1, 9), 0.4), np.zeros((1, 9)), np.ones(1))
    row = study.judged(found, np.zeros(9), 0.1)
    assert row["a path against f"] == pytest.approx(0.25)
    assert study.own_error(found, np.zeros(9), 0.1) == pytest.approx(0.26)


def test_gradient_errors_are_relative_and_by_part():
    """Twice a gradient is off by 1; the same is off by 0."""

    class Twice(nn.Module):
        def __init__(self, net, factor):
            super().__init__()
            self.lift, self.drift, self.s, self.read = net.lift, net.drift, net.s, net.read
            self.noise, self.net, self.factor = net.noise, [net], factor

        def forward(self, x, w):
            out = torch.func.functional_call(self.net[0], dict(self.named_parameters()), (x, w))
            return self.factor * out - (self.factor - 1) * out.detach()

    net = problem.SNN(1, 4, 6).double()
    row = study.start_of(net, problem.init_snn)
    for factor, off in ((1, 0), (2, 1)):
        found = study.gradient_errors(Twice(net, factor), net, row)
        np.testing.assert_allclose(list(found.values()), off, atol=1e-12)
        assert list(found) == ["lift", "drift", "diffusion"]


def test_normalisations_and_costs(data):
    """Averaged statistics differ from own ones; only who has worked is judged by them; steps are counted."""
    way, known = problem.coded(1, 4, 6, 3, 4, "coded 1D"), sine.probes(Coded(1, 4, 6), 0.1, 5)
    feds = {(0.1, 3): study.federations(way, data, [0.1], 0.1)[0.1, 3]}
    averaged, seconds = problem.fit(way, data.pool, feds, 2, known)
    personal, _ = problem.fit(way, data.pool, feds, 2, known, personal=coded.statistics(way.net))
    found = study.normalisations(way.net, averaged, personal, (0.1, 3), known)
    worked = np.isfinite(personal.losses).any(0).sum()
    assert [len(v) for v in found.values()] == [1, 1, worked] and 2 <= worked <= 4
    assert len(np.unique(np.concatenate([*found.values()]).round(9))) == worked + 2
    cost = study.cost(averaged, way, 0.5)
    assert cost == {"local steps": 12, "seconds": 0.5, "microseconds per step": pytest.approx(0.5e6 / 12)}
    assert seconds > 0
    by_points = experiment.quality(*study.answered(way.net, averaged.model(0.1, 3), known)[:2], 0, 0.1)
    direct = study.learnt(averaged, 0.1)
    np.testing.assert_allclose(by_points["std"], experiment.rms(direct.std), rtol=1e-4)


def metrics(spread):
    row = {"RMSE": [0.05], "std": [0.1], "coverage": [0.93], "in band": [0.9], "a path against f": [0.0125]}
    names = ("as printed", "as coded", "as it should be")
    return {
        "spreads": {name: {"0.1": [spread[name]], "0.4": [4 * spread[name]]} for name in names},
        "spread_alone": {"frozen paths": {"0.1": [0.2]}, "fresh paths": {"0.1": [0.005]}},
        "one_d": dict.fromkeys(names, row) | {"as printed": row | {"coverage": [0.4]}},
        "two_d": dict.fromkeys(names, row),
    }


def test_claims_and_facts():
    spread = {"as printed": 0.05, "as coded": 0.126, "as it should be": 0.11}
    found = {name: holds for name, (holds, _) in claims.claims(metrics(spread), 0.1).items()}
    assert [found[f"arms.{way}"] for way in ("printed", "coded", "proper")] == [False, False, True]
    assert found["target.coded.51"] and found["target.coded.52"] and found["target.proper.52"]
    facts = claims.facts(metrics(spread), 0.1)
    assert list(facts.values())[:3] == [True, True, "as it should be"]
    assert facts["the way with the best coverage"] != "as printed"


def test_hundredths():
    np.testing.assert_allclose(study.hundredths({"a": {"std": [0.1, 0.25]}})["a"]["std"], [10, 25])
