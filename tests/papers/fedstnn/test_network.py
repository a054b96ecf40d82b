"""The SNN and its SMP gradient against autograd, closed forms and orders, and what it learns."""

import math

import numpy as np
import pytest
import torch
from torch.func import functional_call, vmap
from torch.func import grad as gradient_of

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.stack import as_dict, predict, stack
from fedlib.federated.train import train
from fedlib.papers.fedstnn import algorithms
from fedlib.papers.fedstnn.network import SNN, euler_maruyama, init_snn, sample_wise
from fedlib.papers.fedstnn.scores import energy_score, gaussian_nll, local_loss, squared_error
from fedlib.streams import stream, torch_stream

PATHS = {squared_error: 1, energy_score: 2, gaussian_nll: 8}


def normal(*shape, key=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch_stream(0, "test", key), dtype=torch.float64).to(dtype)


def gradients(net, score, K=3, B=5, M=2, dtype=torch.float64):
    """Gradient of every parameter [K, ...] for K clients at random parameters, points and noise."""
    params = as_dict(net, stack(net, [(k,) for k in range(K)], init_snn).to(dtype))
    x, y, w = (normal(K, B, 1, dtype=dtype), normal(K, B, key=1, dtype=dtype), normal(K, B, *net.noise(M), key=2))

    def loss(params, x, y, w):
        return score(functional_call(net, params, (x, w)), y).mean()

    return vmap(gradient_of(loss))(params, x, y, w.to(dtype))


def relative(a, b):
    return float((a - b).norm() / b.norm())


@pytest.mark.parametrize("score", PATHS)
@pytest.mark.parametrize("diffusion", ["vector", "net"])
def test_smp_is_backpropagation(score, diffusion):
    """Properties 1 and 8: every parameter, every loss, three clients under vmap; g may depend on X."""
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
        smp, auto = (
            gradients(SNN(1, 4, 6, diffusion=diffusion, gradient=g), score, M=max(2, PATHS[score]), dtype=dtype)
            for g in ("smp_exact", "autograd")
        )
        assert smp.keys() == auto.keys()
        assert diffusion != "net" or auto["spread.0.1.weight"].norm() > 0, "g depends on X"
        for name in auto:
            if auto[name].norm() > 0:
                assert relative(smp[name], auto[name]) < tolerance, name
            else:
                assert (smp[name] == 0).all()


def test_printed_index_is_exact_for_the_drift_and_one_block_late_for_the_diffusion():
    """Property 2 (Eqs. 33-35)."""
    smp, auto = (gradients(SNN(1, 8, 16, gradient=g), squared_error) for g in ("smp_paper", "autograd"))
    for name in auto:
        if name != "s":
            assert relative(smp[name], auto[name]) < 1e-12, name
    by_block = [relative(smp["s"][:, n], auto["s"][:, n]) for n in range(4)]
    assert min(by_block[:3]) > 1e-2
    assert by_block[3] < 1e-12


def test_printed_index_costs_one_power_of_h():
    """Property 3: the diffusion's error is O(h)."""
    error = {}
    for N in (16, 64):
        smp, auto = (
            gradients(SNN(1, 8, 16, N=N, gradient=g), squared_error, K=3, B=64)["s"] for g in ("smp_paper", "autograd")
        )
        error[N] = relative(smp, auto)
    assert 3 < error[16] / error[64] < 5


def test_linear_quadratic_problem_has_the_closed_form(N=4):
    """Properties 4 and 5: f = a X, Phi = (X_N - y)^2. E Z_n = 2 g phi^{2 (N-1-n)}, phi = 1 + h a; printed: / phi."""
    a, g, h, small = -0.8, 0.3, 1 / N, 1e-4  # W2 tanh(W1 X) with a tiny W1 is linear to 1e-9
    one = torch.ones(1, dtype=torch.float64)
    s = torch.full((1,), math.log(math.expm1(g)), dtype=torch.float64)
    u = [(small * one[:, None], 0 * one, a / small * one[:, None], 0 * one, s)] * N
    groups, n_paths = 200, 1000

    def mean_z(w, literal):
        path = euler_maruyama(torch.full((n_paths, 1), 0.5, dtype=torch.float64), u, w, h)
        _, parts = sample_wise(path, u, w, h, 2 * (path[-1] - 0.2), literal)
        return torch.stack([p[4][0] for p in parts]) / (h * torch.sigmoid(s) * n_paths)

    w = normal(groups, N, n_paths, 1, key=N)
    phi, n = 1 + h * a, np.arange(N)
    exact = 2 * g * phi ** (2 * (N - 1 - n))
    for literal, expected in ((False, exact), (True, np.where(n < N - 1, exact / phi, exact))):
        z = vmap(lambda w, literal=literal: mean_z(w, literal))(w).numpy()
        assert (np.abs(z.mean(0) - expected) < 4.5 * z.std(0, ddof=1) / groups**0.5).all()


