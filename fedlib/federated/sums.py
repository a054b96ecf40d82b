"""One round: clients add sums instead of averaging models.

Where the residuals r of an ``Experiment`` are linear in its parameters, the loss is least squares, and all that is
needed of a client are the sums of J^T J, J^T r and r^T r over its points. Added up they are the sums of all points,
whoever owns which: one round gives the centralised model. Where r is not linear, each round gives a step of
Gauss-Newton, the centralised one.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from torch import Tensor
from torch.func import functional_call, jacrev, vmap

from ..files import Unreadable, packed, unpacked, write_atomically
from ..streams import torch_stream
from .experiment import Data, Experiment
from .stack import as_dict, home_columns, parameter_count

CHUNK = 256  # points whose derivatives are computed at once
ROUNDING = 1e-10  # share of r^T r that rounding moves at most: residuals are differences of larger terms


class Sums(NamedTuple):
    """What a client sends of its rows [J, r], one for each residual, or what several have sent, added up.

    matrix: the sums [J, r]^T [J, r], [P + 1, P + 1]; or their root R of [J, r] = Q R, at most P + 1 rows: R^T R are the
        same sums, and R has all the digits, of which J^T J loses half. n: how many rows. root: which of the two it is.
    noise: st.dev. of what was added to each number, see ``private``.
    """

    matrix: Tensor
    n: float
    root: bool = False
    noise: float = 0.0

    @property
    def bytes(self) -> int:
        """On the wire: what is above the diagonal comes with what is below, or is 0."""
        k, m = self.matrix.shape
        return (k * m - k * (k - 1) // 2) * self.matrix.element_size()

    @property
    def loss(self) -> float:
        """r^T r."""
        last = self.matrix[:, -1]
        return float(last @ last) if self.root else float(last[-1])


# at a client


def in_dtype(experiment: Experiment, points: Mapping[str, Tensor], dtype: torch.dtype) -> tuple[dict, dict, Tensor]:
    """Points, the experiment's constants, and the points' weights w [n], 1 if there are none."""
    points, constants = ({n: v.to(dtype) for n, v in named.items()} for named in (points, experiment.constants))
    weights = points.pop("w", torch.ones(len(next(iter(points.values()))), dtype=dtype))
    return points, constants, weights


def rows(experiment: Experiment, points: Mapping[str, Tensor], theta: Tensor, learnt: slice = slice(None)) -> Tensor:
    """The rows [J, r] of some points [n, ...] at theta [P], one for each residual: [n c, P + 1], times sqrt(w).

    Of each point alone: residuals of a point must not depend on the others. w [n]: weights of the points, 1 if there
    are none. All is computed in theta's dtype. learnt: by which parameters J is taken; the others are fixed.
    """
    if experiment.residuals is None:
        raise ValueError(f"{experiment.name} has a loss, but no residuals; sums are for mean squares of residuals")
    points, constants, weights = in_dtype(experiment, points, theta.dtype)
    first, end, _ = learnt.indices(len(theta))

    def residuals(part, point):
        batch = {name: value[None] for name, value in point.items()} | constants
        model = torch.cat([theta[:first], part, theta[end:]])
        r = experiment.residuals(predicting(experiment, model), batch)[0]
        return r, r

    J, r = vmap(jacrev(residuals, has_aux=True), (None, 0), chunk_size=CHUNK)(theta[first:end], points)
    return (weights.sqrt()[:, None, None] * torch.cat([J, r[..., None]], -1)).flatten(0, 1)


def is_linear(
    experiment: Experiment, points: Mapping[str, Tensor], theta: Tensor, learnt: slice = slice(None), few: int = 32
) -> bool:
    """Whether J stays the same where the learnt parameters change, at a few points: drawn, for the first ones, or every
    tenth of a grid, may all lie on a boundary, where J vanishes."""
    drawn = torch.randperm(len(next(iter(points.values()))), generator=torch_stream(0, "a few points"))[:few]
    points = {name: value[drawn] for name, value in points.items()}
    other = theta.clone()
    other[learnt] += torch.randn(theta[learnt].shape, generator=torch_stream(0, "elsewhere"), dtype=theta.dtype)
    J, changed = (rows(experiment, points, model, learnt)[:, :-1] for model in (theta, other))
    return bool((J - changed).norm() <= torch.finfo(theta.dtype).eps ** 0.5 * changed.norm())


def check_linear(experiment: Experiment, points: Mapping[str, Tensor], theta: Tensor) -> None:
    """ValueError where J changes with theta [P]: one round of sums is then one step of Gauss-Newton, no solution."""
    if not is_linear(experiment, points, theta):
        raise ValueError(
            f"{experiment.name}: residuals are not linear in the parameters, so one round of sums is no solution; "
            "take gauss_newton, or a network that is linear in what it learns, see fedlib.models.features"
        )


def predicting(experiment: Experiment, theta: Tensor) -> Callable:
    """The experiment's network with the parameters theta [P], all in its dtype. ValueError: other than P numbers."""
    if len(theta) != parameter_count(experiment.net):
        names = ", ".join(name for name, _ in experiment.net.named_parameters())
        raise ValueError(f"{len(theta)} numbers; {experiment.name} has {parameter_count(experiment.net)}, of {names}")
    fixed = {name: value.to(theta.dtype) for name, value in experiment.net.named_buffers()}
    return lambda *inputs: functional_call(experiment.net, as_dict(experiment.net, theta) | fixed, inputs)


