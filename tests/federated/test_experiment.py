"""An experiment: its sweep is the stack that one would write by hand, and what does not fit is refused by name."""

from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.federated import mixing
from fedlib.federated.batches import Local
from fedlib.federated.experiment import KINDS, Data, Experiment, data_of, federation, halved, train_arguments, under
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.history import History
from fedlib.federated.optimizers import sgd
from fedlib.federated.partitions import index_rule
from fedlib.federated.rules import fedadam, fedprox
from fedlib.federated.sweep import Row, best, errors, grid, models_of, sweep
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
                error = alone.metric("error", name=kind).mean("client")
                np.testing.assert_allclose(errors(history).sel(kind=kind, level=level, seed=seed), error, rtol=1e-9)
    assert history.rounds == [2, 4]


def centralised_models(history) -> list:
    """The different centralised models of a history."""
    return [*{tuple(history.model(*key).tolist()) for key in history.rows if key[0] == "centralised"}]


def test_a_centralised_model_that_levels_share_is_trained_once_and_stands_at_each(monkeypatch):
    trained = []
    monkeypatch.setattr(
        "fedlib.federated.sweep.train", lambda **args: trained.extend(args["federations"]) or train(**args)
    )
    history = sweep(line(), [1, 2, 3], [0, 1], rounds=1)
    keys = [key for key in history.rows if key[0] == "centralised"]
    assert keys == [("centralised", level, seed) for seed in (0, 1) for level in (1, 2, 3)]
    assert [key for key in trained if key[0] == "centralised"] == [("centralised", 1, 0), ("centralised", 1, 1)]
    assert len(centralised_models(history)) == 2 < len(history.distinct)
    error = errors(history).sel(kind="centralised", seed=1)[-1]
    assert error.level.values.tolist() == [1, 2, 3] and np.ptp(error.values) == 0
    apart = sweep(drawn(), [1, 2], [0], rounds=1)
    assert len(centralised_models(apart)) == 2
    some = sweep(line(), [1, 2, 3], [0], rows=[Row("centralised", 2, 0)], rounds=1)
    assert [*some.rows] == [("centralised", level, 0) for level in (1, 2, 3)], "one training serves all three"
    alone = errors(sweep(line(), [1, 2], [0], ["centralised"], rounds=1))
    assert alone.shape == (1, 1, 2, 1) and alone.notnull().all()
    back = History.from_dataset(history.to_dataset())
    assert [*back.rows] == [*history.rows] and errors(back).equals(errors(history))


def fresh(level, seed, last: float = 0.0) -> Data:
    """The same numbers in new tensors at every call; last: what level 2 and seed 1 have more at their last point."""
    pool = {name: value.clone() for name, value in POOL.items()}
    pool["f"][-1] += last * (level == 2 and seed == 1)
    return Data(pool, index_rule(N, 2, level), {name: value.clone() for name, value in TEST.items()})


def test_levels_and_seeds_may_be_numpy_s():
    plain = sweep(line(), [1, 2], [0], rounds=1)
    of_numpy = sweep(line(), np.arange(1, 3), [np.int64(0)], rounds=1)
    assert [*plain.rows] == [*of_numpy.rows] and errors(of_numpy).equals(errors(plain))
    assert [*History.from_dataset(of_numpy.to_dataset()).rows] == [*plain.rows]


def test_data_without_a_cache_give_the_same_rows_and_the_same_numbers(monkeypatch):
    pools = []
    monkeypatch.setattr("fedlib.federated.sweep.train", lambda **args: pools.append(args["pool"]) or train(**args))
    cached = line(data=cache(fresh))
    once, anew = (sweep(one, [1, 2], [0, 1], rounds=2, **EXACT) for one in (cached, line(data=fresh)))
    assert [*once.rows] == [*anew.rows] and torch.equal(once.theta, anew.theta)
    assert [len(pool["x"]) for pool in pools] == [N, N], "the seeds have the same points, too"
    sweep(line(data=lambda level, seed: fresh(level, seed, 1e-15)), [1, 2], [0, 1], rounds=1, **EXACT)
    assert len(pools[-1]["x"]) == 2 * N, "one digit is another point"


def test_settings_are_more_keys_and_the_best_of_them_is_that_of_the_validation_set():
    servers = {"mean": None, 0.01: fedadam(0.01)}
    history = grid(line(), {"lr": [1e-3, 1e-2, 3e-2], "server": servers}, 3, [0, 1], **EXACT)
    assert history.parts == ("kind", "level", "seed", "lr", "server") and len(history.rows) == 12
    error = errors(history, "validation error")[-1].mean(("kind", "level", "seed"))
    chosen = best(history)
    assert error.sel(**chosen).item() == error.min().item()
    with pytest.raises(ValueError, match=r"no 'validation error' was measured; .*: choosing needs Data"):
        best(sweep(drawn(), [2], [0], rounds=1))


