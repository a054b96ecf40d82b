"""An experiment: its sweep is the stack that one would write by hand, and what does not fit is refused by name."""

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated import mixing
from fedlib.federated.batches import Local
from fedlib.federated.experiment import (
    KINDS,
    Data,
    Experiment,
    best,
    data_of,
    federation,
    grid,
    halved,
    models_of,
    of_each,
    sweep,
    training,
    under,
)  # fmt: skip
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.optimizers import sgd
from fedlib.federated.partitions import index_rule
from fedlib.federated.rules import RULES, fedadam
from fedlib.federated.train import train
from fedlib.models.jets import JetNet
from fedlib.models.networks import fan_in_uniform, glorot_uniform, mlp
from fedlib.streams import stream

N = 24
X = torch.linspace(0, 1, N, dtype=torch.float64)[:, None]
POOL = {"x": X, "f": (6 * X[:, 0]).sin()}
EXACT = {"dtype": torch.float64, "backend": "eager"}


def residuals(predict, batch):
    return predict(batch["x"]) - batch["f"][:, None]


def evaluate(predict, test):
    return {"error": (predict(test["x"])[:, 0] - test["u"]).norm() / test["u"].norm()}


TEST = {"x": X, "u": POOL["f"]}


def line(**changes) -> Experiment:
    """A function at the same points at all levels."""

    def data(level, seed):
        return Data(POOL, index_rule(N, 2, level), TEST, {name: value[1::2] for name, value in TEST.items()})

    made = Experiment("line", mlp((1, 7, 1), nn.Tanh), residuals, data=data, evaluate=evaluate, rounds=4, lr=0.01)
    return made._replace(**changes)


def drawn() -> Experiment:
    """Points of their own at every level and seed."""

    def data(level, seed):
        x = torch.as_tensor(stream(seed, "drawn", level).uniform(size=(4 * level, 1)))
        return Data({"x": x, "f": (6 * x[:, 0]).sin()}, np.split(np.arange(4 * level), 2), TEST)

    return line(data=data)


def test_a_sweep_is_the_stack_that_one_writes_by_hand():
    experiment, levels, seeds = line(decay=0.9), [1, 3], [2, 5]
    history = sweep(experiment, levels, seeds, evaluations=2, **EXACT)
    loss = lambda predict, b: (b["w"] * (predict(b["x"])[:, 0] - b["f"]) ** 2).sum()  # noqa: E731
    for level in levels:
        for seed in seeds:
            shards, of = index_rule(N, 2, level), dict(lr=0.01, decay=0.9, seed=seed)
            feds = {
                "federated": Federation(shards, **of),
                "isolated": Federation(shards, mixing=mixing.isolated, **of),
                "centralised": centralised(shards, **of),
            }
            alone = train(
                experiment.net, loss, POOL, feds, rounds=4, local=Local(5), init=fan_in_uniform, evaluate=evaluate,
                test=lambda key: TEST, evaluate_every=2, **EXACT,
            )  # fmt: skip
            for kind in KINDS:
                theta = models_of(history, kind, level, seed)
                torch.testing.assert_close(theta, alone.models(kind)[: len(theta)], rtol=1e-9, atol=1e-12)
                error = alone.of("error", name=kind).mean("client")
                np.testing.assert_allclose(of_each(history).sel(kind=kind, level=level, seed=seed), error, rtol=1e-9)
    assert history.rounds == [2, 4]


def test_a_centralised_model_that_all_levels_share_is_trained_once_and_stands_at_each():
    history = sweep(line(), [1, 2, 3], [0, 1], rounds=1)
    keys = [key for key in history.rows if key[0] == "centralised"]
    assert keys == [("centralised", None, 0), ("centralised", None, 1)]
    errors = of_each(history).sel(kind="centralised", seed=1)[-1]
    assert errors.level.values.tolist() == [1, 2, 3] and np.ptp(errors.values) == 0
    apart = sweep(drawn(), [1, 2], [0], rounds=1)
    assert [key[1] for key in apart.rows if key[0] == "centralised"] == [1, 2]
    assert sweep(line(), [2], [0], ["centralised"], rounds=1).labels("level") == [2]


def test_tensors_that_levels_and_seeds_share_are_held_once(monkeypatch):
    pools = []
    monkeypatch.setattr("fedlib.federated.experiment.train", lambda **args: pools.append(args["pool"]))
    sweep(line(), [1, 2, 3], [0, 1])
    sweep(drawn(), [1, 2], [0, 1])
    assert [len(pool["x"]) for pool in pools] == [N, 2 * (4 + 8)]


def test_settings_are_more_keys_and_the_best_of_them_is_that_of_the_validation_set():
    servers = {"mean": None, 0.01: fedadam(0.01)}
    history = grid(line(), {"lr": [1e-3, 1e-2, 3e-2], "server": servers}, 3, [0, 1], **EXACT)
    assert history.parts == ("kind", "level", "seed", "lr", "server") and len(history.rows) == 12
    errors = of_each(history, "validation error")[-1].mean(("kind", "level", "seed"))
    chosen = best(history)
    assert errors.sel(**chosen).item() == errors.min().item()
    for lr in (1e-3, 3e-2):
        alone = sweep(line(lr=lr, server=fedadam(0.01)), [3], [0, 1], ["federated"], **EXACT)
        ours = of_each(history).sel(lr=lr, server=0.01)[-1].values.ravel()
        np.testing.assert_allclose(ours, of_each(alone)[-1].values.ravel(), rtol=1e-9)
    with pytest.raises(ValueError, match=r"no 'validation error' was measured: choosing needs Data"):
        best(sweep(drawn(), [2], [0], rounds=1))


