"""DeepONets on a Cartesian product, their loss, and the pictures of notebook 07."""

import numpy as np
import pytest
import torch
from torch.func import functional_call

from fedlib import operator_figures, operators
from fedlib.federation import Federation, train
from fedlib.networks import CartesianDeepONet, as_dict, glorot_normal, stack
from fedlib.pages import png
from fedlib.reference import fedavg_adam
from fedlib.sampling import Local
from fedlib.spaces import chebyshev_draws, chebyshev_series
from fedlib.streams import stream, torch_stream

from .conftest import assert_redraws_fast


def draws(n, count=6, kind="forward"):
    return chebyshev_draws(kind, n, count, stream(0, "test operator learning", n))


@pytest.fixture
def net():
    net = CartesianDeepONet((100, 12, 8), (1, 12, 8)).double()
    torch.nn.utils.vector_to_parameters(stack(net, [(3,)], glorot_normal)[0], net.parameters())
    torch.nn.init.constant_(net.bias, 0.3)
    return net


def pairwise(net, u, y):
    """Every pair (function, point) as a row of its own, layer by layer."""
    n, P = len(u), len(y)
    b, t = u.repeat_interleave(P, 0), y.repeat(n, 1)
    for i, (x, layers) in enumerate(((b, net.branch), (t, net.trunk))):
        linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
        for layer in linear:
            x = x @ layer.weight.T + layer.bias
            if i == 1 or layer is not linear[-1]:  # the trunk ends with an activation, the branch does not
                x = torch.relu(x)
        b, t = (x, t) if i == 0 else (b, x)
    return ((b * t).sum(1) + net.bias).reshape(n, P)


def test_the_product_equals_the_pairs_with_its_gradient(net):
    u, y = (
        torch.as_tensor(chebyshev_series(draws(10), np.linspace(0, 1, 100))),
        torch.linspace(0, 1, 7).double()[:, None],
    )
    target = torch.as_tensor(stream(0, "target").normal(size=(6, 7)))
    gradients = []
    for output in (net(u, y), pairwise(net, u, y)):
        gradients.append(torch.autograd.grad(((output - target) ** 2).mean(), list(net.parameters())))
        torch.testing.assert_close(output, pairwise(net, u, y), rtol=0, atol=1e-13)
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-13)


def test_no_pair_is_materialised_twice(net):
    """Nothing larger than the n x P result and the branch's and trunk's own layers is ever made."""
    largest = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            largest.append(out.numel() if isinstance(out, torch.Tensor) else 0)
            return out

    with Watch():
        net(torch.zeros(50, 100, dtype=torch.float64), torch.zeros(60, 1, dtype=torch.float64))
    assert max(largest) == 50 * 100 == 5000  # the input's size; 50 x 60 pairs x 8 would be 24 000


def test_unequal_widths_are_refused():
    with pytest.raises(ValueError, match="branch ends with width 5, trunk with 6"):
        CartesianDeepONet((3, 5), (1, 6))


def test_glorot_normal_has_its_variance_and_zero_biases():
    layer = torch.nn.Linear(300, 200)
    glorot_normal(layer, torch_stream(0, "layer"))
    assert float(layer.weight.detach().var()) == pytest.approx(2 / 500, rel=0.02)
    assert not layer.bias.any()


def test_the_loss_is_the_mean_over_functions_and_points(net):
    problem = operators.learn_antiderivative()
    batch = {name: value.double() for name, value in problem.pairs(draws(10)).items()}
    weights = torch.tensor([1, 1, 1, 1, 0, 0]).double() / 4  # four functions, two of padding
    net.requires_grad_(False)
    loss = operators.squared_error(problem)(net, batch | {"w": weights})
    total = 0.0
    for i in range(4):
        for j in range(100):
            guess = pairwise(net, batch["u"][i : i + 1], torch.as_tensor(problem.points[j : j + 1]))
            total += float((guess - batch["s"][i, j]) ** 2)
    assert float(loss) == pytest.approx(total / 400, rel=1e-6)
    e = operators.relative_error(problem)(net, batch)["e"]
    gap = pairwise(net, batch["u"], torch.as_tensor(problem.points)) - batch["s"]
    assert float(e) == pytest.approx(100 * float(gap.norm() / batch["s"].norm()), rel=1e-6)


def test_the_stack_equals_the_loop():
    problem = operators.learn_antiderivative()
    net = CartesianDeepONet((100, 6, 5), (1, 6, 5)).double()
    pool = {name: value.double() for name, value in problem.pairs(np.concatenate([draws(3), draws(4)])).items()}
    fed = Federation([np.arange(0, 5), np.arange(5, 12)], lr=0.01)
    loss = operators.squared_error(problem)
    loop = fedavg_adam(net, loss, pool, fed, rounds=3, local=Local(2), init=glorot_normal)
    ours = train(net, loss, pool, [fed], rounds=3, local_updates=2, init=glorot_normal, dtype=torch.float64)
    torch.testing.assert_close(ours.model(0), loop, rtol=0, atol=1e-12)


