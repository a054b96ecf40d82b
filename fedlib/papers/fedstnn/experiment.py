"""What every federation of Sections 5.1 and 5.2 learns: a stochastic network, from observations y = f(x) + sigma e.

Rooms say what f is, and who observes it where.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
import xarray
from scipy.stats import norm, wasserstein_distance
from torch import Tensor

from ...federated.batches import Local
from ...federated.experiment import Experiment
from ...federated.stack import predict
from ...streams import torch_stream
from .network import SNN, init_snn
from .scores import energy_score, gaussian_nll, local_loss, squared_error


class Score(NamedTuple):
    """A loss of M paths for a point; with how many, and with which g at the start, networks are trained by it."""

    loss: Callable
    paths: int
    std: float


SCORES = {
    "squared error": Score(squared_error, 1, 0.1),
    "likelihood": Score(gaussian_nll, 8, 0.3),
    "energy score": Score(energy_score, 2, 0.3),
}


BATCH = 32
"""Points of a step; the paper does not say."""
TRIED_ON = [100, 101]
"""Seeds of validation data: other noise, partitions and starts than those that count."""
TRIED = [0.02, 0.04], [0.7, 0.75, 0.8], [200, 400]
"""Rates, factors on them in each round, and local steps of a client that were tried; for Section 5.1 the rates only."""


def learning(name: str, net: SNN, score: str, data: Callable, paths: int | None = None, **settings) -> Experiment:
    """An experiment on noisy observations; all that the paper prints of a training, and where it is silent our choices.

    Printed: one client in ten a round, 10 rounds. Ours: Adam, started anew in each round, batches of 32, 200 steps, the
    rate and its fall.

    Args:
        score: of SCORES. data: (level, seed) -> ``Data``. paths: for a point and step, instead of the score's number.
            settings: other fields of the experiment.
    """
    noise = net.noise(paths or SCORES[score].paths)
    ours = {"rounds": 10, "local": Local(200, "steps", BATCH), "lr": 0.02, "decay": 0.75, "fraction": 0.1}
    fixed = {"loss": local_loss(SCORES[score].loss), "init": init_snn, "noise": noise, "reset_moments": True}
    return Experiment(name, net, data=data, **fixed | ours | settings)


def probes(net: SNN, x: Tensor | np.ndarray, f: np.ndarray, sigma: float, paths: int, key: str) -> dict:
    """Constants for ``evaluate``: points x [n, d], true f [n], the data's sigma, noise of as many paths at each."""
    w = torch.randn(len(x), *net.noise(paths), generator=torch_stream(0, key))
    tensors = {"x_test": x, "f_test": f[:, None], "sigma": sigma}
    return {name: torch.as_tensor(value) for name, value in tensors.items()} | {"w_test": w}


class Answers(NamedTuple):
    """What a model says at n points: mean, std and one path [..., n], and the share of paths in f +- 2 sigma [...]."""

    mean: np.ndarray
    std: np.ndarray
    path: np.ndarray
    inside: np.ndarray


def evaluate(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``Answers`` of ONE model at ``probes``."""
    out = predict(test["x_test"], test["w_test"])
    std, mean = torch.std_mean(out, -1)
    inside = ((out - test["f_test"]).abs() < 2 * test["sigma"]).float().mean()
    return {"mean": mean, "std": std, "path": out[:, 0], "inside": inside}


def validation(constants: Mapping[str, Tensor], every: int = 1) -> dict[str, Tensor]:
    """``probes``, every so many of them, and a new noisy observation y_test [n] at each."""
    some = {name: value if name == "sigma" else value[::every] for name, value in constants.items()}
    e = torch.randn(len(some["f_test"]), generator=torch_stream(0, "validation noise"))
    return some | {"y_test": some["f_test"][:, 0] + some["sigma"] * e}


def scored(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of ONE model: mean energy score on the new observations of ``validation``, RMSE of its mean, RMS of its std."""
    out = predict(test["x_test"], test["w_test"])
    std, mean = torch.std_mean(out, -1)
    rmse = ((mean - test["f_test"][:, 0]) ** 2).mean().sqrt()
    return {"energy score": energy_score(out, test["y_test"]).mean(), "RMSE": rmse, "std": (std**2).mean().sqrt()}


def asked(net: SNN, theta: Tensor, constants: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """``Answers`` of a model [P], in float32, as a dictionary."""
    test = {name: value.float() for name, value in constants.items()}
    answers = evaluate(lambda *args: predict(net, theta, *args), test)
    return {name: value.numpy() for name, value in answers.items()}


def sample(net: SNN, theta: Tensor, x: Tensor, key: str = "one path per point") -> np.ndarray:
    """One path of a model [P] at each of the points x [n, d]: [n]."""
    w = torch.randn(len(x), *net.noise(1), generator=torch_stream(0, key))
    return predict(net, theta, x.float(), w)[:, 0].numpy()


# how good a model is


def rms(values: np.ndarray) -> np.ndarray:
    """Root of the mean square over points: [..., n] -> [...]."""
    return np.sqrt((values**2).mean(-1))


def covered(mean, std, f, sigma):
    """Probability that a new observation f + sigma e lies within mean +- 2 std (nominal 0.954); arrays of one shape."""
    return norm.cdf((mean + 2 * std - f) / sigma) - norm.cdf((mean - 2 * std - f) / sigma)


def quality(mean: np.ndarray, std: np.ndarray, f: np.ndarray, sigma: float) -> dict[str, np.ndarray]:
    """How good a mean and a spread [..., n] are where f [n] is the truth: name -> [...].

    RMSE of the mean; std: RMS of the spread over points; coverage: mean of ``covered`` over points.
    """
    return {"RMSE": rms(mean - f), "std": rms(std), "coverage": covered(mean, std, f, sigma).mean(-1)}


def judged(answers: xarray.Dataset, f: np.ndarray, sigma: float) -> xarray.Dataset:
    """``quality`` of answers [..., x], and "in band", the share of paths within f +- 2 sigma: the paper's judge."""
    mean = answers["mean"].transpose(..., "x")
    rows = quality(mean.values, answers["std"].transpose(..., "x").values, f, sigma)
    one = mean.isel(x=0, drop=True)
    return xarray.Dataset({name: one.copy(data=value) for name, value in rows.items()} | {"in band": answers["inside"]})


def likeness(path: np.ndarray, observed: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sampled against observed residuals, path - f and y - f, each [S, N]: st.dev. of the former [S], and the distance
    of Wasserstein between both sets [S], in the units of y."""
    ours, theirs = path - f, observed - f
    return ours.std(-1), np.array([wasserstein_distance(a, b) for a, b in zip(ours, theirs, strict=True)])


def seeds_of(dataset: xarray.Dataset) -> dict[str, np.ndarray]:
    """Quantity -> values over seeds, as tables take them."""
    return {str(name): values.values for name, values in dataset.data_vars.items()}


def with_truth(values: xarray.DataArray, hue: str, truth: xarray.DataArray | float) -> xarray.DataArray:
    """Values [hue, seed, ...] and what they should be, once, with the label "truth"."""
    first = values.isel({hue: [0], "seed": [0]}).assign_coords({hue: ["truth"]})
    once = (0 * first + truth).transpose(*values.dims)
    return xarray.concat([values, once], hue, join="outer").assign_attrs(values.attrs)


def beside(axis: str, parts: Mapping[str, xarray.Dataset | None]) -> xarray.Dataset | None:
    """What has labels along a new axis; without those that are None, and None where all are."""
    present = {label: part for label, part in parts.items() if part is not None}
    return xarray.concat(present.values(), xarray.Variable(axis, [*present])) if present else None
