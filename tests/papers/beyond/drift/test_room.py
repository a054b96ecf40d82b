"""Client drift: two clients in the plane, how gradients differ; tables and verdicts."""

from itertools import islice

import numpy as np
import pytest
import torch
import xarray
from torch import nn
from torch.func import functional_call, jacrev

from fedlib.federated.experiment import Data, Experiment, data_of
from fedlib.federated.stack import as_dict, stack
from fedlib.notebook.relations import judged
from fedlib.papers.beyond.drift import claims, figures
from fedlib.papers.beyond.drift import live as drift_live
from fedlib.papers.beyond.drift.dissimilarity import dissimilarity
from fedlib.papers.beyond.drift.plane import Quadratics, two_clients, walk
from fedlib.papers.beyond.drift.study import REPAIR, Results
from fedlib.papers.fedsciml.functions.problem import gramacy_lee


def by_rule(**errors) -> xarray.DataArray:
    """rule (repair for the repair) -> values [seed], as errors [rule, seed]."""
    named = {REPAIR if rule == "repair" else rule: np.asarray(values, float) for rule, values in errors.items()}
    values = np.stack([*named.values()])
    return xarray.DataArray(values, {"rule": [*named], "seed": np.arange(values.shape[1])}, ("rule", "seed"))


def test_gradients_are_those_of_autograd_and_the_mean_is_least_at_the_optimum():
    toy, theta = two_clients(), torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
    for c in range(2):
        gap = theta - torch.as_tensor(toy.w[c])
        (expected,) = torch.autograd.grad(gap @ torch.as_tensor(toy.H[c]) @ gap / 2, theta)
        np.testing.assert_allclose(toy.gradients(theta.detach().numpy())[c], expected)
    best = toy.optimum()
    np.testing.assert_allclose(toy.gradients(best).mean(0), 0, atol=1e-12)
    around = best + 0.1 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    assert (toy.value(around) > toy.value(best)).all()


@pytest.mark.parametrize("E", [1, 2, 10])
def test_fedavg_comes_to_its_fixed_point_and_the_correction_to_the_optimum(E):
    toy = two_clients()
    np.testing.assert_allclose(walk(toy, False, E, 400, 0.5).theta[-1], toy.fixed_point(E, 0.5), atol=1e-9)
    np.testing.assert_allclose(walk(toy, True, E, 400, 0.5).theta[-1], toy.optimum(), atol=1e-9)


def test_the_fixed_point_goes_from_the_optimum_to_the_mean_of_the_clients_own():
    toy = two_clients()
    np.testing.assert_allclose(toy.fixed_point(1, 0.3), toy.optimum())
    np.testing.assert_allclose(toy.fixed_point(5000, 0.3), toy.w.mean(0))
    same = Quadratics(toy.H[[0, 0]], toy.w)
    np.testing.assert_allclose(same.fixed_point(7, 0.3), same.optimum())


def linear(x, shards):
    """An experiment, and a level: the loss theta . x, whose gradient is the mean of its points for every model."""
    data = Data({"x": torch.tensor(x, dtype=torch.float64)}, [np.array(s) for s in shards])
    loss = lambda predict, b: (b["w"] * predict(b["x"])[:, 0]).sum()  # noqa: E731
    return Experiment("linear", nn.Linear(2, 1, bias=False), loss=loss, data=lambda level, seed: data), 1


def test_of_equal_orthogonal_and_nearly_opposite_gradients():
    assert dissimilarity(*linear([[1, 2], [1, 2]], [[0], [1]])) == pytest.approx(1)
    assert dissimilarity(*linear([[1, 0], [0, 1]], [[0], [1]])) == pytest.approx(2**0.5)
    opposite = linear([[1, 0.1], [-1, 0.1]], [[0], [1]])  # (1.01 / 0.01)^1/2
    assert dissimilarity(*opposite) == pytest.approx(101**0.5, rel=1e-5)
    uneven = linear([[1, 0], [1, 0], [0, 1]], [[0, 1], [2]])  # p = 2/3, 1/3: 1 / (4/9 + 1/9)
    assert dissimilarity(*uneven) == pytest.approx((9 / 5) ** 0.5)


