"""Problems of other rooms on which federated training loses, each at one level of heterogeneity; beyond the papers.

Each has validation points, between those that errors are measured on: they choose the rates.
"""

from collections.abc import Callable

import numpy as np
from torch import Tensor

from ....federated.batches import Local
from ....federated.experiment import Data, Experiment, halved
from ...fed_deeponet import physics
from ...fed_deeponet.shards import problem as shards
from ...fedsciml.forward import problem as forward
from ...fedsciml.functions import problem as functions
from ...fedsciml.operators import problem as operators


def line(n: int = 200, width: int = 64) -> Experiment:
    """Two clients own pieces of Gramacy and Lee's wave in turn (notebook 04)."""
    return halved(functions.gramacy_lee(n=n, width=width))


def uneven_line(n: int = 200, width: int = 64) -> Experiment:
    """``line`` with unequal clients: the second one owns every fourth piece, p = 3/4 and 1/4."""
    wave = functions.gramacy_lee(n=n, width=width)

    def data(pieces: int, seed: int) -> Data:
        piece = np.arange(n) * pieces // n
        owners = [np.flatnonzero(piece % 4 != 3), np.flatnonzero(piece % 4 == 3)]
        return wave.data(2, seed)._replace(owners=owners)

    return halved(wave._replace(name="Gramacy-Lee, unequal", data=data))


def square(n: int = 400, width: int = 64) -> Experiment:
    """Two clients own slabs of Schaffer's square in turn (notebook 04)."""
    return halved(functions.schaffer(n=n, width=width))


def helmholtz() -> Experiment:
    """Two clients own blocks of a standing wave as on a chessboard (notebook 05)."""
    return halved(forward.helmholtz())


def allen_cahn(lines: int = 20, times: int = 20, boundary: int = 40, initial: int = 40) -> Experiment:
    """Two phases that part in time (notebook 05), with 400 of the 8000 points and 80 of the 1200 on the rim."""
    return halved(forward.allen_cahn(2, lines, times, boundary, initial))


def antiderivative(functions_each: int = 100, tests: int = 200) -> Experiment:
    """Two clients know the first and the last terms of what they integrate (notebook 07)."""
    return halved(operators.antiderivatives(functions_each, tests))


def on_random_torques(predict, test: dict[str, Tensor]) -> dict[str, Tensor]:
    """``evaluate``: mean error (%) over the trajectories of random torques."""
    return {"error": physics.mean_errors(predict, test)["GRF"]}


def pendulums(experiment: Experiment) -> Experiment:
    """Federated pendulums as all rules are compared on them: at their own rates, with moments that are kept."""
    return experiment._replace(
        evaluate=on_random_torques, rounds=200, local=Local(20, "steps", 64), reset_moments=False, lr=1e-3, decay=1.0,
        distance=None,
    )  # fmt: skip


def one_shard(triplets: int = 10_000, clients: int = 20, sensors: int = 100) -> Experiment:
    """Twenty clients, so many shards each of the triplets sorted by target (notebook 02)."""
    return pendulums(shards.label_sorted(triplets, clients, sensors=sensors))


def two_fields(triplets: int = 10_000, clients: int = 20, sensors: int = 100, delta: float = 2.0) -> Experiment:
    """Twenty clients whose torques are of one of two random fields (notebook 02)."""
    return pendulums(shards.two_fields(triplets, clients, sensors=sensors, deltas=[delta]))


CURVES: dict[str, Callable[[], Experiment]] = {"line_20": functions.gramacy_lee, "poisson_8": forward.poisson}
PLACES = 200  # at which a curve is kept, about


def thinned(values: Tensor) -> Tensor:
    """Of test points, or of values there, those that are kept."""
    return values[:: max(1, len(values) // PLACES)]


def followed(name: str) -> Experiment:
    """A problem of CURVES that measures beside its error what the network says at some places, "u" [x]."""
    experiment = CURVES[name]()

    def evaluate(predict, test) -> dict[str, Tensor]:
        return experiment.evaluate(predict, test) | {"u": thinned(experiment.answer(predict, test))}

    return experiment._replace(evaluate=evaluate)
