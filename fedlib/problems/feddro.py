"""FedDRO's training: the engine trains a network with a personal displacement theta_i (Algorithm 1, lines 8-15).

The local problem is a loss for one client and an optimiser that descends on w and ascends on theta_i.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, max_pool2d, relu

from ..federated.federation import Federation, join
from ..federated.history import History
from ..federated.optimizers import Optimizer, sgd
from ..federated.train import train
from .digits import Clients


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


def ascend(theta: Tensor, g: Tensor, eta: float, lam: float, p: float) -> Tensor:
    """One ascent step on loss - lambda |theta|^p, row by row; theta, g [..., d].

    p = 2 and p = 1 are proximal: they shrink theta + eta g by the exact solution of the penalty's step, which is
    stable for every eta and lambda. Other p: a plain gradient step.
    """
    if p == 2:
        return (theta + eta * g) / (1 + 2 * eta * lam)
    if p == 1:
        z = theta + eta * g
        return z * (1 - eta * lam / z.norm(dim=-1, keepdim=True).clamp_min(1e-30)).clamp_min(0)
    size = theta.norm(dim=-1, keepdim=True).clamp_min(1e-12)
    return theta + eta * (g - lam * p * size ** (p - 2) * theta)


def descent_ascent(n_theta: int, eta_1: float, lam: float, p: float = 2, momentum: float = 0.5) -> Optimizer:
    """FedDRO's local step: SGD with momentum on w, one ascent step on theta_i (lines 8-15).

    theta_i are the first n_theta columns of a row [P], as in ``CNN``. Both steps use the gradient at the old
    (w, theta).
    """

    def apply(rows, g, state, lr):
        theta, w = rows[:, :n_theta], rows[:, n_theta:]
        w.sub_(lr * state["v"].mul_(momentum).add_(g[:, n_theta:]))
        theta.copy_(ascend(theta, g[:, :n_theta], eta_1, lam, p))

    return Optimizer(lambda rows: {"v": torch.zeros_like(rows[:, n_theta:])}, apply)


def answers(predict: Callable, x: Tensor) -> Tensor:
    """The digit that is read in each of x [n, 784], [n]."""
    return torch.cat([predict(part).argmax(1) for part in x.split(50)])  # 50: the activations stay in the cache


def share_read(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``evaluate`` of ``train``: the share of test digits x_test [n, 784] that are read right.

    commonest: the share of the answer that is given most often; 1 where the network says the same to everything.
    """
    said = answers(predict, test["x_test"])
    counts = torch.nn.functional.one_hot(said, 10).float().mean(0)
    return {"accuracy": (said == test["y_test"]).float().mean(), "commonest": counts.max()}


def learn(
    owned: Mapping[tuple, Clients], seed: int, test: tuple[Tensor, Tensor], *, lr, momentum, ascent=(), **how
) -> tuple[CNN, History]:
    """Train what the clients own in every federation, (way, |Lambda|) -> Clients, as one stack.

    Args:
        test: clean digits x [n, 784] and labels [n]. ascent: eta_1 and lambda of theta_i, or none for plain SGD.
        how: rounds, local, device, ... of ``train``.
    """
    net = CNN(displaced=bool(ascent))
    pool, at = join(
        {key: {"x": torch.as_tensor(c.x, dtype=torch.float32), "y": torch.as_tensor(c.y)} for key, c in owned.items()}
    )
    feds = {
        (way, level): Federation(at((way, level), c.shards), lr=lr, seed=seed, name=f"{way}, |Lambda| = {level:g}")
        for (way, level), c in owned.items()
    }
    return net, train(
        net,
        classification,
        pool,
        feds,
        parts=("way", "level"),
        noise=CNN.NOISE,
        optimizer=descent_ascent(784, *ascent, momentum=momentum) if ascent else sgd(momentum),
        personal=("theta",) if ascent else (),
        reset_moments=True,
        evaluate=share_read,
        constants=dict(zip(("x_test", "y_test"), test, strict=True)),
        **how,
    )