def statistics(
    experiment: Experiment, points: Mapping[str, Tensor], theta: Tensor, root: bool = True, learnt: slice = slice(None)
) -> Sums:
    """What a client with these points sends at theta [P]; see ``Sums`` and ``rows``. Without points it sends zeros, or
    nothing.

    Of an experiment with ``personal`` parameters, q in all, it is of the other P - q: the client takes from its rows
    what its own columns can follow (``apart``), and neither they nor their parameters leave it.
    """
    personal = home_columns(experiment.net, experiment.personal)
    if not len(next(iter(points.values()))):
        m = len(theta[learnt]) + 1 - len(personal)
        return Sums(theta.new_zeros(0 if root else m, m), 0.0, root)
    A, weights = rows(experiment, points, theta, learnt), points.get("w")
    n = float(len(A) if weights is None else weights.sum() * len(A) / len(weights))
    if len(personal):
        A, followed = apart(A, personal)
        n -= followed
    return Sums(torch.linalg.qr(A, mode="r").R if root else A.T @ A, n, root)


def apart(A: Tensor, personal: Tensor) -> tuple[Tensor, int]:
    """Rows [n, P + 1 - q] at right angles to the client's own columns B [n, q], and how many directions these have: the
    rows (1 - B B^+) [A, r], whose sums are those of [B, A, r] with B eliminated (Golub and LeVeque 1979)."""
    common = others(personal, A.shape[1])
    U, s, _ = torch.linalg.svd(A[:, personal], full_matrices=False)
    U = U[:, s > max(A.shape) * torch.finfo(A.dtype).eps * s[0]]
    rest = A[:, common]
    for _ in range(2):  # once more, for rounding leaves some of them
        rest = rest - U @ (U.T @ rest)
    return rest, U.shape[1]


def others(personal: Tensor, columns: int) -> Tensor:
    """Which of so many columns are everybody's."""
    return torch.as_tensor(np.setdiff1d(np.arange(columns), personal.numpy()))


def in_common(experiment: Experiment, theta: Tensor, step: Tensor) -> Tensor:
    """theta [P] and the step [P - q] of what is everybody's, as ``solve`` gives it; what is personal stays."""
    return theta.index_add(0, others(home_columns(experiment.net, experiment.personal), len(theta)), step)


def at_home(experiment: Experiment, points: Mapping[str, Tensor], theta: Tensor, step: Tensor) -> Tensor:
    """A client's own model [P]: ``in_common``, and the step of its personal parameters that fits these points best."""
    model = in_common(experiment, theta, step)
    if not len(next(iter(points.values()))):  # what is its own stays as it began
        return model
    A, personal = rows(experiment, points, model), home_columns(experiment.net, experiment.personal)
    mine = torch.linalg.lstsq(A[:, personal], -A[:, -1:], driver="gelsd").solution[:, 0]
    return model.index_add(0, personal, mine)


def parts(data: Data) -> list[dict[str, Tensor]]:
    """Each client's points. One that several own counts once in all: each gives it an equal share w of its weight."""
    times = np.bincount(np.concatenate(data.owners), minlength=len(next(iter(data.pool.values()))))
    w = torch.as_tensor(1 / np.maximum(times, 1))
    return [{name: value[shard] for name, value in {**data.pool, "w": w}.items()} for shard in data.owners]


# in private


class Directions(NamedTuple):
    """What everybody knows, and sends rows [J, r] by where noise or rounding is as large in all numbers: rows W.

    W [P + 1, k + 1]. back [P, k]: of a step d of rows W, back d is that of the rows. longest: |row W|^2 at most.
    """

    W: Tensor
    back: Tensor
    longest: float


