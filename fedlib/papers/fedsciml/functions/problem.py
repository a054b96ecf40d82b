"""FedSciML, Section 4: functions that clients approximate together, each knowing values in its own places only.

A function is an ``Experiment``: a network, the points and their owners, and the mean square at a client's points.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np
import torch
import xarray
from torch import Tensor, nn

from ....federated.batches import Local
from ....federated.experiment import Data, Experiment, data_of
from ....federated.heterogeneity import mean_pairwise_w1
from ....federated.optimizers import sgd
from ....federated.partitions import checkerboard, hammersley, index_rule, per_client, slices
from ....models.networks import glorot_uniform, mlp
from ....notebook import settings
from ....notebook.run import Run
from ....notebook.trainings import Call
from ....numerics.metrics import relative_l2

NOTEBOOK = "04_function_approximation"

SUBDOMAINS = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 40, 50, 66, 100, 200)
"""Fig. 4: the authors' levels on the line, two clients. 200, a point each in turn, is in their code only."""

CLIENTS = (2, 3, 4, 5)
"""Figs. 2D and 6."""


def approximation(
    name: str, net: nn.Module, f: Callable[[Tensor], Tensor], points: np.ndarray, test: np.ndarray,
    owners: Callable[[int], Sequence[np.ndarray]], coordinates: str, level: str = "subdomains n",
) -> Experiment:  # fmt: skip
    """A network N that learns f from its values: a client's loss is (1/n) sum_i (N(x_i) - f(x_i))^2 over its points.

    Args:
        f: [n, d] -> [n]. points: what the clients own together [N, d]. test: where the error is measured [T, d].
        owners: level -> an index array per client. coordinates: a letter for each of the d.
    """
    x, everywhere = torch.as_tensor(points), torch.as_tensor(test)
    pool, test_set = {"x": x, "f": f(x)}, {"x": everywhere, "u": f(everywhere)}

    def residuals(predict, batch) -> Tensor:
        return predict(batch["x"]) - batch["f"][:, None]

    def answer(predict, at) -> Tensor:
        return predict(at["x"])[:, 0]

    def evaluate(predict, at) -> dict[str, Tensor]:
        """Relative L2 error (%)."""
        return {"error": 100 * relative_l2(answer(predict, at), at["u"])}

    return Experiment(
        name, net, residuals, data=lambda n, seed: Data(pool, owners(n), test_set), evaluate=evaluate, rounds=3000,
        local=Local(5), lr=1e-3, init=glorot_uniform, answer=answer, coordinates=coordinates, level=level,
        distance=lambda data: mean_pairwise_w1([points[shard] for shard in data.owners]),
    )  # fmt: skip


def gramacy_lee(clients: int = 2, n: int = 200, width: int = 64) -> Experiment:
    """f(x) = (x + 1/2)^4 - sin(10 pi x) / (2 x + 3) on [-1, 1]; clients own its pieces in turn (FedSciML, Section 4.1)."""
    return approximation(
        "Gramacy-Lee", mlp((1, width, width, width, 1), nn.Tanh),
        f=lambda x: (x[:, 0] + 0.5) ** 4 - (10 * torch.pi * x[:, 0]).sin() / (2 * x[:, 0] + 3),
        points=np.linspace(-1, 1, n)[:, None], test=np.linspace(-1, 1, 1000)[:, None],
        owners=lambda pieces: index_rule(n, clients, per_client(pieces, clients)), coordinates="x",
    )  # fmt: skip


def schaffer(
    printed: bool = False, method: str = "x", clients: int = 2, n: int = 2304, width: int = 64,
    activation: Callable[[], nn.Module] = nn.Tanh,
) -> Experiment:  # fmt: skip
    """f = 1/2 + (sin^2 a - 1/2) / (1 + r / 1000)^2 on [0, 1]^2 (FedSciML, Section 4.2).

    a = r = 4 (x^2 + y^2), as in the authors' code; printed: a = x^2 - y^2, r = x^2 + y^2, nearly flat there.
    method "x": clients own slabs in turn, a level is their number; "xy": a checkerboard of level x level blocks.
    """

    def f(x: Tensor) -> Tensor:
        x2, y2 = (x**2).unbind(1)
        a, r = (x2 - y2, x2 + y2) if printed else (4 * (x2 + y2), 4 * (x2 + y2))
        return 0.5 + (a.sin() ** 2 - 0.5) / (1 + r / 1000) ** 2

    points, axis = hammersley(n), np.linspace(0, 1, 50)
    if method == "x":
        owners = lambda slabs: slices(points[:, 0], 0, 1, clients, per_client(slabs, clients))  # noqa: E731
    else:
        owners = lambda blocks: checkerboard(*points.T, (0, 1), clients, blocks)  # noqa: E731
    return approximation(
        "Schaffer, " + ("printed" if printed else "coded"), mlp((2, width, width, width, 1), activation), f, points,
        np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2), owners, "xy",
        "slabs n" if method == "x" else "blocks per axis",
    )  # fmt: skip


