"""DeepONets on a Cartesian product, their loss, and the pictures of notebook 07."""

import numpy as np
import pytest
import torch
from torch.func import functional_call

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.reference import fedavg_adam
from fedlib.federated.stack import as_dict, stack
from fedlib.federated.train import train
from fedlib.federated.work import knowing
from fedlib.models.networks import CartesianDeepONet, glorot_normal
from fedlib.numerics import solutions
from fedlib.numerics.spaces import chebyshev_draws, chebyshev_series
from fedlib.plots import operators as draw
from fedlib.problems import operators
from fedlib.runs.pages import png
from fedlib.streams import stream, torch_stream

from .conftest import assert_redraws_fast, every_move


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
    batch |= {name: value.double() for name, value in problem.constants().items()}
    loss = operators.operator_loss(net, batch | {"w": weights})
    total = 0.0
    for i in range(4):
        for j in range(100):
            guess = pairwise(net, batch["u"][i : i + 1], torch.as_tensor(problem.points[j : j + 1]))
            total += float((guess - batch["s"][i, j]) ** 2)
    assert float(loss) == pytest.approx(total / 400, rel=1e-6)
    e = operators.operator_error(net, batch)["e"]
    gap = pairwise(net, batch["u"], torch.as_tensor(problem.points)) - batch["s"]
    assert float(e) == pytest.approx(100 * float(gap.norm() / batch["s"].norm()), rel=1e-6)


def test_the_stack_equals_the_loop():
    problem = operators.learn_antiderivative()
    net = CartesianDeepONet((100, 6, 5), (1, 6, 5)).double()
    pool = {name: value.double() for name, value in problem.pairs(np.concatenate([draws(3), draws(4)])).items()}
    fed = Federation([np.arange(0, 5), np.arange(5, 12)], lr=0.01)
    loop = fedavg_adam(
        net,
        knowing(operators.operator_loss, problem.constants()),
        pool,
        fed,
        rounds=3,
        local=Local(2),
        init=glorot_normal,
    )
    how = dict(init=glorot_normal, constants=problem.constants(), dtype=torch.float64)
    ours = train(net, operators.operator_loss, pool, [fed], rounds=3, local=Local(2), **how)
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
    from fedlib.federated.mixing import isolated

    problem = operators.learn_antiderivative()
    pool = problem.pairs(np.concatenate([draws(5, 60), draws(5, 60, "inverse")]))
    shards = [np.arange(60), np.arange(60, 120)]
    test = {name: v.expand(2, *v.shape) for name, v in problem.pairs(draws(10, 200)).items()}
    history = train(
        CartesianDeepONet((100, 20, 20), (1, 20, 20)), operators.operator_loss, pool,
        [Federation(shards, lr=3e-3), Federation(shards, lr=3e-3, mixing=isolated)], rounds=80, local=Local(5),
        init=glorot_normal, evaluate=operators.operator_error, constants=problem.constants(), test=test,
        evaluate_every=80,
    )  # fmt: skip
    federated, _, *alone = history.metrics["e"][-1]
    assert federated < 0.9 * min(alone)


@pytest.fixture
def models():
    """A net of the antiderivative and three models of it, at the levels of the quick profile."""
    net = CartesianDeepONet((100, 40, 40), (1, 40, 40))
    theta = stack(net, [(0,), (1,), (2,)], glorot_normal)
    rows = dict(zip(("federated", "isolated 1", "isolated 2"), theta, strict=True))
    return net, {n: rows for n in (2, 5, 6, 10)}


def test_the_widget_draws_what_the_models_say(models):
    net, rows = models
    c = draws(10, 1)[0]
    fig = draw.draw_antiderivative(net, rows[6], 6, c)
    lines = {line.get_label(): line.get_ydata() for line in fig.axes[2].get_lines()}
    x = np.linspace(0, 1, 100)
    np.testing.assert_allclose(lines["solver"], solutions.antiderivative(c[None], x)[0])
    inputs = torch.as_tensor(chebyshev_series(c[None], x)).float(), torch.as_tensor(x[:, None]).float()
    errors = [text.get_text() for text in fig.axes[2].texts]
    for (label, row), error in zip(rows[6].items(), errors, strict=True):
        guess = functional_call(net, as_dict(net, row), inputs)[0].detach()
        np.testing.assert_allclose(lines[label], guess, atol=1e-6)
        e = 100 * np.linalg.norm(guess - lines["solver"]) / np.linalg.norm(lines["solver"])
        assert error == f"{label.replace('isolated', 'client')}: e = {e:.3g} %"
    assert [line.get_xdata().tolist() for line in fig.axes[1].get_lines()] == [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 8, 9]]
    with pytest.raises(ValueError, match="move a slider"):
        draw.draw_antiderivative(net, rows[6], 6, 0 * c)