@pytest.mark.parametrize("learn", [operators.learn_burgers, operators.learn_diffusion_reaction])
def test_a_coarse_grid_is_a_part_of_the_whole_and_its_weights_keep_the_mean(learn):
    places, times = list(range(0, 101, 5)), [0, 1, 2, 3, 4, 6, 9, 13, 19, 28, 40, 55, 75, 100]
    part, whole = learn(places, times), learn()
    c = draws(5)
    u = whole.pairs(c)["s"].reshape(6, 101, 101)
    s = part.pairs(c)["s"]
    torch.testing.assert_close(s, u[:, places][:, :, times].reshape(6, -1), rtol=0, atol=1e-6)
    at = part.points.reshape(21, 14, 2)
    np.testing.assert_allclose(at[3, 5], [0.15, 0.06])  # x slow, t fast
    np.testing.assert_allclose(whole.q, 1 / 101**2)
    assert part.q.sum() == pytest.approx(1)
    full, coarse = ((torch.as_tensor(q).float() * v**2).sum() for q, v in ((whole.q, u.flatten(1)), (part.q, s)))
    assert float(coarse) == pytest.approx(float(full), rel=0.03)


def test_burgers_inputs_are_wrapped():
    """The solution starts from v on [0, 1) and closes with v(0); v(1) goes to the network only."""
    pairs = operators.learn_burgers().pairs(draws(10))
    start = pairs["s"].reshape(6, 101, 101)[..., 0]
    torch.testing.assert_close(start[:, :-1], pairs["u"][:, :-1])
    torch.testing.assert_close(start[:, -1], pairs["u"][:, 0])


def test_a_grid_without_its_ends_is_refused():
    for lines in ([0, 50], [0, 50, 50, 100], [1, 100]):
        with pytest.raises(ValueError, match="rising whole numbers from 0 to 100"):
            operators.tensor_grid(lines, [0, 100])


def test_federated_training_helps_both_clients():
    """Two clients with disjoint terms: after a short training the federation is better than each alone."""
    from fedlib.mixing import isolated

    problem = operators.learn_antiderivative()
    pool = problem.pairs(np.concatenate([draws(5, 60), draws(5, 60, "inverse")]))
    shards = [np.arange(60), np.arange(60, 120)]
    test = {name: v.expand(2, *v.shape) for name, v in problem.pairs(draws(10, 200)).items()}
    history = train(
        CartesianDeepONet((100, 20, 20), (1, 20, 20)), operators.squared_error(problem), pool,
        [Federation(shards, lr=3e-3), Federation(shards, lr=3e-3, mixing=isolated)], rounds=80, local_updates=5,
        init=glorot_normal, evaluate=operators.relative_error(problem), test=test, evaluate_every=80,
    )  # fmt: skip
    federated, _, *alone = history.metrics["e"][-1]
    assert federated < 0.9 * min(alone)


def test_the_widget_draws_what_the_models_say():
    net = CartesianDeepONet((100, 40, 40), (1, 40, 40))
    theta = stack(net, [(0,), (1,), (2,)], glorot_normal)
    models = dict(zip(("federated", "isolated 1", "isolated 2"), theta, strict=True))
    c = draws(10, 1)[0]
    fig = operator_figures.draw_antiderivative(net, models, 6, c)
    lines = {line.get_label().split(":")[0]: line.get_ydata() for line in fig.axes[2].get_lines()}
    x = np.linspace(0, 1, 100)
    np.testing.assert_allclose(lines["solver"], operators.antiderivative(c[None], x)[0])
    inputs = torch.as_tensor(chebyshev_series(c[None], x)).float(), torch.as_tensor(x[:, None]).float()
    for label, row in models.items():
        np.testing.assert_allclose(lines[label], functional_call(net, as_dict(net, row), inputs)[0].detach(), atol=1e-6)
    marks = {line.get_label(): line.get_xdata().tolist() for line in fig.axes[1].get_lines()}
    assert marks == {"client 1": [0, 1, 2, 3, 4, 5], "client 2": [4, 5, 6, 7, 8, 9]}
    with pytest.raises(ValueError, match="move a slider"):
        operator_figures.draw_antiderivative(net, models, 6, 0 * c)
    assert_redraws_fast(lambda: png(operator_figures.draw_antiderivative(net, models, 6, c)))


def test_the_field_view_names_every_model():
    truth = np.ones((11, 11))
    guesses = {"isolated 1": truth + 0.1, "federated": truth * 1.05}
    fig = operator_figures.field_view(np.zeros(11), truth, guesses, "Burgers")
    titles = [ax.get_title() for ax in fig.axes]
    assert "isolated 1\ne = 10 %" in titles
    assert "federated\ne = 5 %" in titles
