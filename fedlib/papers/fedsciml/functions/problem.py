"""FedSciML, Section 4: functions that clients approximate together, each knowing values in its own places only.

A function is an ``Experiment``: a network, the points and their owners, and the mean square at a client's points.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor, nn

from ....federated.batches import Local
from ....federated.experiment import KINDS, Data, Experiment, data_of
from ....federated.optimizers import sgd
from ....federated.partitions import checkerboard, hammersley, index_rule, per_client, slices
from ....models.networks import glorot_uniform, mlp
from ....notebook import rules
from ....notebook.run import Run
from ....numerics.heterogeneity import mean_pairwise_w1
from ....numerics.metrics import relative_l2
from ....trainings.store import Call, Computed, Tolerance
from .weights import theorem, walks

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
        name, net, residuals, data=lambda level, seed: Data(pool, owners(level), test_set), evaluate=evaluate,
        rounds=3000, local=Local(5), lr=1e-3, init=glorot_uniform, answer=answer, coordinates=coordinates, level=level,
        distance=lambda data: mean_pairwise_w1([points[shard] for shard in data.owners]),
    )  # fmt: skip


def wave(x: Tensor) -> Tensor:
    """Gramacy & Lee's function, shifted by 3/2: (x + 1/2)^4 - sin(10 pi x) / (2 x + 3), x [n, 1] -> [n], no unit."""
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


@cache
def apart_on_square(n: int, method: str, clients: int, level: int) -> float:
    """W1 of the owners of n points of the square; the transport takes seconds, and functions share their points."""
    square = schaffer(method=method, clients=clients, n=n, width=1)
    return square.distance(data_of(square, level))


def distances(call: Call, levels: Sequence[int]) -> dict[int, float]:
    """W1 of the clients at some levels of a training."""
    if call.make is not schaffer:
        return {level: call.experiment().distance(data_of(call.experiment(), level)) for level in levels}
    of = {"method": "x", "clients": 2, "n": 2304} | call.settings
    return {level: apart_on_square(of["n"], of["method"], of["clients"], level) for level in levels}


def x_and_xy(n: int = 1600, parts: Sequence[int] = (2, 4, 10, 20)) -> np.ndarray:
    """W1 of two clients with slabs and with blocks of the same n points, for some parts of an axis: [parts, 2].

    h and h / 3 for parts of width h, if points are many: the difference vanishes, the ratio does not.
    """
    return np.array([[apart_on_square(n, method, 2, s) for method in ("x", "xy")] for s in parts])


def begin(namespace: Mapping) -> Run:
    """The run of notebook 04, with parameters that are known to make sense; namespace: its globals().

    Raises:
        ValueError: what was given, and what was expected; a level that the points do not allow, too.
    """
    run = Run.begin(
        NOTEBOOK,
        namespace,
        **dict.fromkeys(("subdomains", "what_if_subdomains", "slabs", "fall_slabs"), rules.whole(2)),
        **dict.fromkeys(("n_points", "schaffer_points"), rules.whole(16)),
        **dict.fromkeys(("width", "schaffer_rounds", "theorem_E", "theorem_rounds"), rules.whole()),
        **dict.fromkeys(("schaffer_seeds", "fall_seeds"), rules.whole(0)),
        blocks=rules.whole(3),
        lrs_fall=rules.positive(),
    )
    for call in trainings(run.parameters).values():
        for level in [] if isinstance(call, Computed) else call.levels:
            data_of(call.experiment(), level)
    return run


FIRST = Tolerance(relative=1e-3, absolute=1e-5, first={"round": 26})
PLANE = Tolerance(absolute=2.0)
WALKS = {
    **dict.fromkeys(("distance", "steps", "mean", "near_share"), FIRST),
    **dict.fromkeys(("server", "central"), PLANE),
    "share": Tolerance(absolute=0.05),
    "first_steps": Tolerance(absolute=1e-5),
}
"""How nearly the weights walk the same way on another CPU. After a hundred rounds in float32 (26 that are kept)
rounding decides, ever more: in the plane through all rounds, 25 wide, a twentieth is left open."""


