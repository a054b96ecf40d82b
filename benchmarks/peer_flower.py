"""FedAvg on Flower's simulation: the plain loop's clients behind real messages, in this process (no Ray)."""

from copy import deepcopy

import torch

from fedlib.federated.reference import client_batches, local_updates
from fedlib.federated.stack import as_dict, draw_parameters
from fedlib.machines.engines import grid_of
from fedlib.machines.engines import import_flower as import_library
from fedlib.streams import torch_stream

from .problems import Problem

CLIENTS = 20


def knows(problem: Problem) -> bool:
    """Twenty clients of the line are enough to see what a message costs."""
    return problem.name == "line" and len(problem.clients) == CLIENTS


def federation(problem: Problem):
    """A way: Flower's own FedAvg over clients that keep their Adam, as all others do."""
    import_library()
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp.strategy import FedAvg

    (fed,) = problem.federations
    clients = [deepcopy(problem.experiment.net) for _ in fed.shards]
    optimizers = [torch.optim.Adam(client.parameters(), fed.lr) for client in clients]
    points = [list(client_batches(problem.pool, fed, k, 0, problem.experiment.local)) for k in range(len(clients))]
    app = ClientApp()

    @app.train()
    def work(message, context):
        k = context.node_config["partition-id"]
        clients[k].load_state_dict(message.content["arrays"].to_torch_state_dict())
        local_updates(clients[k], optimizers[k], problem.loss, points[k])
        answer = {"arrays": ArrayRecord(clients[k].state_dict())}
        answer["metrics"] = MetricRecord({"num-examples": len(fed.shards[k])})
        return Message(content=RecordDict(answer), reply_to=message)

    theta = draw_parameters(problem.experiment.net, problem.experiment.init, torch_stream(fed.seed, "init"))
    grid, arrays = grid_of(app, len(clients)), ArrayRecord(as_dict(problem.experiment.net, theta))

    def run(n):
        nonlocal arrays
        server = FedAvg(fraction_train=1.0, fraction_evaluate=0.0)
        arrays = server.start(grid=grid, initial_arrays=arrays, num_rounds=n).arrays
        row = torch.cat([value.flatten() for value in arrays.to_torch_state_dict().values()])
        return row.expand(len(clients), -1)

    return run
