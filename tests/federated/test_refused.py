"""What is wrong with a loss, a network or ``evaluate`` is refused before any training, on all backends in one way."""

import warnings
from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from fedlib.federated.backends import with_constants
from fedlib.federated.batches import Local
from fedlib.federated.experiment import Data, Experiment, weighted_mean_square
from fedlib.federated.federation import Federation
from fedlib.federated.optimizers import sgd
from fedlib.federated.rounds import play, prepared
from fedlib.federated.stack import draw_parameters, kept, load
from fedlib.federated.sweep import sweep
from fedlib.federated.train import train
from fedlib.federated.xla import program
from fedlib.models.networks import fan_in_uniform, mlp
from fedlib.streams import stream, torch_stream

X = torch.linspace(-1, 1, 24)[:, None]
POOL, SHARDS = {"x": X, "y": (3 * X[:, 0]).sin()}, [np.arange(9), np.arange(9, 24)]
LOCAL = Local(3)
NET = load(net := mlp((1, 8, 1), nn.Tanh), draw_parameters(net, fan_in_uniform, torch_stream(0, "tests")))  # no 0 on X
BACKENDS = pytest.mark.parametrize("backend", ["eager", "auto", "xla"])


def squared_error(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"]) ** 2).sum()


def trained(loss=squared_error, net=NET, pool=POOL, rounds=2, local=LOCAL, **args):
    return train(net, loss, pool, [Federation(SHARDS, lr=1e-2)], rounds=rounds, local=local, **args)


def more(extra):
    return lambda predict, batch: squared_error(predict, batch) + extra(predict, batch)


calls = Counter()


def counted(name):
    calls[name] += 1
    return calls[name]


def changes(batch, how):
    how(batch["y"])
    return 0


SIGNS = torch.tensor([[1.0, -1.0]])
generator, coefficient, teacher = stream(0, "loss"), torch.ones((), requires_grad=True), mlp((1, 4, 1), nn.Tanh)

LOSSES = {
    "a vector": (lambda p, b: b["w"] * p(b["x"])[:, 0] ** 2, r"gave a tensor of shape \[15\]; expected a scalar"),
    "residuals [B]": (
        weighted_mean_square(lambda p, b: column(p, b)),
        r"residuals gave shape \[15\]; expected \[B, c\]",
    ),
    "residuals [B, 1, 1]": (
        weighted_mean_square(lambda p, b: p(b["x"])[:, :, None]),
        r"gave shape \[15, 1, 1\]; expected",
    ),
    "a list of residuals": (weighted_mean_square(lambda p, b: [p(b["x"])]), r"gave list; expected \[B, c\]"),
    "[1]": (lambda p, b: squared_error(p, b)[None], r"gave a tensor of shape \[1\]; expected a scalar"),
    "a number": (lambda p, b: 1.0, r"the loss gave 1\.0, float; expected a scalar tensor"),
    "two": (lambda p, b: (squared_error(p, b), 0), r"the loss gave tuple; expected a scalar tensor"),
    "detached": (lambda p, b: squared_error(p, b).detach(), "has no gradient: .* without predict, or cut off"),
    "numpy's numbers": (more(lambda p, b: generator.normal()), "for the same model and the same batch; .*noise="),
    "a counter": (more(lambda p, b: 1e-3 * counted("here")), "for the same model and the same batch"),
    "a batch in place": (more(lambda p, b: changes(b, lambda y: y.sub_(0.5))), r"changes batch\['y'\] in place"),
    "the weights in place": (more(lambda p, b: b["w"].mul_(2).sum() * 0), r"changes batch\['w'\] in place"),
    "a constant in place": (more(lambda p, b: b["c"].add_(1) * 0), r"changes batch\['c'\] in place"),
    "the network": (lambda p, b: squared_error(NET, b), r"asks the network itself \(Linear is called\)"),
    "its parameters": (more(lambda p, b: sum(q.square().sum() for q in NET.parameters())), "its parameter '0.weight'"),
    "a coefficient beside": (more(lambda p, b: coefficient * p(b["x"]).sum()), r"by a tensor of shape \[\] that is no"),
    "whole numbers": (lambda p, b: p(b["k"][:, None]).sum(), r"pool\['k'\] holds whole numbers, torch.int64"),
    "a double": (lambda p, b: squared_error(p, b).double(), "gave torch.float64, but the training is in torch.float32"),
    "another name": (lambda p, b: p(b["z"]).sum(), r"the loss asks for 'z', .*the batch has 'x', 'y', 'w', 'c'"),
    "another dtype": (lambda p, b: p(b["x"].double()).sum(), r"a tensor of its own is not torch.float32: pass it as"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_that_is_no_function_of_model_and_batch_is_refused(name):
    loss, message = LOSSES[name]
    pool = POOL | ({"k": torch.arange(24)} if "whole" in name else {})
    with pytest.raises(ValueError, match=message):
        trained(loss, pool=pool, constants={"c": torch.ones(())})


FINE = {
    "whole labels": lambda p, b: mean(cross_entropy(p(b["x"]) * SIGNS, b["k"] % 2, reduction="none"), b),
    "one client without a gradient": lambda p, b: squared_error(p, b) * (b["k"] > 8).all(),
    "a network beside that stays": more(lambda p, b: mean(teacher(b["x"]).detach()[:, 0] * column(p, b), b)),
    "a copy in place": more(lambda p, b: b["y"].clone().sub_(1).sum() * 0),
    "noise": more(lambda p, b: (b["w"] * p(b["x"])[:, 0] * b["noise"]).sum()),
}


@pytest.mark.parametrize("name", FINE)
def test_what_looks_alike_is_not_refused(name):
    pool = {**POOL, "k": torch.arange(24)}
    assert np.isfinite(trained(FINE[name], pool=pool, noise=() if name == "noise" else None).losses).all()


ALL_PAIRS = r"an answer \[n, 1\] of the network and a tensor \[n\] give all pairs .*predict\(...\)\[:, 0\]"
SEES_PADDING = {
    "a mean": (lambda p, b: ((column(p, b) - b["y"]) ** 2).mean(), r"say sum\(w \* r\*\*2\) for mean\(r\*\*2\)"),
    "a number of points": (lambda p, b: squared_error(p, b) / len(b["x"]), r"\(w > 0\).sum\(\) for len\(x\)"),
    "a median": (lambda p, b: squared_error(p, b) + column(p, b).median() ** 2, "changes with its padding points"),
    "neighbours": (lambda p, b: column(p, b).diff().square().sum(), "changes with its padding points"),
    "[B, 1] and [B]": (lambda p, b: (b["w"] * (p(b["x"]) - b["y"]) ** 2).sum(), ALL_PAIRS),
    "[B] and [B, 1]": (lambda p, b: (b["y"] - 2 * p(b["x"])).square().mean(), ALL_PAIRS),
    "a column by its weight": (lambda p, b: (b["w"] * p(b["x"]) ** 2).sum(), ALL_PAIRS),
}
HALVES = np.split(np.arange(24), 2)
CLIENTS = {
    "ragged": (SHARDS, LOCAL, 1.0),
    "first ones of one point": ([[0], [1], np.arange(2, 24)], LOCAL, 1.0),
    "one": ([np.arange(24)], LOCAL, 1.0),
    "mini-batches": (HALVES, Local(2, "epochs", 6), 1.0),
    "some": (np.split(np.arange(24), 4), LOCAL, (0.3, 0.9)),
}


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("clients", CLIENTS)
@pytest.mark.parametrize("name", SEES_PADDING)
def test_a_loss_that_sees_padding_is_refused_whatever_the_sizes_of_clients(name, clients):
    (loss, message), (shards, local, fraction) = SEES_PADDING[name], CLIENTS[clients]
    with pytest.raises(ValueError, match=message):
        train(NET, loss, POOL, [Federation(shards, fraction=fraction)], rounds=1, local=local)


def test_a_loss_of_a_fixed_number_of_points_is_refused():
    with pytest.raises(
        ValueError, match=r"the loss fails with padding points: .*\(w > 0\).sum\(\).*must match the size"
    ):
        train(
            NET, more(lambda p, b: mean(column(p, b) - b["c"], b)), POOL, [Federation([np.arange(24)])], rounds=1,
            local=LOCAL, constants={"c": torch.zeros(24)},
        )  # fmt: skip


DOES_NOT = {
    "all pairs": lambda p, b: (b["w"] * b["w"][:, None] * (p(b["x"]) - b["y"]) ** 2).sum(),
    "a number of points": lambda p, b: squared_error(p, b) / (b["w"] > 0).sum(),
    "a largest value": lambda p, b: squared_error(p, b) + column(p, b).amax() ** 2,
    "a mean at constants": lambda p, b: squared_error(p, b) + p(b["c"]).square().mean() / len(b["c"]),
    "a product of matrices": lambda p, b: (
        (b["w"] @ p(b["x"]).square()).sum() + torch.einsum("i,ij->", b["w"], p(b["x"]))
    ),
    "nearly zero": lambda p, b: mean(column(p, b), b) - mean(column(p, b), b).detach() + 1e-5 * squared_error(p, b),
}


@pytest.mark.parametrize("clients", CLIENTS)
@pytest.mark.parametrize("name", DOES_NOT)
def test_a_loss_that_does_not_see_padding_is_none_of_these(name, clients):
    shards, local, fraction = CLIENTS[clients]
    args = dict(rounds=1, local=local, constants={"c": X[:5]})
    train(NET, DOES_NOT[name], POOL, [Federation(shards, fraction=fraction)], **args)


EVALUATIONS = {
    "a number": (lambda p, at: {"e": 1.0}, r"evaluate gave 'e' as 1\.0, float; expected a tensor"),
    "item": (lambda p, at: {"e": p(at["x"]).mean().item()}, r"evaluate cannot be computed: it looks at a number"),
    "numpy": (lambda p, at: {"e": np.sin(at["x"].numpy())}, "evaluate cannot be computed: numpy cannot be used"),
    "a tensor": (lambda p, at: p(at["x"]).mean(), r"evaluate gave a tensor of shape \[\]; expected named tensors"),
    "nothing": (lambda p, at: {}, "evaluate gave no names; expected named tensors"),
    "another name": (lambda p, at: {"e": p(at["z"])}, r"evaluate asks for 'z', .*; the test has 'x', 'u'"),
    "all pairs": (lambda p, at: {"e": (p(at["x"]) - at["u"]).norm()}, f"evaluate: {ALL_PAIRS}"),
    "the network": (lambda p, at: {"e": NET(at["x"]).mean()}, "evaluate asks the network itself"),
    "its parameters": (lambda p, at: {"e": NET[0].weight.sum()}, "asks the network itself .its parameter '0.weight'"),
    "random numbers": (lambda p, at: {"e": p(at["x"]) + torch.rand(())}, "cannot be computed: it draws random numbers"),
}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_an_evaluation_that_gives_no_named_tensors_is_refused(name):
    evaluate, message = EVALUATIONS[name]
    with pytest.raises(ValueError, match=message):
        trained(evaluate=evaluate, test={"x": X[None], "u": X[None, :, 0]})


@pytest.mark.parametrize("change", ["comes", "goes"])
def test_a_metric_that_comes_or_goes_is_refused(change):
    looks = Counter()

    def evaluate(predict, at):
        looks["here"] += 1
        late = {"late": predict(at["x"]).amax()} if (looks["here"] > 3) == (change == "comes") else {}
        return {"e": predict(at["x"]).norm()} | late

    with pytest.raises(ValueError, match=r"evaluate gave e.* after round 3, but e.* before; .*'late' comes or goes"):
        trained(evaluate=evaluate, test={"x": X[None]}, rounds=5)


class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Parameter(torch.ones(1, dtype=torch.complex64))

    def forward(self, x):
        return (self.c * x).real


class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 1)
        self.register_buffer("scale", torch.ones(1, 1))

    def forward(self, x):
        return self.layer(x) @ self.scale


def frozen():
    net = mlp((1, 8, 1), nn.Tanh)
    net[2].requires_grad_(False)
    return net


class Own(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.W, self.out = nn.Parameter(start), nn.Linear(8, 1)

    def forward(self, x):
        return self.out((x @ self.W.T).tanh())


def fill_the_last(layer, generator):
    """A start of one's own that forgets a layer."""
    if layer.out_features == 1:
        fan_in_uniform(layer, generator)


@pytest.mark.parametrize(
    ("net", "init", "name"),
    [
        (Own(torch.randn(8, 1)), fan_in_uniform, "W"),
        (mlp((1, 8, 1), nn.Tanh), fill_the_last, "0.weight"),
        (Own(torch.zeros(8, 1)), fan_in_uniform, ""),
        (Own(torch.tensor([0.2, -1.5] * 4)[:, None]), fan_in_uniform, ""),
        (Own(torch.randn(8, 1)), kept, ""),
    ],
)
def test_a_start_that_no_seed_draws_is_told(net, init, name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trained(net=net, init=init, rounds=1)
    assert [str(w.message).startswith(f"the network's parameter {name!r} is drawn by no seed") for w in caught][:1] == [
        True
    ] * bool(name)
    assert {w.filename for w in caught} <= {__file__}


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 1, padding_idx=0)

    def forward(self, x):
        return self.table((x[:, 0] > 0).long())


NETWORKS = {
    "an embedding's padding": (Tokens, "layer 'table' has padding_idx=0, .*first of several models only"),
    "its class": (lambda: Complex, r"net = <class .*Complex'>: expected a network, .*; Complex\(\) makes one"),
    "no parameters": (nn.Tanh, "the network has no parameters"),
    "complex": (Complex, "parameter 'c' is torch.complex64; expected real numbers: keep torch.view_as_real"),
    "a frozen layer": (frozen, "parameter '2.weight' has requires_grad=False, but all parameters .*: register_buffer"),
    "a buffer of another dtype": (Buffered, "the network's buffer 'scale' is not torch.float64: net.to.torch.float64"),
    "Dropout": (lambda: nn.Sequential(nn.Linear(1, 8), nn.Dropout(), nn.Linear(8, 1)), "draws random numbers .*noise="),
    "BatchNorm": (
        lambda: nn.Sequential(nn.Linear(1, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)),
        "keeps running statistics",
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_that_cannot_be_a_row_of_theta_is_refused(name):
    net, message = NETWORKS[name]
    with pytest.raises(ValueError, match=message):
        trained(net=net(), dtype=torch.float64 if "dtype" in name else torch.float32, init=kept)


ARGUMENTS = {
    "numpy in the pool": (dict(pool={"x": X.numpy()}), r"pool\['x'\] is a ndarray; expected a tensor"),
    "a number in the pool": (
        dict(pool=POOL | {"k": torch.tensor(3.0)}),
        r"pool\['k'\] is a single number; .*constants=",
    ),
    "truths in the pool": (dict(pool=POOL | {"x": X > 0}), r"pool\['x'\] holds whole numbers, torch.bool: .*\.float"),
    "personal": (dict(personal="2.weight"), r"personal = '2.weight'; expected a list of names, \['2.weight'\]"),
    "dtype": (dict(dtype="float64"), "dtype = 'float64': expected torch.float32 or torch.float64"),
    "device": (dict(device="gpu"), "device = 'gpu': expected 'auto', 'cpu', 'cuda' or 'cuda:1'"),
    "optimizer": (dict(optimizer=torch.optim.Adam), "optimizer = .*Adam.*: expected one of fedlib.federated.optim"),
    "local": (dict(local=5), r"local = 5: expected the work of a round, such as Local\(5\)"),
    "rounds": (dict(rounds="10"), "rounds = '10': expected a whole number >= 1"),
}


@pytest.mark.parametrize("labels", [torch.arange(24.0) % 3, (torch.arange(24) % 3).byte(), torch.arange(24) % 3 + 1])
def test_labels_that_are_no_long_numbers_or_begin_with_one_are_told(labels):
    entropy = lambda p, b: mean(cross_entropy(p(b["x"]), b["k"], reduction="none"), b)  # noqa: E731
    says = (
        r"labels of C classes are 0, ..., C - 1" if labels.dtype == torch.int64 else r"pool\['k'\] is .*take \.long\(\)"
    )
    with pytest.raises(ValueError, match=says):
        trained(entropy, net=mlp((1, 8, 3), nn.Tanh), pool=POOL | {"k": labels})


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_another_kind_are_refused(name):
    args, message = ARGUMENTS[name]
    with pytest.raises(ValueError, match=message):
        trained(**args)


FEDERATIONS = {
    "one": (Federation(SHARDS), r"federations is one Federation; expected a list, \[federation\]"),
    "shards": ([SHARDS], r"federations has a list; expected Federation\(shards, ...\)"),
    "mixing": ([Federation(SHARDS, mixing="fedavg")], "mixing = 'fedavg'; expected a rule of fedlib.federated.mixing"),
    "server": ([Federation(SHARDS, server="FedAdam")], "server = 'FedAdam'; expected a Server, such as fedadam"),
    "points": ([Federation([[0, 1, 0, 0], [2]])], "point 0 is listed 3 times by client 0, and would weigh as often"),
    "a share": ([Federation(SHARDS, fraction=[0.2, 0.8])], r"or an interval \(0.2, 0.8\)"),
}


@pytest.mark.parametrize("name", FEDERATIONS)
def test_federations_of_another_kind_are_refused(name):
    federations, message = FEDERATIONS[name]
    with pytest.raises(ValueError, match=message):
        train(NET, squared_error, POOL, federations, rounds=1, local=Local(1))


def test_numpys_numbers_and_torchs_devices_are_taken():
    fed = Federation(SHARDS, fraction=np.float32(0.5), lr=np.float32(1e-3), decay=np.float64(0.9), seed=np.int64(1))
    args = dict(rounds=np.int64(2), local=Local(np.int64(2), batch_size=np.int32(4)), device=torch.device("cpu"))
    history = train(NET, squared_error, POOL, [fed], evaluate_every=np.int64(1), **args)
    assert history.losses.shape == (2, 2)


@BACKENDS
def test_a_weight_that_is_changed_between_rounds_counts_from_then_on(backend):
    weight, models = {}, {}
    for way in ("eager", backend):
        weight["penalty"] = 0.0
        loss = more(lambda p, b: weight["penalty"] * (b["w"] * p(b["x"])[:, 0] ** 2).sum())
        rounds = play(NET, loss, POOL, [Federation(SHARDS, lr=1e-2)], local=Local(5), rounds=20, backend=way)
        for r, done in enumerate(islice(rounds, 20)):
            weight["penalty"], models[way] = float(r >= 10), done.after
    torch.testing.assert_close(models[backend], models["eager"], rtol=0, atol=1e-4)
    plain = play(NET, squared_error, POOL, [Federation(SHARDS, lr=1e-2)], local=Local(5), backend="eager")
    assert (next(islice(plain, 19, None)).after - models[backend]).abs().max() > 1e-2


@BACKENDS
def test_a_loss_that_becomes_another_one_in_a_training_is_refused(backend):
    """It counts, and changes later than in the dry call."""
    weight = {"penalty": 0.0}
    loss = more(lambda p, b: weight["penalty"] * (b["w"] * p(b["x"])[:, 0] ** 2).sum())

    def change(round):
        weight["penalty"] = 0.1 * (round >= 3)

    with pytest.raises(ValueError, match=r"for the same model and the same batch.* play round by round"):
        trained(loss, rounds=6, backend=backend, progress=change)


def test_a_trained_start_is_thrown_away_with_a_word_and_kept_where_asked():
    net = mlp((1, 8, 1), nn.Tanh)
    squared_error(net, POOL | {"w": torch.full((24,), 1 / 24)}).backward()
    loaded = mlp((1, 8, 1), nn.Tanh)
    loaded.load_state_dict(net.state_dict())
    for started in (net, loaded):
        with pytest.warns(UserWarning, match=r"parameters were changed after it was made.* init=kept") as caught:
            trained(net=started)
        assert {warning.filename for warning in caught} == {__file__}
        now = trained(net=started, init=kept, rounds=1, local=Local(1))
        assert now.losses[0] == pytest.approx(trained(net=load(mlp((1, 8, 1), nn.Tanh), draw(started)), init=kept,
                                                      rounds=1, local=Local(1)).losses[0])  # fmt: skip


def draw(net):
    return draw_parameters(net, kept, torch_stream(0, "init"))


B = 2000
POINTS = torch.linspace(0, 1, B, dtype=torch.float64)[:, None]


def column(predict, batch):
    return predict(batch["x"])[:, 0]


def mean(u, batch):
    return (batch["w"] * u).sum()


COUPLED = {
    "an integral": lambda u, b: mean(u, b).expand(len(u)),
    "a mean": lambda u, b: u - mean(u, b),
    "in order": lambda u, b: u.sort().values,
    "neighbours": lambda u, b: torch.cat([u.diff(), u[:1]]),
    "a sum along": lambda u, b: u.cumsum(0) / 100,
    "beyond a limit": lambda u, b: u + (u.abs().amax() - 4).relu(),
}
ALONE = {
    "pointwise": lambda u, b: u - b["x"][:, 0] ** 2,
    "by its weight": lambda u, b: u * b["w"].sqrt(),
    "labels": lambda u, b: u - (b["x"][:, 0] > 0.5).long(),
}
POINTWISE = COUPLED | ALONE


def residuals_of(name):
    """Two columns, of which only the first one may see other points; it also looks at constants, which are whole."""

    def residuals(predict, batch):
        u = column(predict, batch)
        return torch.stack([POINTWISE[name](u, batch) - predict(batch["c"]).mean(), u], 1)

    return residuals, mlp((1, 4, 1), nn.Tanh).double()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", POINTWISE)
def test_residuals_are_seen_to_be_pointwise_or_not(name, dtype):
    """Points in order and in disorder, which hides a mean better."""
    residuals, net = residuals_of(name)
    theta = 3 * draw_parameters(net, fan_in_uniform, torch_stream(0, "init")).to(dtype).expand(2, -1)
    for points in (POINTS, POINTS[torch.as_tensor(stream(0, "disorder").permutation(B))]):
        batch = {"x": points.to(dtype).expand(2, B, 1), "w": torch.full((2, B), 1 / B, dtype=dtype)}
        looked = program.pointwise(net, with_constants(residuals, {"c": POINTS[:5].to(dtype)}), theta, batch)
        assert looked == (name in ALONE)


def test_points_that_a_start_at_zero_does_not_couple_yet_are_seen_to_be():
    net = mlp((1, 4, 1), nn.Tanh).double()
    theta, batch = torch.zeros(2, 13).double(), {"x": POINTS.expand(2, B, 1), "w": torch.full((2, B), 1 / B).double()}
    coupled = lambda p, b: column(p, b)[:, None] - column(p, b).mean() - b["x"]  # noqa: E731
    assert not program.pointwise(net, coupled, theta, batch)


@pytest.mark.parametrize("shards", [[np.arange(B)], [np.arange(700), np.arange(700, B)]], ids=["alone", "ragged"])
@pytest.mark.parametrize("name", ["an integral", "a mean", "a sum along", "pointwise"])
def test_xla_is_eager_whatever_residuals_see(monkeypatch, name, shards):
    cuts, sliced, (residuals, net) = [], program.sliced, residuals_of(name)
    monkeypatch.setattr(program, "sliced", lambda *args: cuts.append(1) or sliced(*args))
    args = dict(rounds=2, local=Local(2), dtype=torch.float64, constants={"c": POINTS[:5]}, optimizer=sgd())
    federations = [Federation(shards, lr=1e-2)]
    one, other = (
        train(net, weighted_mean_square(residuals), {"x": POINTS}, federations, backend=b, **args)
        for b in ("eager", "xla")
    )
    assert bool(cuts) == (name in ALONE)
    torch.testing.assert_close(one.theta, other.theta, rtol=0, atol=1e-10)
    np.testing.assert_allclose(one.losses, other.losses, rtol=1e-10)


@BACKENDS
def test_an_index_beyond_a_table_is_no_number(backend):
    """Also where it comes in a later mini-batch."""
    table, k = torch.arange(4.0), torch.arange(24) % 4
    k[20] = 4
    with pytest.raises((IndexError, FloatingPointError)):
        trained(
            more(lambda p, b: (b["w"] * p(b["x"])[:, 0] * table[b["k"]]).sum()), pool={**POOL, "k": k}, rounds=12,
            local=Local(1, "epochs", 4), backend=backend,
        )  # fmt: skip


def test_the_dry_call_costs_two_steps_and_a_look_at_padding():
    """Of two clients, however many there are."""
    looked = []

    def loss(predict, batch):
        looked.append(1)
        return squared_error(predict, batch)

    many = np.array_split(np.arange(24), 12)
    prepared(NET, loss, POOL, [Federation(many)] * 50, local=Local(2), backend="eager")
    assert len(looked) == 3


@pytest.mark.parametrize("local", [LOCAL, Local(3, "steps", 4)], ids=["whole", "mini-batches"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64])
def test_indices_are_whole_numbers_of_any_width(dtype, local):
    small = [shard.astype(dtype) for shard in SHARDS]
    pool = {name: x.tile(40, *[1] * (x.dim() - 1)) for name, x in POOL.items()}  # 960 points, beyond 8 bits
    one, other = (train(NET, squared_error, pool, [Federation(s)], rounds=2, local=local) for s in (SHARDS, small))
    torch.testing.assert_close(one.theta, other.theta, rtol=0, atol=0)
    data = [lambda level, seed, s=s: Data({"x": X + seed, "y": POOL["y"]}, s) for s in (SHARDS, small)]
    study = Experiment("widths", NET, loss=squared_error, local=local)
    one, other = (sweep(study._replace(data=of), [0], range(12), rounds=2) for of in data)
    torch.testing.assert_close(one.theta, other.theta, rtol=0, atol=0)
