"""Sums train networks: variable projection, in which every iterate is the centralised one.

Residuals that are linear in u are linear in a network's last layer c: r = A(w) c + r_0(w), with hidden weights w. So

    L(w) = min_c |A(w) c + r_0(w)|^2 + ridge |c|^2

is a loss of w alone (Golub and Pereyra 1973). An evaluation of it takes two exchanges:

1. The clients send the sums of [A, r_0] at w, or their root (``sums``). The server adds them, and solves for c.
2. They send |r|^2 and its gradient by w at (w, c). Added up, they give L and its gradient: at the best c, L does not
   change with c.

The server moves w by L-BFGS. No models are averaged, and no client takes a step of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor, nn
from torch.func import grad_and_value

from ....federated import sums
from ....federated.experiment import Data, Experiment
from ....federated.stack import home_columns, parameter_count
from ....refusals import check_counts


class Evaluation(NamedTuple):
    """L and its gradient at some hidden weights.

    theta [P]: the model, its last layer solved for. loss: |r|^2. reduced: L. gradient: of L by w, [P - m]. bytes: what
    all clients have sent.
    """

    theta: Tensor
    loss: float
    reduced: float
    gradient: Tensor
    bytes: int


def last_layer(net: nn.Module) -> slice:
    """Which of the parameters [P] are those of the last ``nn.Linear``: m neighbours.

    Raises:
        ValueError: there is no such layer, or no other one.
    """
    linear = [module for module in net.modules() if isinstance(module, nn.Linear)]
    if not linear:
        raise ValueError(f"a {type(net).__name__} has no nn.Linear; expected a network that ends with one")
    names = [name for name, p in net.named_parameters() if any(p is q for q in linear[-1].parameters())]
    columns, P = home_columns(net, names), parameter_count(net)
    if len(columns) == P:
        raise ValueError(
            f"all {P} parameters of a {type(net).__name__} are in its last layer; expected hidden ones, too. "
            "A model that is linear in all it learns needs one round: sums.one_round"
        )
    return slice(int(columns[0]), int(columns[-1]) + 1)


def hidden(theta: Tensor, last: slice) -> Tensor:
    """What is not in the last layer: w [P - m] of theta [P]."""
    return torch.cat([theta[: last.start], theta[last.stop :]])


def joined(w: Tensor, c: Tensor, last: slice) -> Tensor:
    """theta [P] of w [P - m] and the last layer c [m]."""
    return torch.cat([w[: last.start], c, w[last.start :]])


# at a client


def features(
    experiment: Experiment, points: Mapping[str, Tensor], w: Tensor, last: slice, root: bool = True
) -> sums.Sums:
    """The first message: sums of the rows [A, r_0], or their root, at w [P - m]."""
    zeros = w.new_zeros(last.stop - last.start)
    return sums.statistics(experiment, points, joined(w, zeros, last), root, last)


def descent(experiment: Experiment, points: Mapping[str, Tensor], theta: Tensor, last: slice) -> tuple[Tensor, float]:
    """The second message: the gradient of |r|^2 by the hidden weights [P - m], and |r|^2, at theta [P]."""
    if not len(next(iter(points.values()))):
        return 0 * hidden(theta, last), 0.0
    points, constants, weights = sums.in_dtype(experiment, points, theta.dtype)

    def square(theta):
        r = experiment.residuals(sums.predicting(experiment, theta), points | constants)
        return (weights[:, None] * r.square()).sum()

    gradient, loss = grad_and_value(square)(theta)
    return hidden(gradient, last), float(loss)


# at the server


def evaluate(
    experiment: Experiment, clients: Sequence[Mapping[str, Tensor]], w: Tensor, last: slice, ridge: float,
    root: bool = True,
) -> Evaluation:  # fmt: skip
    """Both exchanges, at hidden weights w [P - m]. ridge: in the unit of A^T A.

    Raises:
        FloatingPointError: a client's message is not finite; names the client.
    """
    messages = [features(experiment, points, w, last, root) for points in clients]
    for k, message in enumerate(messages):
        if not message.matrix.isfinite().all():
            raise FloatingPointError(f"{experiment.name}: the features of client {k} are not finite")
    c = sums.spectrum(sums.added(messages)).step(ridge)
    theta = joined(w, c, last)
    gradients, losses = zip(*(descent(experiment, points, theta, last) for points in clients), strict=True)
    gradient, loss = sum(gradients), sum(losses)
    sent = sum(message.bytes for message in messages) + len(clients) * (len(w) + 1) * w.element_size()
    return Evaluation(theta, loss, loss + ridge * float(c @ c), gradient, sent)


def projected(
    experiment: Experiment, data: Data, theta: Tensor, evaluations: int, ridge: float = 1e-12, memory: int = 50,
    root: bool = True,
) -> sums.Iterates:  # fmt: skip
    """Variable projection by sums, from the hidden weights of theta [P]; in float64.

    A round of ``Iterates`` is an evaluation: two exchanges. The best model is that with the least L. It ends before
    ``evaluations`` where rounding hides every way down.

    Args:
        ridge: of the mean square of A's columns at the start; it then stays as it is, for a ridge that went with w
            would change L's gradient.
        memory: pairs of L-BFGS. root: else sums, which can be added under encryption, with half the digits.

    Raises:
        ValueError: residuals that are not linear in the last layer, or see other points than their own; mini-batches,
            noise, absent clients, parameters that stay at home; unusable arguments.
        FloatingPointError: what a client would send is not finite.
    """
    check_counts(evaluations=evaluations, memory=memory)
    check_ridge(ridge)
    clients, w, last, ridge, n = beginning(experiment, data, theta, ridge, root)
    return downhill(lambda w: evaluate(experiment, clients, w, last, ridge, root), w, n, evaluations, memory)


def downhill(
    evaluated: Callable[[Tensor], Evaluation], w: Tensor, n: float, evaluations: int, memory: int
) -> sums.Iterates:
    """L-BFGS at the server, from hidden weights w [P - m]. evaluated: w -> what both exchanges tell. n: of L, so that
    it walks down a mean."""
    best, iterates, sent = None, [], 0

    def reduced(w: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, sent
        new = evaluated(torch.from_numpy(w.copy()))
        sent += new.bytes
        if best is None or new.reduced < best.reduced:
            best = new
        iterates.append((best.theta, best.loss, sent))
        return new.reduced / n, new.gradient.numpy() / n

    options = {"maxcor": memory, "maxfun": evaluations, "maxiter": evaluations, "ftol": 0, "gtol": 0}
    minimize(reduced, w.numpy(), jac=True, method="L-BFGS-B", options=options)
    models, losses, sent = zip(*iterates[:evaluations], strict=True)  # it may end a line search that it has begun
    return sums.Iterates(torch.stack(models), [*losses], [*sent])


def beginning(
    experiment: Experiment, data: Data, theta: Tensor, ridge: float, root: bool
) -> tuple[list[dict[str, Tensor]], Tensor, slice, float, float]:
    """The clients' points, w [P - m], the last layer's columns, the ridge in the unit of A^T A, how many residuals."""
    theta, last = theta.double(), last_layer(experiment.net)
    check(experiment, data, theta, last)
    clients, w = sums.parts(data), hidden(theta, last)
    # what the first evaluation asks for, too: sent once, and counted there
    first = sums.added(features(experiment, points, w, last, root) for points in clients)
    A = first.matrix[:, :-1]
    squares = A.square().sum() if root else A.diagonal().sum()
    return clients, w, last, ridge * float(squares) / A.shape[1], first.n


def check_ridge(ridge: float) -> None:
    """ValueError unless it is positive."""
    if not 0 < ridge < np.inf:
        raise ValueError(
            f"ridge = {ridge}; expected a positive number, such as 1e-12: without it the last layer of features that "
            "are nearly alike jumps"
        )


def check(experiment: Experiment, data: Data, theta: Tensor, last: slice) -> None:
    """ValueError for what variable projection cannot mean; see ``projected``."""
    name, local, P = experiment.name, experiment.local, parameter_count(experiment.net)
    if theta.shape != (P,):
        raise ValueError(f"theta has shape {[*theta.shape]}; expected [{P}], one model of {name}")
    if local.batch_size is not None:
        raise ValueError(
            f"{name} takes mini-batches of {local.batch_size} points; expected full batches, for a last layer that is "
            f"the best for some points is not for others. experiment._replace(local=Local({local.updates}))"
        )
    if experiment.noise is not None:
        raise ValueError(f"{name} has noise, drawn anew for each loss; expected none. experiment._replace(noise=None)")
    if experiment.fraction != 1:
        raise ValueError(
            f"{name} has fraction = {experiment.fraction}; expected 1: L-BFGS compares losses of the same clients. "
            "experiment._replace(fraction=1.0)"
        )
    if experiment.personal:
        raise ValueError(
            f"{name} keeps {', '.join(experiment.personal)} at its clients; expected one model for all. "
            "experiment._replace(personal=())"
        )
    rows = sums.rows(experiment, data.pool, theta, last)
    if not rows.isfinite().all():
        raise FloatingPointError(f"{name}: residuals, or their derivatives by the last layer, are not finite at theta")
    if not sums.is_linear(experiment, data.pool, theta, last):
        raise ValueError(
            f"{name}: residuals are not linear in the last nn.Linear of its {type(experiment.net).__name__}. Expected "
            "an equation that is linear in u, and a network that ends with this layer. Where the equation is not "
            "linear, take sums.gauss_newton"
        )
    points, constants, weights = sums.in_dtype(experiment, data.pool, theta.dtype)
    r = experiment.residuals(sums.predicting(experiment, theta), points | constants)
    r, alone = (weights.sqrt()[:, None] * r).flatten(), rows[:, -1]
    if not torch.allclose(r, alone, rtol=1e-6, atol=1e-6 * float(alone.abs().max())):
        raise ValueError(
            f"{name}: residuals of a point change with the other points of its batch; expected a function of the point "
            "alone, for sums are of points"
        )
