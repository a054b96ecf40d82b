"""What sums tell in crowds and under noise, and what it costs to hide their points: attacks and errors, on Poisson."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray
from scipy.special import ndtr

from ....federated import sums
from ....federated.experiment import data_of
from ....numerics.tabulated import tabulated
from ....streams import stream
from ..points import ATTACKS, DELTA, GRID, attacked, other_measure, public
from .problem import EQUATIONS, error


def in_a_crowd(
    features: Sequence[int], points: Sequence[int], seeds: Sequence[int], scale: float = 6.0
) -> xarray.Dataset:
    """What the sums of n points tell without noise, by m sines.

    found [m, points, seed, attack]: shares of the points. apart [m, points, seed]: how far another measure with the
    same sums may lie, see ``other_measure``. products [m, points, seed]: independent ones.
    """

    def one(m: int, points: int, seed: int) -> dict:
        sent = attacked(m, points, seed, scale=scale)
        apart = other_measure(sent.x, sent.spectrum.curve, GRID)[1]
        return {"found": ("attack", [*sent.share.values()]), "apart": apart, "products": len(sent.spectrum.s)}

    return tabulated(one, m=features, points=points, seed=seeds).assign_coords(attack=[*ATTACKS])


# noise


def under_noise(
    messages: Mapping[str, Sequence], noise: Sequence[float], seeds: Sequence[int], points: int = 32, scale: float = 6.0
) -> xarray.Dataset:
    """What the sums of some points tell with noise on them, and what they are worth then.

    messages: name -> (m sines, directions kept of them, or None). noise: as ``attacked`` takes it. found [message,
    noise, seed, attack]; error (%) of the solution [message, noise, seed], and nothing (%), that of c = 0, which needs
    no data.
    """
    test = data_of(EQUATIONS["poisson"](), 2).test

    def one(message: str, noise: float, seed: int) -> dict:
        m, kept = messages[message]
        sent = attacked(m, points, seed, noise, kept, scale)
        errors = {"error": sent.c, "nothing": 0 * sent.c}
        errors = {name: error(sent.experiment, c, test) for name, c in errors.items()}
        return {"found": ("attack", [*sent.share.values()]), **errors}

    return tabulated(one, message=[*messages], noise=noise, seed=seeds).assign_coords(attack=[*ATTACKS])


# differential privacy


def told_in_or_out(sigma: float) -> float:
    """How often one is right who knows all points but one, and says of the sums whether it is in them or not.

    Nobody does better: two normal distributions, 1 apart at most, are told apart by which mean is nearer.
    """
    return float(ndtr(0.5 / sigma))


def private_in_a_crowd(
    points: Sequence[int], epsilons: Sequence[float], seeds: Sequence[int], m: int = 60, kept: int = 20,
    scale: float = 6.0,
) -> xarray.Dataset:  # fmt: skip
    """Poisson's equation from private sums of many points, each of which may be another's.

    error (%) [points, epsilon, seed]; nothing (%) [..], that of c = 0. What is sent is ``sums.private``: one point more
    or less is hidden with epsilon and ``DELTA``. One who adds up, and adds the noise, is trusted.
    """
    test = data_of(EQUATIONS["poisson"](), 2).test

    def solved(points: int, epsilon: float, seed: int) -> dict:
        (experiment, rows, directions, _), rng = public(m, kept, seed, scale), stream(seed, "crowd", points)
        sent = sums.private(torch.as_tensor(rows(rng.uniform(0, np.pi, points))), directions, epsilon, DELTA, rng=rng)
        c = directions.back @ sums.solve(sent).step
        return {"error": error(experiment, c, test), "nothing": error(experiment, 0 * c, test)}

    return tabulated(solved, points=points, epsilon=epsilons, seed=seeds)