def accuracy(predict, test):
    error = (predict(test["x"])[:, 0] - test["u"]).square().mean()
    return {"accuracy": -error, "mse": error}


def test_the_best_is_of_the_metric_that_is_meant_smallest_or_largest():
    rates = {"lr": [1e-5, 3e-2]}
    alone = line(evaluate=lambda predict, test: {"rmse": accuracy(predict, test)["mse"].sqrt()})
    assert best(grid(alone, rates, 3, [0])) == {"lr": 3e-2}, "the only one that there is"
    two = grid(line(evaluate=accuracy), rates, 3, [0])
    assert best(two, "validation accuracy", largest=True) == best(two, "validation mse") == {"lr": 3e-2}
    assert best(two, "validation accuracy") == {"lr": 1e-5}
    for metric, message in ((None, "several metrics .*accuracy, validation mse"), ("validatoin mse", "did you mean")):
        with pytest.raises(ValueError, match=message):
            best(two, metric)


def test_a_setting_that_diverges_for_one_seed_is_not_the_best():
    history = grid(line(), {"lr": [1e-3, 1e-2]}, 3, [0, 1])
    good = best(history)["lr"]
    history.metrics["validation error"][:, history.rows["federated", 3, 0, good]] = np.nan
    assert best(history)["lr"] != good
    history.metrics["validation error"][:] = np.nan
    with pytest.raises(ValueError, match="'validation error' is NaN for all settings; lower lr"):
        best(history)


def unhalved(**test) -> Experiment:
    """Without validation cases; test: more tensors of the test."""
    return line(data=lambda level, seed: Data(POOL, index_rule(N, 2, level), {**TEST, **test}))


def test_halves_are_cut_along_the_points_only():
    scale = torch.arange(3.0)
    half = halved(unhalved(scale=scale), along=("x", "u")).data(2, 0)
    assert half.test["scale"] is scale is half.validation["scale"] and len(half.test["x"]) == N // 2
    assert torch.equal(half.validation["u"], TEST["u"][1::2])
    for experiment, along, message in (
        (unhalved(scale=scale), None, r"first lengths \{'x': 24, 'u': 24, 'scale': 3\}.*along=\(...\)"),
        (unhalved(scale=scale), ("x", "scale"), "first lengths"),
        (unhalved(), ("x", "U"), r"along has 'U'.* did you mean 'u'"),
        (line(), None, "line has validation cases of its own"),
    ):
        with pytest.raises(ValueError, match=message):
            halved(experiment, along).data(2, 0)


def test_validation_and_test_are_measured_on_their_own_cases():
    history = sweep(halved(unhalved()), [2], [0], ["federated"], rounds=1, **EXACT)
    theta = history.model("federated", 2, 0)
    net = mlp((1, 7, 1), nn.Tanh).double()
    nn.utils.vector_to_parameters(theta, net.parameters())
    for i, metric in enumerate(("error", "validation error")):
        case = {name: value[i::2] for name, value in TEST.items()}
        assert history.last(metric, client=0).item() == pytest.approx(evaluate(net, case)["error"].item())


def test_the_loss_of_residuals_is_their_weighted_mean_square_over_all_components():
    two = line(residuals=lambda predict, b: torch.stack([b["f"], 3 * b["f"]], 1))
    f, w = torch.tensor([1.0, 2.0, 5.0]), torch.tensor([0.5, 0.5, 0.0])
    assert train_arguments(two)["loss"](None, {"f": f, "w": w}) == pytest.approx(10 * (0.5 + 2.0))


def test_only_federations_have_a_server_and_fractions():
    experiment, shards = line(server=fedadam(0.1), fraction=0.5, decay=0.7), index_rule(N, 2, 2)
    made = {kind: federation(experiment, shards, kind, 3) for kind in KINDS}
    assert {kind: (fed.server, fed.fraction) for kind, fed in made.items() if kind != "federated"} == {
        "isolated": (None, 1.0), "centralised": (None, 1.0),
    }  # fmt: skip
    assert made["federated"].server is experiment.server and made["federated"].fraction == 0.5
    assert {(fed.lr, fed.decay, fed.seed) for fed in made.values()} == {(0.01, 0.7, 3)}
    assert len(made["centralised"].shards) == 1


