"""Noisy sums beside noisy FedAvg at equal (epsilon, delta), and what noise hides a point that stands apart."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import torch
import xarray
from torch import Tensor

from ....federated import sums
from ....federated.experiment import data_of
from ....federated.stack import parameter_count
from ....numerics.tabulated import tabulated
from ....streams import stream
from ..one_round import problem as equations
from ..points import CROWDED, DELTA, attacked, public
from .problem import LABORATORIES, NOISE, curve, evaluate, instruments

LAB_POINTS = 1000
"""Of each laboratory: with fewer, noise that hides one drowns all."""

RATES, CLIPS, ROUNDS, STEPS = (0.1, 0.3, 1.0), (0.03, 0.1, 0.3, 1.0, 3.0), (1, 3, 10, 30), (1, 5)
"""Of noisy FedAvg, all tried: rates; bounds, in units of the public rows' longest; rounds; local steps."""

UNITS, BOUNDS, RIDGES = (1.0, 0.5, 0.25), (1.0, 0.3, 0.1, 0.03), (0.0001, 0.001, 0.01, 0.1, 0.3, 1.0)
"""Of noisy sums: r beside J; bounds of |row|^2, or of a laboratory's sums, in the public rows' largest;
ridges, in units of the noise's norm."""


def noisy_fedavg(
    labs: Sequence[Tensor], longest: float, epsilon: float, unit: str, rounds: int, steps: int, rng: np.random.Generator
) -> dict[tuple[float, float], np.ndarray]:
    """FedAvg from 0 on rows [A, y] of each laboratory, for all RATES and CLIPS at once: (rate, clip) -> model [k].

    unit "point": each step clips each point's gradient, and adds noise to their sum (Abadi et al. 2016); "laboratory":
    what a laboratory's round changes is clipped, and noise added to it (McMahan et al. 2018). Each laboratory adds its
    own, and how many points it has is public. All points take part in all steps, so that the noise of n of them is that
    of one, times sqrt(n), exactly.
    """
    grid = [*product(RATES, CLIPS)]
    rates, clips = np.array(grid).T
    clips = clips * longest
    times = rounds * steps if unit == "point" else rounds
    sigma = sums.gaussian_sigma(epsilon, DELTA) * times**0.5
    A, y = ([lab[:, part].numpy() for lab in labs] for part in (slice(-1), slice(-1, None)))
    w = np.zeros((A[0].shape[1], len(grid)))
    for _ in range(rounds):
        changes = []
        for a, b in zip(A, y, strict=True):
            local = w.copy()
            for _ in range(steps):
                r = a @ local + b
                if unit == "point":
                    size = np.abs(r) * np.linalg.norm(a, axis=1, keepdims=True)
                    r *= np.minimum(1, clips / np.maximum(size, 1e-300))
                gradient = a.T @ r
                if unit == "point":
                    gradient += sigma * clips * rng.standard_normal(w.shape)
                local -= rates * gradient / len(a)
            change = local - w
            if unit == "laboratory":
                change *= np.minimum(1, clips / np.maximum(np.linalg.norm(change, axis=0), 1e-300))
                change += sigma * clips * rng.standard_normal(w.shape)
            changes.append(change)
        w = w + np.mean(changes, 0)
    return dict(zip(grid, w.T, strict=True))


class Curve:
    """The notebook's curve with perfect instruments: rows of its waves, and the error of a step."""

    def __init__(self, seed: int):
        self.experiment = instruments(personal=False)
        self.zero = torch.zeros(parameter_count(self.experiment.net)).double()
        grid = np.linspace(0, 1, 501)
        self.directions = sums.whitened(self.rows(grid, np.full(501, 2.0)))

    def rows(self, x: np.ndarray, y: np.ndarray) -> Tensor:
        points = {"x": torch.as_tensor(x[:, None]), "y": torch.as_tensor(y[:, None])}
        return sums.rows(self.experiment, points, self.zero)

    def drawn(self, rng: np.random.Generator) -> Tensor:
        x = rng.uniform(size=LABORATORIES * LAB_POINTS)
        return self.rows(x, curve(x) + NOISE * curve(np.linspace(0, 1, 1000)).std() * rng.standard_normal(len(x)))

    def error(self, step: Tensor) -> float:
        test = self.experiment.data("anywhere", 0).test
        return float(evaluate(sums.predicting(self.experiment, self.zero + step), test)["error"])