def test_the_identity_of_two_clients_gradients():
    """B^2 = 1 + (s r)^T K (s r) / r^T K r, from the residuals' Jacobian, where pieces are owned in turn."""
    experiment = gramacy_lee(n=16, width=5)
    data, theta = data_of(experiment, 8), stack(experiment.net, [(0,)], experiment.init)[0]
    pool = {name: value.double() for name, value in data.pool.items()}

    def residuals(theta):
        return experiment.residuals(lambda x: functional_call(experiment.net, as_dict(experiment.net, theta), x), pool)

    J, r, s = jacrev(residuals)(theta.double()).squeeze(1), residuals(theta.double())[:, 0], torch.ones(16).double()
    s[data.owners[0]] = -1
    squares = [(J.T @ v).square().sum() for v in (s * r, r)]
    expected = (1 + squares[0] / squares[1]) ** 0.5
    assert expected > 1.001
    assert dissimilarity(experiment, 8, theta=theta) == pytest.approx(float(expected), rel=1e-4)


GOOD, POOR = by_rule(FedAvg=[10, 20], repair=[1, 2.1]), by_rule(FedAvg=[10, 20], repair=[9, 18])


@pytest.mark.parametrize(("many", "holds"), [(POOR, True), (GOOD, False)])
def test_a_correction_is_stale_or_is_not(many, holds):
    """At twenty local steps, whatever it is at five."""
    both = [errors.expand_dims(E=[E]) for errors, E in ((GOOD if holds else POOR, 5), (many, 20))]
    nothing, (claim,) = Results({}, {}, {}), claims.CLAIMS.values()
    found = judged(claim, nothing._replace(local_steps={"line_20": xarray.concat(both, "E")}))
    assert judged(claim, nothing) is None and found.holds is holds


def test_errors_in_few_letters():
    errors = by_rule(FedAvg=[1, 3], centralised=[0.01, 0.02], Mime=[np.nan, 1])
    shown = [figures.in_short(errors.sel(rule=rule)) for rule in errors["rule"].values]
    assert shown == ["2.0 ± 1.4", "0.015 ± 0.007", "-"]


def after(rule, E, rounds=3):
    """Models [3, P] of both clients and of the centralised one."""
    training = drift_live.training(rule, E=E, width=6)
    training = training._replace(train_args={**training.train_args, "dtype": torch.float64})
    return [done.after.clone() for done, _ in islice(training.begin(), rounds)][-1]


@pytest.mark.parametrize("rule", drift_live.OFFERED)
def test_the_centralised_model_is_the_same_beside_every_rule(rule):
    torch.testing.assert_close(after(rule, 2)[2], after("FedAvg", 2)[2], rtol=0, atol=1e-9)


def test_the_toy_shows_walks_and_how_far_they_end():
    toy = two_clients()
    curves, errors = drift_live.toy(toy)
    chosen = {"local steps E": 10, "size of a step": 0.2}
    for model, correct in (("FedAvg", False), ("repair", True)):
        theta = walk(toy, correct, 10, drift_live.ROUNDS, 0.2).theta
        np.testing.assert_allclose(curves.sel(chosen | {"model": model}), theta[:, 0])
        off = 100 * np.linalg.norm(theta[-1] - toy.optimum()) / np.linalg.norm(toy.optimum())
        np.testing.assert_allclose(errors.sel(chosen | {"model": model}), max(off, drift_live.LEAST))
    alone = curves.sel({"local steps E": 30, "size of a step": 0.5, "model": "client 2 alone"})
    assert alone[-1] == pytest.approx(2), "who is alone gets what it wants"
    assert drift_live.explorer().data["sentences"]
