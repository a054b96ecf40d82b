"""FedProx, SCAFFOLD, FedOpt, averaged moments and the fresh correction: their plain loops, their laws."""

from itertools import islice

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.mixing import isolated, ring
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.rounds import play
from fedlib.federated.rules import (
    averaged_moments,
    corrected,
    fedadam,
    fedprox,
    fedyogi,
    mime,
    scaffold,
)
from fedlib.federated.train import train

from . import reference_rules as plain

LOCAL = {
    "full batch": Local(3),
    "steps": Local(5, "steps", 4),
    "epochs": Local(2, "epochs", 4),  # ragged clients then take different numbers of steps
}
SGD, ADAM = torch.optim.SGD, torch.optim.Adam
TWINS = {  # rule: (client's optimiser, server, plain loop, its settings)
    "fedprox": (fedprox(0.3), None, plain.fedprox, dict(mu=0.3)),
    "fedprox, adam": (fedprox(0.3, adam()), None, plain.fedprox, dict(mu=0.3, optimizer=ADAM)),
    "scaffold": (scaffold(), None, plain.scaffold, {}),
    "scaffold, adam": (scaffold(adam()), None, plain.scaffold, dict(optimizer=ADAM)),
    "fedadam": (sgd(), fedadam(0.02), plain.fedopt, dict(kind="adam", eta=0.02)),
    "fedyogi": (sgd(), fedyogi(0.02), plain.fedopt, dict(kind="yogi", eta=0.02)),
    "fedyogi, adam": (adam(), fedyogi(0.02), plain.fedopt, dict(kind="yogi", eta=0.02, optimizer=ADAM)),
    "moments": (averaged_moments(), None, plain.averaged_moments, {}),
    "second moments": (averaged_moments(names="v"), None, plain.averaged_moments, dict(names=("exp_avg_sq",))),
    "corrected": (corrected(), None, plain.corrected, {}),
    "corrected, adam": (corrected(adam()), None, plain.corrected, dict(optimizer=ADAM)),
    "corrected moments": (corrected(averaged_moments()), None, plain.averaged_moments, dict(correct=True)),
    "mime": (mime(), None, plain.mime, {}),
}


def run(problem, feds, **settings):
    net, loss, pool, _ = problem
    return train(net, loss, pool, feds, dtype=torch.float64, **({"rounds": 5, "local": LOCAL["steps"]} | settings))


def model(problem, fed, optimizer, **settings):
    return run(problem, [fed], optimizer=optimizer, **settings).model(0)


def assert_same(a, b, atol=1e-12):
    torch.testing.assert_close(a, b, rtol=0, atol=atol)


@pytest.mark.parametrize(("fraction", "local"), [(1.0, "steps"), (0.67, "epochs")], ids=["all", "some"])
@pytest.mark.parametrize("rule", TWINS)
def test_engine_equals_the_plain_loop(problem, rule, fraction, local):
    """Ragged clients, partial participation, mini-batches, moments kept over the rounds."""
    net, loss, pool, shards = problem
    optimizer, server, loop, settings = TWINS[rule]
    fed = Federation(shards, fraction=fraction, lr=0.02, decay=0.9, seed=3, server=server)
    expected = loop(net, loss, pool, fed, rounds=5, local=LOCAL[local], **settings)
    assert_same(model(problem, fed, optimizer, local=LOCAL[local]), expected, 1e-10)


def test_the_rules_are_different_algorithms(problem):
    """Otherwise the test above could not tell them apart."""
    found = [
        model(problem, Federation(problem[3], fraction=0.67, lr=0.02, server=server), optimizer)
        for optimizer, server, *_ in [(sgd(), None), (adam(), None), *TWINS.values()]
    ]
    for i, a in enumerate(found):
        for b in found[:i]:
            assert (a - b).abs().max() > 1e-6


def test_gossip_equals_the_plain_loop(problem):
    """Neighbours on a ring talk; who is absent keeps its model, and its share stays at home."""
    net, loss, pool, shards = problem
    fed = Federation(shards, mixing=ring, fraction=0.67, lr=0.02)
    expected = plain.gossip(net, loss, pool, fed, rounds=5, local=LOCAL["steps"])
    assert_same(run(problem, [fed], optimizer=sgd()).models(0), expected, 1e-10)


# Where rules are FedAvg or centralised training


@pytest.mark.parametrize("inner", [sgd, adam])
def test_without_a_spring_fedprox_is_fedavg(problem, inner):
    fed = Federation(problem[3], fraction=0.67, lr=0.02)
    assert_same(model(problem, fed, fedprox(0, inner())), model(problem, fed, inner()), 0)