def rescaled(public: Tensor, back: Tensor) -> Directions:
    """J back, and r in a unit that makes it as large; public [T, P + 1]: rows that everybody knows."""
    size, r = (public[:, :-1] @ back).norm(dim=1).max(), public[:, -1].abs().max()
    if not 0 < r < np.inf:
        raise ValueError("public rows have r = 0, or no finite r: give r as large as the laboratories' may be")
    W = torch.block_diag(back, size / r)
    return Directions(W, back / (size / r), float((public @ W).square().sum(1).max()))


def whitened(public: Tensor, kept: int | None = None) -> Directions:
    """The ``kept`` directions in which J is largest, each divided by its size; all that rounding leaves, if None.

    public [T, P + 1]: rows of made-up points, which lie as the laboratories' may, with r as large as it may be.
    """
    J = public[:, :-1].numpy()
    squares, V = np.linalg.eigh(J.T @ J / len(J))
    seen = int((squares > len(V) * np.finfo(squares.dtype).eps * squares[-1]).sum())
    kept = min(kept or seen, seen)
    return rescaled(public, torch.as_tensor(V[:, -kept:] / np.sqrt(squares[-kept:])))


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """The least delta for which a sum that one row changes by at most 1, with normal noise of st.dev. sigma, is
    (epsilon, delta)-differentially private (Balle and Wang, 2018, Theorem 8):
    Phi(1 / 2 sigma - epsilon sigma) - exp(epsilon) Phi(-1 / 2 sigma - epsilon sigma)."""
    half, over = 0.5 / sigma, epsilon * sigma
    return float(ndtr(half - over) - np.exp(epsilon + log_ndtr(-half - over)))


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """The least st.dev. of noise that is enough, for a sum that one row changes by at most 1."""
    return float(np.exp(brentq(lambda log: gaussian_delta(epsilon, np.exp(log)) - delta, -20, 20)))


def symmetric_noise(sigma: float, m: int, rng: np.random.Generator) -> Tensor:
    """Normal numbers [m, m] of st.dev. sigma on and above the diagonal, the same below."""
    upper = np.triu(sigma * rng.standard_normal((m, m)))
    return torch.as_tensor(upper + np.triu(upper, 1).T)


def private(
    rows: Tensor, directions: Directions, epsilon: float, delta: float = 1e-5, group: int = 1,
    rng: np.random.Generator | None = None,
) -> Sums:  # fmt: skip
    """Noisy sums of ``rows`` [n, P + 1] by public directions, with their step ``directions.back @ solve(...).step``.

    They are (epsilon, delta)-differentially private, in exact numbers: whether one row is there, or ``group`` of one
    owner, a patient or a whole laboratory, which takes ``group`` times the noise. A row that is longer than the longest
    public one is shortened to it, J and r alike: it counts less. How many rows there are is not told. Each further
    message of the same rows costs epsilon again.

    rng: None takes the system's; one that others can begin again hides nothing.

    Raises:
        ValueError: of sums, whose rows nobody can shorten any more, and of roots, which are no sums.
    """
    if isinstance(rows, Sums):
        what = "a root, which is no sum: nothing bounds what one row changes" if rows.root else "sums: no row is short"
        raise ValueError(f"private(...) was given {what}; give it the rows, rows(experiment, points, theta)")
    if not (epsilon > 0 and 0 < delta < 1 and group >= 1 and rows.isfinite().all()):
        raise ValueError(f"epsilon > 0, 0 < delta < 1, group >= 1, finite rows; given {epsilon}, {delta}, {group}")
    b = rows @ directions.W
    b = b * (directions.longest / b.square().sum(1, keepdim=True)).clamp(max=1).sqrt()
    sigma = gaussian_sigma(epsilon, delta) * group * directions.longest
    noise = symmetric_noise(sigma, b.shape[1], rng or np.random.default_rng())
    return Sums(b.T @ b + noise, np.nan, noise=sigma)


def write(path: Path | str, message: Sums) -> None:
    """A message as a file, to be mailed; whole or not at all. ValueError: not in float64."""
    if message.matrix.dtype != torch.float64:
        raise ValueError(f"a message of {message.matrix.dtype}: expected torch.float64, take theta.double()")
    write_atomically(Path(path), packed(message._asdict()))


