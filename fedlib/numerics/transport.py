"""Optimal transport in a federation: geodesics, FedWaD, free-support barycenters, maps. POT solves the OT problems.

A measure is a cloud of atoms x [n, d] with weights w [n]. Clients keep theirs; what crosses the boundary between
client and server is a ``Message``: interpolants (eta, gamma), the shared cloud (xi, Q), moments, or a distance.
What needs no boundary is POT's: plans, distances, the free-support step, maps, and all of Gaussians.
Sources: FedDRO (Algorithm 1, lines 1-7), FedWaD (Rakotomamonjy et al. 2023), Cuturi & Doucet 2014.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import ot

EXACT = {"numItermax": 1_000_000, "center_dual": False, "check_marginals": False}
"""POT's simplex until it is at its end. It neither checks weights nor centres duals, which takes as long as itself."""


class Measure(NamedTuple):
    """Atoms x [n, d] of any real dtype with weights w [n], all > 0, sum 1."""

    x: np.ndarray
    w: np.ndarray


class Message(NamedTuple):
    """What crosses: value is a cloud [S, d] or a number."""

    sender: str
    receiver: str
    what: str
    value: np.ndarray


def uniform(x: np.ndarray) -> Measure:
    """Equal weights on the rows of x [n, d]."""
    x = np.asarray(x, float)
    if x.ndim != 2 or not len(x):
        raise ValueError(f"a cloud of shape {x.shape}: expected [n, d] with at least one atom")
    return Measure(x, np.full(len(x), 1 / len(x)))


def cost(x: np.ndarray, y: np.ndarray, p: float) -> np.ndarray:
    """|x_i - y_j|^p, [n, m], in float64: squares of small integers would wrap around."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    return ot.dist(x, y, "sqeuclidean") if p == 2 else ot.dist(x, y, "euclidean") ** p


def check_measures(*measures: Measure) -> None:
    """ValueError where weights are counts or one is not positive, or an atom is NaN: POT takes them as they are."""
    for x, w in measures:
        w = np.asarray(w)
        if w.shape != (len(x),) or not (w > 0).all() or abs(w.sum() - 1) > 1e-6:
            raise ValueError(
                f"weights of shape {w.shape} for {len(x)} atoms, smallest {w.min():g}, sum {w.sum():g}; expected a "
                "number > 0 for each atom, sum 1: leave out what weighs nothing, and divide counts by their sum"
            )
        if not np.isfinite(x).all():
            raise ValueError(f"{(~np.isfinite(x)).any(1).sum()} of {len(x)} atoms are not finite; leave them out")


def plan(X: Measure, Y: Measure, p: float = 2) -> np.ndarray:
    """Optimal plan P [n, m] for the cost |x - y|^p; row sums X.w, column sums Y.w."""
    check_measures(X, Y)
    if X is Y:  # everything stays
        return np.diag(X.w)
    return ot.emd(X.w, Y.w, cost(X.x, Y.x, p), **EXACT)


def wasserstein(X: Measure, Y: Measure, p: float = 2) -> float:
    """W_p(X, Y), in the unit of the atoms."""
    check_measures(X, Y)
    return max(float(ot.emd2(X.w, Y.w, cost(X.x, Y.x, p), **EXACT)), 0.0) ** (1 / p)


def project(P: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Barycentric projection diag(1 / a) P y [n, d]: the mean of where each atom's mass goes."""
    return P @ y / P.sum(1, keepdims=True)


def interpolant(X: Measure, Y: Measure, t: float = 0.5, p: float = 2, exact: bool = False) -> Measure:
    """The measure at t on the geodesic from X (t = 0) to Y (t = 1).

    exact: an atom (1 - t) x_i + t y_j for every P_ij > 0, at most n + m - 1. Otherwise the barycentric approximation
    (1 - t) x + t diag(1 / a) P y on n atoms, which is exact where the plan is a map.
    """
    if not 0 <= t <= 1:
        raise ValueError(f"t = {t:g}: a geodesic runs from t = 0 to t = 1")
    P, x, y = plan(X, Y, p), np.asarray(X.x, float), np.asarray(Y.x, float)
    if exact:
        i, j = np.nonzero(P)
        return Measure((1 - t) * x[i] + t * y[j], P[i, j])
    return Measure((1 - t) * x + t * project(P, y), X.w)


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


def send(wire: list[Message] | None, sender: str, receiver: str, what: str, value) -> None:
    """Append what crosses the boundary to ``wire``, if there is one."""
    if wire is not None:
        wire.append(Message(sender, receiver, what, np.array(value)))