def trainings(p: Mapping) -> dict[str, Call | Computed]:
    """What notebook 04 trains, from its parameters.

    "line" (Fig. 4), "what_if/...": choices that the paper leaves open; "slabs/coded" and "slabs/printed" (Fig. 5);
    "blocks/K clients" (Fig. 6); "fall/...": what could make Schaffer's error fall by ten; "theorem", "walks" (Fig. 3).
    """
    line, width = {"n": p["n_points"], "width": p["width"]}, {"width": p["width"]}
    common = {"local": Local(p["local_updates"]), "lr": p["lr"]}
    on_line, on_square = {"rounds": p["rounds"], **common}, {"rounds": p["schaffer_rounds"], **common}
    first = {"isolated": p["seeds"][:1], "federated": p["seeds"], "centralised": p["seeds"]}
    calls = {"line": Call(gramacy_lee, line, p["subdomains"], p["seeds"], changes=on_line, models=first)}
    for name, changes in variants(p).items():
        make = by_descent if name.startswith("SGD") else gramacy_lee
        levels, changes = p["what_if_subdomains"], on_line | changes
        calls[f"what_if/{name}"] = Call(make, line, levels, p["seeds"], ("federated",), changes)
    seeds, square = p["schaffer_seeds"], {"n": p["schaffer_points"], **width}
    first = {"isolated": seeds[:1], "federated": seeds, "centralised": seeds}
    for name, printed in (("coded", False), ("printed", True)):
        given = {"printed": printed, **square}
        calls[f"slabs/{name}"] = Call(schaffer, given, p["slabs"], seeds, changes=on_square, models=first)
    for K in CLIENTS:  # one model that sees all points is the same for all of them
        given, kinds = {"method": "xy", "clients": K, **square}, [*KINDS] if K == 2 else ["isolated", "federated"]
        calls[f"blocks/{K} clients"] = Call(schaffer, given, p["blocks"], seeds, kinds, on_square, models={})
    for name, (given, changes) in of_the_fall(p).items():
        calls[f"fall/{name}"] = Call(
            schaffer, square | given, p["fall_slabs"], p["fall_seeds"], ("federated",), on_square | changes, models={}
        )
    ends = [min(p["subdomains"]), max([n for n in p["subdomains"] if n <= 100] or p["subdomains"])]
    given = {"make": gramacy_lee, "n": p["n_points"], "levels": [*dict.fromkeys(ends)]}
    of_theorem = given | {"steps": p["theorem_E"], "rounds": p["theorem_rounds"]}
    calls["theorem"] = Computed(theorem, of_theorem, tolerances={"distance": Tolerance(absolute=1e-6)})
    given |= {"width": p["width"], "rounds": p["rounds"], "E": p["local_updates"], "lr": p["lr"], "seed": p["seeds"][0]}
    calls["walks"] = Computed(walks, given, tolerances=WALKS)
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
        **{f"rate {1e4 * rate:g}e-4": ({}, {"lr": rate}) for rate in p["lrs_fall"]},
        "ReLU": ({"activation": nn.ReLU}, {}),
    }


EARLIER = ", 1600 points"
"""What names end with of an earlier run; see ``earlier_calls``."""


def earlier_calls() -> dict[str, Call]:
    """What an earlier run had: errors only, converted from its result file (numerics 0), for what is not trained anew.

    Schaffer's function with 1600 of the 2304 points, three seeds, few levels.
    """
    p, seeds = {"n": 1600}, [0, 1, 2]
    changes = {"rounds": 3000, "local": Local(5), "lr": 1e-3, "numerics": 0}
    slabs, blocks, two = [2, 4, 10, 20, 50], [3, 5, 11], ("isolated", "federated")
    return {
        "slabs/coded": Call(schaffer, p, slabs, seeds, changes=changes),
        "slabs/printed": Call(schaffer, p | {"printed": True}, slabs, seeds, changes=changes),
        **{
            f"blocks/{K} clients": Call(
                schaffer, p | {"method": "xy", "clients": K}, blocks, seeds, KINDS if K == 2 else two, changes
            )
            for K in CLIENTS
        },
    }
