"""Averaged moments: what the local optimisers keep is mixed with the parameters."""

from collections.abc import Sequence

import torch

from .optimizers import Optimizer, adam, around

EXAMPLE = torch.zeros(1, 2)  # a client with two parameters: tells vectors [M, P] from numbers [M, 1]


def averaged_moments(inner: Optimizer | None = None, names: Sequence[str] = ()) -> Optimizer:
    """At a synchronisation m <- sum_k p_k m_k and v <- sum_k p_k v_k, as theta: all clients go on from common moments.

    The clients then share a preconditioner. Everything that ``inner`` keeps is averaged, Adam's step count, too: it
    stays a count where all clients take equally many steps, and is their mean otherwise.
    Sent up per client and round: P and a vector for each moment, 3 P for Adam (and one number, its step count).

    names: of what is averaged, all of it by default; ("v",) of Adam is a common preconditioner and nothing else, 2 P.

    Source: measured in our notes; FedAdamW (arXiv 2510.27486) shares second moments.

    Raises:
        ValueError: ``inner`` is a rule, whose memory of each client is no moment, or keeps nothing of such a name. In
            training: some parameters are personal; their moments would stay behind while the one step count is mixed.
    """
    inner = inner or adam()
    if inner.start or inner.finish:
        raise ValueError(
            "averaged_moments was given a rule that remembers something of each client; put the rule around it: "
            "scaffold(averaged_moments(adam())), not averaged_moments(scaffold(adam()))"
        )
    kept = inner.init(EXAMPLE)
    if unknown := [name for name in names if name not in kept]:
        raise ValueError(
            f"names = {list(names)}: this optimiser keeps {', '.join(kept) or 'nothing'}, not {unknown[0]!r}"
        )
    kept = {name: value for name, value in kept.items() if name in names or not names}
    vectors = [name for name, value in kept.items() if value.shape == EXAMPLE.shape]

    def finish(theta, state, wire):
        if len(wire.mix.home):
            raise ValueError(
                "averaged moments were asked for together with personal parameters, but a client has one step count "
                "for all its parameters; train without personal=... or with the moments kept at the clients"
            )
        for name in kept:
            state[name].copy_(wire.mix(state[name]))

    return around(inner, finish=finish, sent=len(vectors))._replace(shared=tuple(kept))
