"""What is wrong with a loss, a network or ``evaluate`` is refused before any training, on all backends in one way."""

import re
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
from fedlib.federated.rules import fedadam
from fedlib.federated.stack import draw_parameters, kept, load
from fedlib.federated.sweep import sweep
from fedlib.federated.train import train
from fedlib.federated.xla import program
from fedlib.models.networks import fan_in_uniform, mlp
from fedlib.streams import stream, torch_stream

X = torch.linspace(-1, 1, 24)[:, None]
POOL, SHARDS = {"x": X, "y": (3 * X[:, 0]).sin()}, [np.arange(9), np.arange(9, 24)]
LOCAL = Local(3)
NET = mlp((1, 8, 1), nn.Tanh)
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
    "a vector": (
        lambda p, b: b["w"] * p(b["x"])[:, 0] ** 2,
        r"gave a tensor of shape \[15\]; expected a scalar tensor",
    ),
    "[1]": (lambda p, b: squared_error(p, b)[None], r"gave a tensor of shape \[1\]; expected a scalar"),
    "a number": (lambda p, b: 1.0, r"the loss gave 1\.0, float; expected a scalar tensor"),
    "None": (lambda p, b: None, r"the loss gave None, NoneType; expected a scalar tensor"),
    "two": (lambda p, b: (squared_error(p, b), 0), r"the loss gave tuple; expected a scalar tensor"),
    "detached": (lambda p, b: squared_error(p, b).detach(), "has no gradient: .* without predict, or cut off"),
    "without predict": (lambda p, b: b["y"].sum(), "has no gradient: .* without predict"),
    "numpy's numbers": (more(lambda p, b: generator.normal()), "for the same model and the same batch; .*noise="),
    "a counter": (more(lambda p, b: 1e-3 * counted("here")), "for the same model and the same batch"),
    "a batch in place": (more(lambda p, b: changes(b, lambda y: y.sub_(0.5))), r"changes batch\['y'\] in place"),
    "a view in place": (more(lambda p, b: changes(b, lambda y: y[:2].mul_(0))), r"changes batch\['y'\] in place"),
    "the weights in place": (more(lambda p, b: b["w"].mul_(2).sum() * 0), r"changes batch\['w'\] in place"),
    "a constant in place": (more(lambda p, b: b["c"].add_(1) * 0), r"changes batch\['c'\] in place"),
    "the network": (lambda p, b: squared_error(NET, b), r"asks the network itself \(Linear is called\)"),
    "its layer": (more(lambda p, b: NET[0](b["x"]).sum()), r"asks the network itself \(Linear is called\)"),
    "without gradient": (
        more(lambda p, b: NET(b["x"]).detach().sum()),
        r"asks the network itself \(Linear is called\)",
    ),
    "its parameters": (more(lambda p, b: sum(q.square().sum() for q in NET.parameters())), "its parameter '0.weight'"),
    "a coefficient beside": (
        more(lambda p, b: coefficient * p(b["x"]).sum()),
        r"by a tensor of shape \[\] that is no par",
    ),
    "a network beside": (
        more(lambda p, b: teacher(b["x"]).sum()),
        r"by a tensor of shape \[.*4.*\] that is no parameter",
    ),
    "whole numbers": (lambda p, b: p(b["k"][:, None]).sum(), r"pool\['k'\] holds whole numbers, torch.int64"),
    "another dtype": (
        lambda p, b: p(b["x"].double()).sum(),
        r"a tensor of its own is not torch.float32: pass it as const",
    ),
}


@BACKENDS
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_that_is_no_function_of_model_and_batch_is_refused(name, backend):
    loss, message = LOSSES[name]
    pool = {name: value.clone() for name, value in POOL.items()} | {"k": torch.arange(24)}
    pool |= {"k": torch.arange(24)} if "whole" in name else {}
    with pytest.raises(ValueError, match=message):
        trained(loss, pool=pool if "whole" in name else POOL, backend=backend, constants={"c": torch.ones(())})


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