class Barycenter(NamedTuple):
    """Q [S, d] at the server; gammas: one cloud [S, d] per client; mapped: T_i(x) [n_i, d] of each client's samples."""

    Q: np.ndarray
    gammas: list[np.ndarray]
    mapped: list[np.ndarray]


def federated_barycenter(
    clients: Sequence[Measure],
    start: np.ndarray,
    rounds: int,
    weights: np.ndarray | None = None,
    wire: list[Message] | None = None,
    restarts: int = 0,
    stride: float = 1.0,
) -> Barycenter:
    """W_2 barycenter of the clients' measures on S free atoms, without their samples (FedDRO, Algorithm 1, 1-7).

    Round: eta_P = interpolant(gamma_i, P_i) at the client, eta_Q = interpolant(gamma_i, Q) at the server,
    gamma_i <- interpolant(eta_P, eta_Q) (Eq. 4), then one free-support step of POT from Q over the gamma_i.

    Carried from round to round, as printed, gamma_i keeps the pairs that it found first, and Q stays above the
    objective of a centralised method. In the first ``restarts`` rounds gamma_i starts anew at Q; it ends a quarter of
    the way to P_i, and so Q goes a quarter of the centralised step (Cuturi & Doucet 2014). There the server may go
    ``stride`` times as far: with 4 these rounds are the centralised method, from the same messages.

    Args:
        start: atoms [S, d] that Q and all gamma_i start from. It is sent to everybody: no raw samples, please.
        weights: lambda_i, 1 / K by default.
    """
    K = len(clients)
    weights = np.full(K, 1 / K) if weights is None else np.asarray(weights, float)
    if len(weights) != K or not np.isclose(weights.sum(), 1) or (weights < 0).any():
        raise ValueError(f"weights = {weights}: expected {K} numbers >= 0 with sum 1")
    Q = uniform(start)
    if wrong := [P.x.shape[1] for P in clients if P.x.shape[1] != Q.x.shape[1]]:
        raise ValueError(f"start has atoms in R^{Q.x.shape[1]}, a client in R^{wrong[0]}")
    gammas, names = [Q] * K, [f"client {i + 1}" for i in range(K)]
    for name in names:
        send(wire, "server", name, "start", Q.x)
    for k in range(rounds):
        for i, name in enumerate(names):
            gammas[i] = Q if k < restarts else gammas[i]
            eta_P = interpolant(gammas[i], clients[i])  # client
            eta_Q = interpolant(gammas[i], Q)  # server
            send(wire, "server", name, "eta_Q", eta_Q.x)
            gammas[i] = interpolant(eta_P, eta_Q)  # client, Eq. 4
            send(wire, name, "server", "gamma", gammas[i].x)
        atoms = ot.lp.free_support_barycenter([g.x for g in gammas], [g.w for g in gammas], Q.x, Q.w, weights, 1)
        Q = Measure(Q.x + (stride if k < restarts else 1.0) * (atoms - Q.x), Q.w)
    mapped = []
    for i, name in enumerate(names):
        image = barycentric_map(gammas[i].x, Q.x)  # T^gamma at the atoms of gamma_i, server
        send(wire, "server", name, "T(gamma)", image)
        # T_i = T^gamma o T^eta, client; its weights are its own
        mapped.append(project(plan(clients[i], gammas[i]), image))
    return Barycenter(Q.x, [g.x for g in gammas], mapped)


def barycentric_map(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where POT's transport from the cloud x [n, d] to y [m, d] carries x, equal weights: [n, d]."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    return ot.da.EMDTransport(max_iter=1_000_000).fit(Xs=x, Xt=y).transform(Xs=x)


class Chain(NamedTuple):
    """Eq. 3 for one client: terms [4], lengths of its four pieces; distance: W_p(P_i, Q), which they bound."""

    terms: np.ndarray
    distance: float


def chain(P: Measure, gamma: Measure, Q: Measure, p: float = 2) -> Chain:
    """W_p(P, eta_P) + W_p(eta_P, gamma) + W_p(gamma, eta_Q) + W_p(eta_Q, Q) >= W_p(P, Q). Needs all samples."""
    stops = [P, interpolant(gamma, P, p=p), gamma, interpolant(gamma, Q, p=p), Q]
    return Chain(np.array([wasserstein(a, b, p) for a, b in pairwise(stops)]), wasserstein(P, Q, p))


def objective(Q: np.ndarray, clients: Sequence[Measure], weights: Sequence[float] | None = None) -> float:
    """sum_i lambda_i W_2^2(Q, P_i), which the barycenter makes small. Needs all samples: for checks only."""
    weights = np.full(len(clients), 1 / len(clients)) if weights is None else weights
    return float(sum(w * wasserstein(uniform(Q), P) ** 2 for w, P in zip(weights, clients, strict=True)))