@pytest.fixture
def regression():
    """Twenty points of a curve, float64, and three ragged clients."""
    x = torch.as_tensor(stream(3, "regression").uniform(-1, 1, (20, 1)))
    return {"x": x, "y": torch.sin(3 * x[:, 0])}, [np.arange(3), np.arange(3, 10), np.arange(10, 20)]


@pytest.mark.parametrize(
    ("reading", "batch_size", "score"),
    [("autograd", None, squared_error), ("smp_exact", 4, energy_score), ("autograd", 4, gaussian_nll)],
)
def test_engine_equals_algorithms_3_and_4(regression, reading, batch_size, score):
    """The plain loop differentiates by hand, block by block; ragged clients, partial participation."""
    pool, shards = regression
    net, fed = SNN(1, 3, 5, gradient=reading).double(), Federation(shards, fraction=0.67, lr=0.01, decay=0.7)
    local, paths = Local(3, "steps", batch_size), PATHS[score]
    loop = algorithms.algorithm_4(net, score, pool, fed, rounds=3, local=local, paths=paths)
    fast = train(
        net, local_loss(score), pool, [fed], rounds=3, local=Local(3, "steps", batch_size), noise=net.noise(paths),
        optimizer=adam(), reset_moments=True, init=init_snn, dtype=torch.float64,
    )  # fmt: skip
    torch.testing.assert_close(fast.model(0), loop, rtol=0, atol=1e-9)


@pytest.mark.parametrize("local", [Local(2, "epochs", 4), Local(3)])
def test_engine_equals_algorithms_1_and_2(regression, local):
    """Ragged clients, partial participation, passes over the data as printed, and full batches."""
    pool, shards = regression
    net, fed = torch.nn.Linear(1, 1).double(), Federation(shards, fraction=0.67, lr=0.05, decay=0.7)

    def loss(predict, batch):
        return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()

    plain = algorithms.algorithm_1(net, loss, pool, fed, rounds=3, local=local)
    fast = train(net, loss, pool, [fed], rounds=3, local=local, optimizer=sgd(), dtype=torch.float64)
    torch.testing.assert_close(fast.model(0), plain, rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def trained():
    """std and RMSE of centralised models of noisy sin x: (score, sigma) -> (std, rmse)."""
    result, x = {}, torch.linspace(-1, 1, 2000)[:, None]
    truth, rng = torch.sin(np.pi * x[:, 0]), stream(0, "sigma")
    z = torch.as_tensor(rng.standard_normal(2000)).float()
    for score, sigmas in ((energy_score, (0.05, 0.2, 0.4)), (squared_error, (0.05, 0.4))):
        net = SNN(1, 8, 16, N=2)
        pool = {"x": x.repeat(len(sigmas), 1), "y": torch.cat([truth + s * z for s in sigmas])}
        feds = [Federation([i * 2000 + np.arange(2000)], lr=0.02, decay=0.75) for i in range(len(sigmas))]
        h = train(
            net, local_loss(score), pool, feds, rounds=12, local=Local(100, "steps", 128), noise=net.noise(2),
            init=init_snn,
        )  # fmt: skip
        w = normal(2000, *net.noise(50), dtype=torch.float32)
        for i, sigma in enumerate(sigmas):
            std, mean = torch.std_mean(predict(net, h.model(i), x, w), -1)
            result[score, sigma] = float((std**2).mean() ** 0.5), float(((mean - truth) ** 2).mean() ** 0.5)
    return result


def test_the_energy_score_learns_the_noise_of_the_data(trained):
    """Property 12: a right std at one sigma proves nothing, it must follow sigma; with the squared error the band of
    eight times the noise is nearly the same, and the mean is learnt all the same."""
    for sigma in (0.05, 0.2, 0.4):
        assert abs(trained[energy_score, sigma][0] / sigma - 1) < 0.15, trained
    narrow, wide = (trained[squared_error, sigma] for sigma in (0.05, 0.4))
    assert wide[0] / narrow[0] < 2 and wide[0] < 0.2 * 0.4 and narrow[1] < 0.05


@pytest.mark.parametrize("wrong", [dict(gradient="smp"), dict(diffusion="full"), dict(std=0.0)])
def test_unusable_network_is_refused(wrong):
    with pytest.raises(ValueError, match=r"expected one of|positive"):
        SNN(1, 4, 6, **wrong)
