"""Handwritten digits of ten clients, each of whom has a single class: one round of sums, and notebook 10b's network.

The sums' model is ridge regression to one-hot targets, on features that nobody learns: the means, over 5 x 5 windows of
a picture, of rectified random convolutions.
"""

import time
from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d, conv2d, relu

from ....federated import sums
from ....federated.batches import Local
from ....federated.experiment import Data, Experiment, data_of
from ....federated.history import History
from ....federated.optimizers import adam
from ....federated.sweep import errors
from ....numerics.tabulated import tabulated
from ....streams import stream
from ....trainings.calls import Call
from ...feddro.digits import problem as digits

CLASSES, WINDOWS = 10, 5


def one_class_digits(source: str, each: int, held: int, tests: int) -> Experiment:
    """Network, loss and optimizer of notebook 10b; client k owns ``each`` digits k, and no other.

    held: so many further ones of each class, of the training digits, choose rates. tests: of the test digits.
    """

    def data(level: int, seed: int) -> Data:
        (x, y), test = (digits.handwriting(source)[split] for split in ("train", "test"))
        drawn = [stream(seed, "digits", k).permutation(np.flatnonzero(y == k)) for k in range(CLASSES)]
        if (least := min(map(len, drawn))) < each + held:
            raise ValueError(f"each = {each}, held = {held}: expected at most {least} in all, {source} has no more")
        mine, others = (np.concatenate([of_class[some] for of_class in drawn])
                        for some in (slice(each), slice(each, each + held)))  # fmt: skip
        pool, validation = ({"x": x[some], "y": y[some]} for some in (mine, others))
        owners = np.split(np.arange(len(mine)), CLASSES)
        return Data(pool, owners, {"x": test[0][:tests], "y": test[1][:tests]}, validation)

    return digits.digits()._replace(name="digits", data=data, level="classes of a client")


def convolutions(number: int, pixels: int, seed: int) -> Tensor:
    """Normal weights [number, 1, pixels, pixels]; fewer of them are the first ones."""
    return torch.as_tensor(stream(seed, "convolutions", pixels).standard_normal((number, 1, pixels, pixels))).float()


def features(x: Tensor, weights: Tensor) -> Tensor:
    """Of pictures x [n, 784]: 1, and for one convolution after the other the 25 means of its positive part, in float64
    [n, 1 + 25 number]."""
    pictures = x.unflatten(-1, (1, 28, 28)).split(50)  # 50: what comes of them stays in the cache
    means = torch.cat([adaptive_avg_pool2d(relu(conv2d(some, weights)), WINDOWS).flatten(1) for some in pictures])
    return torch.cat([torch.ones_like(means[:, :1]), means], 1).double()


def targets_of(messages: Sequence[Tensor]) -> Tensor:
    """A^T Y of all [m, classes], from A^T A of each: client k has class k alone, whose column of Y is 1, as
    the constant among the features is; so its sums are the row of the constant, and it sends nothing else."""
    return torch.stack([message[0] for message in messages], 1)


def solved(G: Tensor, H: Tensor, n: int) -> tuple[Tensor, float]:
    """W [m, classes] of |A W - Y|^2 + ridge |W|^2, and its score; the ridge is chosen as in ``sums.solve``, one for all
    classes. G = A^T A, H = A^T Y; a row of Y [n, classes] is 1 at the class of its digit, and 0 elsewhere."""
    squares, V = (falling.flip(-1) for falling in torch.linalg.eigh(G))
    lost = torch.finfo(G.dtype).eps * len(G)
    s = squares.clamp(min=0).sqrt()
    z = torch.where(squares[:, None] > lost * squares[0], V.T @ H / s[:, None], 0)
    step, gcv = sums.several(s, z, n - float(z.square().sum()), n, lost)
    return V @ step, gcv


def digits_in_one_round(
    seeds: Sequence[int], source: str, each: int, held: int, tests: int, convolution_numbers: Sequence[int],
    sizes: Sequence[int],
) -> xarray.Dataset:  # fmt: skip
    """The digits by all features that were tried: gcv, error (% of the test digits) [convolutions, pixels, seed]; bytes
    that a client sends, seconds [pixels, seed], of the largest number: sums of fewer are a part of its message."""
    experiment, most = one_class_digits(source, each, held, tests), max(convolution_numbers)

    def once(pixels: int, seed: int) -> dict:
        data, weights = data_of(experiment, 1, seed), convolutions(most, pixels, seed)
        began, n = time.process_time(), CLASSES * each
        messages = [A.T @ A for A in (features(part["x"], weights) for part in sums.parts(data))]
        G, H = sum(messages), targets_of(messages)
        parts = [slice(1 + WINDOWS**2 * number) for number in convolution_numbers]
        solutions = [solved(G[part, part], H[part], n) for part in parts]
        seconds = time.process_time() - began
        A, m = features(data.test["x"], weights), len(G)
        wrong = [(A[:, : len(W)] @ W).argmax(1) != data.test["y"] for W, _ in solutions]
        both = {"gcv": [gcv for _, gcv in solutions], "error": [100 * float(row.double().mean()) for row in wrong]}
        both = {name: ("convolutions", values) for name, values in both.items()}
        return both | {"bytes": 8 * m * (m + 1) / 2, "seconds": seconds}

    table = tabulated(once, pixels=sizes, seed=seeds).assign_coords(convolutions=[*convolution_numbers])
    return table.transpose("convolutions", "pixels", "seed")


# the network


def trained(data: Mapping, kind: str, batch: int, rows: Sequence[Sequence[float]], seeds: Sequence[int]) -> Call:
    """Trainings (E, rounds, lr) of the network: "federated", E local steps a round; "centralised", by Adam, E passes
    over all digits a round. data: arguments of ``one_class_digits``; batch: digits of a step."""
    unit, changes = "steps", {"evaluations": 5}
    if kind == "centralised":
        unit, changes = "epochs", changes | {"optimizer": adam(), "reset_moments": False}
    settings = {
        (E, lr): {"local": Local(E, unit, batch), "rounds": rounds, "lr": lr} for E, rounds, lr in rows
    }  # fmt: skip
    return Call(one_class_digits, data, [1], seeds, [kind], {("E", "lr"): settings}, changes, models={})


def wrong(history: History, whose: str = "") -> dict[tuple[int, float], xarray.DataArray]:
    """(E, lr) -> digits (%) that are read wrong on the way [round, seed], of the test, or of those that choose rates:
    "validation "."""
    error = 100 - errors(history, f"{whose}accuracy").isel(kind=0, level=0, drop=True)
    loss, by_setting = history.metric("loss").isel(client=0), {}
    for E, lr in dict.fromkeys(key[3:] for key in history.rows):
        one = error.sel(E=E, lr=lr, drop=True).dropna("round", how="all")
        rounds = int(loss.sel(E=E, lr=lr).dropna("round", how="all")["round"][-1])  # then what it had is repeated
        by_setting[E, lr] = one.sel(round=one["round"] <= rounds)
    return by_setting