def test_the_explorer_answers_every_move(models):
    box = draw.antiderivative_explorer(*models, c=[0.5, -0.4, 0.3, 0, 0, 0.6, 0, 0, -0.3, 0], n=6)
    level, *sliders, message, picture = box.children
    assert [slider.description for slider in sliders] == [f"T{j}" for j in range(10)]
    before = picture.value
    level.value = 5
    assert picture.value != before
    before = picture.value
    sliders[9].value = 0.5
    assert picture.value != before
    for slider in sliders:
        slider.value = 0
    assert "move a slider" in message.value
    assert_redraws_fast(every_move(box))


def test_an_axis_keeps_its_limits_while_a_slider_moves():
    assert draw.limit(np.array([-0.3, 0.2])) == draw.limit(np.array([0.22])) == (-0.35, 0.35)
    assert draw.limit(np.array([37.0])) == (-37, 37)


def test_errors_are_drawn_for_any_number_of_operators_levels_seeds_and_clients():
    """One level and one seed, too; a panel has nothing that was not run, and one legend names everything once."""
    rng = stream(0, "test error view")
    full = {
        "levels": [2, 6, 10], "isolated": rng.uniform(1, 9, (2, 3, 3)), "federated": rng.uniform(1, 9, (2, 3)),
        "centralised": {2: [3.0, 5.0], 10: [1.0, 2.0]}, "paper": {5: 10.0},
    }  # fmt: skip
    one = {"levels": [5], "isolated": np.full((1, 1, 2), 7.0), "federated": np.full((1, 1), 3.0), "centralised": {}}
    for studies in (
        {"A": full},
        {"A": one},
        {"A": full, "B": one},
        dict.fromkeys("ABC", one),
        dict.fromkeys("ABCD", full),
    ):
        fig = draw.error_view(studies)
        assert [ax.get_title() for ax in fig.axes] == list(studies)
        labels = [text.get_text() for text in fig.legends[0].get_texts()]
        assert len(set(labels)) == len(labels) == (7 if full in studies.values() else 3)
        png(fig)
    lines = {line.get_label(): line for line in draw.error_view({"A": full}).axes[0].get_lines()}
    np.testing.assert_allclose(lines["federated"].get_ydata(), full["federated"].mean(0))
    np.testing.assert_allclose(lines["client 2 alone"].get_ydata(), full["isolated"].mean(0)[:, 1])
    assert list(lines["centralised, union"].get_ydata()) == [4, 1.5]
    assert list(lines["centralised, full space"].get_ydata()) == [1.5, 1.5]


def test_the_other_figures_of_one_level_and_one_seed():
    """What a small run has: one level, one E, no clients that start apart."""
    one = {"branch, matrix 1": np.array([[0.5]]), "trunk, matrix 2": np.array([[0.7]])}
    fig = draw.divergence_view({"A": ([10], one, ([], {})), "B": ([10], one, ([10], one))})
    assert [len(ax.get_lines()) for ax in fig.axes] == [2, 4]
    fig = draw.local_updates_view([5], {7: np.array([[3.0]])})
    assert [tick.get_text() for tick in fig.axes[1].get_xticklabels()] == ["7"]
    fig = draw.training_view({"A": {10: ([5], [3.0])}, "B": {2: ([5, 10], [3.0, 2.0]), 5: ([5, 10], [2.0, 1.0])}})
    assert [[text.get_text() for text in ax.texts] for ax in fig.axes] == [["n = 10"], ["n = 2", "n = 5"]]
    png(fig)


def test_the_field_view_names_every_model():
    truth = np.ones((11, 11))
    guesses = {"isolated 1": truth + 0.1, "federated": truth * 1.05, "centralised": truth}
    fig = draw.field_view(np.zeros(11), truth, guesses, "Burgers")
    titles = [ax.get_title() for ax in fig.axes if ax.axison and ax.get_title()]
    assert titles == [
        "input v(x)",
        "solution u(x, t)",
        "isolated 1\ne = 10 %",
        "federated\ne = 5 %",
        "centralised\ne = 0 %",
    ]
