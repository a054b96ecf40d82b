"""Clouds of points in a federation: the distance of two (FedWaD), and barycenters whose truth is known.

Sources: FedWaD (Rakotomamonjy, Nadjahi, Ralaivola 2023), FedDRO (Eqs. 1 to 4, Algorithm 1, lines 1 to 7).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import ot
import xarray

from ....numerics.tabulated import tabulated
from ....streams import stream
from ..algorithms import Message, federated_barycenter, send
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


# clouds whose distance or barycenter is known


def plane(S: int, rng: np.random.Generator) -> tuple[Measure, Measure, list[Measure], np.ndarray]:
    """Two Gaussian clouds of S points of the plane; three translates of one; a tight start [S, 2] at their mean."""
    X, Y = uniform(rng.normal(size=(S, 2))), uniform(0.7 * rng.normal(size=(S, 2)) + 4)
    shifts = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    three = [uniform(rng.normal(size=(S, 2)) + s) for s in shifts]
    return X, Y, three, shifts.mean(0) + 0.01 * rng.normal(size=(S, 2))


def gaussians(d: int, n: int, m: int) -> tuple[Measure, Measure]:
    """Clouds of n and m points in R^d, st.dev. 1 and 0.7, their means 4 sqrt(2) apart."""
    rng = stream(d, "gaussians")
    return uniform(rng.normal(size=(n, d))), uniform(0.7 * rng.normal(size=(m, d)) + 4 * (2 / d) ** 0.5)


def tight_start(X: Measure, Y: Measure, S: int) -> np.ndarray:
    """A tight shared cloud [S, d] at the common mean."""
    return (X.x.mean(0) + Y.x.mean(0)) / 2 + 0.01 * stream(0, "xi").normal(size=(S, X.x.shape[1]))


STARTS = ("a point between them", "as wide as the clouds", "a point far away", "20 points between them")


def start_of(name: str, X: Measure, Y: Measure) -> np.ndarray:
    """A shared cloud of STARTS, as large as X where its name does not say otherwise."""
    if name == STARTS[0]:
        return tight_start(X, Y, len(X.x))
    if name == STARTS[1]:
        return (X.x.mean(0) + Y.x.mean(0)) / 2 + stream(0, "wide start").normal(size=X.x.shape)
    if name == STARTS[2]:
        return np.add(tight_start(X, Y, len(X.x)), [-4.0, 4.0])
    return tight_start(X, Y, 20)


def above(X: Measure, Y: Measure, walk: FedWaD, p: float = 2) -> np.ndarray:
    """A walk's bound above W_p in % [rounds]."""
    return 100 * (walk.bound / wasserstein(X, Y, p) - 1)


# what the notebook shows


def walks(atoms: int, rounds: int) -> xarray.Dataset:
    """FedWaD of two clouds of the plane from each of STARTS.

    Returns:
        bound, gap (%) [start, round]; xi, eta [start, round, (client,) atom, axis], NaN where a cloud has fewer atoms;
        cloud [client, atom, axis].
    """
    X, Y, *_ = plane(atoms, stream(0, "clouds"))

    def followed(start: str) -> dict:
        walk = fedwad(X, Y, start_of(start, X, Y), rounds)
        xi = np.full((rounds, atoms, 2), np.nan)
        eta = np.full((rounds, 2, atoms, 2), np.nan)
        for r, cloud in enumerate(walk.xi[:-1]):
            xi[r, : len(cloud.x)] = cloud.x
            eta[r, :, : len(cloud.x)] = [interpolant(cloud, target).x for target in (X, Y)]
        return {
            "bound": ("round", walk.bound), "gap": ("round", above(X, Y, walk)),
            "xi": (("round", "atom", "axis"), xi), "eta": (("round", "client", "atom", "axis"), eta),
        }  # fmt: skip

    table = tabulated(followed, start=STARTS).assign_coords(round=1 + np.arange(rounds))
    return table.assign(cloud=(("client", "atom", "axis"), np.stack([X.x, Y.x])), distance=wasserstein(X, Y))


PANELS = {
    "two clouds in the plane": ("p = 1", "p = 2", "p = 3"),
    "fifty dimensions": ("200, 200; tight start", "200, 200; wide start", "150, 200; tight start"),
    "40 and 60 points, ten dimensions": ("barycentric", "exact"),
    "two points each": ("between the wrong pairs", "near the right ones"),
}
"""Where FedWaD is tried: place -> cases."""

