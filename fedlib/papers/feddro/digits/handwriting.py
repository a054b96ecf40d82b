"""Handwritten digits: MNIST fetched and verified, or scikit-learn's small ones where MNIST cannot be had."""

import gzip
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

from ....downloads import CACHE, fetch
from ....federated.partitions import deal, dirichlet
from ....streams import stream

MIRRORS = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://raw.githubusercontent.com/fgnt/mnist/master/",
]


FILES = {  # the four official files and their SHA-256
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}


SIDE, TEST_DIGITS = 28, 547  # pixels; of scikit-learn's 1797 digits, so that 1250 are left for training


def read_idx(path: str | Path) -> np.ndarray:
    """A gzipped IDX file of unsigned bytes: 0, 0, type 8, number of axes, their lengths (big-endian), the data."""
    try:
        raw = gzip.decompress(Path(path).read_bytes())
    except (EOFError, OSError) as error:
        raise ValueError(f"{path} is no complete gzip file ({error}); remove it, so that it is fetched again") from None
    if len(raw) < 4 or raw[:3] != b"\0\0\x08" or len(raw) < 4 + 4 * raw[3]:
        raise ValueError(f"{path} is no IDX file of bytes: it starts with {raw[:4].hex()}, expected 000008 and axes")
    shape = tuple(int(n) for n in np.frombuffer(raw, ">u4", raw[3], 4))
    expected = 4 + 4 * raw[3] + math.prod(shape)
    if len(raw) != expected:
        raise ValueError(f"{path} promises {shape}, {expected} bytes in all, and has {len(raw)}: truncated?")
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape).copy()


def mnist(folder: str | Path | None = None, cache: str | Path = CACHE) -> dict[str, tuple[Tensor, Tensor]]:
    """MNIST: "train" -> (x [60000, 784] in [0, 1], y [60000] int64), "test" -> 10 000 of the same.

    Args:
        folder: where the four official .gz files are; without it FEDLIB_DATA (or FEDLIB_DATA/mnist), then the cache,
            then the mirrors are looked through (see ``downloads.fetch``, which names the errors).
    """
    paths = [fetch(f"mnist/{name}", s, [m + name for m in MIRRORS], folder, cache) for name, s in FILES.items()]
    train_x, train_y, test_x, test_y = (read_idx(path) for path in paths)
    return {
        split: (torch.as_tensor(x).flatten(1) / 255, torch.as_tensor(y).long())
        for split, x, y in (("train", train_x, train_y), ("test", test_x, test_y))
    }


def small_digits() -> dict[str, tuple[Tensor, Tensor]]:
    """scikit-learn's 8 x 8 digits (UCI, real handwriting), enlarged to 20 x 20 in a frame of 28 x 28 like MNIST's.

    Shapes and range as ``mnist``; 1250 for training and 547 for the test.
    """
    from sklearn.datasets import load_digits  # takes a second, and most notebooks do not need it

    digits = load_digits()
    x = torch.as_tensor(digits.images / 16, dtype=torch.float32)[:, None]
    x = pad(interpolate(x, size=20, mode="bilinear", align_corners=False), (4, 4, 4, 4)).flatten(1)
    y = torch.as_tensor(digits.target).long()
    cut = len(x) - TEST_DIGITS
    return {"train": (x[:cut], y[:cut]), "test": (x[cut:], y[cut:])}


SOURCES = {"mnist": mnist, "small": small_digits}
"""Where digits come from; those of scikit-learn need no download."""


@cache
def handwriting(source: str = "small", pixels: str = "normalised") -> dict[str, tuple[Tensor, Tensor]]:
    """The digits of a source, "normalised" as in the lineage's code or "raw", in [0, 1]: "train", "test" -> (x, y)."""
    if source not in SOURCES:
        raise ValueError(f"source = {source!r}: expected one of {', '.join(SOURCES)}")
    raw = SOURCES[source]()
    return normalised(raw) if pixels == "normalised" else raw


PIXELS = (0.1307, 0.3081)  # mean and st.dev. of MNIST's training pixels, as in PyTorch's example


def normalised(data: dict[str, tuple[Tensor, Tensor]]) -> dict[str, tuple[Tensor, Tensor]]:
    """The same digits with pixels (x - 0.1307) / 0.3081, as the lineage's code has them."""
    return {split: ((x - PIXELS[0]).div_(PIXELS[1]), y) for split, (x, y) in data.items()}


class Clients(NamedTuple):
    """What a federation's clients own: samples x [N, d] of all of them, labels y [N], and shards, who owns which."""

    x: np.ndarray
    y: np.ndarray
    shards: list[np.ndarray]


def known_to_all(x: np.ndarray, y: np.ndarray, K: int) -> Clients:
    """K clients of which each has all samples."""
    return Clients(x, y, [np.arange(len(x))] * K)


def deal_digits(digits, K: int, each: int, seed: int = 0, partition: str = "iid", alpha: float = 1.0) -> Clients:
    """K times ``each`` of the digits (x [N, 784], y [N]), drawn and dealt by the seed; all classes occur.

    partition: "iid", or "dirichlet", label skew with alpha (see ``partitions.dirichlet``).
    """
    x, y = (v.numpy() for v in digits)
    if K * each > len(y):
        raise ValueError(
            f"clients = {K}, per_client = {each}: expected at most {len(y)} digits in all, there are no more for "
            f"training; take per_client <= {len(y) // K}"
        )
    pick = order(len(x), seed)[: K * each]
    x, y, rng = x[pick].astype(float), y[pick], stream(seed, "partition")
    if missing := sorted(set(digits[1].tolist()) - set(y.tolist())):
        raise ValueError(
            f"seed {seed}: there is no {missing[0]} among the clients' {len(y)} digits; increase per_client"
        )
    return Clients(x, y, deal(len(x), K, rng) if partition == "iid" else dirichlet(y, K, alpha, rng))


def held_out(digits, dealt: int, number: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """So many of the digits (x [N, 784], y [N]) that nobody has who was dealt the first of the seed's order."""
    x, y = digits
    if dealt + number > len(y):
        raise ValueError(f"{number} digits held out of {len(y)}, of which {dealt} are dealt: expected fewer")
    pick = order(len(y), seed)[dealt : dealt + number]
    return x[pick], y[pick]


def order(n: int, seed: int) -> np.ndarray:
    """In which digits are dealt."""
    return stream(seed, "digits").permutation(n)
