"""Laws of variable projection by sums: every iterate is the centralised one, whoever owns which points."""

from functools import partial

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn

from fedlib.federated import sums
from fedlib.federated.batches import Local
from fedlib.federated.experiment import Data, Experiment
from fedlib.federated.stack import draw_parameters
from fedlib.models.jets import JetNet
from fedlib.models.networks import DeepONet, fan_in_uniform, mlp
from fedlib.papers.beyond.projection.algorithm import (
    evaluate,
    hidden,
    joined,
    last_layer,
    projected,
)
from fedlib.papers.fedsciml.forward import problem as forward
from fedlib.streams import stream, torch_stream


def regression(bias: bool = True, n: int = 24, **changes) -> tuple[Experiment, Data]:
    """sin(3 x) by a small network, two clients with a half each."""
    x = torch.linspace(-1, 1, n, dtype=torch.float64)[:, None]
    net = nn.Sequential(*mlp((1, 6, 6, 1), nn.Tanh)[:-1], nn.Linear(6, 1, bias=bias))
    data = Data({"x": x, "y": (3 * x).sin()}, [np.arange(n // 2), np.arange(n // 2, n)])
    return Experiment("a sine", net, lambda predict, batch: predict(batch["x"]) - batch["y"], **changes), data


def equation(name: str) -> tuple[Experiment, Data]:
    """One of notebook 05 with a small network; Helmholtz' clients share the boundary."""
    experiment = forward.poisson() if name == "poisson" else forward.helmholtz(side=6, boundary=8)
    net = mlp((len(experiment.coordinates), 8, 8, 1), nn.Tanh)
    channels = {"poisson": ("xx",), "helmholtz": ("xx+yy",)}[name]
    return experiment._replace(net=JetNet(net, experiment.coordinates, channels)), experiment.data(2, 0)


def start(experiment: Experiment, init=fan_in_uniform) -> torch.Tensor:
    return draw_parameters(experiment.net, init, torch_stream(0, "init")).double()


def dealt(data: Data, rng: np.random.Generator) -> Data:
    """The same points with up to six clients, ragged, some of them empty."""
    n, K = len(data.pool["x"]), rng.integers(1, 7)
    owner = rng.choice(K, n, p=rng.dirichlet(np.full(K, 0.3)))
    return data._replace(owners=[np.flatnonzero(owner == k) for k in range(K)])


def together(data: Data) -> Data:
    """The same points at one client."""
    return data._replace(owners=[np.arange(len(data.pool["x"]))])


def plainly(experiment: Experiment, data: Data, w: torch.Tensor, last: slice, ridge: float):
    """L, its gradient by autograd through the solve, and c: all rows at once, no sums, no envelope theorem."""
    w = w.clone().requires_grad_()
    points, constants, _ = sums.in_dtype(experiment, data.pool, w.dtype)

    def r(c):
        return experiment.residuals(sums.predicting(experiment, joined(w, c, last)), points | constants).flatten()

    units = torch.eye(last.stop - last.start, dtype=w.dtype)
    r_0 = r(0 * units[0])
    A = torch.stack([r(unit) - r_0 for unit in units], 1)
    c = -torch.linalg.solve(A.T @ A + ridge * units, A.T @ r_0)
    L = (A @ c + r_0).square().sum() + ridge * c.square().sum()
    (gradient,) = torch.autograd.grad(L, w)
    return L.item(), gradient, c.detach()


PROBLEMS = {"sine": regression, "poisson": partial(equation, "poisson"), "helmholtz": partial(equation, "helmholtz")}


@pytest.fixture(params=PROBLEMS)
def problem(request) -> tuple[Experiment, Data]:
    return PROBLEMS[request.param]()


@pytest.mark.parametrize("root", [True, False], ids=["roots", "sums"])
def test_the_gradient_is_that_through_the_solve(problem, root):
    """The envelope theorem: the derivative of the best c may be left out."""
    experiment, data = problem
    theta, last = start(experiment), last_layer(experiment.net)
    w, clients = hidden(theta, last), sums.parts(data)
    ridge = 1e-4 * float(sums.rows(experiment, data.pool, theta, last)[:, :-1].square().mean(0).sum())
    one = evaluate(experiment, clients, w, last, ridge, root)
    L, gradient, c = plainly(experiment, data, w, last, ridge)
    assert one.reduced == pytest.approx(L, rel=1e-8)
    np.testing.assert_allclose(one.gradient, gradient, rtol=1e-8, atol=1e-8 * float(gradient.abs().max()))
    np.testing.assert_allclose(one.theta[last], c, rtol=1e-7, atol=1e-7 * float(c.abs().max()))


def test_an_evaluation_is_the_same_for_every_partition():
    """200 random ones, ragged, with empty clients, against all points at one place."""
    experiment, data = regression()
    theta, last, rng, worst, losses = start(experiment), last_layer(experiment.net), stream(0, "partitions"), 0.0, set()
    w = hidden(theta, last)
    one = evaluate(experiment, sums.parts(together(data)), w, last, 1e-6)
    for _ in range(200):
        other = evaluate(experiment, sums.parts(dealt(data, rng)), w, last, 1e-6)
        for part in ("theta", "gradient"):
            a, b = getattr(one, part), getattr(other, part)
            worst = max(worst, float((b - a).abs().max() / a.abs().max()))
        worst = max(worst, abs(other.reduced / one.reduced - 1))
        losses.add(other.reduced)
    assert worst < 1e-8 and len(losses) > 20, "equal but for rounding, which every order of addition has of its own"


@pytest.mark.parametrize("root", [True, False], ids=["roots", "sums"])
@pytest.mark.parametrize("name", ["poisson", "helmholtz"])
def test_an_equation_goes_the_same_way_for_every_partition(name, root):
    """Helmholtz' boundary belongs to both clients at first; then every point to one."""
    experiment, data = equation(name)
    theta, ridge = start(experiment), 1e-4
    one = projected(experiment, data, theta, 8, ridge, root=root)
    for seed in range(3):
        other = projected(experiment, dealt(data, stream(seed, "partitions")), theta, 8, ridge, root=root)
        np.testing.assert_allclose(other.theta, one.theta, rtol=1e-5, atol=1e-6 * float(one.theta.abs().max()))


def test_it_is_centralised_variable_projection(problem):
    """The twin: scipy's L-BFGS on L written out, its gradient by autograd through the solve."""
    experiment, data = problem
    theta, last, seen = start(experiment), last_layer(experiment.net), []
    iterates = projected(experiment, data, theta, 10, 1e-4, memory=5)
    A = plain_features(experiment, data, theta, last)
    ridge, n = 1e-4 * float(A.square().sum(0).mean()), len(A)

    def reduced(w):
        L, gradient, c = plainly(experiment, data, torch.from_numpy(w.copy()), last, ridge)
        seen.append((L, joined(torch.from_numpy(w.copy()), c, last)))
        return L / n, gradient.numpy() / n

    options = {"maxcor": 5, "maxfun": 10, "ftol": 0, "gtol": 0}
    minimize(reduced, hidden(theta, last).numpy(), jac=True, method="L-BFGS-B", options=options)
    assert len(iterates.loss) == 10 <= len(seen)
    for i, theta in enumerate(iterates.theta):
        best = min(seen[: i + 1], key=lambda one: one[0])[1]
        np.testing.assert_allclose(theta, best, rtol=1e-6, atol=1e-6 * float(best.abs().max()))


def plain_features(experiment, data, theta, last) -> torch.Tensor:
    """A [n, m] by autograd of all residuals at once."""
    points, constants, _ = sums.in_dtype(experiment, data.pool, theta.dtype)

    def r(c):
        model = joined(hidden(theta, last), c, last)
        return experiment.residuals(sums.predicting(experiment, model), points | constants).flatten()

    return torch.autograd.functional.jacobian(r, 0 * theta[last])


def test_the_loss_is_that_of_its_model():
    experiment, data = equation("poisson")
    points, _, _ = sums.in_dtype(experiment, data.pool, torch.float64)
    iterates = projected(experiment, data, start(experiment), 30, 1e-8)
    for theta, loss in zip(iterates.theta, iterates.loss, strict=True):
        r = experiment.residuals(sums.predicting(experiment, theta), points)
        assert r.square().sum().item() == pytest.approx(loss, rel=1e-6)
    assert iterates.loss[-1] < 0.6 * iterates.loss[0]
    assert np.all(np.diff(iterates.bytes) > 0)


def test_bytes_are_counted():
    """A root has as many rows as a client has points, at most m + 1; the gradient comes with |r|^2."""
    experiment, data = regression()
    few = data._replace(owners=[np.arange(3), np.arange(3, 24)])
    P = sum(p.numel() for p in experiment.net.parameters())
    roots, both = ([projected(experiment, few, start(experiment), 2, root=root) for root in (True, False)], 2 * (P - 6))
    assert roots[0].bytes == [8 * (8 + 7 + 6 + 8 * 9 // 2 + both), 2 * 8 * (8 + 7 + 6 + 8 * 9 // 2 + both)]
    assert roots[1].bytes[0] == 8 * (2 * 8 * 9 // 2 + both)


def test_a_start_in_float32_and_its_last_layer_do_not_matter():
    experiment, data = regression()
    theta, last = start(experiment).float(), last_layer(experiment.net)
    changed = theta.double()
    changed[last] = 5.0
    one, other = (projected(experiment, data, of, 4, 1e-6) for of in (theta, changed))
    assert one.theta.dtype == torch.float64
    np.testing.assert_array_equal(one.theta, other.theta)


def test_a_last_layer_may_lack_a_bias():
    experiment, data = regression(bias=False)
    iterates = projected(experiment, data, start(experiment), 8, 1e-6)
    assert iterates.loss[-1] < 0.5 * iterates.loss[0]


def test_the_last_layer_is_found():
    net = mlp((1, 6, 6, 1), nn.Tanh)
    assert last_layer(net) == slice(12 + 42, 12 + 42 + 7)
    operator = DeepONet((4, 5, 3), (1, 5, 3))
    assert last_layer(operator) == slice(1 + 43 + 10, 1 + 43 + 28), "the trunk's; the bias comes first"
    assert len(hidden(torch.zeros(72), last_layer(operator))) == 72 - 18


# what cannot be meant

WRONG = {
    "mini-batches of 4 points": {"local": Local(5, batch_size=4)},
    "noise, drawn anew": {"noise": (2,)},
    "fraction = 0.5; expected 1": {"fraction": 0.5},
    "keeps 0.weight at its clients": {"personal": ("0.weight",)},
    "has a loss, but no residuals": {"residuals": None, "loss": lambda predict, batch: predict(batch["x"]).sum()},
    "residuals are not linear in the last nn.Linear": {
        "residuals": lambda predict, batch: predict(batch["x"]) ** 3 - batch["y"]
    },
    "change with the other points of its batch": {
        "residuals": lambda predict, batch: predict(batch["x"]) - predict(batch["x"]).mean() - batch["y"]
    },
    "all 2 parameters of a Linear are in its last layer.*sums.one_round": {"net": nn.Linear(1, 1)},
    "linear in u, and a network that ends with this": {
        "net": nn.Sequential(nn.Linear(1, 6), nn.Linear(6, 1), nn.Tanh())
    },
    "has no nn.Linear": {"net": nn.Conv1d(1, 1, 1)},
}


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_meant_is_refused(message):
    experiment, data = regression()
    experiment = experiment._replace(**WRONG[message])
    with pytest.raises(ValueError, match=message):
        P = sum(p.numel() for p in experiment.net.parameters())
        projected(experiment, data, torch.ones(P), 3)


@pytest.mark.fault("clear error")
def test_an_equation_that_is_not_linear_is_refused():
    """The first points of Allen-Cahn's pool are on the boundary, where nothing changes with the network."""
    experiment = forward.allen_cahn(lines=6, times=5, boundary=4, initial=6)
    with pytest.raises(ValueError, match=r"Where the equation is not linear, take sums\.gauss_newton"):
        projected(experiment, experiment.data(2, 0), start(experiment), 3)


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("wrong", [{"evaluations": 0}, {"memory": 0}, {"ridge": 0.0}, {"ridge": np.nan}], ids=str)
def test_unusable_arguments_are_refused(wrong):
    experiment, data = regression()
    name, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"{name} = {value}[;:] expected (a whole number|a positive number)"):
        projected(experiment, data, start(experiment), **{"evaluations": 3} | wrong)


@pytest.mark.fault("clear error")
def test_models_of_another_network_are_refused():
    experiment, data = regression()
    with pytest.raises(ValueError, match=r"theta has shape \[2, 61\]; expected \[61\], one model of a sine"):
        projected(experiment, data, start(experiment).expand(2, -1), 3)


@pytest.mark.fault("clear error")
def test_points_that_are_not_numbers_are_refused():
    experiment, data = regression()
    data.pool["y"][3] = torch.nan
    with pytest.raises(FloatingPointError, match=r"a sine: residuals.* are not finite at theta"):
        projected(experiment, data, start(experiment), 3)
