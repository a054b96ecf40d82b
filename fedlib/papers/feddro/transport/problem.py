"""Clouds of points in a federation: the distance of two (FedWaD), and barycenters whose truth is known.

Sources: FedWaD (Rakotomamonjy, Nadjahi, Ralaivola 2023), FedDRO (Eqs. 1 to 4, Algorithm 1, lines 1 to 7).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import ot
from scipy.optimize import linprog, minimize

from ....streams import stream
from ..algorithm import Message, federated_barycenter, send
from ..measures import Measure, interpolant, objective, uniform, wasserstein


class FedWaD(NamedTuple):
    """bound [R]: the chain's length in each round, never below W_p. xi: R + 1 shared clouds."""

    bound: np.ndarray
    xi: list[Measure]


def fedwad(
    X: Measure,
    Y: Measure,
    xi: np.ndarray,
    rounds: int,
    *,
    p: float = 2,
    t: float = 0.5,
    exact: bool = False,
    wire: list[Message] | None = None,
) -> FedWaD:
    """W_p(X, Y) of two clients who never show their clouds (FedWaD).

    In a round both go from the shared xi towards their own cloud, and the server puts xi in the middle between the
    two interpolants. W(X, eta_X) + W(eta_X, xi) + W(xi, eta_Y) + W(eta_Y, Y) >= W(X, Y) by the triangle inequality.

    Args:
        xi: shared cloud [S, d] to start from; tight, at the common mean. t: how far a client goes.
        wire: a list that collects every Message.
    """
    xi, bound = [uniform(xi)], []
    clients = {"client 1": X, "client 2": Y}
    for _ in range(rounds):
        etas, length = [], 0.0
        for name, cloud in clients.items():
            send(wire, "server", name, "xi", xi[-1].x)
            eta = interpolant(xi[-1], cloud, t, p, exact)
            send(wire, name, "server", "eta", eta.x)
            distance = wasserstein(cloud, eta, p)
            send(wire, name, "server", "W(own, eta)", distance)
            length += distance + wasserstein(eta, xi[-1], p)
            etas.append(eta)
        bound.append(length)
        xi.append(interpolant(*etas, 0.5, p, exact))
    return FedWaD(np.array(bound), xi)


class Chain(NamedTuple):
    """Eq. 3 for one client: terms [4], lengths of its four pieces; distance: W_p(P_i, Q), which they bound."""

    terms: np.ndarray
    distance: float


def chain(P: Measure, gamma: Measure, Q: Measure, p: float = 2) -> Chain:
    """W_p(P, eta_P) + W_p(eta_P, gamma) + W_p(gamma, eta_Q) + W_p(eta_Q, Q) >= W_p(P, Q). Needs all samples."""
    stops = [P, interpolant(gamma, P, p=p), gamma, interpolant(gamma, Q, p=p), Q]
    return Chain(np.array([wasserstein(a, b, p) for a, b in pairwise(stops)]), wasserstein(P, Q, p))


def plane(S: int, rng: np.random.Generator) -> tuple[Measure, Measure, list[Measure], np.ndarray]:
    """Two Gaussian clouds of S points of the plane; three translates of one; a tight start [S, 2] at their mean."""
    X, Y = uniform(rng.normal(size=(S, 2))), uniform(0.7 * rng.normal(size=(S, 2)) + 4)
    shifts = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    three = [uniform(rng.normal(size=(S, 2)) + s) for s in shifts]
    return X, Y, three, shifts.mean(0) + 0.01 * rng.normal(size=(S, 2))


def quality(Q: np.ndarray, clients: Sequence[Measure]) -> dict[str, float]:
    """Of a barycenter Q [S, d] of translates: error of its mean, spread, objective over that of a centralised one."""
    central = ot.lp.free_support_barycenter([m.x for m in clients], [m.w for m in clients], Q)
    mean = np.mean([m.x.mean(0) for m in clients], 0)
    return {
        "error of the mean": float(np.linalg.norm(Q.mean(0) - mean)),
        "spread": float(Q.std(0).mean()),  # of 1
        "objective / centralised": objective(Q, clients) / objective(central, clients),
    }


