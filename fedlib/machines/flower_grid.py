"""Flower without servers: its messages, answered in this process; and Flower without noise."""

import logging
import os
import uuid

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",  # or a run fetches its own packages
}


def import_library():
    """Flower, which neither phones home nor logs."""
    os.environ.update(QUIET)
    import flwr

    logging.getLogger("flwr").setLevel(logging.ERROR)
    return flwr


def grid_of(app, K: int):
    """A Grid of K nodes, numbered by "partition-id" 0, 1, ..., that answers every message in this process by the
    ClientApp."""
    from flwr.app import Context, Error, Message, RecordDict
    from flwr.serverapp import Grid
    from flwr.supercore.task_identity import TaskIdentity  # private, but Message reads it

    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1

    def context(k):
        node = {"partition-id": k, "num-partitions": K}
        return Context(run_id=1, node_id=k + 1, node_config=node, state=RecordDict(), run_config={})

    def answer(message, there):
        try:
            return app(message, there)
        except Exception as error:  # as a node does: the server hears of it
            return Message(Error(code=3, reason=f"{type(error).__name__}: {error}"), reply_to=message)

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
                self.replies[names[-1]] = answer(message, self.contexts[message.metadata.dst_node_id])
            return names

        def pull_messages(self, message_ids):
            return [self.replies.pop(name) for name in message_ids]

        def send_and_receive(self, messages, *, timeout=None):
            return self.pull_messages(self.push_messages(messages))

    return InProcess()