def read(path: Path | str, columns: int) -> Sums:
    """A message that somebody has sent: numbers, nothing of it is run.

    columns: those of J that all have agreed on, P of the model, or of private sums ``directions.back.shape[1]``.

    Raises:
        Unreadable: the file holds something else, or what no rows can give; says what.
    """
    try:
        matrix, n, root, noise = (unpacked(Path(path).read_bytes())[name] for name in Sums._fields)
        lengths = range(columns + 2) if root else [columns + 1]
        if matrix.dtype != np.float64 or matrix.shape not in [(rows, columns + 1) for rows in lengths]:
            raise ValueError(
                f"a matrix of {matrix.dtype} {[*matrix.shape]}, where {columns} parameters were agreed on; those that "
                "are a laboratory's own do not count"
            )
        if not (np.isfinite(matrix).all() and np.isfinite(noise) and noise >= 0):
            raise ValueError("numbers that are not finite")
        if type(root) is not bool or (root and noise) or not (np.isnan(n) if noise else 0 <= n < np.inf):
            raise ValueError(f"root = {root}, noise = {noise}, n = {n} rows")  # of private sums nobody is told n
        if not root and not np.array_equal(matrix, matrix.T):
            raise ValueError("a matrix that is no sum of squares, for it is not symmetric")
        values = [0.0] if root or noise else np.linalg.eigvalsh(matrix)
        if min(values) < -ROUNDING * max(values):
            raise ValueError(f"a matrix that is no sum of squares, with an eigenvalue {min(values):.1e}")
    except Exception as error:  # of whatever kind: nobody knows what others send
        raise Unreadable(f"{path} is no message of sums: {error}; expected a file of sums.write") from None
    return Sums(torch.as_tensor(matrix), float(n), root, float(noise))


# at the server


def added(messages: Iterable[Sums]) -> Sums:
    """The sums of all, in any order. Roots are stacked, and made triangular again."""
    matrices, ns, roots, noises = zip(*messages, strict=True)
    total = torch.linalg.qr(torch.cat(matrices), mode="r").R if roots[0] else sum(matrices)
    return Sums(total, sum(ns), roots[0], float(np.linalg.norm(noises)))


def without(total: Sums, absent: Sums) -> Sums:
    """The sums of all but one, who need not be asked again.

    Raises:
        ValueError: of roots, which cannot be subtracted to all digits.
    """
    if total.root or absent.root:
        raise ValueError("without(...) was given roots; add those of the clients that stay, or let all send sums")
    noise = max(0.0, total.noise**2 - absent.noise**2) ** 0.5
    return Sums(total.matrix - absent.matrix, total.n - absent.n, noise=noise)


class Spectrum(NamedTuple):
    """Sums by the singular values of J = U diag(s) V^T, falling.

    s [k], V [P, k]. h = V^T J^T r [k]. z = U^T r [k], 0 where rounding hides s. rest: |r - U z|^2.
    """

    s: Tensor
    V: Tensor
    h: Tensor
    z: Tensor
    rest: Tensor

    def step(self, ridge: float) -> Tensor:
        """-(J^T J + ridge I)^-1 J^T r, [P]."""
        return -(self.V @ (self.h / (self.s**2 + ridge)))


def spectrum(sums: Sums) -> Spectrum:
    """A singular value decomposition of the root, or the eigenvectors of J^T J."""
    J, r = sums.matrix[:, :-1], sums.matrix[:, -1]
    hidden = J.shape[1] * torch.finfo(J.dtype).eps
    if sums.root:
        U, s, Vt = torch.linalg.svd(J, full_matrices=False)
        kept = s > hidden * s[0]
        U, s, V = U[:, kept], s[kept], Vt[kept].T
        z = U.T @ r
        return Spectrum(s, V, s * z, z, (r - U @ z).square().sum())
    squares, V = (falling.flip(-1) for falling in torch.linalg.eigh(J[:-1]))
    s, h = squares.clamp(min=0).sqrt(), V.T @ r[:-1]
    z = torch.where(squares > hidden * squares[0], h / s, torch.zeros_like(s))
    return Spectrum(s, V, h, z, (r[-1] - z @ z).clamp(min=0))


