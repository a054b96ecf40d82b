"""FedDRO: the network, the ascent, and the engine against the plain loop."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.schedules import Cosine
from fedlib.federated.train import train
from fedlib.papers.feddro.algorithms import adversarial
from fedlib.papers.feddro.digits import problem, ways
from fedlib.papers.feddro.digits.handwriting import Clients, handwriting
from fedlib.papers.feddro.digits.problem import CNN, accuracies, ascend, classification, descent_ascent, digits, pooled
from fedlib.papers.feddro.digits.shifts import client_shift
from fedlib.streams import stream, torch_stream


def test_pooling_without_a_gradient_is_pooling():
    x = torch.as_tensor(stream(0, "x").normal(size=(3, 2, 8, 6)))
    x[0] = 1.0  # all alike
    with torch.no_grad():
        unwatched = pooled(x)
    torch.testing.assert_close(unwatched, pooled(x.requires_grad_()).detach(), rtol=0, atol=0)


class Small(nn.Module):
    """A small network with a displacement and dropout like the CNN's."""

    def __init__(self):
        super().__init__()
        self.theta = nn.Parameter(torch.zeros(3))
        self.f, self.g = nn.Linear(3, 6), nn.Linear(6, 4)

    def forward(self, x, noise=None, attack=False):
        a = torch.tanh(self.f(x + self.theta if attack else x))
        return self.g(a if noise is None else a * 2 * (noise > 0))


@pytest.fixture
def classes():
    """Three classes of points in R^3 at ragged clients, float64."""
    rng = stream(5, "classes")
    y = rng.integers(0, 4, 40)
    pool = {"x": torch.as_tensor(rng.normal(size=(40, 3)) + y[:, None]), "y": torch.as_tensor(y)}
    return Small().double(), pool, [np.arange(0, 7), np.arange(7, 26), np.arange(26, 40)]


@pytest.mark.parametrize("noise, decay", [(None, 1.0), ((6,), Cosine(3))])
def test_engine_equals_the_plain_loop(classes, noise, decay):
    net, pool, shards = classes
    fed, local = Federation(shards, lr=0.1, decay=decay, seed=3), Local(2, "epochs", 4)
    theta = train(
        net, classification, pool, [fed], rounds=3, local=local, optimizer=descent_ascent(3, 0.3, 0.1),
        personal=("theta",), reset_moments=True, noise=noise, dtype=torch.float64,
    ).theta  # fmt: skip
    w, displacements = adversarial(
        net, classification, pool, fed, rounds=3, local=local, eta_1=0.3, lam=0.1, noise=noise
    )
    for k in range(3):
        torch.testing.assert_close(theta[k, 3:], w, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(theta[:, :3], displacements, rtol=1e-10, atol=1e-12)
    assert displacements.norm(dim=1).min() > 0.01
    assert (displacements[0] - displacements[1]).norm() > 0.01  # they are the clients' own


@pytest.mark.parametrize("lam", [0.05, 3.0])
def test_a_proximal_step_solves_its_problem(lam):
    """ascend = argmax of <g, u> - |u - theta|^2 / (2 eta) - lambda |u|^2, found by scipy."""
    rng, eta = stream(0, "prox"), 0.7
    theta, g = rng.normal(size=(2, 3))

    def problem(u):
        return -g @ u + ((u - theta) ** 2).sum() / (2 * eta) + lam * u @ u

    step = ascend(torch.as_tensor(theta)[None], torch.as_tensor(g)[None], eta, lam)[0].numpy()
    np.testing.assert_allclose(step, minimize(problem, step + 0.1).x, atol=1e-4)


def test_cnn_is_the_usual_one():
    """The layers in a row; dropout keeps the mean and drops half of the units."""
    net, x = CNN(displaced=True), torch.rand(6, 784, generator=torch_stream(0, "x"))
    usual = nn.Sequential(
        nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
        nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10),
    )  # fmt: skip
    for there, here in zip(
        (usual[0], usual[3], usual[7], usual[9]), (net.conv1, net.conv2, net.hidden, net.out), strict=True
    ):
        there.weight.data, there.bias.data = here.weight.data.view_as(there.weight), here.bias.data
    torch.testing.assert_close(net(x), usual(x.view(-1, 1, 28, 28)))
    net.theta.data += 0.1
    torch.testing.assert_close(net(x), usual(x.view(-1, 1, 28, 28)))  # clean data are not displaced
    torch.testing.assert_close(net(x, None, True), usual((x + 0.1).view(-1, 1, 28, 28)))
    noise = torch.ones(6, 70)
    noise[:, :20] = -1  # all channels dropped: only the biases of the dense layers are left
    torch.testing.assert_close(net(x, noise), net.out(2 * net.hidden.bias.relu()).expand(6, 10))
    torch.testing.assert_close(sum(p.numel() for p in net.parameters()), 784 + 260 + 5020 + 16050 + 510)


