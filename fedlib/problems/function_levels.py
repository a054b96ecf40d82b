"""Levels of partitions of a line and of the unit square: (K, p) -> who owns what, and how far apart the clients are."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np

from ..federated.heterogeneity import mean_pairwise_w1
from ..federated.partitions import checkerboard, hammersley, index_rule, slices

K_ALL = (2, 3, 4, 5)


def line(n: int, clients: Iterable[int], pieces: Iterable[int]) -> dict[tuple[int, int], list[np.ndarray]]:
    """n points of a line, p pieces for each client: (K, p) -> K index arrays."""
    return {(K, p): index_rule(n, K, p) for K, p in product(clients, pieces)}


def x_method(points: np.ndarray, clients: Iterable[int], slabs: Iterable[int]) -> dict[tuple, list[np.ndarray]]:
    """Points [N, 2] of the square, p slabs in x for each client: (K, p) -> K index arrays."""
    return {(K, p): slices(points[:, 0], 0, 1, K, p) for K, p in product(clients, slabs)}


def xy_method(points: np.ndarray, clients: Iterable[int], blocks: Iterable[int]) -> dict[tuple, list[np.ndarray]]:
    """Points [N, 2] of the square, a checkerboard of s x s blocks: (K, s) -> K index arrays."""
    return {(K, s): checkerboard(*points.T, (0, 1), K, s) for K, s in product(clients, blocks)}


def w1(points: np.ndarray, levels: Mapping[tuple, Sequence[np.ndarray]]) -> np.ndarray:
    """Mean pairwise W1 of what the clients own of points [N, d], for each level: [L]."""
    return np.array([mean_pairwise_w1([points[own] for own in shards]) for shards in levels.values()])


def examples(n: int = 500) -> dict[str, list[np.ndarray]]:
    """Fig. 2: title -> clouds [n_k, 2] of the clients, for slabs and checkerboards of some K."""
    points = hammersley(n)
    shown = {f"x, K = {K}": own for (K, _), own in x_method(points, (2, 3), (2,)).items()}
    shown |= {f"xy, K = {K}": own for (K, _), own in xy_method(points, K_ALL, (4,)).items()}
    return {title: [points[own] for own in shards] for title, shards in shown.items()}


def w1_by_method(n_line: int, n_square: int = 500) -> dict[str, tuple[str, dict[int, tuple]]]:
    """W1 against levels: method -> (name of the levels, {K: (levels, W1, closed form)}).

    Closed forms are those of continuous uniform pieces: h (K + 1) / 3 for slabs of width h, on a line of length 2 or
    in x; h / 3 for blocks of side h and two clients (NaN for more).
    """
    on_line, points = np.linspace(-1, 1, n_line)[:, None], hammersley(n_square)
    p_line, p, s = np.array([1, 2, 3, 5, 10, 20]), np.array([1, 2, 3, 5, 10]), np.array([3, 4, 6, 8, 11])
    methods = {"line [-1, 1]": {}, "square, x method": {}, "square, xy method": {}}
    for K in K_ALL:
        q = p_line[p_line * K <= n_line]
        methods["line [-1, 1]"][K] = q * K, w1(on_line, line(n_line, (K,), q)), 2 * (K + 1) / (3 * q * K)
        methods["square, x method"][K] = p * K, w1(points, x_method(points, (K,), p)), (K + 1) / (3 * p * K)
        closed = 1 / (3 * s) if K == 2 else np.full(len(s), np.nan)
        methods["square, xy method"][K] = s, w1(points, xy_method(points, (K,), s)), closed
    names = ("subdomains p K", "subdomains p K", "blocks per axis s")
    return {title: (name, of) for name, (title, of) in zip(names, methods.items(), strict=True)}


@cache
def x_and_xy(n: int = 1600, parts: tuple[int, ...] = (2, 4, 10, 20)) -> np.ndarray:
    """W1 of two clients with the x and with the xy method on the same n points, for some parts of an axis: [parts, 2].

    h and h / 3 for parts of width h, if all points are many: the difference vanishes, the ratio does not.
    """
    points = hammersley(n)
    slabs = w1(points, x_method(points, [2], [s // 2 for s in parts]))
    return np.stack([slabs, w1(points, xy_method(points, [2], parts))], 1)
