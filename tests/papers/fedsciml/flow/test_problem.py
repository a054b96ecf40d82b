"""Inverse problems: exact solutions have no loss, coefficients travel with the network, the aliasing bug is a gain."""

import numpy as np
import pytest
import torch

from fedlib.federated import reference
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.mixing import equal
from fedlib.federated.schedules import Drop
from fedlib.federated.stack import as_dict, draw_parameters, load
from fedlib.federated.train import train
from fedlib.models.jets import function_jet
from fedlib.models.networks import glorot_uniform
from fedlib.papers.fedsciml.algorithms import fedavg_adam
from fedlib.papers.fedsciml.flow import problem as flow
from fedlib.papers.fedsciml.flow.problem import with_gain
from fedlib.papers.fedsciml.flow.wake import cylinder_wake
from fedlib.streams import stream, torch_stream

WAKE = cylinder_wake()
WIDTHS = (3, 8, 8, 3)


def pool_of(n=40):
    return flow.observed(WAKE, n, stream(0, "observations"))


def small(rounds=6, gain=1.0, feds=None, **settings):
    net = flow.navier_stokes_net(WIDTHS).double()
    pool = pool_of()
    feds = feds or [Federation(flow.slabs(pool["x"], 2), lr=0.01)]
    points = flow.residual_points(14, 8, 6)

    def loss(predict, batch):
        return flow.navier_stokes_loss(with_gain(predict, gain), batch | {"points": points})

    history = train(net, loss, pool, feds, rounds=rounds, dtype=torch.float64, init=glorot_uniform,
                    **({"local": Local(1)} | settings))  # fmt: skip
    return net, loss, pool, feds, history


def exact_jet(C1, nu, x):
    """Of u, v, p of a decaying vortex; its convection is a gradient, so p = C1 times the usual one balances it."""
    vortex = [
        lambda x: -x[:, 0].cos() * x[:, 1].sin() * (-2 * nu * x[:, 2]).exp(),
        lambda x: x[:, 0].sin() * x[:, 1].cos() * (-2 * nu * x[:, 2]).exp(),
        lambda x: -C1 / 4 * ((2 * x[:, 0]).cos() + (2 * x[:, 1]).cos()) * (-4 * nu * x[:, 2]).exp(),
    ]
    jets = [function_jet(f, x, ("x", "y", "t", "xx+yy"), "xyt") for f in vortex]
    return {name: torch.stack([j[name] for j in jets], 1) for name in jets[0]}


def test_an_exact_flow_has_no_residual_and_no_loss():
    C1, nu = 0.7, 0.3
    x = flow.residual_points(20, 8, 5)

    def perfect(x, value_only=False):
        jet = exact_jet(C1, nu, x)
        return (jet[""] if value_only else jet), torch.tensor([C1, nu])

    batch = {"x": x, "points": x, "u": exact_jet(C1, nu, x)[""][:, :2], "w": torch.full((len(x),), 1 / len(x))}
    assert flow.navier_stokes_loss(perfect, batch) < 1e-12
    residual = flow.navier_stokes(exact_jet(C1, nu, x), torch.tensor([1.1 * C1, nu]))
    assert residual[:, :2].abs().max() > 1e-2 and residual[:, 2].abs().max() < 1e-12
    residual = flow.navier_stokes(exact_jet(C1, nu, x), torch.tensor([C1, 1.1 * nu]))
    assert residual[:, :2].abs().max() > 1e-4


def test_residual_points_cover_the_domain_and_lie_evenly_on_its_four_sides():
    x = flow.residual_points(700, 200, 100).numpy()
    low, high = np.array(flow.DOMAIN).T
    assert x.shape == (1000, 3) and (x >= low).all() and (x <= high).all()
    inside, sides, start = np.split(x, [700, 900])
    assert (start[:, 2] == 0).all()
    for i, along in ((0, 1), (1, 0)):
        for edge in (low, high):
            side = np.sort(sides[sides[:, i] == edge[i], along])
            assert abs(len(side) - 50) <= 1  # a corner belongs to two sides
            assert np.diff(np.r_[low[along], side, high[along]]).max() < 0.1 * (high - low)[along]
    for i in range(3):  # low-discrepancy: each half of each axis gets half of the points
        assert abs((inside[:, i] < (low + high)[i] / 2).mean() - 0.5) < 0.01


