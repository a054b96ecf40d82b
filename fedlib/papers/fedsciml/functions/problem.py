"""FedSciML, Section 4: functions that clients approximate together, each knowing values in its own places only.

A function is an ``Experiment``: a network, the points and their owners, and the mean square at a client's points.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
import xarray
from torch import Tensor, nn

from ....federated.batches import Local
from ....federated.experiment import Data, Experiment
from ....federated.optimizers import sgd
from ....federated.partitions import checkerboard, hammersley, index_rule, per_client, slices
from ....models.networks import glorot_uniform, mlp
from ....numerics.heterogeneity import mean_pairwise_w1
from ....numerics.metrics import relative_l2
from ....numerics.tabulated import tabulated


def approximation(
    name: str, net: nn.Module, f: Callable[[Tensor], Tensor], points: np.ndarray, test: np.ndarray,
    owners: Callable[[int], Sequence[np.ndarray]], coordinates: str, level: str = "pieces",
) -> Experiment:  # fmt: skip
    """A network N that learns f from its values: a client's loss is (1/n) sum_i (N(x_i) - f(x_i))^2 over its points.

    Args:
        f: [n, d] -> [n]. points: what the clients own together [N, d]. test: where the error is measured [T, d].
        owners: level -> an index array per client. coordinates: a letter for each of the d.
    """
    x, x_test = torch.as_tensor(points), torch.as_tensor(test)
    pool, test_set = {"x": x, "f": f(x)}, {"x": x_test, "u": f(x_test)}

    def residuals(predict, batch) -> Tensor:
        return predict(batch["x"]) - batch["f"][:, None]

    def answer(predict, test) -> Tensor:
        return predict(test["x"])[:, 0]

    def evaluate(predict, test) -> dict[str, Tensor]:
        """Relative L2 error (%)."""
        return {"error": 100 * relative_l2(answer(predict, test), test["u"])}

    return Experiment(
        name, net, residuals, data=lambda level, seed: Data(pool, owners(level), test_set), evaluate=evaluate,
        rounds=3000, local=Local(5), lr=1e-3, init=glorot_uniform, answer=answer, coordinates=coordinates, level=level,
        distance=lambda data: mean_pairwise_w1([points[shard] for shard in data.owners]),
    )  # fmt: skip


def wave(x: Tensor) -> Tensor:
    """Gramacy & Lee's function, shifted by 3/2: (x + 1/2)^4 - sin(10 pi x) / (2 x + 3), at places x [n, 1]."""
    x = x[:, 0]
    return (x + 0.5) ** 4 - (10 * torch.pi * x).sin() / (2 * x + 3)


def rings(x: Tensor, printed: bool = False) -> Tensor:
    """Schaffer's function 1/2 + (sin^2 a - 1/2) / (1 + r / 1000)^2, x [n, 2] -> [n], no unit.

    a = r = 4 (x^2 + y^2), as in the authors' code; printed: a = x^2 - y^2, r = x^2 + y^2, nearly flat on [0, 1]^2.
    """
    x2, y2 = (x**2).unbind(1)
    a, r = (x2 - y2, x2 + y2) if printed else (4 * (x2 + y2), 4 * (x2 + y2))
    return 0.5 + (a.sin() ** 2 - 0.5) / (1 + r / 1000) ** 2


def gramacy_lee(clients: int = 2, n: int = 200, width: int = 64) -> Experiment:
    """``wave`` on [-1, 1], in pieces that the clients own in turn (FedSciML, Section 4.1)."""
    return approximation(
        "Gramacy-Lee", mlp((1, width, width, width, 1), nn.Tanh), wave, np.linspace(-1, 1, n)[:, None],
        test=np.linspace(-1, 1, 1000)[:, None], coordinates="x",
        owners=lambda pieces: index_rule(n, clients, per_client(pieces, clients)),
    )  # fmt: skip


def schaffer(
    printed: bool = False, method: str = "x", clients: int = 2, n: int = 2304, width: int = 64,
    activation: Callable[[], nn.Module] = nn.Tanh,
) -> Experiment:  # fmt: skip
    """``rings`` on [0, 1]^2 (FedSciML, Section 4.2).

    method "x": clients own slabs in turn, a level is their number; "xy": a checkerboard of level x level blocks.
    """
    points, axis = hammersley(n), np.linspace(0, 1, 50)

    def owners(level: int) -> list[np.ndarray]:
        if method == "x":
            return slices(points[:, 0], 0, 1, clients, per_client(level, clients))
        return checkerboard(*points.T, (0, 1), clients, level)

    return approximation(
        f"Schaffer, {'printed' if printed else 'coded'}", mlp((2, width, width, width, 1), activation),
        partial(rings, printed=printed), points, np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2),
        owners, "xy", "slabs n" if method == "x" else "blocks per axis",
    )  # fmt: skip


def by_descent(n: int = 200, width: int = 64) -> Experiment:
    """``gramacy_lee`` of two clients by plain gradient descent instead of Adam."""
    return gramacy_lee(2, n, width)._replace(optimizer=sgd())


def partitions(
    line: int, square: int, clients: Sequence[int], pieces: Sequence[int], slabs: Sequence[int], blocks: Sequence[int]
) -> xarray.Dataset:
    """Fig. 2: mean pairwise W1 of clients who own a part each of so many points of the line, and of the square.

    Returns:
        line [clients, pieces_each], slabs [clients, slabs_each], blocks [clients, blocks_per_axis]; NaN where a client
        would have no point.
    """
    x, points = np.linspace(-1, 1, line)[:, None], hammersley(square)

    def w1(places: np.ndarray, owners: Callable[..., Sequence[np.ndarray]], *cut) -> float:
        try:
            return mean_pairwise_w1([places[shard] for shard in owners(*cut)])
        except ValueError:  # a client has no point
            return np.nan

    def on_line(clients: int, pieces_each: int) -> dict[str, float]:
        return {"line": w1(x, index_rule, line, clients, pieces_each)}

    def in_slabs(clients: int, slabs_each: int) -> dict[str, float]:
        return {"slabs": w1(points, slices, points[:, 0], 0, 1, clients, slabs_each)}

    def in_blocks(clients: int, blocks_per_axis: int) -> dict[str, float]:
        return {"blocks": w1(points, checkerboard, *points.T, (0, 1), clients, blocks_per_axis)}

    return xarray.merge(
        [
            tabulated(on_line, clients=clients, pieces_each=pieces),
            tabulated(in_slabs, clients=clients, slabs_each=slabs),
            tabulated(in_blocks, clients=clients, blocks_per_axis=blocks),
        ]
    )
