"""What the server does with the mixed models: FedJAX's shape, ``init`` and ``apply``.

``mixed`` is A theta, what the clients would hold without it; ``before`` what they held when the round began. Both are
[D, P], a row per distinct model (one for a federation whose clients all receive the same), so a server is elementwise
per row and serves all federations of a stack that have it at once.
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Server(NamedTuple):
    """init(theta [D, P]) -> state; apply(before, mixed, state, round) -> the models that go out; state is changed in
    place."""

    init: Callable[[Tensor], dict[str, Tensor]]
    apply: Callable[[Tensor, Tensor, dict[str, Tensor], int], Tensor]