def leak(wire: Sequence[Message], clients: Sequence[Measure]) -> tuple[float, float]:
    """How close the server comes to the clients' samples, by L1.

    Returns:
        nearest: distance of a message to a sample, at least; guessed: of the first gamma, extrapolated by 4 from the
        start, to a sample, at most. With as many atoms as samples and a tight start the guess is the samples.
    """
    raw = np.concatenate([m.x for m in clients])
    clouds = [m.value for m in wire if m.value.ndim == 2]
    nearest = min(float(np.abs(cloud[:, None] - raw).sum(2).min()) for cloud in clouds)
    start, gamma = wire[0].value, next(m.value for m in wire if m.what == "gamma")
    guess = start + 4 * (gamma - start)
    return nearest, float(np.abs(guess[:, None] - raw).sum(2).min(1).max())


def tight_start(X: Measure, Y: Measure, S: int) -> np.ndarray:
    """A tight shared cloud [S, d] at the common mean."""
    return (X.x.mean(0) + Y.x.mean(0)) / 2 + 0.01 * stream(0, "xi").normal(size=(S, X.x.shape[1]))


def gap(X: Measure, Y: Measure, xi: np.ndarray, rounds: int = 10, p: float = 2, exact: bool = False) -> np.ndarray:
    """FedWaD's bound above W_p in % [rounds]."""
    return above(X, Y, fedwad(X, Y, xi, rounds, p=p, exact=exact), p)


def above(X: Measure, Y: Measure, run: FedWaD, p: float = 2) -> np.ndarray:
    """A run's bound above W_p in % [rounds]."""
    return 100 * (run.bound / wasserstein(X, Y, p) - 1)


def closes_in(gap: np.ndarray) -> bool:
    """Whether a ``gap`` (%) [rounds] is never below 0, never rises, and ends below 1."""
    return bool((gap > -1e-7).all() and (np.diff(gap) < 1e-7).all() and gap[-1] < 1)


def gaussians(d: int, n: int, m: int) -> tuple[Measure, Measure]:
    """Clouds of n and m points in R^d, st.dev. 1 and 0.7, their means 4 sqrt(2) apart."""
    rng = stream(d, "gaussians")
    return uniform(rng.normal(size=(n, d))), uniform(0.7 * rng.normal(size=(m, d)) + 4 * (2 / d) ** 0.5)


def starts_and_sizes(S: int = 200, d: int = 50) -> dict[str, np.ndarray]:
    """``gap`` in R^d: sizes and start -> [10]. A wide start is as wide as the clouds that it lies between."""
    equal, unequal = gaussians(d, S, S), gaussians(d, 3 * S // 4, S)
    wide = 2**0.5 * stream(0, "wide").normal(size=(S, d)) + 2 * (2 / d) ** 0.5
    return {
        f"{S}, {S}; tight start": gap(*equal, tight_start(*equal, S)),
        f"{S}, {S}; wide start": gap(*equal, wide),
        f"{3 * S // 4}, {S}; tight start": gap(*unequal, tight_start(*unequal, S)),
    }


def supports(rounds: int, d: int = 10) -> dict[str, tuple[np.ndarray, list[int]]]:
    """40 and 60 atoms in R^d, "barycentric" and "exact" supports: ``gap`` [rounds], and the atoms of every xi."""
    X, Y = gaussians(d, 40, 60)
    runs = {
        name: fedwad(X, Y, tight_start(X, Y, 40), rounds, exact=name == "exact") for name in ("barycentric", "exact")
    }
    return {name: (above(X, Y, run), [len(xi.x) for xi in run.xi]) for name, run in runs.items()}


def two_particles() -> dict[str, np.ndarray]:
    """``gap`` [10] of two pairs that cross: xi starts in the middle of the wrong pairs, or near that of the right."""
    u, v = np.array([1.0, 0.0]), np.array([-0.1, 1.0])
    x, y = np.stack([u, -u]) / 2, np.stack([v, -v]) / 2 + [2.0, 0.0]
    starts = {"wrong midpoints": (x + y) / 2, "right ones + 0.1": (x + y[::-1]) / 2 + 0.1}
    return {name: gap(uniform(x), uniform(y), xi) for name, xi in starts.items()}