GROWING = PANELS["40 and 60 points, ten dimensions"]


class Case(NamedTuple):
    """Two clouds and what FedWaD is told: the shared cloud to start from [S, d], p, and which supports it has."""

    X: Measure
    Y: Measure
    xi: np.ndarray
    p: float = 2
    exact: bool = False


def cases(atoms: int) -> dict[str, Case]:
    """The cases of PANELS; atoms: of the clouds of the plane."""
    X, Y, *_ = plane(atoms, stream(0, "clouds"))
    equal, unequal, ragged = gaussians(50, 200, 200), gaussians(50, 150, 200), gaussians(10, 40, 60)
    wide = 2**0.5 * stream(0, "wide").normal(size=(200, 50)) + 2 * (2 / 50) ** 0.5  # as wide as what it lies between
    u, v = np.array([1.0, 0.0]), np.array([-0.1, 1.0])  # two pairs that cross
    x, y = np.stack([u, -u]) / 2, np.stack([v, -v]) / 2 + [2.0, 0.0]
    few = Case(*ragged, tight_start(*ragged, 40))
    return {
        **{f"p = {p}": Case(X, Y, tight_start(X, Y, atoms), p) for p in (1, 2, 3)},
        "200, 200; tight start": Case(*equal, tight_start(*equal, 200)),
        "200, 200; wide start": Case(*equal, wide),
        "150, 200; tight start": Case(*unequal, tight_start(*unequal, 200)),
        "barycentric": few,
        "exact": few._replace(exact=True),
        "between the wrong pairs": Case(uniform(x), uniform(y), (x + y) / 2),
        "near the right ones": Case(uniform(x), uniform(y), (x + y[::-1]) / 2 + 0.1),
    }


def bounds(atoms: int, rounds: int, exact_rounds: int) -> xarray.Dataset:
    """FedWaD's gap (%) [case, round], and how many atoms the last shared cloud has [case].

    Those of GROWING have exact_rounds rounds, and NaN after them.
    """
    named, most = cases(atoms), max(rounds, exact_rounds)

    def tried(case: str) -> dict:
        X, Y, xi, p, exact = named[case]
        walk = fedwad(X, Y, xi, exact_rounds if case in GROWING else rounds, p=p, exact=exact)
        values = np.full(most, np.nan)
        values[: len(walk.bound)] = above(X, Y, walk, p)
        return {"gap": ("round", values), "atoms": len(walk.xi[-1].x)}

    return tabulated(tried, case=[*named]).assign_coords(round=1 + np.arange(most))


PRINTED, ANEW, FAR = "as printed", "γ starts anew at Q", "and Q goes four times as far"
VARIANTS = {PRINTED: (0.0, 1.0), ANEW: (2 / 3, 1.0), FAR: (2 / 3, 4.0)}
"""Algorithm 1, lines 1 to 7, and what we change of it: the share of rounds in which gamma starts anew; the stride."""


def barycenters(seeds: Sequence[int], atoms: int, rounds: int) -> xarray.Dataset:
    """What the barycenters of three clouds are like [variant, seed], for VARIANTS; see ``quality`` and ``leak``."""

    def tried(variant: str, seed: int) -> dict:
        *_, three, start = plane(atoms, stream(seed, "clouds"))
        (share, stride), wire = VARIANTS[variant], []
        made = federated_barycenter(three, start, rounds, None, wire, round(share * rounds), stride)
        nearest, guessed = leak(wire, three)
        return quality(made.Q, three) | {"nearest": nearest, "guessed": guessed}

    return tabulated(tried, variant=[*VARIANTS], seed=seeds)


def quality(Q: np.ndarray, clients: Sequence[Measure]) -> dict[str, float]:
    """Of a barycenter Q [S, d] of translates of a normal cloud: off, the error of its mean; spread, 1 for the cloud
    itself; ratio, its objective over that of POT's centralised one, which starts from Q."""
    central = ot.lp.free_support_barycenter([m.x for m in clients], [m.w for m in clients], Q)
    mean = np.mean([m.x.mean(0) for m in clients], 0)
    return {
        "off": float(np.linalg.norm(Q.mean(0) - mean)),
        "spread": float(Q.std(0).mean()),
        "ratio": objective(Q, clients) / objective(central, clients),
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