RESIDUALS = {
    "[B]": (lambda p, b: p(b["x"])[:, 0] - b["y"], r"residuals gave shape \[15\]; expected \[B, c\], here \[15, c\]"),
    "[1, B]": (lambda p, b: (p(b["x"])[:, 0] - b["y"])[None], r"gave shape \[1, 15\]; expected \[B, c\]"),
    "a mean": (lambda p, b: (p(b["x"])[:, 0] - b["y"]).mean(), r"gave shape \[\]; expected \[B, c\]"),
    "[B, 1, 1]": (lambda p, b: p(b["x"])[:, :, None], r"gave shape \[15, 1, 1\]; expected \[B, c\]"),
    "a list": (lambda p, b: [p(b["x"])], r"gave list; expected \[B, c\]"),
}


@pytest.mark.parametrize("name", RESIDUALS)
def test_residuals_of_another_shape_are_refused(name):
    residuals, message = RESIDUALS[name]
    with pytest.raises(ValueError, match=message):
        trained(weighted_mean_square(residuals), local=Local(2))


EVALUATIONS = {
    "a number": (lambda p, at: {"e": 1.0}, r"evaluate gave 'e' as 1\.0, float; expected a tensor"),
    "item": (lambda p, at: {"e": p(at["x"]).mean().item()}, r"evaluate cannot be computed: it looks at a number"),
    "numpy": (lambda p, at: {"e": np.sin(at["x"].numpy())}, "evaluate cannot be computed: numpy cannot be used"),
    "a tensor": (lambda p, at: p(at["x"]).mean(), r"evaluate gave a tensor of shape \[\]; expected named tensors"),
    "a pair": (lambda p, at: ("e", p(at["x"])), "evaluate gave tuple; expected named tensors"),
    "the network": (lambda p, at: {"e": NET(at["x"]).mean()}, "evaluate asks the network itself"),
    "without gradient": (lambda p, at: {"e": NET(at["x"]).detach()}, "evaluate asks the network itself"),
    "its parameters": (
        lambda p, at: {"e": NET[0].weight.sum()},
        "evaluate asks the network itself .its parameter '0.w",
    ),
    "random numbers": (
        lambda p, at: {"e": p(at["x"]) + torch.rand(())},
        "evaluate cannot be computed: it draws random",
    ),
}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_an_evaluation_that_gives_no_named_tensors_is_refused(name):
    evaluate, message = EVALUATIONS[name]
    with pytest.raises(ValueError, match=message):
        trained(evaluate=evaluate, test={"x": X[None]})


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


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 1, padding_idx=0)

    def forward(self, x):
        return self.table((x[:, 0] > 0).long())


NETWORKS = {
    "an embedding's padding": (Tokens, "layer 'table' has padding_idx=0, .*first of several models only"),
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
    "a list in the pool": (dict(pool={"x": [1.0, 2.0]}), r"pool\['x'\] is a list; expected a tensor"),
    "a constant": (dict(constants={"c": 3.0}), r"constants\['c'\] is a float; expected a tensor"),
    "numpy in the test": (dict(test={"x": X.numpy()[None]}), r"test\['x'\] is a ndarray; expected a tensor"),
    "dtype": (dict(dtype="float64"), "dtype = 'float64': expected torch.float32 or torch.float64"),
    "whole numbers": (dict(dtype=torch.int64), "dtype = torch.int64: expected torch.float32 or torch.float64"),
    "device": (dict(device="gpu"), "device = 'gpu': expected 'auto', 'cpu', 'cuda' or 'cuda:1'"),
    "optimizer": (
        dict(optimizer=torch.optim.Adam),
        "optimizer = .*Adam.*: expected one of fedlib.federated.optimizers",
    ),
    "local": (dict(local=5), r"local = 5: expected the work of a round, such as Local\(5\)"),
    "rounds": (dict(rounds="10"), "rounds = '10': expected a whole number >= 1"),
    "half a round": (dict(rounds=2.0), "rounds = 2.0: expected a whole number >= 1"),
}


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
    "a rule": ([Federation(SHARDS, server=fedadam)], "server = .*; expected a Server, such as fedadam"),
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


class Normalised(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 1)

    def forward(self, x):
        u = self.layer(x).tanh()
        return (u - u.mean(0)) / (1 + u.var(0))


def column(predict, batch):
    return predict(batch["x"])[:, 0]


def mean(u, batch):
    return (batch["w"] * u).sum()


