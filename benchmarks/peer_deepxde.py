"""FedAvg as FedSciML's authors run it: DeepXDE's ``train`` of every client's model, then the mean of all weights."""

import contextlib
import io
import os

import torch
from torch.nn.utils import parameters_to_vector

from fedlib.federated.federation import Federation
from fedlib.federated.mixing import isolated
from fedlib.federated.stack import draw_parameters, load
from fedlib.streams import torch_stream

from .problems import K0, SEEDS, WIDTHS, Problem


def import_library():
    """DeepXDE with its PyTorch backend; it announces itself on stderr."""
    os.environ.setdefault("DDE_BACKEND", "pytorch")
    with contextlib.redirect_stderr(io.StringIO()):
        import deepxde
    return deepxde


def on_the_line(dde, problem, own):
    """A function at a client's points."""
    x, f = (problem.pool[name][own].reshape(-1, 1).numpy() for name in ("x", "f"))
    return dde.data.DataSet(x, f, x[:1], f[:1]), dde.nn.FNN(list(WIDTHS), "tanh", "Glorot uniform")


def helmholtz(dde, problem, own):
    """The residual at a client's points, with the boundary values built in."""

    def residual(x, u):
        laplacian = sum(dde.grad.hessian(u, x, i=i, j=i) for i in (0, 1))
        return -laplacian - K0**2 * u - K0**2 * torch.sin(K0 * x).prod(1, keepdim=True)

    square = dde.geometry.Rectangle([0, 0], [1, 1])
    net = dde.nn.FNN([2, 64, 64, 64, 1], "sin", "Glorot uniform")
    net.apply_output_transform(lambda x, u: (x * (1 - x)).prod(1, keepdim=True) * u)
    return dde.data.PDE(square, residual, [], anchors=problem.pool["x"][own].numpy()), net


def antiderivative(dde, problem, own):
    """All pairs of a client's functions and the points."""
    y = problem.experiment.constants["y"].numpy()
    u, s = (problem.pool[name][own].numpy() for name in ("u", "s"))
    data = dde.data.TripleCartesianProd((u, y), s, (u[:1], y), s[:1])
    return data, dde.nn.DeepONetCartesianProd([100, 40, 40], [1, 40, 40], "relu", "Glorot normal")


MODELS = {"line": on_the_line, "Helmholtz": helmholtz, "antiderivative": antiderivative}


def knows(problem: Problem) -> bool:
    return problem.name in MODELS


LAST = {"antiderivative": 1}
"""How many of our first parameters are its last ones: the DeepONet's bias."""


def models_of(problem: Problem, fed: Federation) -> list:
    """A compiled DeepXDE model per client, with our initial weights."""
    dde, models = import_library(), []
    start = draw_parameters(problem.experiment.net, problem.experiment.init, torch_stream(fed.seed, "init"))
    for shard in fed.shards:
        data, net = MODELS[problem.name](dde, problem, torch.as_tensor(shard))
        models.append(dde.Model(data, load(net, start.roll(-LAST.get(problem.name, 0)))))
        models[-1].compile("adam", lr=fed.lr, verbose=0)
    return models


def rounds(models, n: int, E: int) -> None:
    """n rounds: E iterations of each model, then the mean of the state dicts."""
    for _ in range(n):
        for model in models:
            model.train(iterations=E, display_every=10**9, verbose=0)
        states = [model.net.state_dict() for model in models]
        mean = {name: sum(s[name] for s in states) / len(states) for name in states[0]}
        for model in models:
            model.net.load_state_dict(mean)


def federation(problem: Problem):
    """A way. Clients alone train without a break. Of many federations the first seed's: all seeds are alike."""
    feds = problem.federations
    chosen = [fed for fed in feds if fed.seed == 0] if len({fed.seed for fed in feds}) == SEEDS else feds
    groups = [(fed, models_of(problem, fed)) for fed in chosen]

    def run(n):
        for fed, models in groups:
            if fed.mixing is isolated:
                for model in models:
                    model.train(iterations=n * problem.experiment.local.updates, display_every=10**9, verbose=0)
            else:
                rounds(models, n, problem.experiment.local.updates)
        theta = [parameters_to_vector(m.net.parameters()).detach() for _, models in groups for m in models]
        return torch.stack(theta).roll(LAST.get(problem.name, 0), 1)

    return run