def by_descent(n: int = 200, width: int = 64) -> Experiment:
    """``gramacy_lee`` of two clients by plain gradient descent instead of Adam."""
    return gramacy_lee(2, n, width)._replace(optimizer=sgd())


@cache
def x_and_xy(n: int = 1600, parts: tuple[int, ...] = (2, 4, 10, 20)) -> np.ndarray:
    """W1 of two clients with slabs and with blocks of the same n points, for some parts of an axis: [parts, 2].

    h and h / 3 for parts of width h, if points are many: the difference vanishes, the ratio does not.
    """
    ways = (schaffer(method=method, n=n, width=1) for method in ("x", "xy"))
    return np.array([[of.distance(data_of(of, s)) for s in parts] for of in ways]).T


def begin(namespace: Mapping) -> Run:
    """The run of notebook 04, with parameters that are known to make sense; namespace: its globals().

    Raises:
        ValueError: what was given, and what was expected; a level that the points do not allow, too.
    """
    run = Run.begin(
        NOTEBOOK,
        namespace,
        **dict.fromkeys(("subdomains", "what_if_subdomains", "slabs", "fall_slabs"), settings.whole(2)),
        **dict.fromkeys(("n_points", "schaffer_points", "fall_points"), settings.whole(16)),
        **dict.fromkeys(("width", "schaffer_rounds", "theorem_E", "theorem_rounds"), settings.whole()),
        **dict.fromkeys(("schaffer_seeds", "fall_seeds"), settings.whole(0)),
        **dict.fromkeys(("lrs_fall",), settings.positive()),
        blocks=settings.whole(3),
    )
    for call in trainings(run.parameters).values():
        for level in call.levels:
            data_of(call.experiment(), level)
    return run


def trainings(p: Mapping) -> dict[str, Call]:
    """What notebook 04 trains, from its parameters.

    "line" (Fig. 4), "what if/...": choices that the paper leaves open; "slabs/coded" and "slabs/printed" (Fig. 5);
    "blocks/K clients" (Fig. 6); "fall/...": what could make Schaffer's error fall by ten.
    """
    line, width = {"n": p["n_points"], "width": p["width"]}, {"width": p["width"]}
    common = {"local": Local(p["local_updates"]), "lr": p["lr"]}
    on_line, on_square = {"rounds": p["rounds"], **common}, {"rounds": p["schaffer_rounds"], **common}
    first = {"isolated": p["seeds"][:1], "federated": p["seeds"], "centralised": p["seeds"]}
    calls = {"line": Call(gramacy_lee, line, p["subdomains"], p["seeds"], changes=on_line, models=first)}
    for name, changes in variants(p).items():
        make = by_descent if name.startswith("SGD") else gramacy_lee
        changes = on_line | changes
        calls[f"what if/{name}"] = Call(make, line, p["what_if_subdomains"], p["seeds"], ("federated",), changes)
    seeds, square = p["schaffer_seeds"], {"n": p["schaffer_points"], **width}
    first = {"isolated": seeds[:1], "federated": seeds, "centralised": seeds}
    for name, printed in (("coded", False), ("printed", True)):
        settings = {"printed": printed, **square}
        calls[f"slabs/{name}"] = Call(schaffer, settings, p["slabs"], seeds, changes=on_square, models=first)
    for K, kinds in zip(
        CLIENTS, (("isolated", "federated", "centralised"), *[("isolated", "federated")] * 3), strict=True
    ):
        settings = {"method": "xy", "clients": K, **square}
        calls[f"blocks/{K} clients"] = Call(schaffer, settings, p["blocks"], seeds, kinds, on_square, models={})
    few = {"n": p["fall_points"], **width}
    for name, (settings, changes) in of_the_fall(p).items():
        changes = on_square | changes
        calls[f"fall/{name}"] = Call(
            schaffer, few | settings, p["fall_slabs"], p["fall_seeds"], ("federated",), changes, models={}
        )
    return calls


def variants(p: Mapping) -> dict[str, dict]:
    """Choices that the paper or its code leaves open, on the line: name -> what changes; with as many steps in all."""
    E = p["local_updates"]
    return {
        "independent starts": {"common_init": False},
        "moments reset": {"reset_moments": True},
        "E = 3": {"rounds": max(1, p["rounds"] * E // 3), "local": Local(3)},
        **{f"SGD, rate {rate:g}": {"lr": rate} for rate in p["lrs_sgd"]},
    }


def of_the_fall(p: Mapping) -> dict[str, tuple[dict, dict]]:
    """The same on the square: name -> (settings of ``schaffer``, what else changes)."""
    start, reset = {"common_init": False}, {"reset_moments": True}
    return {
        "independent starts": ({}, start),
        "moments reset": ({}, reset),
        "both": ({}, start | reset),
        **{f"rate {rate:g}": ({}, {"lr": rate}) for rate in p["lrs_fall"]},
        "ReLU": ({"activation": nn.ReLU}, {}),
        "more points": ({"n": p["schaffer_points"]}, {}),
    }
