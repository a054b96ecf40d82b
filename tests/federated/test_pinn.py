"""A physics-informed network of one's own equation: what its functions must give, and where it is tested."""

import numpy as np
import pytest
import torch

from fedlib.federated.experiment import data_of, train_arguments
from fedlib.federated.partitions import index_rule, per_client
from fedlib.federated.pinn import Equation, pinn
from fedlib.federated.sweep import best, errors, grid, sweep

N, T, V = 20, 50, 7
X = np.linspace(0, np.pi, N)[:, None]
SINE = Equation(
    operator=lambda u: -u["xx"],
    f=lambda x: x[:, 0].sin(),
    g=lambda x: 0 * x[:, 0],
    b=lambda x: x[:, 0] * (np.pi - x[:, 0]),
    solution=lambda x: x[:, 0].sin(),
    derivatives=["xx"],
)


def poisson(points=X, validation=None, **changes):
    """-u'' = sin x on [0, pi], u = 0 at both ends."""
    return pinn(
        "Poisson", SINE._replace(**changes), (1, 8, 1), "x",
        points=lambda level: (points, index_rule(N, 2, per_client(level, 2))),
        test=np.linspace(0, np.pi, T)[:, None], validation=validation, rounds=50,
    )._replace(lr=1e-2)  # fmt: skip


def test_the_loss_is_that_of_the_equation_by_nested_differentiation():
    experiment = poisson()
    pool, net = data_of(experiment, 2).pool, experiment.net.double()
    x = torch.as_tensor(X).requires_grad_()
    u = SINE.b(x) * net(x, True)[:, 0]
    u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x.sum(), x)[0][:, 0]
    by_hand = ((-u_xx - x[:, 0].sin()) ** 2).mean().item()
    batch = pool | {"w": torch.full((N,), 1 / N, dtype=torch.float64)}
    assert train_arguments(experiment)["loss"](net, batch).item() == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        ({"f": lambda x: x.sin()}, r"f gives \[20, 1\] at 20 points; expected a tensor \[20\]"),
        ({"g": lambda x: 0 * x}, r"g gives \[20, 1\] at 20 points"),
        ({"b": lambda x: x * (np.pi - x)}, r"b gives \[20, 1\] at 20 points"),
        ({"solution": lambda x: x.sin()}, r"solution gives \[50, 1\] at 50 points; expected a tensor \[50\]"),
        ({"operator": lambda u: -u["xx"][:, None]}, r"operator gives \[20, 1\] at 20 points"),
        ({"points": X[:, 0]}, r"points has shape \[20\]; expected \[n, 1\], a column for each of 'x'"),
        ({"validation": X.T}, r"validation has shape \[1, 20\]; expected \[n, 1\]"),
    ],
)
def test_a_function_of_another_shape_is_refused_by_its_name(slip, message):
    with pytest.raises(ValueError, match="Poisson, pieces 2, seed 0: " + message):
        sweep(poisson(**slip), [2], [0], ["federated"])


def test_errors_are_relative_l2_at_the_test_and_at_the_validation_points():
    places = np.linspace(0.1, 1, V)[:, None]
    experiment = poisson(validation=places)
    history = sweep(experiment, [2], [0], ["federated"], dtype=torch.float64, backend="eager")
    net = experiment.net.double()
    torch.nn.utils.vector_to_parameters(history.model("federated", 2, 0), net.parameters())
    for metric, x in (("error", np.linspace(0, np.pi, T)[:, None]), ("validation error", places)):
        x = torch.as_tensor(x).float().double()
        u, truth = SINE.b(x) * net(x, True)[:, 0], x[:, 0].sin()
        by_hand = 100 * ((u - truth).norm() / truth.norm()).item()
        assert errors(history, metric)[-1].item() == pytest.approx(by_hand, rel=1e-4)  # test points are float32
    assert best(grid(experiment, {"lr": [1e-5, 1e-2]}, 2, [0])) == {"lr": 1e-2}


def test_points_may_be_numpy_s_and_new_at_every_level():
    history = sweep(poisson(), [2, 4], [0], rounds=1)
    anew = poisson()._replace(data=lambda level, seed: poisson(X.copy()).data(level, seed))
    assert [*sweep(anew, [2, 4], [0], rounds=1).rows] == [*history.rows]
    assert len({tuple(history.model("centralised", level, 0).tolist()) for level in (2, 4)}) == 1
