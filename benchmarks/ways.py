"""Ways to compute a problem's rounds. A way is a function problem -> run, and run(n) plays n more rounds and returns
the clients' models [M, P] after the last exchange; a way that plays the first federations only returns their models."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from itertools import count

import torch
from torch import Tensor

from fedlib.federated.backends import with_constants
from fedlib.federated.experiment import train_arguments
from fedlib.federated.federation import Federation
from fedlib.federated.mixing import isolated
from fedlib.federated.reference import average, client_batches, local_updates
from fedlib.federated.rounds import beginning, prepared, rounds_from
from fedlib.federated.stack import draw_parameters, load
from fedlib.streams import torch_stream

from . import peer_deepxde, peer_fedstnn, peer_jax
from .problems import Problem

Run = Callable[[int], Tensor]


def plain_loop(problem: Problem) -> Run:
    """One client after the other in plain PyTorch, as FedSciML's ``fedavg_adam``."""
    played = [rounds_of(problem, fed) for fed in problem.federations]

    def run(n):
        for _ in range(n):
            models = [next(one) for one in played]
        return torch.cat(models)

    return run


def rounds_of(problem: Problem, fed: Federation) -> Iterator[Tensor]:
    """The models [K, P] of one federation after each round."""
    experiment = problem.experiment
    local, K = experiment.local, len(fed.shards)
    loss = with_constants(problem.plain_loss or problem.loss, experiment.constants)
    models = draw_parameters(experiment.net, experiment.init, torch_stream(fed.seed, "init")).expand(K, -1)
    clients = [deepcopy(experiment.net) for _ in fed.shards]
    # full batches are made once
    whole = local.batch_size is None and [list(client_batches(problem.pool, fed, k, 0, local)) for k in range(K)]
    for r in count():
        if r == 0 or experiment.reset_moments:
            optimizers = [torch.optim.Adam(client.parameters(), fed.lr) for client in clients]
        for k, client in enumerate(clients):
            load(client, models[k])
            batches = whole[k] if whole else client_batches(problem.pool, fed, k, r, local, experiment.noise)
            local_updates(client, optimizers[k], loss, batches)
        if fed.mixing is isolated:
            models = torch.stack([torch.nn.utils.parameters_to_vector(c.parameters()).detach() for c in clients])
        else:
            models = average(clients, fed.p).expand(K, -1)
        yield models


def engine(problem: Problem, backend: str) -> Run:
    """The library's rounds; nobody looks before all n are played."""
    experiment = problem.experiment
    work = prepared(pool=problem.pool, federations=problem.federations, backend=backend, **train_arguments(experiment))
    end = 0
    played = rounds_from(work, beginning(work, experiment.init), lambda r: end)

    def run(n):
        nonlocal end
        end += n
        done = next(played)
        while done.state.round < end:
            done = next(played)
        return done.after

    return run


def ways_of(problem: Problem) -> dict[str, Callable[[Problem], Run]]:
    """All ways that know the problem and whose library is installed; the plain loop comes first."""
    peers = {name: peer.federation for name, peer in PEERS.items() if peer.knows(problem) and installed(peer)}
    return (
        {"plain loop": plain_loop} | peers | {backend: partial(engine, backend=backend) for backend in ("eager", "xla")}
    )


PEERS = {"DeepXDE": peer_deepxde, "FedStNN": peer_fedstnn, "JAX": peer_jax}


def installed(peer) -> bool:
    """Whether a peer's library is there; what is there is imported, so that nobody's first round pays for it."""
    try:
        peer.import_library()
    except ImportError:
        return False
    return True
