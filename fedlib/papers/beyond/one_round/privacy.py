"""What sums tell in crowds and under noise, and what it costs to hide their points: attacks and errors, on Poisson."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
import xarray
from scipy.special import ndtr
from torch import Tensor

from ....federated import sums
from ....federated.experiment import Experiment, data_of
from ....numerics.tabulated import tabulated
from ....streams import stream
from ..points import ATTACKS, Curve, Spectrum, other_measure, poisson_rows, share_found, spectrum_of
from .problem import EQUATIONS, error, start, with_sines

GRID = np.linspace(0, np.pi, 501)
NEAR = 0.1
"""A point is found if a guess of its own is as near, in units of pi / n, the share of the interval that each of n has.
Who guesses the middle of every share finds one in five."""

DELTA = 1e-5
"""Probability with which a promise of privacy may fail."""

CROWDED = 2.2
"""Where one point stands apart, all others are between 0 and this."""


def cloud(n: int, seed: int, apart: float = 0.0) -> np.ndarray:
    """n points [n], rising: one at a random place in each of n equal parts of [0, pi]; or all but one in [0, CROWDED],
    and the last one ``apart`` from these."""
    if apart:
        return np.append(cloud(n - 1, seed) * CROWDED / np.pi, CROWDED + apart)
    return (np.arange(n) + stream(seed, "cloud", n).uniform(size=n)) * np.pi / n


@lru_cache(maxsize=30)
def public(m: int, kept: int | None, seed: int, scale: float) -> tuple[Experiment, Curve, sums.Directions, Spectrum]:
    """What everybody knows before anything is sent: Poisson's equation with m sines, its rows [J, r]; if points lie
    everywhere alike, the ``kept`` directions in which J is largest, or, where that is None, all sines as they are; and
    the spectrum of what is sent by these."""
    experiment = with_sines("poisson", m, scale, seed)
    rows = poisson_rows(experiment, zero := start(experiment))
    everywhere = torch.as_tensor(rows(GRID))
    directions = sums.whitened(everywhere, kept) if kept else sums.rescaled(everywhere, torch.eye(len(zero)).double())
    return experiment, rows, directions, spectrum_of(lambda x: rows(x) @ directions.W.numpy(), GRID)


class Attacked(NamedTuple):
    """One message, what attacks make of it, and what it is good for."""

    experiment: Experiment  # Poisson's equation with sines
    spectrum: Spectrum  # of what is sent
    x: np.ndarray  # the points [n]
    guesses: dict[str, np.ndarray]  # [n] of each of ATTACKS
    share: dict[str, float]  # of the points that they find
    c: Tensor  # [m]: the solution


def attacked(
    m: int, points: int, seed: int, noise: float = 0.0, kept: int | None = None, scale: float = 6.0, apart: float = 0.0
) -> Attacked:  # fmt: skip
    """Sums of ``cloud``, by m sines or the ``kept`` strongest directions of them.

    noise: st.dev. of each number, in units of the most by which one point changes the sums.
    """
    experiment, _, directions, spectrum = public(m, kept, seed, scale)
    x, sigma = cloud(points, seed, apart), noise * directions.longest
    rows = spectrum.curve(x)
    total = rows.T @ rows + sums.symmetric_noise(sigma, rows.shape[1], stream(seed, "noise on sums", m)).numpy()
    guesses = {name: attack(total, points, spectrum, sigma) for name, attack in ATTACKS.items()}
    share = {name: share_found(guess, x, NEAR * np.pi / points) for name, guess in guesses.items()}
    rounding = len(directions.back.T) * np.finfo(float).eps * np.linalg.norm(total[:-1, :-1], 2)
    solution = sums.solve(sums.Sums(torch.as_tensor(total), points, noise=sigma), None if noise else rounding)
    return Attacked(experiment, spectrum, x, guesses, share, directions.back @ solution.step)


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