class Poisson:
    """Poisson's equation of notebook 13, by 60 sines in 20 directions."""

    def __init__(self, seed: int):
        self.experiment, self.curve, self.directions, _ = public(60, 20, seed, 6.0)
        self.test = data_of(equations.EQUATIONS["poisson"](), 2).test

    def drawn(self, rng: np.random.Generator) -> Tensor:
        return torch.as_tensor(self.curve(rng.uniform(0, np.pi, LABORATORIES * LAB_POINTS)))

    def error(self, step: Tensor) -> float:
        return equations.error(self.experiment, step, self.test)


PROBLEMS = {"the curve": Curve, "Poisson": Poisson}


def noisy_sums(
    labs: Sequence[Tensor], directions: sums.Directions, epsilon: float, unit: str, rng: np.random.Generator
) -> dict[tuple[float, float, float], Tensor]:
    """(unit of r, bound, ridge) -> step [P] of one message each, for all UNITS, BOUNDS and RIDGES.

    As ``sums.private``, which has none of these to choose, and better in two ways: noise beside the diagonal is smaller
    by sqrt(2), for a matrix and its upper half, so weighted, are as long; and of a whole laboratory not each row but
    their sum is shortened.
    """
    steps, k = {}, directions.W.shape[1] - 1
    for r, bound in product(UNITS, BOUNDS):
        W = directions.W.clone()
        W[:, k] *= r
        longest = bound * directions.longest * (LAB_POINTS if unit == "laboratory" else 1)
        sigma, total = sums.gaussian_sigma(epsilon, DELTA) * longest, torch.zeros(k + 1, k + 1).double()
        for lab in labs:
            rows = lab @ W
            if unit == "point":
                rows = rows * (longest / rows.square().sum(1, keepdim=True)).clamp(max=1).sqrt()
            G = rows.T @ rows
            if unit == "laboratory":
                G = G * (longest / G.norm()).clamp(max=1)
            noise = sums.symmetric_noise(sigma, k + 1, rng)
            total += G + (noise + noise.diag().diag() * (2**0.5 - 1)) / 2**0.5
        message = sums.Sums(total, np.nan, noise=sigma * len(labs) ** 0.5)
        norm = 2 * message.noise * (k + 1) ** 0.5
        steps |= {(r, bound, ridge): directions.back @ sums.solve(message, ridge * norm).step / r for ridge in RIDGES}
    return steps


NOISY = "sums", "FedAvg", "FedAvg, one round", "FedAvg, hardly clipped"


def side_by_side(epsilons: Sequence[float], seeds: Sequence[int], tried: Sequence[int]) -> xarray.Dataset:
    """error (%) [problem, unit, epsilon, way, seed] of noisy sums and of noisy FedAvg, each at the settings with the
    least mean error on the data sets ``tried``; settings [problem, unit, epsilon, way]: which. nothing (%) [problem]:
    without any data."""

    def one(problem: str, unit: str, epsilon: float) -> dict:
        tables = [errors_of(problem, unit, epsilon, seed) for seed in (*tried, *seeds)]
        cells = {}
        for way in tables[0]:
            table = np.array([[*errors[way].values()] for errors in tables])
            best = int(table[: len(tried)].mean(0).argmin())
            cells[way] = table[len(tried) :, best], ", ".join(f"{v:g}" for v in [*tables[0][way]][best])
        made = PROBLEMS[problem](seeds[0])
        return {
            "error": (("way", "seed"), [values for values, _ in cells.values()]),
            "settings": ("way", [words for _, words in cells.values()]),
            "nothing": made.error(0 * made.directions.back[:, 0]),
        }

    table = tabulated(one, problem=[*PROBLEMS], unit=["point", "laboratory"], epsilon=epsilons)
    return table.assign_coords(way=[*NOISY], seed=[*seeds])


