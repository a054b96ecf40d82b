"""Five clients see digits through a map of their own, and a network that they train together shall read clean ones.

FedDRO's training (Algorithm 1, lines 8 to 15) is a loss for one client with a personal displacement theta_i, and an
optimiser that descends on w and ascends on theta_i.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, max_pool2d, one_hot, relu

from ....federated.batches import Local
from ....federated.experiment import Data, Experiment
from ....federated.optimizers import Optimizer, remembered, sgd
from . import ways
from .handwriting import Clients, deal_digits, handwriting, held_out
from .shifts import shifted, shifted_tests, shifts_in_parts

MOMENTUM = 0.5


class CNN(nn.Module):
    """Two 5 x 5 convolutions (10, 20 channels) with max pooling, 50 hidden units, 10 classes; dropout 1/2.

    displaced: with a parameter theta [784], the client's adversarial displacement.
    """

    NOISE = (70,)  # per image: 20 channels and 50 units to drop

    def __init__(self, displaced: bool = False):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.hidden, self.out = nn.Linear(320, 50), nn.Linear(50, 10)
        self.theta = nn.Parameter(torch.zeros(784)) if displaced else None

    def forward(self, x: Tensor, noise: Tensor | None = None, attack: bool = False) -> Tensor:
        """x [n, 784] -> logits [n, 10]. noise [n, 70]: standard normal, drops a unit where it is negative."""
        if attack and self.theta is not None:
            x = x + self.theta
        a = relu(pooled(self.conv1(x.unflatten(-1, (1, 28, 28)))))
        a = self.conv2(a)
        if noise is not None:
            a = a * keep(noise[:, :20, None, None])
        a = relu(self.hidden(relu(pooled(a)).flatten(1)))
        if noise is not None:
            a = a * keep(noise[:, 20:])
        return self.out(a)


def pooled(x: Tensor) -> Tensor:
    """The largest of each 2 x 2 pixels. Torch's max pooling takes ten times as long, for it notes which one that is:
    what a gradient asks for."""
    if torch.is_grad_enabled():
        return max_pool2d(x, 2)
    rows = torch.maximum(x[..., ::2, :], x[..., 1::2, :])
    return torch.maximum(rows[..., ::2], rows[..., 1::2])


def keep(noise: Tensor) -> Tensor:
    """Dropout 1/2: 2 or 0, each half of the time."""
    return 2.0 * (noise > 0)


def classification(predict: Callable, batch: Mapping[str, Tensor]) -> Tensor:
    """Mean cross entropy of h_w(x + theta); the local objective is this minus lambda |theta|^p."""
    logits = predict(batch["x"], batch.get("noise"), True)
    return (batch["w"] * cross_entropy(logits, batch["y"], reduction="none")).sum()


def ascend(theta: Tensor, g: Tensor, eta: float, lam: float) -> Tensor:
    """One ascent step on loss - lambda |theta|^2, row by row; theta, g [..., d].

    Proximal: theta + eta g shrinks by the exact solution of the penalty's step, which is stable for every eta and
    lambda.
    """
    return (theta + eta * g) / (1 + 2 * eta * lam)


@remembered
def descent_ascent(n_theta: int, eta_1: float, lam: float, p: float = 2, momentum: float = 0.5) -> Optimizer:
    """FedDRO's local step: SGD with momentum on w, one ascent step on theta_i (lines 8-15).

    theta_i are the first n_theta columns of a row [P], as in ``CNN``. Both steps use the gradient at the old
    (w, theta). ValueError: p is not 2.
    """
    if p != 2:
        raise ValueError(f"p = {p}: the ascent knows the penalty |theta|^2 only")

    def apply(rows, g, state, lr):
        theta, w = rows[:, :n_theta], rows[:, n_theta:]
        w.sub_(lr * state["v"].mul_(momentum).add_(g[:, n_theta:]))
        theta.copy_(ascend(theta, g[:, :n_theta], eta_1, lam))

    return Optimizer(lambda rows: {"v": torch.zeros_like(rows[:, n_theta:])}, apply)


def answers(predict: Callable, x: Tensor) -> Tensor:
    """The digit that is read in each of x [n, 784], [n]."""
    return torch.cat([predict(part).argmax(1) for part in x.split(50)])  # 50: the activations stay in the cache


def accuracies(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``evaluate``: how many (%) of the clean digits "x" [n, 784] are read right.

    commonest: the share of the answer that is given most often; 100 where a network says the same to everything. own,
    fresh, where there are digits x_own, x_fresh [maps, m, 784] under shifts: the mean over the clients' maps, and the
    worst of maps that nobody had; so, as means, where there is a part of these shifts only (``shifts_in_parts``).
    validation: of clean digits that were held out for choices.
    """
    read = answers(predict, test["x"])
    measured = {"accuracy": right(read, test["y"]), "commonest": 100 * one_hot(read, 10).float().mean(0).max()}
    if (x := test.get("x_held")) is not None:
        measured["validation"] = right(answers(predict, x), test["y_held"])
    views = {"own": torch.mean, "fresh": torch.min, **dict.fromkeys(("matrix", "pattern", "whole"), torch.mean)}
    for kind, over in views.items():
        if (x := test.get(f"x_{kind}")) is not None:
            read = answers(predict, x.flatten(0, 1)).unflatten(0, x.shape[:2])
            measured[kind] = over(torch.stack([right(row, test["y"][: x.shape[1]]) for row in read]))
    return measured


