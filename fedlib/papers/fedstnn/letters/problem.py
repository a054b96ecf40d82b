"""Section 5.3 as an experiment: pixels of a picture that nobody has seen whole, and who owns which."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ....federated.experiment import Data, Experiment
from ....federated.partitions import focused
from ....streams import stream, torch_stream
from ..experiment import learning
from ..network import SNN
from .picture import SHAPE, Picture, letters, pixels, read_png

RATIO = 0.03
"""F : L, printed."""


def picture_of(path: str, shape: tuple[int, int] = SHAPE) -> Picture:
    """The letters F, S and U in a shape; or, where a path is given, the picture of that PNG."""
    return Picture(read_png(path), ("left", "middle", "right")) if path else Picture(letters(shape))


def others_of(L: int, ratio: float = RATIO) -> int:
    """F for L pixels of the own third, to the nearest whole number (halves up)."""
    return int(ratio * L + 0.5 + 1e-9)


def owners(picture: Picture, clients: int, L: int, F: int, seed: int) -> list[np.ndarray]:
    """Pixels of each client: L of the third of its group, F in total of the other two."""
    return focused(picture.thirds, picture.white.size, clients, L, F, stream(seed, "pixels"))


def drawing(clients: int = 30, ratio: float = RATIO, shape: tuple[int, int] = SHAPE, picture: str = "") -> Experiment:
    """A level: L, the pixels that a client owns of its group's third; it owns ratio L of the rest.

    picture: a PNG instead of the letters.
    """
    goal, net = picture_of(picture, tuple(shape)), SNN(2, 16, 32, std=0.1)
    x = pixels(goal.shape)
    paths = torch.randn(len(x), *net.noise(1), generator=torch_stream(0, "test paths"))

    def data(L: int, seed: int) -> Data:
        shards = owners(goal, clients, L, others_of(L, ratio), seed)
        return Data({"x": x, "y": goal.truth.double()}, shards, partition=False)

    constants = {"x_test": x, "w_test": paths}
    judged = {"evaluate": partial(evaluate, picture=goal), "constants": constants, "level": "own pixels"}
    return learning("letters", net, "squared error", data, **judged)


def scored(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Scores [n] of ONE model: one path for every pixel."""
    return {"score": predict(test["x_test"], test["w_test"])[:, 0]}


def evaluate(predict: Callable, test: Mapping[str, Tensor], picture: Picture) -> dict[str, Tensor]:
    """What ONE model draws, white bool [n], and how many per cent of the pixels are wrong."""
    white = picture.drawn(scored(predict, test)["score"])
    return {"drawn": white, "wrong": 100 * (white ^ picture.truth).float().mean()}