def test_validation_and_test_are_measured_on_their_own_cases():
    history = sweep(halved(line()), [2], [0], ["federated"], rounds=1, **EXACT)
    theta = history.model("federated", 2, 0)
    net = mlp((1, 7, 1), nn.Tanh).double()
    nn.utils.vector_to_parameters(theta, net.parameters())
    for i, metric in enumerate(("error", "validation error")):
        case = {name: value[i::2] for name, value in TEST.items()}
        assert history.last(metric, client=0).item() == pytest.approx(evaluate(net, case)["error"].item())


def test_the_loss_of_residuals_is_their_weighted_mean_square_over_all_components():
    two = line(residuals=lambda predict, b: torch.stack([b["f"], 3 * b["f"]], 1))
    f, w = torch.tensor([1.0, 2.0, 5.0]), torch.tensor([0.5, 0.5, 0.0])
    assert training(two)["loss"](None, {"f": f, "w": w}) == pytest.approx(10 * (0.5 + 2.0))


def test_only_federations_have_a_server_and_fractions():
    experiment, shards = line(server=fedadam(0.1), fraction=0.5, decay=0.7), index_rule(N, 2, 2)
    made = {kind: federation(experiment, shards, kind, 3) for kind in KINDS}
    assert {kind: (fed.server, fed.fraction) for kind, fed in made.items() if kind != "federated"} == {
        "isolated": (None, 1.0), "centralised": (None, 1.0),
    }  # fmt: skip
    assert made["federated"].server is experiment.server and made["federated"].fraction == 0.5
    assert {(fed.lr, fed.decay, fed.seed) for fed in made.values()} == {(0.01, 0.7, 3)}
    assert len(made["centralised"].shards) == 1


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_goes_around_an_experiment(rule):
    experiment = under(line(), rule)
    assert (experiment.server is None) == (RULES[rule].server is None)
    (theta,) = models_of(sweep(experiment, [2], [0], ["federated"], rounds=2), "federated", 2, 0)
    assert theta.isfinite().all()


# what is refused


def overlapping(level, seed):
    a, b = index_rule(N, 2, level)
    return Data(POOL, [np.append(a, b[0]), b, np.arange(3, 5)], TEST)


def with_a_hole(level, seed):
    return Data(POOL, [np.arange(10), np.arange(11, N)], TEST)


def other_tests(level, seed):
    return Data(POOL, index_rule(N, 2, level), {name: value[:level] for name, value in TEST.items()})


def other_names(level, seed):
    return Data(POOL if level == 1 else {"x": X, "g": X}, index_rule(N, 2, level), TEST)


@pytest.mark.parametrize(
    ("experiment", "how", "message"),
    [
        (line(data=overlapping), {}, r"line, level 1: point \d+ belongs to clients \[0, [12]\]; expected one owner"),
        (line(data=with_a_hole), {}, r"line, level 1: point 10 belongs to nobody; .* say Data\(..., partition=False\)"),
        (line(data=other_tests), {}, r"line: test\['x'\] has shape \(1, 1\) at level 1, .*\(2, 1\) at level 2.* apart"),
        (line(data=other_names), {}, r"line: pool\['f'\] has shape \(\) at level 1, seed 0, but None at level 2"),
        (line(), {"levels": [13]}, "line, level 13: 24 points cannot fill 13 pieces"),
        (line(), {"kinds": ["alone"]}, "kinds has 'alone'; expected some of federated, isolated, centralised"),
        (line(), {"settings": {"optimizer": [sgd()]}}, "settings has 'optimizer', which all models of a stack share"),
        (line(), {"learning_rate": 1}, "'learning_rate' is neither a field of Experiment nor an argument of train"),
        (line(), {"bakend": "xla"}, "did you mean 'backend'"),
        (line(loss=residuals), {}, "line has both of residuals and loss; expected one of them"),
        (line(residuals=None), {}, "line has neither of residuals and loss"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(experiment, how, message):
    with pytest.raises(ValueError, match=message):
        sweep(experiment, **{"levels": [1, 2], "seeds": [0]} | how)


def test_owners_may_overlap_and_leave_points_out_where_that_is_meant():
    for data in (overlapping, with_a_hole):
        meant = line(data=lambda level, seed, data=data: data(level, seed)._replace(partition=False))
        assert sweep(meant, [1], [0], ["federated"], rounds=1).theta.isfinite().all()
    shared = Data(POOL, [np.arange(N), np.arange(N)], TEST)
    assert data_of(line(data=lambda level, seed: shared), 1) is shared, "points that all own are no overlap"


def test_a_derivative_that_the_network_does_not_have_says_how_to_ask_for_it():
    second = lambda predict, b: predict(b["x"])["xx"] - b["f"][:, None]  # noqa: E731
    net = JetNet(mlp((1, 7, 1), nn.Tanh), "x", ["x"])
    experiment = line(net=net, residuals=second, evaluate=None, init=glorot_uniform)
    with pytest.raises(ValueError, match=r"the jet has no 'xx', it has '', 'x'; name it .*derivatives=\(..., 'xx'\)"):
        sweep(experiment, [1], [0])
