"""FedStNN's training loop, written from its description (Algorithms 3 and 4, and what their notebooks say of it).

One client after the other and one step after the other: the states forward through the blocks, the costate backward,
and in every block a call of autograd for the gradient of the Hamiltonian. The index of Z is mended, so that it computes
what everybody else does.
"""

from copy import deepcopy
from itertools import count

import torch

from fedlib.federated.reference import client_batches
from fedlib.federated.stack import draw_parameters, load
from fedlib.papers.fedstnn.network import f, g, hamiltonian
from fedlib.streams import torch_stream

from .problems import Problem


def knows(problem: Problem) -> bool:
    return problem.name == "stochastic"


def import_library():
    """Theirs has no licence; nothing of it is needed."""


def step(net, optimizer, batch) -> None:
    """One step of Algorithm 3 by the squared error of the paths, in place."""
    x, y, weight, omega = batch["x"], batch["y"], batch["w"], batch["noise"]
    h, N, layers = net.h, net.N, net.layers()
    lifted = net.lift(x)[:, None]
    X = [lifted.detach().expand(omega[:, 0].shape)]
    with torch.no_grad():
        for n in range(N):
            X.append(X[n] + h * f(X[n], layers[n]) + h**0.5 * g(X[n], layers[n]) * omega[:, n])
    last = X[N].requires_grad_()
    Phi = (weight * ((net.read(last)[..., 0] - y[:, None]) ** 2).mean(-1)).sum()
    optimizer.zero_grad()
    Phi.backward()
    Y = last.grad
    for n in reversed(range(N)):
        x_n, Z = X[n].detach().requires_grad_(), Y * omega[:, n] / h**0.5
        parts = torch.autograd.grad(hamiltonian(x_n, layers[n], Y, Z), [x_n, *net.drift[n].parameters(), net.s])
        H_x, *H_u = parts
        for parameter, slope in zip((*net.drift[n].parameters(), net.s), H_u, strict=True):
            parameter.grad = h * slope + (0 if parameter.grad is None else parameter.grad)
        Y = Y + h * H_x
    lifted.backward(Y.sum(1, keepdim=True))
    optimizer.step()


def federation(problem: Problem):
    """A way."""
    experiment = problem.experiment
    (fed,) = problem.federations
    theta = draw_parameters(experiment.net, experiment.init, torch_stream(fed.seed, "init"))
    net, numbers = deepcopy(experiment.net), count()

    def run(n):
        nonlocal theta
        for r in (next(numbers) for _ in range(n)):
            rows = []
            for k in range(len(fed.shards)):
                optimizer = torch.optim.Adam(load(net, theta).parameters(), fed.lr)
                for batch in client_batches(problem.pool, fed, k, r, experiment.local, experiment.noise):
                    step(net, optimizer, batch)
                rows.append(torch.nn.utils.parameters_to_vector(net.parameters()).detach())
            theta = torch.as_tensor(fed.p / fed.p.sum(), dtype=theta.dtype) @ torch.stack(rows)
        return theta.expand(len(fed.shards), -1)

    return run
