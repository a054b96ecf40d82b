"""A fresh correction of local gradients, before the moments: FedLin's idea inside any optimiser."""

from .optimizers import Optimizer, around, sgd


def corrected(inner: Optimizer | None = None) -> Optimizer:
    """Local steps take g_c(theta_c) + gbar(theta) - g_c(theta) instead of g_c(theta_c).

    theta: the model at the start of the round, g_c(theta): the client's gradient there over all its points, gbar =
    sum_c p_c g_c over who takes part. SCAFFOLD's c_i and c, but of this round: an exchange more, no memory. The first
    local step of every client sees gbar, so E = 1 with full batches is centralised training for every optimiser; with
    ``averaged_moments`` all clients have the same preconditioner in later steps, too.
    Sent up per client and round: 2 P (g_c and theta) in 2 exchanges; ``corrected(averaged_moments(adam()))``: 4 P.

    Source: Mitra et al. 2021 (FedLin), Algorithm 1, for SGD; FAdamGC (arXiv 2502.02727) corrects before the moments.
    """

    def start(theta, state, wire):
        g = wire.gradient()
        state["gbar - g_c"].copy_(wire.mix(g) - g)

    return around(
        inner or sgd(),
        passing=["gbar - g_c"],
        start=start,
        gradient=lambda theta, g, state: g + state["gbar - g_c"],
        sent=1,
        exchanges=1,
    )
