"""FedAvg on Flower's simulation: the plain loop's clients behind real messages, in this process (no Ray)."""

import logging
import os
import uuid
from copy import deepcopy

import torch

from fedlib.federated.reference import client_batches, local_updates
from fedlib.federated.stack import as_dict, draw_parameters
from fedlib.streams import torch_stream

from .problems import Problem

CLIENTS = 20


def knows(problem: Problem) -> bool:
    """Twenty clients of the line are enough to see what a message costs."""
    return problem.name == "line" and len(problem.clients) == CLIENTS


def import_library():
    """Flower, which neither phones home nor logs."""
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
    os.environ.update(quiet | {"FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1"})
    import flwr

    logging.getLogger("flwr").setLevel(logging.ERROR)
    return flwr


def grid_of(app, K: int):
    """A Grid that answers every message in this process by the ClientApp."""
    from flwr.app import Context, Message, RecordDict
    from flwr.serverapp import Grid
    from flwr.supercore.task_identity import TaskIdentity  # private, but Message reads it

    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1

    def context(k):
        node = {"partition-id": k, "num-partitions": K}
        return Context(run_id=1, node_id=k + 1, node_config=node, state=RecordDict(), run_config={})

    class InProcess(Grid):
        contexts, replies, run = {k + 1: context(k) for k in range(K)}, {}, None

        def set_run(self, run):
            self.run = run

        def create_message(self, content, message_type, dst_node_id, group_id, ttl=None):
            return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

        def get_node_ids(self):
            return list(self.contexts)

        def push_messages(self, messages):
            names = []
            for message in messages:
                names.append(uuid.uuid4().hex)
                message.metadata.__dict__["_message_id"] = names[-1]
                self.replies[names[-1]] = app(message, self.contexts[message.metadata.dst_node_id])
            return names

        def pull_messages(self, message_ids):
            return [self.replies.pop(name) for name in message_ids]

        def send_and_receive(self, messages, *, timeout=None):
            return self.pull_messages(self.push_messages(messages))

    return InProcess()


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