def right(read: Tensor, labels: Tensor) -> Tensor:
    """The share (%) of right answers."""
    return 100 * (read == labels).float().mean()


def dealt(source: str, pixels: str, clients: int, per_client: int, seed: int, *partition) -> Clients:
    """What the clients own before anything is shifted; partition: with its alpha, as of ``deal_digits``."""
    return deal_digits(handwriting(source, pixels)["train"], clients, per_client, seed, *partition)


def digits(
    way: str = ways.FEDAVG, source: str = "mnist", pixels: str = "normalised", reading: str = "shared",
    partition: str = "iid", alpha: float = 1.0, clients: int = 5, per_client: int = 200, atoms: int = 20,
    barycenter_rounds: int = 15, affine_steps: int = 3, test_digits: int = 10_000, shifted_digits: int = 0,
    fresh_shifts: int = 5, ascent: Sequence[float] = (),
) -> Experiment:  # fmt: skip
    """A level is the size |Lambda| of the shift; tested is on clean digits, which nobody trains on.

    way: what the clients train on, of ``ways.WAYS``. source, pixels: of ``handwriting``; reading: of the shift, of
    ``shifts.READINGS``; partition, alpha: of ``deal_digits``. atoms, barycenter_rounds, affine_steps: of
    ``ways.material``. test_digits: clean ones; shifted_digits: the first of them, under the map of each client, and
    under so many fresh ones. ascent: eta_1 and lambda of theta_i, or none for plain SGD.
    """

    def data(level: float, seed: int) -> Data:
        seen = shifted(dealt(source, pixels, clients, per_client, seed, partition, alpha), level, seed, reading)
        owned = ways.material(way, seen, atoms, barycenter_rounds, affine_steps, seed)
        x, y = (values[:test_digits] for values in handwriting(source, pixels)["test"])
        moved = {}
        if shifted_digits:
            moved = shifted_tests(x[:shifted_digits].numpy(), clients, fresh_shifts, level, seed, reading)
        test = {"x": x, "y": y} | {f"x_{kind}": torch.as_tensor(values) for kind, values in moved.items()}
        pool = {"x": torch.as_tensor(owned.x, dtype=torch.float32), "y": torch.as_tensor(owned.y)}
        return Data(pool, owned.shards, test)

    return Experiment(
        way, CNN(displaced=bool(ascent)), loss=classification, data=data, evaluate=accuracies, rounds=10,
        local=Local(1, "epochs", 10), lr=0.01, reset_moments=True, noise=CNN.NOISE, level=r"$|\Lambda|$",
        optimizer=descent_ascent(784, *ascent, momentum=MOMENTUM) if ascent else sgd(MOMENTUM),
        personal=("theta",) if ascent else (),
    )  # fmt: skip


def looked_at(settings: Mapping, held: int = 0, in_parts: int = 0) -> Experiment:
    """``digits`` of these settings, with more to read: ``held`` clean training digits that no client has, for choices,
    and the first ``in_parts`` test digits under parts of each client's map."""
    experiment = digits(**settings)
    source, pixels, reading, K, each = (
        settings[name] for name in ("source", "pixels", "reading", "clients", "per_client")
    )

    def data(level: float, seed: int) -> Data:
        plain = experiment.data(level, seed)
        test = dict(plain.test)
        if held:
            train = handwriting(source, pixels)["train"]
            test["x_held"], test["y_held"] = held_out(train, K * each, held, seed)
        if in_parts:
            moved = shifts_in_parts(test["x"][:in_parts].numpy(), K, level, seed, reading)
            test |= {f"x_{part}": torch.as_tensor(values) for part, values in moved.items()}
        return plain._replace(test=test)

    return experiment._replace(data=data)