class Solution(NamedTuple):
    """Least squares |r + J d|^2 + ridge |d|^2, from sums.

    step: d [P]. ridge. gcv: the score by which ridges are chosen, in the residuals' unit squared. degrees: of freedom,
    the trace of the hat matrix. noise: st.dev. of the residuals.
    """

    step: Tensor
    ridge: float
    gcv: float
    degrees: float
    noise: float
    spectrum: Spectrum

    def spread(self, directions: Tensor) -> Tensor:
        """St.dev. [T] of directions [T, P] times d, given all data, where the residuals are normal and independent.

        noise^2 (J^T J + ridge I)^-1 is the covariance of d: before any data it has variance noise^2 / ridge.
        """
        s, V = self.spectrum[:2]
        along = directions @ V
        beside = (directions - along @ V.T).square().sum(1) / self.ridge
        return self.noise * ((along**2 / (s**2 + self.ridge)).sum(1) + beside).sqrt()


def cross_validation(s: Tensor, z: Tensor, rest: Tensor, n: float, ridges: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """|r + J d|^2, n - degrees, and GCV = n |r + J d|^2 / (n - degrees)^2 (Golub, Heath, Wahba 1979) of each ridge [G].

    s, z [k], rest: as of ``Spectrum``.
    """
    left = ridges[:, None] / (s**2 + ridges[:, None])
    free = n - len(s) + left.sum(1)
    square = rest + (left * z).square().sum(1)
    return square, free, n * square / free**2


def solve(sums: Sums, ridge: float | None = None) -> Solution:
    """The ridge solution; ridge: with the least ``cross_validation``, from the sums alone, of 81 values between the
    largest singular value squared and what rounding leaves of it. Of noisy sums it is the norm of their noise."""
    factors = spectrum(sums)
    if ridge is None and sums.noise:
        ridge = 2 * sums.noise * len(sums.matrix) ** 0.5
    s, z = factors.s.double(), factors.z.double()
    lost = torch.finfo(factors.s.dtype).eps * sums.matrix.shape[1]
    grid = float(s[0]) ** 2 * np.geomspace(lost ** (2 if sums.root else 1), 1, 81) if ridge is None else [ridge]
    ridges = torch.as_tensor(np.array(grid, float))
    square, free, gcv = cross_validation(s, z, factors.rest, sums.n, ridges)
    i = int(gcv.argmin())
    noise, degrees = (square[i] / free[i]) ** 0.5, sums.n - free[i]
    step = factors.step(float(ridges[i]))
    return Solution(step, float(ridges[i]), float(gcv[i]), float(degrees), float(noise), factors)


def one_round(
    experiment: Experiment, data: Data, theta: Tensor, ridge: float | None = None, root: bool = True
) -> Solution:
    """What the server makes of one message of each client at theta [P]; the model is theta + step."""
    return solve(added(statistics(experiment, points, theta, root) for points in parts(data)), ridge)


class Iterates(NamedTuple):
    """Round by round: the best model that is known after it [R, P], its r^T r [R], and what all clients have sent."""

    theta: Tensor
    loss: list[float]
    bytes: list[int]


def gauss_newton(
    experiment: Experiment, data: Data, theta: Tensor, rounds: int, damping: float = 1e-3, least: float = 0.0,
    root: bool = True,
) -> Iterates:  # fmt: skip
    """Levenberg-Marquardt by sums, from theta [P]: theta + d, where (J^T J + ridge I) d = -J^T r.

    In each round the clients send their sums at the model that the server tries. The ridge is ``damping`` times the
    largest singular value squared of J. If r^T r has fallen, the model is kept and damping falls to a tenth; else it
    rises to ten times as much, and the server tries again from the last one that was kept. It ends where r^T r changes
    by no more than rounding does: whether it then rises or falls is another thing on every CPU.

    Args:
        least: ends when a kept model lowers r^T r by less than this share, too.

    Raises:
        ValueError: parameters that stay at home.
    """
    if experiment.personal:
        raise ValueError(
            f"{experiment.name}: {', '.join(experiment.personal)} stay at home, for which each of several rounds would "
            "need a step at home, too; gauss_newton takes experiment._replace(personal=())"
        )
    clients, best, iterates, sent = parts(data), None, [], 0
    for _ in range(rounds):
        messages = [statistics(experiment, points, theta, root) for points in clients]
        sent += sum(message.bytes for message in messages)
        total = added(messages)
        fall = best[1].loss - total.loss if best else np.inf
        if fall > 0:
            best, damping = (theta, total), damping / 10
            factors = spectrum(total)
        else:
            damping *= 10
        iterates.append((best[0], best[1].loss, sent))
        if -ROUNDING * best[1].loss <= fall <= max(least, ROUNDING) * best[1].loss:
            break
        theta = best[0] + factors.step(damping * float(factors.s[0]) ** 2)
    models, losses, sent = zip(*iterates, strict=True)
    return Iterates(torch.stack(models), [*losses], [*sent])