MOMENTUM = sgd(0.9)
E1 = {  # rule: (client's optimiser, server, what centralised training has instead)
    "fedavg": (sgd(), None, sgd()),
    "fedprox": (fedprox(5.0), None, sgd()),
    "scaffold": (scaffold(), None, sgd()),
    "moments": (averaged_moments(MOMENTUM), None, MOMENTUM),
    "corrected": (corrected(), None, sgd()),
    "corrected, adam": (corrected(adam()), None, adam()),
    "corrected moments": (corrected(averaged_moments(adam())), None, adam()),
    "mime": (mime(), None, adam()),
}


@pytest.mark.parametrize("rule", E1)
def test_one_full_step_is_centralised_training(problem, rule):
    """E = 1, full batches, p_k = n_k / n; with Adam where the gradient is common before its moments see it."""
    optimizer, server, alone = E1[rule]
    shards = problem[3]
    whole = model(problem, centralised(shards, lr=0.02), alone, rounds=30, local=Local(1))
    assert_same(model(problem, Federation(shards, lr=0.02, server=server), optimizer, rounds=30, local=Local(1)), whole)


def test_without_heterogeneity_rules_are_fedavg(problem):
    """All clients hold the same points, E > 1. (FedProx is not: its spring holds back a client that does not drift.)"""
    fed = Federation([np.arange(26)] * 3, lr=0.02)
    fedavg = model(problem, fed, adam(), local=Local(4))
    for rule in (averaged_moments(), corrected(adam()), scaffold(adam()), corrected(averaged_moments())):
        assert_same(model(problem, fed, rule, local=Local(4)), fedavg)
    assert (model(problem, fed, fedprox(1.0, adam()), local=Local(4)) - fedavg).abs().max() > 1e-6


@pytest.mark.parametrize("rule", [fedprox, averaged_moments, scaffold, corrected])
def test_rules_among_other_federations_change_nobody(problem, rule):
    """Side by side with ragged federations, topologies and servers; an isolated client keeps its plain optimiser."""
    optimizer = rule(0.3, adam()) if rule is fedprox else rule(adam())
    shards, server = problem[3], fedadam(0.02)
    feds = [
        Federation(shards, fraction=0.67, seed=1, server=server),
        centralised(shards, lr=0.01, seed=2),
        Federation(shards, mixing=ring, seed=4, common_init=False, server=fedyogi(0.01)),
        Federation(shards[:2], seed=5, server=server),
        Federation(shards, mixing=isolated, seed=3),
    ]
    together = run(problem, feds, optimizer=optimizer, local=LOCAL["epochs"])
    for f, fed in enumerate(feds):
        alone = run(problem, [fed], optimizer=optimizer, local=LOCAL["epochs"])
        assert_same(together.models(f), alone.models(0))
    if rule is not fedprox:
        assert_same(together.models(4), run(problem, feds[4:], optimizer=adam(), local=LOCAL["epochs"]).models(0))


# Fixed points of quadratics f_i(x) = a_i / 2 (x - b_i)^2: known in closed form


class Point(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.zeros(1))

    def forward(self, batch):
        return self.x.expand(batch.shape)


A, B, N = (torch.tensor(v, dtype=torch.float64) for v in ([0.5, 2.0, 1.0], [3.0, -1.0, 0.5], [1.0, 2.0, 5.0]))


def fixed_point(optimizer, E=6, lr=0.15, rounds=120):
    """Client i holds N_i times the point (A_i, B_i), so p = N / 8."""
    who = torch.repeat_interleave(torch.arange(3), N.long())
    pool = {"a": A[who], "b": B[who]}
    fed = Federation([np.flatnonzero(who.numpy() == i) for i in range(3)], lr=lr)

    def loss(predict, batch):
        return (batch["w"] * batch["a"] / 2 * (predict(batch["a"]) - batch["b"]) ** 2).sum()

    return float(
        train(
            Point(), loss, pool, [fed], rounds=rounds, local=Local(E), optimizer=optimizer, dtype=torch.float64
        ).model(0)
    )


def biased(E=6, lr=0.15):
    """Where FedAvg comes to rest: client i goes a share s_i = 1 - (1 - lr a_i)^E of the way to its b_i."""
    s = 1 - (1 - lr * A) ** E
    return float((N * s * B).sum() / (N * s).sum())


MINIMISER = float((N * A * B).sum() / (N * A).sum())


def test_fedavg_comes_to_rest_beside_the_minimum_by_a_known_amount():
    assert abs(biased() - MINIMISER) > 0.1
    assert fixed_point(sgd()) == pytest.approx(biased(), abs=1e-10)