def test_other_powers_are_refused():
    with pytest.raises(ValueError, match="p = 2 only"):
        adversarial(None, None, None, None, rounds=1, local=None, eta_1=1, lam=1, p=1)
    with pytest.raises(ValueError, match="p = 1: "):
        descent_ascent(2, 0.1, 0.5, 1)


def test_accuracies_count_right_answers_over_their_parts():
    """120 digits in parts of 50, 50, 20; the first 90 are read right; under the shifts 90 and 30 of 120."""
    x = torch.zeros(120, 784)
    x[:, 0] = (torch.arange(120) >= 90).float()
    other = torch.zeros(120, 784)
    other[:, 0] = (torch.arange(120) >= 30).float()
    predict = lambda x: nn.functional.one_hot(3 + x[:, 0].long(), 10).float()  # noqa: E731
    test = {"x": x, "y": torch.full((120,), 3)}
    assert accuracies(predict, test) == {"accuracy": 75, "commonest": 75}
    moved = accuracies(predict, test | {"x_own": torch.stack([x, other]), "x_fresh": torch.stack([x, other])})
    assert (moved["own"], moved["fresh"]) == (50, 25)


SMALL = {"source": "small", "clients": 2, "per_client": 30, "atoms": 2, "barycenter_rounds": 1, "test_digits": 20}


def test_data_are_what_a_way_makes_of_shifted_digits_and_tests_are_clean():
    data = digits("mapped", **SMALL, shifted_digits=5, fresh_shifts=3).data(2.0, 1)
    seen = digits("FedAvg", **SMALL).data(2.0, 1)
    whole = handwriting()
    torch.testing.assert_close(data.test["x"], whole["test"][0][:20])
    assert data.test["x_own"].shape == (2, 5, 784) and data.test["x_fresh"].shape == (3, 5, 784)
    expected = client_shift(1, 2.0, 1, "shared")(whole["test"][0][:5].numpy())
    np.testing.assert_allclose(data.test["x_own"][1], expected, rtol=1e-5, atol=1e-5)
    own = problem.dealt("small", "normalised", 2, 30, 1)
    for k, shard in enumerate(own.shards):
        np.testing.assert_allclose(
            seen.pool["x"][shard], client_shift(k, 2.0, 1, "shared")(own.x[shard]), rtol=1e-4, atol=1e-4
        )
    mapped = ways.material("mapped", Clients(seen.pool["x"].double().numpy(), own.y, own.shards), 2, 1, 3, 1)
    np.testing.assert_allclose(data.pool["x"], mapped.x, rtol=1e-3, atol=1e-3)
    assert "x_own" not in seen.test


def test_a_local_step_by_hand():
    """w <- w - lr v with v <- momentum v + g_w, theta <- its own step at the old gradient."""
    step = descent_ascent(2, 0.1, 0.5, momentum=0.5)
    rows = torch.tensor([[0.6, 0.8, 1.0, 2.0]], dtype=torch.float64)
    g = torch.tensor([[1.0, 0.0, 3.0, -1.0]], dtype=torch.float64)
    state = step.init(rows) | {"v": torch.tensor([[2.0, 4.0]], dtype=torch.float64)}
    step.apply(rows, g, state, torch.tensor([[0.1]], dtype=torch.float64))
    torch.testing.assert_close(rows[:, 2:], torch.tensor([[1 - 0.1 * 4, 2 - 0.1 * 1]], dtype=torch.float64))
    torch.testing.assert_close(rows[:, :2], torch.tensor([[0.7, 0.8]], dtype=torch.float64) / 1.1)