def test_a_rule_goes_around_the_experiment_s_own_optimiser():
    own = line(optimizer=sgd(), lr=0.1)
    prox = sweep(under(own, "FedProx", 0.3), [2], [0], ["federated"], **EXACT)
    by_hand = sweep(own._replace(optimizer=fedprox(0.3, sgd())), [2], [0], ["federated"], **EXACT)
    assert torch.equal(prox.theta, by_hand.theta)
    given = sweep(under(line(lr=0.1), "FedProx", 0.3, inner=sgd()), [2], [0], ["federated"], **EXACT)
    assert torch.equal(given.theta, by_hand.theta)
    assert under(own, "FedAdam").optimizer is own.optimizer
    for experiment, rule, message in (
        (line(), "Scaffold", "rule = 'Scaffold'.*did you mean 'SCAFFOLD'"),
        (line(), "mime", "did you mean 'Mime'"),
        (line(optimizer=sgd()), "Mime", "Mime is an optimiser itself, and goes around no other"),
        (line(server=fedadam(0.1)), "SCAFFOLD", "line has a server of its own"),
    ):
        with pytest.raises(ValueError, match=message):
            under(experiment, rule)


def ring_of(K: int, **changes) -> Experiment:
    return line(data=lambda level, seed: Data(POOL, index_rule(N, K, level), TEST))._replace(**changes)


def test_where_clients_differ_their_mean_stands_for_them_and_where_they_do_not_the_model_itself():
    personal = sweep(line(personal=["0.weight"]), [1, 2], [0], ["federated"], **EXACT)
    ring = sweep(ring_of(5), [2], [0], ["federated"], over={"mixing": {"ring": mixing.ring}}, rounds=1, **EXACT)
    for history in (personal, ring):
        clients = history.metric("error")
        assert np.ptp(clients.isel(round=-1, level=0).values) > 0
        np.testing.assert_allclose(errors(history).squeeze(), clients.mean("client").squeeze())
    assert len(models_of(personal, "federated", 2, 0)) == 2
    alike = sweep(line(), [1, 2], [0], ["federated"])
    assert (
        errors(alike)
        .sel(kind="federated")
        .equals(alike.metric("error").isel(client=0, drop=True).sel(kind="federated"))
    )


@pytest.mark.parametrize(("rounds", "evaluations"), [(30, 4), (30, 7), (7, 3), (4, 9), (1, 1)])
def test_errors_are_measured_at_most_as_often_as_asked_for(rounds, evaluations):
    measured = sweep(line(), [2], [0], ["centralised"], rounds=rounds, evaluations=evaluations).rounds
    assert len(measured) <= evaluations and measured[-1] == rounds
    assert len(measured) == evaluations or rounds / len(measured) < rounds / evaluations + 2