def test_observations_are_the_field_and_smaller_sets_are_prefixes():
    many, few = pool_of(500), pool_of(40)
    torch.testing.assert_close(many["x"][:40], few["x"], rtol=0, atol=0)
    for x, u in zip(many["x"].numpy(), many["u"].numpy(), strict=True):
        at = np.argmin(np.abs(WAKE.x - x[:2]).sum(1))
        np.testing.assert_array_equal(u, WAKE.u[at, :, round(10 * x[2])])
    assert len(np.unique(many["x"].numpy(), axis=0)) == 500
    assert len(pool_of(WAKE.p.size)["x"].unique(dim=0)) == WAKE.p.size


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pool_of(60000), "60000 observations of a field known at 55000.* ask for 1 to 55000"),
        (lambda: flow.slabs(pool_of(300)["x"].clamp(max=4), 2), "client 1 of 2 gets no point"),
        (lambda: flow.navier_stokes_net([2, 8, 3]), "hidden layers"),
        (lambda: flow.navier_stokes_net([3, 8, 2]), "hidden layers"),
        (lambda: flow.navier_stokes_net([3, 3]), "hidden layers"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_engine_equals_the_plain_loop_with_coefficients():
    pool = pool_of()
    fed = Federation(flow.slabs(pool["x"], 6), lr=0.01, decay=Drop(3, 0.1), seed=2)
    net, loss, _, _, fast = small(feds=[fed], local=Local(2))
    plain = fedavg_adam(net, loss, pool, fed, rounds=6, local=Local(2), init=glorot_uniform)
    torch.testing.assert_close(fast.model(0), plain, rtol=0, atol=1e-10)


def plain_loop(net, loss, pool, fed, rounds, exchange):
    """FedAvg-Adam, E = 1, where ``exchange`` says what happens to the coefficients after the clients' steps."""
    theta = draw_parameters(net, glorot_uniform, torch_stream(fed.seed, "init"))
    clients = [load(flow.navier_stokes_net(WIDTHS).double(), theta) for _ in fed.shards]
    optimizers = [torch.optim.Adam(c.parameters(), fed.lr) for c in clients]
    batches = [next(reference.client_batches(pool, fed, c, 0, Local(1))) for c in range(len(fed.shards))]
    for r in range(rounds):
        old = clients[0].c.detach().clone()
        if exchange == "aliased" and r:  # the authors' assignment by reference: one storage for all clients
            for client in clients:
                client.c.data = clients[0].c.data
        for client, optimizer, batch in zip(clients, optimizers, batches, strict=True):
            reference.local_updates(client, optimizer, loss, [batch])
        new = old + sum(c.c.detach() - old for c in clients) if exchange == "sum" else clients[-1].c.detach().clone()
        mean = reference.average(clients, fed.p)
        for client in clients:
            load(client, mean)
            if exchange == "sum" or r:
                client.c.data[:] = new
    return clients[0]


def test_the_aliasing_bug_is_a_gain_of_K():
    """Sum of the clients' steps on C: exactly a learning rate K times as large (E = 1, Adam)."""
    pool = pool_of()
    fed = Federation(flow.slabs(pool["x"], 2), lr=0.01, mixing=equal)
    net, *_, history = small(rounds=8, gain=2.0, feds=[fed])
    got = 2 * as_dict(net, history.model(0))["c"]
    loss = small(rounds=1)[1]  # without a gain
    summed = plain_loop(flow.navier_stokes_net(WIDTHS).double(), loss, pool, fed, 8, "sum")
    torch.testing.assert_close(got, summed.c.detach(), rtol=1e-5, atol=1e-7)
    single = as_dict(net, small(rounds=8, feds=[fed])[-1].model(0))["c"]
    assert (got - single).abs().max() > 0.02
    # the bug itself lets client 2 start from client 1's step, and its first round is still an average
    aliased = plain_loop(flow.navier_stokes_net(WIDTHS).double(), loss, pool, fed, 8, "aliased")
    assert (aliased.c - summed.c).abs().max() < 0.25 * (got - single).abs().max()


def test_the_loss_of_a_client_by_hand():
    """A network with known values: r = (1, 2, 3) and (3, 0, 1) at two residual points, u off by (1, 0) and (0, -2)."""
    zeros = torch.zeros(2, 3, dtype=torch.float64)
    jet = {name: zeros.clone() for name in ("", "x", "y", "t", "xx+yy")}
    jet["t"][:, :2] = torch.tensor([[1.0, 2.0], [3.0, 0.0]])  # u_t, v_t
    jet["x"][:, 0] = torch.tensor([3.0, 1.0])  # u_x, in continuity; u = 0 keeps it out of the momenta
    points, x = torch.zeros(2, 3, dtype=torch.float64), torch.ones(2, 3, dtype=torch.float64)
    observed = torch.tensor([[5.0, 6.0, 0.5], [7.0, 8.0, -0.5]]).double()  # u, v and a pressure that counts not

    def predict(at, *value_only):
        return (jet if at is points else observed), torch.tensor([1.0, 0.01]).double()

    u = torch.tensor([[4.0, 6.0], [7.0, 10.0]], dtype=torch.float64)
    batch = {"points": points, "x": x, "u": u, "w": torch.tensor([0.25, 0.75], dtype=torch.float64)}
    expected = (1 + 9) / 2 + (4 + 0) / 2 + (9 + 1) / 2 + 0.25 * 1 + 0.75 * 4
    assert float(flow.navier_stokes_loss(predict, batch)) == pytest.approx(expected)


def test_field_errors_by_hand():
    """Velocity and pressure 10 % too large, and the pressure moved by 7, which no one can know."""
    test = flow.middle(WAKE, 4)

    def predict(x, *value_only):
        assert x is test["x"] and len(value_only) == 1  # no derivatives: they would cost five times as much
        return torch.cat([1.1 * test["u"][:, :2], 1.1 * test["u"][:, 2:] + 7], 1), None

    fields = flow.velocity_and_pressure(predict, test)
    torch.testing.assert_close(fields, 1.1 * test["u"])
    errors = flow.field_errors(fields, test["u"])
    assert {name: float(e) for name, e in errors.items()} == pytest.approx({"velocity": 10, "pressure": 10})


def test_the_middle_of_the_flow_is_the_field_there():
    test = flow.middle(WAKE, 5)
    assert (test["x"][:, 2] == 0.5).all() and len(test["x"]) == 10 * 20
    whole = WAKE.p[:, 5].reshape(50, 100)[::5, ::5].ravel()
    np.testing.assert_allclose(test["u"][:, 2], whole - whole.mean(), atol=1e-12)
    np.testing.assert_array_equal(test["u"][:, :2], WAKE.u[:, :, 5].reshape(50, 100, 2)[::5, ::5].reshape(-1, 2))


SMALL = {"residual": (14, 8, 6), "widths": WIDTHS, "stride": 10}


def test_an_aliased_experiment_answers_the_gained_coefficients():
    net = flow.navier_stokes_net(WIDTHS)
    net.c.data[:] = torch.tensor([0.4, 0.003])
    plain, aliased = flow.flow(40, **SMALL), flow.flow(40, aliased=True, **SMALL)
    test = {name: value.float() for name, value in plain.data(2, 0).test.items()}
    assert [c.item() for c in plain.evaluate(net, test).values()] == pytest.approx([0.4, 0.003])
    assert [c.item() for c in aliased.evaluate(net, test).values()] == pytest.approx([0.8, 0.006])
