"""The federation on Flower (flwr 1.41, Message API): a SuperNode is a site with many clients."""

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp

from .message import packed, unpacked


def client_app(site_of) -> ClientApp:
    """site_of: Flower's context of a node -> its ``site.Site``."""
    app = ClientApp()

    @app.query()
    def answer(message, context):
        site = site_of(context)
        return Message(record(site.answer(read(message)) | {"site": site.name}), reply_to=message)

    return app


def asking(grid, timeout: float = 600.0):
    """The engine of ``server.federate`` on Flower's grid; a roll call finds out anew which node is which site."""
    nodes = {}

    def send(questions):  # by node
        sent = [Message(record(asked), node, "query") for node, asked in questions.items()]
        replies = {m.metadata.src_node_id: m for m in grid.send_and_receive(sent, timeout=timeout)}
        return {node: m.error.reason if m.has_error() else read(m) for node, m in replies.items()}

    def ask(questions):
        if any(asked["do"] == "hello" for asked in questions.values()):
            found = send({node: {"do": "hello"} for node in grid.get_node_ids()})
            nodes.update({answer["site"]: node for node, answer in found.items() if isinstance(answer, dict)})
        answers = send({nodes[name]: asked for name, asked in questions.items() if name in nodes})
        found = {name: answers.get(nodes.get(name), "it does not answer") for name in questions}
        return {name: answer if isinstance(answer, dict) else {"error": answer} for name, answer in found.items()}

    return ask


def record(message) -> RecordDict:
    return RecordDict({"message": ConfigRecord({"bytes": packed(message)})})


def read(message) -> dict:
    return unpacked(message.content["message"]["bytes"])
