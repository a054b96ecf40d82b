"""What a server learns of a client's points from one message: the model that came back, beside the one that it sent.

Three attacks. *Ratio*: the first layer of the branch sees W u + b, so a point's gradients are dL/dW_i = g_i u and
dL/db_i = g_i with the same g_i: their ratio is the torque itself (Phong et al., IEEE TIFS 13, 2018). With several
points or steps it is a mixture. *Span*: which of two torques lies nearer to all mixtures? *Fit*: of which of two points
did the error fall more (Yeom et al., CSF 2018)? The last two are shown both, and say which one is the client's.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
import xarray
from torch import Tensor, nn

from ....federated.batches import Local
from ....federated.federation import Federation
from ....federated.optimizers import adam, sgd
from ....federated.rounds import play
from ....federated.stack import as_dict, predict
from ....models.networks import fan_in_uniform
from ....numerics.tabulated import tabulated
from ...fed_deeponet.physics import loss
from ..points import nearest
from .problem import network, points

OPTIMIZERS = {"SGD": (sgd, 1e-2), "Adam": (adam, 1e-3)}
"""name -> optimiser and its rate; the server knows both, for it sent the experiment."""


class Message(NamedTuple):
    """What a server has of one client after a round: the model [P] that it sent, and the one that came back."""

    sent: Tensor
    came: Tensor


def one_round(
    net: nn.Module, client: Mapping[str, Tensor], E: int, optimizer: str = "SGD", dtype=torch.float32
) -> Message:
    """E steps of one client with all its points, from a start that the server drew."""
    make, lr = OPTIMIZERS[optimizer]
    n = len(client["s"])
    done = next(
        play(
            net, loss, client, [Federation([np.arange(n)], lr=lr)], local=Local(E), optimizer=make(),
            init=fan_in_uniform, backend="eager", dtype=dtype, rounds=1,
        )
    )  # fmt: skip
    return Message(done.began.models()[0], done.after[0])


def mixture(change: Mapping[str, Tensor], part: str) -> Tensor:
    """The input that the first layer of "branch" or "trunk" has seen: sum_i db_i dW_i / sum_i db_i^2."""
    W, b = change[f"{part}.0.weight"], change[f"{part}.0.bias"]
    return b @ W / (b @ b)


def read(net: nn.Module, message: Message) -> np.ndarray:
    """The torque [m] by ratios, exact for one point and gradient descent, whatever its steps."""
    return mixture(as_dict(net, message.came - message.sent), "branch").numpy()


def outside(net: nn.Module, message: Message, torques: np.ndarray, n: int) -> np.ndarray:
    """Which part [k] of each torque [k, m] lies outside of what the change of the branch's first layer spans.

    Every row of the gradient dL/dW is a mixture of the client's torques, and there are as many mixtures as units: with
    fewer points n than units they span the torques themselves. The server knows n, for it weights by it.
    """
    W = as_dict(net, message.came - message.sent)["branch.0.weight"].double().numpy()
    V = np.linalg.svd(W, full_matrices=False)[2][:n]
    return np.linalg.norm(torques - torques @ V.T @ V, axis=1) / np.linalg.norm(torques, axis=1)


def rise(net: nn.Module, message: Message, client: Mapping[str, Tensor]) -> np.ndarray:
    """By how much the squared error of each point [n] rose from the model that was sent to the one that came back."""
    after, before = (
        (predict(net, theta.double(), client["u"], client["y"]) - client["s"]) ** 2
        for theta in (message.came, message.sent)
    )
    return (after - before).numpy()


def told_apart(scores: np.ndarray, others: np.ndarray) -> float:
    """In which share of all pairs (%) a client's point has the smaller score; who guesses is right in half of them."""
    return 100 * float(np.mean((scores[:, None] < others) + (scores[:, None] == others) / 2))


def learnt(net: nn.Module, messages: Sequence[Message], clients: Sequence[Mapping[str, Tensor]]) -> xarray.Dataset:
    """What the server learns from a round's messages of all clients, each with its points; [client].

    off (%): how far what it reads is from the client's nearest torque, and off_other from the nearest one of its
    neighbour, which it never had. span, fit (%): in how many pairs, a point of the client and one of its neighbour, it
    says which is the client's. u, truth [client, t]: what it reads, and the nearest torque, each with r.m.s. 1.
    """

    def attacked(client: int) -> dict:
        message, mine, other = messages[client], clients[client], clients[(client + 1) % len(clients)]
        u, torques, others = read(net, message), mine["u"].numpy(), other["u"].numpy()
        i, off = nearest(u, torques)
        spans = (outside(net, message, some, len(torques)) for some in (torques, others))
        fits = (rise(net, message, table) for table in (mine, other))
        shares = {"off": off, "off_other": nearest(u, others)[1], "span": told_apart(*spans), "fit": told_apart(*fits)}
        return shares | {"u": ("t", scaled(u)), "truth": ("t", scaled(torques[i]))}

    return tabulated(attacked, client=range(len(messages))).drop_vars("client")


def of_messages(
    clients: int, sizes: Sequence[int], steps: Sequence[int], optimizers: Sequence[str] = tuple(OPTIMIZERS),
    sensors: int = 50, width: int = 40,
) -> xarray.Dataset:  # fmt: skip
    """``learnt`` [optimizer, E, points, client] of one round, where every client has only its first points; u and truth
    of the first client.

    sizes: of the clients. steps: E, local ones, from a start that all share.
    """
    net, tables = network(sensors, width), [points(k, max(sizes), sensors) for k in range(clients)]

    def cell(optimizer: str, E: int, points: int) -> Mapping[str, xarray.DataArray]:
        some = [{name: value[:points] for name, value in table.items()} for table in tables]
        every = learnt(net, [one_round(net, table, E, optimizer) for table in some], some)
        return {**every, **{name: every[name].isel(client=0) for name in ("u", "truth")}}

    return tabulated(cell, optimizer=optimizers, E=steps, points=sizes)


def scaled(u: np.ndarray) -> np.ndarray:
    """Curves [..., m] with root mean square 1."""
    return u / np.sqrt(np.mean(u**2, -1, keepdims=True))