def test_fedprox_is_biased_too():
    """With a spring w - w^t falls by 1 - lr (a_i + mu) a step, to rest at (a_i b_i + mu w^t) / (a_i + mu)."""
    mu, lr, E = 1.0, 0.15, 6
    s = (1 - (1 - lr * (A + mu)) ** E) * A / (A + mu)
    expected = float((N * s * B).sum() / (N * s).sum())
    assert fixed_point(fedprox(mu)) == pytest.approx(expected, abs=1e-10)
    assert 0.05 < abs(expected - MINIMISER) < abs(biased() - MINIMISER)


@pytest.mark.filterwarnings("ignore:.*the mean loss went from")  # clients start near minima of their own
@pytest.mark.parametrize("optimizer", [scaffold(), corrected()])
def test_corrected_clients_come_to_rest_at_the_minimum(optimizer):
    assert fixed_point(optimizer) == pytest.approx(MINIMISER, abs=1e-10)


def test_only_moments_that_exist_are_averaged():
    assert averaged_moments(names="v").shared == ("v",) and averaged_moments(names="v").sent == 2
    with pytest.raises(ValueError, match=r"names = \['v', 'w'\]: this optimiser keeps m, v, t, not 'w'"):
        averaged_moments(names=("v", "w"))


def test_reset_moments_leaves_the_control_variates(problem):
    """Not the same as kept moments, and not the same as without control variates."""
    net, loss, pool, shards = problem
    fed = Federation(shards, lr=0.02)
    settings = dict(local=Local(2), optimizer=scaffold(adam()), dtype=torch.float64)
    for again, counts in ((False, [2, 4, 6]), (True, [None] * 3)):  # what is reset is not kept
        played = play(net, loss, pool, [fed], reset_moments=again, **settings)
        kept = (done.state.optimizer for done in islice(played, 3))
        assert [float(own["t"].max()) if "t" in own else None for own in kept] == counts
    kept, reset, without = (
        model(problem, fed, o, reset_moments=r)
        for o, r in ((scaffold(adam()), False), (scaffold(adam()), True), (adam(), True))
    )
    assert (kept - reset).abs().max() > 1e-4 and (reset - without).abs().max() > 1e-4


# The wire, and errors


def test_what_goes_over_the_wire():
    """Vectors of P numbers up, and exchanges, per client and round: the table of the papers."""
    table = {
        adam(): (1, 1),
        fedprox(1.0): (1, 1),
        averaged_moments(): (3, 1),
        averaged_moments(MOMENTUM): (2, 1),
        averaged_moments(sgd()): (1, 1),
        scaffold(): (2, 1),
        scaffold(averaged_moments()): (4, 1),
        corrected(): (2, 2),
        corrected(averaged_moments()): (4, 2),
        mime(): (2, 2),
    }
    assert {optimizer: (optimizer.sent, optimizer.exchanges) for optimizer in table} == table


@pytest.mark.parametrize("rule", [scaffold(), corrected(), fedprox(0.3, adam())])
def test_personal_parameters_stay_at_home(problem, rule):
    """No model and no correction of the others reaches them: in these columns c - c_i and gbar - g_c are 0."""
    net, loss, pool, shards = problem
    fed = Federation(shards, lr=0.02, server=fedadam(0.02))
    name, first = next(iter(net.named_parameters()))
    settings = dict(local=Local(2), optimizer=rule, personal=[name], dtype=torch.float64)
    for done in islice(play(net, loss, pool, [fed], **settings), 3):
        P = first.numel()
        assert torch.equal(done.after[:, :P], done.before[:, :P])
        assert (done.after[:, P:] == done.after[0, P:]).all() and (done.after[0, :P] != done.after[1, :P]).any()
    kept = done.state.optimizer
    for shift in (kept["c"] - kept["c_i"] if "c" in kept else None, kept.get("gbar - g_c")):
        assert shift is None or ((shift[:, :P] == 0).all() and (shift[:, P:] != 0).any())


def test_what_cannot_be_is_refused(problem):
    fed = Federation(problem[3])
    with pytest.raises(ValueError, match="one step count for all its parameters"):
        run(problem, [fed], optimizer=averaged_moments(), personal=[next(problem[0].named_parameters())[0]])
    with pytest.raises(ValueError, match="mime was asked for together with personal parameters"):
        run(problem, [fed], optimizer=mime(), personal=[next(problem[0].named_parameters())[0]])
    with pytest.raises(ValueError, match="put the rule around it"):
        averaged_moments(scaffold(adam()))
    with pytest.raises(ValueError, match="a loss with noise does not have"):
        run(problem, [fed], optimizer=corrected(), noise=(1,))
    with pytest.raises(ValueError, match="mu = -1: expected a number >= 0"):
        fedprox(-1)
    with pytest.raises(ValueError, match="tau = 0: expected a number > 0"):
        fedadam(0.1, tau=0)
