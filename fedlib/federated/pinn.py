"""Physics-informed networks with the conditions built in: an equation, points, and who owns which, as an Experiment."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..models.jets import VALUE_ONLY, Jet, JetNet, closed, function_jet, product, product_rule
from ..models.networks import glorot_uniform, mlp
from ..numerics.heterogeneity import mean_pairwise_w1
from ..numerics.metrics import relative_l2
from .batches import Local
from .experiment import Data, Experiment
from .partitions import private


class Equation(NamedTuple):
    """A[u] = f, with the boundary and initial conditions in g and b: u = g + b N, N a network.

    operator: jet of u -> A[u] [n]. f, g, b, solution: torch functions of the points [n, d] -> [n]; g satisfies the
    conditions, b vanishes where they hold. derivatives: the channels of the jet that A needs, see ``models.jets``.
    """

    operator: Callable[[Jet], Tensor]
    f: Callable[[Tensor], Tensor]
    g: Callable[[Tensor], Tensor]
    b: Callable[[Tensor], Tensor]
    solution: Callable[[Tensor], Tensor]
    derivatives: Sequence[str]


def pinn(
    name: str, equation: Equation, widths: Sequence[int], coordinates: str, points: Callable, test: np.ndarray, *,
    validation: np.ndarray | None = None, rounds: int = 100, shared: np.ndarray | None = None,
    activation: Callable[[], nn.Module] = nn.Tanh, cut: int = 1, level: str = "pieces",
    ends: np.ndarray | None = None, end_terms: Callable[[Jet], Tensor] | None = None,
) -> Experiment:  # fmt: skip
    """A physics-informed network for an ``Equation``: its residuals are A[g + b N] - f at the clients' points.

    g, b and f are fixed functions, so their jets at the points are data of the pool, and a step computes the jet of N
    only. The error is |u - solution| / |solution| in %.

    Args:
        widths, activation: of N. coordinates: a letter per input, e.g. "xt".
        points: level -> (points [N, d], an index array per client). shared: points [S, d] that every client has, too.
        test, validation: where the error is measured [T, d]; validation: for choices, other points than the test's.
        cut: how many leading coordinates the partition cuts.
        ends, end_terms: points [n, d], and operators [c, n] of soft conditions there that every client knows.

    Raises:
        ValueError: (of the experiment's ``data``) a function that gives another shape than [n], or points that are not
            [n, d]; both by name.
    """
    operator, f, g, b, solution, derivatives = equation
    rules = {channel: product_rule(channel) for channel in closed(derivatives)}
    shared = as_points(np.empty((0, len(coordinates))) if shared is None else shared, coordinates, "shared")

    @cache
    def dealt(level) -> tuple[Tensor, Sequence[np.ndarray]]:
        x, owners = points(level)
        return as_points(x, coordinates, "points"), owners

    @cache  # by identity of x: levels with the same points compute this once
    def tabulated(x: Tensor) -> dict[str, Tensor]:
        """What the equation says at points [n, d]: f [n], and the jets of g and b as columns [n, channels]."""
        x = torch.cat([x, shared])
        fixed = {"g": g, "b": b}
        for letter, function in fixed.items():
            check_shape(letter, function(x), x)
        jets = {letter: function_jet(function, x, derivatives, coordinates) for letter, function in fixed.items()}
        check_shape("operator", operator(jets["g"]), x)
        columns = {letter: torch.stack(list(jet.values()), 1) for letter, jet in jets.items()}
        return {"x": x, "f": check_shape("f", f(x), x), **columns}

    @cache
    def cases(which: str) -> dict[str, Tensor]:
        x = as_points({"test": test, "validation": validation}[which], coordinates, which)
        case = {"u": check_shape("solution", solution(x), x)} | {c: v[: len(x)] for c, v in tabulated(x).items()}
        return {c: v.float() for c, v in case.items()}

    def data(level, seed: int) -> Data:
        x, owners = dealt(level)
        everybodys = len(x) + np.arange(len(shared))
        owners = [np.concatenate([shard, everybodys]) for shard in owners]
        return Data(tabulated(x), owners, cases("test"), None if validation is None else cases("validation"))

    def jet_of_u(network: Jet, batch: Mapping[str, Tensor]) -> Jet:
        """The jet of u = g + b N, from that of N, by the product rule."""
        jet_g, jet_b = (dict(zip(rules, batch[c].unbind(-1), strict=True)) for c in "gb")
        bN = product(jet_b, Jet((c, v[:, 0]) for c, v in network.items()), rules)
        return Jet((c, jet_g[c] + bN[c]) for c in rules)

    def residuals(predict, batch) -> Tensor:
        """A[u] - f at the points, and beside it the soft conditions, the same ones in every row: weights sum to 1."""
        r = operator(jet_of_u(predict(batch["x"]), batch)) - batch["f"]
        if ends is None:
            return r[:, None]
        end = {c.removeprefix("end_"): v for c, v in batch.items() if c.startswith("end_")}
        conditions = end_terms(jet_of_u(predict(end["x"]), end)).ravel()
        return torch.cat([r[:, None], conditions.expand(len(r), -1)], 1)

    def answer(predict, test) -> Tensor:
        """u = g + b N, without derivatives."""
        return test["g"][:, 0] + test["b"][:, 0] * predict(test["x"], VALUE_ONLY)[:, 0]

    def evaluate(predict, test) -> dict[str, Tensor]:
        """Relative L2 error (%)."""
        return {"error": 100 * relative_l2(answer(predict, test), test["u"])}

    def distance(data: Data) -> float:
        """W1 between the clients' own points: clients that differ along the cut axes only have it in those alone, for
        a projection is a lower bound, and moving along the axes a plan that reaches it."""
        return mean_pairwise_w1([data.pool["x"][shard, :cut].numpy() for shard in private(data.owners)])

    constants = {}
    if ends is not None:
        x = as_points(ends, coordinates, "ends")
        constants = {f"end_{c}": v[: len(x)] for c, v in tabulated(x).items()}
    return Experiment(
        name, JetNet(mlp(widths, activation), coordinates, derivatives), residuals, data=data, evaluate=evaluate,
        rounds=rounds, local=Local(5), lr=1e-3, init=glorot_uniform, constants=constants, answer=answer,
        coordinates=coordinates, level=level, distance=distance,
    )  # fmt: skip


def as_points(x: np.ndarray | Tensor, coordinates: str, name: str = "points") -> Tensor:
    """Points [n, d] in float64, a column for each coordinate."""
    x = torch.as_tensor(x, dtype=torch.float64)
    if x.dim() != 2 or x.shape[1] != len(coordinates):
        raise ValueError(
            f"{name} has shape {[*x.shape]}; expected [n, {len(coordinates)}], a column for each of {coordinates!r}"
        )
    return x


def check_shape(function: str, values, x: Tensor) -> Tensor:
    """The values of a function at the points x [n, d]; ValueError unless they are [n]: [n, 1] would be taken for all
    pairs of points."""
    if not isinstance(values, Tensor) or values.shape != x.shape[:1]:
        shape = [*values.shape] if isinstance(values, Tensor) else f"a {type(values).__name__}"
        raise ValueError(
            f"{function} gives {shape} at {len(x)} points; expected a tensor [{len(x)}], a number for each, "
            "such as x[:, 0].sin() or 0 * x[:, 0]"
        )
    return values
