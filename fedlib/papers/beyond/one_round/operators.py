"""Operators of FedSciML, Section 6, from one round of sums: maps of whole inputs; and kernels and steps that are the
same everywhere, which assume that the equation is.

Functions, owners, levels and tests are notebook 07's; all points of the paper's grid enter the sums.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated import sums
from ....federated.experiment import data_of
from ....numerics.metrics import percent
from ....numerics.spaces import TERMS, chebyshev_series
from ....numerics.tabulated import tabulated
from ...fedsciml.operators.problem import ALL, federated_operator

EVERY = 5  # a function enters the sums of a step at every fifth place, functions in turn at other ones


def numbers(functions: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Inputs [n, sensors] and solutions [n, points] of some functions, in float64."""
    return functions["u"].double(), functions["s"].double()


# maps of whole inputs


class MapSums(NamedTuple):
    """What a client sends of features A = Q R [n, m] and outputs S [n, q]: R, Q^T S, and what is left of |S|^2."""

    R: Tensor
    Z: Tensor
    rest: float
    n: int

    @property
    def bytes(self) -> int:
        k, m = self.R.shape
        return 8 * (k * m - k * (k - 1) // 2 + self.Z.numel() + 1)


def map_sums(A: Tensor, S: Tensor) -> MapSums:
    """What a client sends."""
    Q, R = torch.linalg.qr(A)
    Z = Q.T @ S
    return MapSums(R, Z, float((S - Q @ Z).square().sum()), len(A))


def map_solved(messages: Sequence[MapSums]) -> tuple[Tensor, float]:
    """W [m, q] of least squares |A W - S|^2 + ridge |W|^2, and its score; the ridge is chosen as in ``sums.solve``, one
    for all outputs."""
    R, Z = (torch.cat([message[i] for message in messages]) for i in (0, 1))
    U, s, Vt = torch.linalg.svd(R, full_matrices=False)
    lost = torch.finfo(torch.float32).eps * R.shape[1]  # inputs have single precision: below it there is rounding
    U, s, Vt = U[:, s > lost * s[0]], s[s > lost * s[0]], Vt[s > lost * s[0]]
    z, n = U.T @ Z, sum(message.n for message in messages)
    rest = sum(message.rest for message in messages) + float((Z - U @ z).square().sum())
    step, gcv = sums.several(s, z, rest, n, lost**2)
    return Vt.T @ step, gcv


def quadratic(v: Tensor) -> Tensor:
    """1, the ten Chebyshev coefficients of inputs at their sensors, and all products of two: [n, m] -> [n, 66]."""
    basis = chebyshev_series(np.eye(TERMS), np.linspace(0, 1, v.shape[1]))
    c = torch.cat([torch.ones_like(v[:, :1]), v @ torch.as_tensor(np.linalg.pinv(basis))], 1)
    i, j = torch.triu_indices(TERMS + 1, TERMS + 1)
    return c[:, i] * c[:, j]


FEATURES: dict[str, Callable[[Tensor], Tensor]] = {"linear map": lambda v: v, "quadratic map": quadratic}


def lags(v: Tensor) -> Tensor:
    """Of inputs [n, m] the rows [n, m, m + 1] of u(y_i) = sum_l k_l v(y_i - y_l) + k' v(y_0): v is 0 before the first
    sensor, which has a factor of its own, as the ends of a rule of integration have."""
    before = torch.cat([torch.zeros_like(v[:, 1:]), v], 1)
    return torch.cat([before.unfold(1, v.shape[1], 1).flip(-1), v[:, :1, None].expand(-1, v.shape[1], 1)], -1)


def lag_sums(v: Tensor, s: Tensor) -> sums.Sums:
    """What a client sends for k and k'."""
    rows = torch.cat([lags(v), -s[..., None]], -1).flatten(0, 1)
    return sums.Sums(torch.linalg.qr(rows, mode="r").R, len(rows), True)


def maps_in_one_round(
    name: str, ways: Sequence[str], levels: Sequence[int], seeds: Sequence[int], functions: int, tests: int
) -> xarray.Dataset:
    """An operator by ways ("lag kernel", or one of FEATURES): gcv, error (%) of all tests together, bytes that a client
    sends, seconds [way, level, seed]."""
    experiment = federated_operator(name, functions, tests)
    data_at = cache(lambda level, seed: data_of(experiment, level, seed))

    def once(way: str, level: int, seed: int) -> dict:
        data = data_at(level, seed)
        clients, (v, truth) = [numbers(part) for part in sums.parts(data)], numbers(data.test)
        began = time.process_time()
        if way == "lag kernel":
            messages = [lag_sums(*client) for client in clients]
            solution = sums.solve(sums.added(messages))
            gcv, answer = solution.gcv, lambda: lags(v) @ solution.step
        else:
            messages = [map_sums(FEATURES[way](u), s) for u, s in clients]
            W, gcv = map_solved(messages)
            answer = lambda: FEATURES[way](v) @ W  # noqa: E731
        costs = {"bytes": np.mean([message.bytes for message in messages]), "seconds": time.process_time() - began}
        return {"gcv": gcv, "error": percent(answer().numpy(), truth.numpy()), **costs}

    return tabulated(once, way=ways, level=levels, seed=seeds)


# steps from one time to the next


def inside(field: Tensor) -> Tensor:
    """1 at every place [places] of a field [n, places], 0 at both ends."""
    mask = torch.ones_like(field[0])
    mask[[0, -1]] = 0
    return mask


class Step(NamedTuple):
    """u(x, t + dt) = u + sum_p sum_l c_pl u(x + l dx, t)^p + sum_l d_l v(x + l dx), |l| <= reach, p <= degree.

    periodic: the field goes on as it began, and v is its start alone; else it is 0 at both ends, known to be, and goes
    on as an odd function; so do its powers and v.
    """

    reach: int
    degree: int
    periodic: bool

    def around(self, field: Tensor) -> Tensor:
        """Neighbours of every place: [n, places] -> [n, places, 2 reach + 1]."""
        r = self.reach
        ends = (field[:, -r:], field[:, :r])
        if not self.periodic:
            ends = (-field[:, 1 : r + 1].flip(1), -field[:, -r - 1 : -1].flip(1))
        return torch.cat([ends[0], field, ends[1]], 1).unfold(1, 2 * r + 1, 1)

    def terms(self, u: Tensor, v: Tensor) -> list[Tensor]:
        """Neighbours of each power of u, and of v, [n, places, 2 reach + 1] each."""
        fields = [u**p for p in range(1, self.degree + 1)] + [v] * (not self.periodic)
        return [self.around(field) for field in fields]

    def fields(self, v: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """v [n, places], 0 at ends where u is, and u [n, places, times]: without the repeated end if periodic."""
        u = s.reshape(len(s), len(ALL), len(ALL))
        if self.periodic:
            return v[:, :-1], u[:, :-1]
        return v * inside(v), u

    def message(self, v: Tensor, s: Tensor) -> sums.Sums:
        """What a client sends: of all times, at every fifth place."""
        v, u = self.fields(v, s)
        parts = []
        for first in range(EVERY):
            mine = u[first::EVERY].transpose(1, 2)  # [n, times, places]
            now, then = mine[:, :-1].flatten(0, 1), mine[:, 1:].flatten(0, 1)
            source = v[first::EVERY].repeat_interleave(mine.shape[1] - 1, 0)
            some = slice(first + (not self.periodic), None if self.periodic else -1, EVERY)
            terms = [term[:, some] for term in self.terms(now, source)]
            rows = torch.cat([*terms, (now - then)[:, some, None]], -1).flatten(0, 1)
            parts.append(sums.Sums(torch.linalg.qr(rows, mode="r").R, len(rows), True))
        return sums.added(parts)

    def solved(self, total: sums.Sums) -> sums.Solution:
        """With the ridge of ``sums.solve``, or the first of ten, a hundred, ... times as much with which no small wave
        exp(i w x) grows by more than a thousandth in a step: the server needs no data to see that."""
        solution, l = sums.solve(total), np.arange(-self.reach, self.reach + 1)
        waves = np.exp(1j * np.outer(np.linspace(0, np.pi, 201), l))
        while np.abs(1 + waves @ solution.step[: len(l)].numpy()).max() > 1.001:
            solution = sums.solve(total, 10 * solution.ridge)
        return solution

    def rolled_out(self, theta: Tensor, v: Tensor, s: Tensor) -> Tensor:
        """u [n, points] on the whole grid, from its start [n, places] on by steps; s: only its start is looked at."""
        v, truth = self.fields(v, s)
        u, kernels = [truth[..., 0]], theta.reshape(-1, 2 * self.reach + 1)
        for _ in range(truth.shape[-1] - 1):
            terms = self.terms(u[-1], v)
            change = sum(term @ kernel for term, kernel in zip(terms, kernels, strict=True))
            u.append(u[-1] + (change if self.periodic else change * inside(v)))
        whole = torch.stack(u, -1)
        return (torch.cat([whole, whole[:, :1]], 1) if self.periodic else whole).flatten(1)


def steps_in_one_round(
    name: str, levels: Sequence[int], seeds: Sequence[int], functions: int, tests: int, reaches: Sequence[int],
    degrees: Sequence[int],
) -> xarray.Dataset:  # fmt: skip
    """A learnt step of all sizes [level, reach, degree, seed]: gcv, error (%) of all tests on the whole grid, infinite
    where it grows without end; bytes that a client sends, seconds."""
    experiment = federated_operator(name, functions, tests)
    data_at = cache(lambda level, seed: data_of(experiment, level, seed))

    def once(level: int, reach: int, degree: int, seed: int) -> dict:
        data, step = data_at(level, seed), Step(reach, degree, name.startswith("burgers"))
        clients, (v, truth) = [numbers(part) for part in sums.parts(data)], numbers(data.test)
        began = time.process_time()
        messages = [step.message(*client) for client in clients]
        solution = step.solved(sums.added(messages))
        costs = {"bytes": np.mean([message.bytes for message in messages]), "seconds": time.process_time() - began}
        off = percent(step.rolled_out(solution.step, v, truth).numpy(), truth.numpy())
        return {"gcv": solution.gcv, "error": off if off < 1e3 else np.inf, **costs}

    return tabulated(once, level=levels, reach=reaches, degree=degrees, seed=seeds)
