"""Speed of a federated PINN round (Helmholtz, 2 clients, E = 5, full batch) in four ways, in one run on one thread.

``python -m fedlib bench pinn`` prints JSON. DeepXDE, the papers' own library, is measured where it is installed
(``pip install .[deepxde]``).
"""

from importlib.util import find_spec

import numpy as np
import torch

from ..federated.batches import Local
from ..federated.federation import Federation
from ..federated.reference import fedavg_adam
from ..federated.train import train
from ..models.networks import glorot_uniform
from ..problems.forward import VALUE_ONLY, helmholtz, layout, residual_loss
from .common import deepxde_federation, import_deepxde, in_own_process, one_thread, per_round

E, K0 = 5, 4 * np.pi


def setting():
    """Helmholtz at 2 x 2 blocks, every client with its 288 points and the 96 shared ones."""
    problem = helmholtz(K0)
    pool, _, shards = layout(problem, (2,))
    return problem, {name: value.float() for name, value in pool.items()}, Federation(shards[2])


def nested_autograd_loss(predict, batch):
    """The residual as one would write it by hand: autograd.grad with create_graph, twice."""
    x = batch["x"].clone().requires_grad_()
    u = (x * (1 - x)).prod(1) * predict(x, VALUE_ONLY)[:, 0]
    gradient = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    second = [torch.autograd.grad(gradient[:, i].sum(), x, create_graph=True)[0][:, i] for i in (0, 1)]
    return (batch["w"] * (-second[0] - second[1] - K0**2 * u - batch["f"]) ** 2).sum()


def ways(rounds: int, compiled: bool = True) -> dict:
    """``rounds`` rounds of FedAvg with kept Adam moments, done in each way; each returns the federated weights [P]."""
    problem, pool, fed = setting()
    net, loss = problem.net(), residual_loss(problem)

    def nested():
        return fedavg_adam(net, nested_autograd_loss, pool, fed, rounds=rounds, local=Local(E), init=glorot_uniform)

    def jets(backend):
        settings = dict(rounds=rounds, local=Local(E), init=glorot_uniform, backend=backend)
        return lambda: train(net, loss, pool, [fed], **settings).model(0)

    found = {"nested autograd": nested, "jets, eager": jets("eager")}
    found |= {"jets, compiled": jets("inductor")} if compiled else {}
    return found | ({"DeepXDE": deepxde_way(rounds, pool, fed)} if find_spec("deepxde") else {})


def deepxde_way(rounds: int, pool, fed):
    """The authors' way: one DeepXDE model per client, ``train`` for E iterations, then the mean of all weights."""
    dde = import_deepxde()

    def residual(x, u):
        laplacian = sum(dde.grad.hessian(u, x, i=i, j=i) for i in (0, 1))
        return -laplacian - K0**2 * u - K0**2 * torch.sin(K0 * x).prod(1, keepdim=True)

    models = []
    for shard in fed.shards:
        square = dde.geometry.Rectangle([0, 0], [1, 1])
        data = dde.data.PDE(square, residual, [], anchors=pool["x"][torch.as_tensor(shard)].numpy())
        net = dde.nn.FNN([2, 64, 64, 64, 1], "sin", "Glorot uniform")
        net.apply_output_transform(lambda x, u: (x * (1 - x)).prod(1, keepdim=True) * u)
        models.append(dde.Model(data, net))
        models[-1].compile("adam", lr=fed.lr, verbose=0)
    return deepxde_federation(models, rounds, E)


def time_rounds(rounds: int, repetitions: int) -> dict:
    """Each way in ms per round, in one go (a fresh process can be given this function, not the ways themselves)."""
    return per_round(ways(rounds), rounds, repetitions)


def bench_pinn(quick: bool = False) -> dict:
    """The measurement in a fresh process of one thread, with the hardware it was made on."""
    task = f"Helmholtz 2-64-64-64-1 (sine), 2 clients x 384 points, {E} full-batch Adam steps a round, float32"
    return one_thread(task) | in_own_process(time_rounds, 5, 2 if quick else 12)