def errors_of(problem: str, unit: str, epsilon: float, seed: int) -> dict[str, dict[tuple, float]]:
    """Way of NOISY -> settings -> error (%): of sums (r, bound, ridge), of FedAvg (rounds, steps, rate, clip)."""
    made, rng = PROBLEMS[problem](seed), stream(seed, f"private, {problem}")
    labs = made.drawn(rng).tensor_split(LABORATORIES)
    ours = {key: made.error(step) for key, step in noisy_sums(labs, made.directions, epsilon, unit, rng).items()}
    theirs, whitened = {}, [lab @ made.directions.W for lab in labs]
    for rounds, steps in product(ROUNDS, STEPS):
        models = noisy_fedavg(whitened, made.directions.longest**0.5, epsilon, unit, rounds, steps, rng)
        for key, w in models.items():
            theirs[rounds, steps, *key] = made.error(made.directions.back @ torch.as_tensor(w))
    single = {key: error for key, error in theirs.items() if key[0] == 1}
    hardly = {key: error for key, error in theirs.items() if key[-1] == max(CLIPS)}
    return dict(zip(NOISY, (ours, theirs, single, hardly), strict=True))


def outlier(
    points: Sequence[int], epsilons: Sequence[float], seeds: Sequence[int], apart: float = 0.3
) -> xarray.Dataset:
    """One point stands ``apart`` from all others, in Poisson's sums by 12 sines: how far from it are [points, epsilon,
    seed] off, the nearest of all guesses of two general attacks, which know nothing of it, and aimed, the one guess of
    an attack that knows that the others lie evenly in [0, CROWDED]: the likeliest place. epsilon 0: no noise."""

    def one(points: int, epsilon: float, seed: int) -> dict:
        noise = sums.gaussian_sigma(epsilon, DELTA) if epsilon else 0.0
        sent = attacked(12, points, seed, noise, apart=apart)
        off = min(np.abs(guess - sent.x[-1]).min() for guess in sent.guesses.values())
        aimed = np.abs(likeliest(points, noise, seed, sent.x) - sent.x[-1]) if epsilon else off
        return {"off": off, "aimed": aimed}

    return tabulated(one, points=points, epsilon=epsilons, seed=seeds)


def likeliest(points: int, noise: float, seed: int, x: np.ndarray, draws: int = 300) -> float:
    """Where in [CROWDED, pi] one point most probably is, from noisy sums of x [n]: the others' sums are normal, with
    the mean and covariance of ``draws`` of them."""
    _, _, directions, spectrum = public(12, None, seed, 6.0)
    sigma, rng = noise * directions.longest, stream(seed, "likeliest", points)
    upper = np.triu_indices(directions.W.shape[1])

    def total(x: np.ndarray) -> np.ndarray:
        rows = spectrum.curve(x)
        return (rows.T @ rows)[upper]

    evenly = [(np.arange(points - 1) + rng.uniform(size=points - 1)) * CROWDED / (points - 1) for _ in range(draws)]
    others = np.array([total(places) for places in evenly])
    inverse = np.linalg.pinv(np.cov(others.T) + sigma**2 * np.eye(others.shape[1]))
    places = np.linspace(CROWDED, np.pi, 600)
    sent = total(x) + sums.symmetric_noise(sigma, directions.W.shape[1], rng).numpy()[upper]
    missing = sent - others.mean(0) - np.array([total(place[None]) for place in places])
    return float(places[np.einsum("ti,ij,tj->t", missing, inverse, missing).argmin()])
