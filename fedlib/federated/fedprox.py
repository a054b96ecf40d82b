"""FedProx: a spring between a client's model and the one it was given."""

from .optimizers import Optimizer, around, sgd


def fedprox(mu: float, inner: Optimizer | None = None) -> Optimizer:
    """Client k minimises F_k(w) + mu / 2 |w - w^t|^2, with w^t the model at the start of the round.

    Its gradient g + mu (w - w^t) goes to ``inner``, plain SGD by default. mu = 0 is FedAvg, and so is any mu with one
    local step.
    Sent up per client and round: P.

    Source: Li et al. 2020 (Federated optimization in heterogeneous networks), Algorithm 2.

    Raises:
        ValueError: mu < 0.
    """
    if not mu >= 0:
        raise ValueError(f"mu = {mu!r}: expected a number >= 0; a negative spring pushes the clients apart")
    return around(
        inner or sgd(),
        passing=["w^t"],
        start=lambda w, state, wire: state["w^t"].copy_(w),
        gradient=lambda w, g, state: g + mu * (w - state["w^t"]),
    )
