"""Engines that carry the messages of sites in this process: a loop over them, or Flower (flwr 1.41, Message API).

Flower is imported where it is asked for. Its SuperNode is a site with many clients; its Grid here has no servers.
"""

import logging
import os
import uuid
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..federated.history import History
from .messages import Ask, packed, unpacked
from .plan import Plan
from .site import Site

NAMES = {"local": "a loop over the sites", "flower": "Flower's Grid"}
QUIET = {  # nor does it fetch packages of its own
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}


def sites_of(plan: Plan, folder: Path | None = None, sums: bool = False) -> dict[str, Site]:
    """All sites of a plan; each has loaded its own clients' points. sums: whether they give sums of them."""
    return {name: Site(plan, name, folder, sums) for name in plan.clients}


def ask_in_turn(sites: Mapping[str, Site]) -> Ask:
    """An engine that asks one site after the other."""
    return lambda questions: {name: sites[name].answer(question) for name, question in questions.items()}


def difference(sites: Mapping[str, Site], history: History) -> float:
    """Largest difference of any parameter of any client, after both are trained."""
    theta = history.theta.numpy()
    return max(float(np.abs(site.final.numpy() - theta[site.clients]).max()) for site in sites.values())


def installed() -> list[str]:
    """The engines that are here."""
    return ["local", "flower"] if find_spec("flwr") else ["local"]


def chosen(name: str) -> tuple[str, str]:
    """An engine and a line about it; "auto": Flower where it is installed. ValueError where it is not."""
    if name == "flower" and "flower" not in installed():
        raise ValueError("engine = 'flower': Flower is not here; pip install '.[flower]', or take \"auto\"")
    if name == "auto":
        name = installed()[-1]
    why = "" if "flower" in installed() else "; Flower is not here (make engines has it), the messages are the same"
    return name, f"Messages are carried by {NAMES[name]}, all in this process{why}."


def engine(name: str, sites: Mapping[str, Site]) -> Ask:
    """The engine of a name, for ``server.federate``."""
    return ask_in_turn(sites) if name == "local" else flower([*sites.values()])


def import_flower():
    """Flower, which neither phones home nor logs."""
    os.environ.update(QUIET)
    import flwr

    logging.getLogger("flwr").setLevel(logging.ERROR)
    return flwr


def flower(sites: list[Site], timeout: float = 600.0) -> Ask:
    """These sites as nodes of Flower's grid; a roll call finds out anew which node is which site."""
    import_flower()
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp

    app, nodes = ClientApp(), {}

    def record(message: Mapping) -> RecordDict:
        return RecordDict({"message": ConfigRecord({"bytes": packed(message)})})

    def read(message) -> dict:
        try:
            return unpacked(message.content["message"]["bytes"])
        except Exception as error:  # of whatever kind: what is no message is that site's failure
            return {"error": f"{type(error).__name__}: {error}"}

    @app.query()
    def answer(message, context):
        site = sites[context.node_config["partition-id"]]
        return Message(record(site.answer(read(message)) | {"site": site.name}), reply_to=message)

    def send(questions):  # by node
        messages = [Message(record(question), node, "query") for node, question in questions.items()]
        replies = {m.metadata.src_node_id: m for m in grid.send_and_receive(messages, timeout=timeout)}
        return {node: {"error": m.error.reason} if m.has_error() else read(m) for node, m in replies.items()}

    def ask(questions):
        if any(question["do"] == "hello" for question in questions.values()):
            answers = send({node: {"do": "hello"} for node in grid.get_node_ids()})
            nodes.update({answer["site"]: node for node, answer in answers.items() if "site" in answer})
        answers = send({nodes[name]: question for name, question in questions.items() if name in nodes})
        answers = {name: answers.get(nodes.get(name), {"error": "it does not answer"}) for name in questions}
        return {name: {key: answer[key] for key in answer if key != "site"} for name, answer in answers.items()}

    grid = grid_of(app, len(sites))
    return ask


def grid_of(app: Callable, K: int):
    """A Grid of K nodes, numbered by "partition-id" 0, 1, ..., that answers every message in this process by the
    ClientApp."""
    from flwr.app import Context, Error, Message, RecordDict
    from flwr.serverapp import Grid
    from flwr.supercore.task_identity import TaskIdentity  # private, but Message reads it

    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1

    def context(k):
        node = {"partition-id": k, "num-partitions": K}
        return Context(run_id=1, node_id=k + 1, node_config=node, state=RecordDict(), run_config={})

    def answer(message, node):
        try:
            return app(message, node)
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