def test_what_one_is_given_no_other_has():
    for default in (line().constants, Data({}, []).test):
        with pytest.raises(TypeError):
            default["nu"] = torch.tensor(3.0)


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
        (line, {}, r"experiment = <function line .*>: expected an Experiment; line\(\) may make one"),
        (line(data=None), {}, "line, level 1, seed 0: data = None: expected a function of level and seed"),
        (line(data=lambda level: None), {}, r"expected a function of level and seed \(too many positional arguments"),
        (line(data=overlapping), {}, r"level 1, seed 0: point \d+ belongs to clients \[0, [12]\]; expected one owner"),
        (line(data=with_a_hole), {}, r"level 1, seed 0: point 10 belongs to nobody; .* Data\(..., partition=False\)"),
        (line(data=other_tests), {}, r"line: test\['x'\] has shape \(1, 1\) at level 1, .*\(2, 1\) at level 2.* apart"),
        (line(data=other_names), {}, r"line: pool\['f'\] has shape \(\) at level 1, seed 0, but None at level 2"),
        (line(), {"levels": [13]}, "line, level 13, seed 0: 24 points cannot fill 13 pieces"),
        (line(), {"kinds": ["alone"]}, "kinds has 'alone'; expected some of federated, isolated, centralised"),
        (line(), {"over": {"optimizer": [sgd()]}}, "over has optimizer = .*; expected numbers or texts as labels"),
        (line(), {"over": {"learning_rate": [0.1]}}, "'learning_rate', which is no setting; did you mean 'lr'"),
        (line(), {"over": {"seed": [1]}}, "over has an axis 'seed', which every sweep has already"),
        (line(), {"over": {("a", "lr"): {("x", 1): {}}, "lr": [0.1]}}, "over has an axis 'lr' twice"),
        (line(), {"over": {"lr": 0.1}}, "over has lr = 0.1; expected a list of values"),
        (line(), {"over": {"lr": [0.1, 0.1]}}, "expected each label once"),
        (line(), {"over": {"rule": {"slow": {"net": 1}}}}, "rule = .*expected changes of lr, decay"),
        (line(), {"over": {("rule", "knob"): {("a",): {}}}}, "expected numbers or texts as labels"),
        (line(), {"over": {"lr": [1], "E": {1: {"lr": 2}}}}, "over changes 'lr' on two axes"),
        (line(), {"levels": []}, r"levels = \[\]; expected a list with at least one"),
        (line(), {"levels": 2}, "levels = 2; expected a list"),
        (line(), {"levels": [(2, 3)]}, r"levels has \(2, 3\); expected numbers or texts, .* such as '2 x 3'"),
        (line(), {"levels": [float("nan")]}, "levels has nan; expected numbers or texts"),
        (line(), {"levels": [1, 2, 1.0]}, "levels has 1.0 twice"),
        (line(), {"seeds": 3}, r"seeds = 3; expected a list with at least one of them, such as range\(3\)"),
        (line(), {"seeds": [0, 0]}, "seeds has 0 twice"),
        (line(), {"seeds": [0.5]}, "seeds has 0.5; expected whole numbers >= 0"),
        (line(), {"evaluations": 0}, "evaluations = 0: expected a whole number >= 1"),
        (line(data=lambda level, seed: POOL), {}, r"data gave a dict; expected Data\(pool, owners, test\)"),
        (line(), {"learning_rate": 1}, "'learning_rate' is neither a field of Experiment nor an argument of train"),
        (line(loss=residuals), {}, "line has both of residuals and loss; expected one of them"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(experiment, how, message):
    with pytest.raises(ValueError, match=message):
        sweep(experiment, **{"levels": [1, 2], "seeds": [0]} | how)


def owning(owners, pool=POOL):
    return line(data=lambda level, seed: Data(pool, owners, TEST))


@pytest.mark.parametrize(
    ("owners", "message"),
    [
        ([], r"owners = \[\]; expected a list with an index array for each client"),
        ({0: np.arange(N)}, r"owners is a dictionary; expected a list of index arrays, \[\*owners.values\(\)\]"),
        ([np.arange(12), np.arange(12, 25)], "client 1 owns point 24, outside 0..23: its pool has 24 points"),
        ([np.arange(12.0), np.arange(12, N)], "client 0's shard has shape .* float64; expected"),
        ([np.arange(N) < 12, np.arange(N) >= 12], r"dtype bool; expected .*np.flatnonzero\(mask\)"),
        (np.arange(N) % 2, r"client 0's shard has shape \(\) .*partitions.owned\(owner, K\)"),
        ([np.arange(N), []], "client 1 is empty"),
    ],
)
def test_owners_of_every_wrong_sort_are_refused(owners, message):
    with pytest.raises(ValueError, match="line, level 1, seed 0: .*" + message):
        sweep(owning(owners), [1], [0], ["federated"])


def test_an_owner_is_looked_for_in_its_own_pool_and_no_other():
    def data(level, seed):
        return Data({"x": X + seed, "f": X[:, 0]}, [np.arange(12), np.arange(12, N + (level == 2 and seed == 3))], TEST)

    with pytest.raises(ValueError, match=r"line, level 2, seed 3: client 1 owns point 24, outside 0\.\.23"):
        sweep(line(data=data), [1, 2], [2, 3, 4], ["federated"])


def test_tensors_of_one_pool_have_one_length_whatever_the_next_pool_has():
    def data(level, seed):
        return Data({"x": X[: 23 + seed], "f": X[: 24 - seed, 0]}, [np.arange(23)], TEST)

    with pytest.raises(ValueError, match=r"seed 0: the pool's tensors have first lengths \{'x': 23, 'f': 24\}"):
        sweep(line(data=data), [1], [0, 1], ["federated"])
    with pytest.raises(ValueError, match=r"seed 0: pool\['x'\] is a ndarray; expected a tensor"):
        sweep(owning([np.arange(N)], pool={"x": X.numpy(), "f": X[:, 0]}), [1], [0])


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_a_point_that_one_client_lists_twice_is_no_point_of_two(kind):
    with pytest.raises(ValueError, match=r"point 3 is listed 2 times by client 0, .*expected each once"):
        data_of(owning([kind([*range(N), 3]), kind([*range(N)])]), 1)


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
