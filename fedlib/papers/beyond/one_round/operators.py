"""Operators of FedSciML, Section 6, from one round of sums: a kernel and a step that are the same everywhere, which
assume that the equation is. Functions, owners, levels and tests are notebook 07's; all points of the paper's grid enter
the sums.
"""

import time
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated import sums
from ....federated.experiment import data_of
from ....numerics.metrics import percent
from ....numerics.tabulated import tabulated
from ...fedsciml.operators.problem import ALL, federated_operator

EVERY = 5  # a function enters the sums of a step at every fifth place, functions in turn at other ones


def one_round(
    name: str, functions: int, tests: int, message: Callable[..., sums.Sums], solve: Callable[..., sums.Solution],
    answer: Callable[..., Tensor], **axes: Sequence,
) -> xarray.Dataset:  # fmt: skip
    """gcv, error (%) of all tests together, infinite where it grows without end; bytes that a client sends, seconds
    [level, ..., seed].

    message, solve, answer: of inputs v [n, sensors] and solutions s [n, points], in float64, and of the labels of the
    other axes: what a client sends, what the server makes of the total, u [n, points] at its factors.
    """
    experiment = federated_operator(name, functions, tests)
    data_at = cache(lambda level, seed: data_of(experiment, level, seed))

    def once(level: int, seed: int, **size: int) -> dict:
        data = data_at(level, seed)
        *clients, test = [(part["u"].double(), part["s"].double()) for part in (*sums.parts(data), data.test)]
        began = time.process_time()
        messages = [message(*client, **size) for client in clients]
        solution = solve(sums.added(messages), **size)
        costs = {"bytes": np.mean([one.bytes for one in messages]), "seconds": time.process_time() - began}
        off = percent(answer(solution.step, *test, **size).numpy(), test[1].numpy())
        return {"gcv": solution.gcv, "error": off if off < 1e3 else np.inf, **costs}

    return tabulated(once, **axes)


def root_of(rows: Tensor) -> sums.Sums:
    """What a client sends of rows [..., P + 1]."""
    rows = rows.flatten(0, 1)
    return sums.Sums(torch.linalg.qr(rows, mode="r").R, len(rows), True)


# a kernel: u(y_i) = sum_l k_l v(y_i - y_l) + k' v(y_0)


def lags(v: Tensor) -> Tensor:
    """Of inputs [n, m] the rows [n, m, m + 1]: v is 0 before the first sensor, which has a factor of its own, as the
    ends of a rule of integration have."""
    before = torch.cat([torch.zeros_like(v[:, 1:]), v], 1)
    return torch.cat([before.unfold(1, v.shape[1], 1).flip(-1), v[:, :1, None].expand(-1, v.shape[1], 1)], -1)


def lag_sums(v: Tensor, s: Tensor) -> sums.Sums:
    """What a client sends for k and k'."""
    return root_of(torch.cat([lags(v), -s[..., None]], -1))


def kernel_in_one_round(
    name: str, levels: Sequence[int], seeds: Sequence[int], functions: int, tests: int
) -> xarray.Dataset:  # fmt: skip
    """A kernel [level, seed], see ``one_round``."""
    answer = lambda k, v, s: lags(v) @ k  # noqa: E731
    return one_round(name, functions, tests, lag_sums, sums.solve, answer, level=levels, seed=seeds)


# a step: u(x, t + dt) = u + sum_p sum_l c_pl u(x + l dx, t)^p + sum_l d_l v(x + l dx), |l| <= reach, p <= degree


def inside(v: Tensor) -> Tensor:
    """v [n, places], 0 at both ends, where u is known to be 0."""
    return torch.cat([0 * v[:, :1], v[:, 1:-1], 0 * v[:, -1:]], 1)


def terms(u: Tensor, v: Tensor, reach: int, degree: int) -> list[Tensor]:
    """Neighbours of every place [n, places, 2 reach + 1] of each power of u [n, places], and of v: fields that go on as
    odd functions."""
    both = [torch.cat([-f[:, 1 : reach + 1].flip(1), f, -f[:, -reach - 1 : -1].flip(1)], 1)
            for f in (*(u**p for p in range(1, degree + 1)), v)]  # fmt: skip
    return [field.unfold(1, 2 * reach + 1, 1) for field in both]


def step_sums(v: Tensor, s: Tensor, reach: int, degree: int) -> sums.Sums:
    """What a client sends: of all times, at every fifth place."""
    v, u = inside(v), s.reshape(len(s), len(ALL), len(ALL))
    parts = []
    for first in range(EVERY):
        mine = u[first::EVERY].transpose(1, 2)  # [n, times, places]
        now, then = mine[:, :-1].flatten(0, 1), mine[:, 1:].flatten(0, 1)
        source = v[first::EVERY].repeat_interleave(mine.shape[1] - 1, 0)
        some = slice(first + 1, -1, EVERY)
        near = [term[:, some] for term in terms(now, source, reach, degree)]
        parts.append(root_of(torch.cat([*near, (now - then)[:, some, None]], -1)))
    return sums.added(parts)


def stable(total: sums.Sums, reach: int, degree: int = 1) -> sums.Solution:
    """With the ridge of ``sums.solve``, or the first of ten, a hundred, ... times as much with which no small wave
    exp(i w x) grows by more than a thousandth in a step: the server needs no data to see that."""
    solution, l = sums.solve(total), np.arange(-reach, reach + 1)
    waves = np.exp(1j * np.outer(np.linspace(0, np.pi, 201), l))
    while np.abs(1 + waves @ solution.step[: len(l)].numpy()).max() > 1.001:
        solution = sums.solve(total, 10 * solution.ridge)
    return solution


def rolled_out(theta: Tensor, v: Tensor, s: Tensor, reach: int, degree: int) -> Tensor:
    """u [n, points] on the whole grid, by steps from its start; of s only that is looked at."""
    v, start = inside(v), s.reshape(len(s), len(ALL), len(ALL))[..., 0]
    u, kernels = [start], theta.reshape(-1, 2 * reach + 1)
    for _ in ALL[1:]:
        near = terms(u[-1], v, reach, degree)
        u.append(u[-1] + inside(sum(term @ kernel for term, kernel in zip(near, kernels, strict=True))))
    return torch.stack(u, -1).flatten(1)


def steps_in_one_round(
    name: str, levels: Sequence[int], seeds: Sequence[int], functions: int, tests: int, reaches: Sequence[int],
    degrees: Sequence[int],
) -> xarray.Dataset:  # fmt: skip
    """A learnt step of all sizes [level, reach, degree, seed], see ``one_round``."""
    axes = {"level": levels, "reach": reaches, "degree": degrees, "seed": seeds}
    return one_round(name, functions, tests, step_sums, stable, rolled_out, **axes)