COUPLED = {
    "an integral": lambda u, b: mean(u, b).expand(len(u)),
    "a mean": lambda u, b: u - mean(u, b),
    "a mean of all": lambda u, b: u - u.mean(),
    "a variance": lambda u, b: u / (1 + u.var()),
    "a largest value": lambda u, b: u / (1 + u.amax() ** 2),
    "in order": lambda u, b: u.sort().values,
    "a median": lambda u, b: u - u.median(),
    "neighbours": lambda u, b: torch.cat([u.diff(), u[:1]]),
    "a convolution": lambda u, b: nn.functional.conv1d(u[None, None], torch.ones(1, 1, 3).to(u), padding=1)[0, 0],
    "a sum along": lambda u, b: u.cumsum(0) / 100,
    "softmax": lambda u, b: u.softmax(0),
    "a normalised batch": lambda u, b: u,
    "beyond a limit": lambda u, b: u + (u.abs().amax() - 4).relu(),
}
ALONE = {
    "pointwise": lambda u, b: u - b["x"][:, 0] ** 2,
    "by its weight": lambda u, b: u * b["w"].sqrt(),
    "a derivative": lambda u, b: u.cos() * b["x"][:, 0],
    "labels": lambda u, b: u - (b["x"][:, 0] > 0.5).long(),
}
POINTWISE = COUPLED | ALONE


def residuals_of(name):
    """Two columns, of which only the first one may see other points; it also looks at constants, which are whole."""

    def residuals(predict, batch):
        u = column(predict, batch)
        return torch.stack([POINTWISE[name](u, batch) - predict(batch["c"]).mean(), u], 1)

    return residuals, Normalised().double() if "normalised" in name else mlp((1, 4, 1), nn.Tanh).double()


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
@pytest.mark.parametrize("name", ["an integral", "a mean", "a sum along", "a normalised batch", "pointwise"])
def test_xla_is_eager_whatever_residuals_see(monkeypatch, name, shards):
    if len(shards) > 1 and "normalised" in name:
        pytest.skip("it looks at the padding, and is refused for that")
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
def test_a_loss_that_looks_at_the_padding_is_refused_or_has_none(backend):
    """XLA pads where eager blocks do not; a plain mean over ragged clients would be another one there."""
    loss = lambda p, b: ((p(b["x"])[:, 0] - b["x"][:, 0]) ** 2).mean()  # noqa: E731
    federation = [Federation([np.arange(700), np.arange(700, B)], lr=1e-2)]
    args = dict(rounds=2, local=Local(2), backend=backend)
    if backend == "xla":
        with pytest.raises(ValueError, match="changes with its padding points"):
            train(NET, loss, {"x": POINTS}, federation, **args)
    else:
        train(NET, loss, {"x": POINTS}, federation, **args)


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


def test_the_dry_call_costs_two_steps():
    """Of two clients, however many there are."""
    looked = []

    def loss(predict, batch):
        looked.append(1)
        return squared_error(predict, batch)

    many = np.array_split(np.arange(24), 12)
    prepared(NET, loss, POOL, [Federation(many)] * 50, local=Local(2), backend="eager")
    assert len(looked) == 2


def test_messages_of_a_sweep_are_those_of_a_training():
    experiment = Experiment(
        "line", NET, lambda p, b: p(b["x"])[:, 0], rounds=1, data=lambda level, seed: Data(POOL, SHARDS),
    )  # fmt: skip
    with pytest.raises(ValueError, match=re.escape("expected [B, c]")):
        sweep(experiment, [1], [0])


@pytest.mark.parametrize("local", [LOCAL, Local(3, "steps", 4)], ids=["whole", "mini-batches"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64])
def test_indices_are_whole_numbers_of_any_width(dtype, local):
    small = [shard.astype(dtype) for shard in SHARDS]
    pool = {name: x.tile(40, *[1] * (x.dim() - 1)) for name, x in POOL.items()}  # 960 points, beyond 8 bits
    one, other = (train(NET, squared_error, pool, [Federation(s)], rounds=2, local=local) for s in (SHARDS, small))
    torch.testing.assert_close(one.theta, other.theta, rtol=0, atol=0)
    study = Experiment("widths", NET, loss=squared_error, local=local)
    one, other = (
        sweep(study._replace(data=lambda level, seed, s=s: Data({"x": X + seed, "y": POOL["y"]}, s)), [0], range(12),
              rounds=2)
        for s in (SHARDS, small)
    )  # fmt: skip
    torch.testing.assert_close(one.theta, other.theta, rtol=0, atol=0)
