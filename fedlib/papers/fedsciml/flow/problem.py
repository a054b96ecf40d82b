"""The inverse Navier-Stokes problem: two unknown numbers are trained with the network (FedSciML, Section 5.5).

Only the observations are divided among the clients: every client knows the same residual points, so they belong to the
loss and not to the pool.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from ....federated.batches import Local
from ....federated.experiment import Data, Experiment
from ....federated.partitions import halton, per_client, slices
from ....models.jets import VALUE_ONLY, Jet, JetNet
from ....models.networks import glorot_uniform, mlp
from ....numerics.heterogeneity import mean_pairwise_w1
from ....numerics.metrics import relative_l2
from ....streams import stream
from .wake import NX, NY, Wake, cylinder_wake

DOMAIN = ((1.0, 8.0), (-2.0, 2.0), (0.0, 1.0))
"""x, y (diameters), t of the wake."""

TRUTH = {"C1": 1.0, "C2": 0.01}
"""At Reynolds number 100."""

CLIENTS = 2


def flow(
    observations: int = 700, residual: Sequence[int] = (700, 200, 100), widths: Sequence[int] = (3, *[50] * 6, 3),
    aliased: bool = False, source: str = "embedded", stride: int = 1,
) -> Experiment:  # fmt: skip
    """Find C1 and C2 of the flow behind a cylinder from its velocity at some points; its pressure is observed nowhere.

    A level is the number n of equal slabs in x, which two clients own in turn.

    Args:
        observations: of all clients together. residual: numbers of ``residual_points`` inside, on the sides, at t = 0.
        widths: of the network (x, y, t) -> (u, v, p). aliased: C as the authors' code moves it, see ``with_gain``.
        source: of the wake, see ``cylinder_wake``. stride: of test points, in grid points each way.
    """

    @cache
    def wake() -> Wake:
        return cylinder_wake(source)

    points, gain = residual_points(*residual), float(CLIENTS) if aliased else 1.0

    @cache
    def pool(seed: int) -> dict[str, Tensor]:
        return observed(wake(), observations, stream(seed, "observations"))

    @cache
    def test() -> dict[str, Tensor]:
        return middle(wake(), stride)

    def data(level: int, seed: int) -> Data:
        return Data(pool(seed), slabs(pool(seed)["x"], level), test())

    def loss(predict, batch):
        return navier_stokes_loss(with_gain(predict, gain), batch)

    def evaluate(predict, test):
        return coefficients(with_gain(predict, gain), test)

    def distance(data: Data) -> float:
        return mean_pairwise_w1([data.pool["x"][shard, :1].numpy() for shard in data.owners])

    return Experiment(
        "the flow behind a cylinder", navier_stokes_net(widths), loss=loss, data=data, evaluate=evaluate,
        rounds=40_000, local=Local(1), lr=1e-3, init=glorot_uniform,
        constants={"points": points}, answer=velocity_and_pressure, coordinates="xyt",
        level="pieces", distance=distance,
    )  # fmt: skip


class WithCoefficients(nn.Module):
    """A network and the unknown coefficients C of its equation, which are parameters of the stack like any other.

    Args:
        net: the network. start: C before training [n].
    """

    def __init__(self, net: nn.Module, start: Sequence[float]):
        super().__init__()
        self.net, self.c = net, nn.Parameter(torch.tensor(start))

    def forward(self, *inputs) -> tuple[Jet | Tensor, Tensor]:
        """(what the network answers, C [n])."""
        return self.net(*inputs), self.c


def navier_stokes_net(widths: Sequence[int]) -> WithCoefficients:
    """(x, y, t) -> u, v, p with their jets, and C1 = C2 = 0."""
    if len(widths) < 3 or widths[0] != 3 or widths[-1] != 3:
        raise ValueError(f"widths = {widths!r}: expected [3, hidden layers ..., 3], for (x, y, t) -> (u, v, p)")
    net = JetNet(mlp(widths, nn.Tanh), "xyt", ("x", "y", "t", "xx+yy"))
    return WithCoefficients(net, (0.0, 0.0))


def navier_stokes(jet: Jet, C: Tensor) -> Tensor:
    """Residuals [n, 3]: u_t + C1 (u u_x + v u_y) + p_x - C2 laplace u, the same for v, and u_x + v_y.

    (FedSciML, Section 5.5; the paper does not list continuity, the authors' code has it.)
    """
    (u, v, _), (u_x, v_x, p_x), (u_y, v_y, p_y) = (jet[name].unbind(-1) for name in ("", "x", "y"))
    (u_t, v_t, _), (u_l, v_l, _) = (jet[name].unbind(-1) for name in ("t", "xx+yy"))
    x_momentum = u_t + C[0] * (u * u_x + v * u_y) + p_x - C[1] * u_l
    y_momentum = v_t + C[0] * (u * v_x + v * v_y) + p_y - C[1] * v_l
    return torch.stack([x_momentum, y_momentum, u_x + v_y], -1)


def navier_stokes_loss(predict: Callable, batch: Mapping[str, Tensor]) -> Tensor:
    """The loss of ONE client: mean squares of the three residuals at the points [n, 3] that all clients share (a
    constant, see ``residual_points``), and of u and v at the client's own observations. The pressure is never observed.
    """
    residual = navier_stokes(*predict(batch["points"]))
    uv = predict(batch["x"], VALUE_ONLY)[0][:, :2]
    return (residual**2).mean(0).sum() + (batch["w"][:, None] * (uv - batch["u"]) ** 2).sum()


def with_gain(predict: Callable, gain: float | Tensor) -> Callable:
    """The model whose coefficients are C = gain c, where c is what the optimiser sees.

    Adam's steps do not change when a gradient is scaled, so this multiplies the learning rate of C by gain. With
    gain = K and one local step per round the mean of K clients' C is C + sum_k (C_k - C), which is what the authors'
    aliased C do.
    """

    def scaled(*inputs):
        answer, c = predict(*inputs)
        return answer, gain * c

    return scaled


def coefficients(predict: Callable, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """C1 and C2 of ONE model: so little that every round can be recorded."""
    return dict(zip(TRUTH, predict(test["x"][:1], VALUE_ONLY)[1], strict=True))


def velocity_and_pressure(predict: Callable, test: Mapping[str, Tensor]) -> Tensor:
    """u, v, p [n, 3] of ONE model, p with mean zero."""
    value = predict(test["x"], VALUE_ONLY)[0]
    return torch.cat([value[:, :2], value[:, 2:] - value[:, 2:].mean()], 1)


def field_errors(fields: Tensor, truth: Tensor) -> dict[str, Tensor]:
    """Relative L2 errors (%) of velocity and pressure; both [n, 3], see ``velocity_and_pressure``."""
    parts = {"velocity": slice(0, 2), "pressure": slice(2, 3)}
    return {name: 100 * relative_l2(fields[:, i].flatten(), truth[:, i].flatten()) for name, i in parts.items()}


def residual_points(interior: int, boundary: int, initial: int) -> Tensor:
    """Low-discrepancy points (x, y, t) of the wake's domain: inside, on its four sides, and at t = 0, [n, 3]."""
    low, high = np.array(DOMAIN).T
    inside = halton(interior, 3)
    start = np.c_[halton(initial, 2), np.zeros(initial)]
    along, t = halton(boundary, 2).T
    side, z = np.divmod(4 * along, 1)
    sides = [side == 0, side == 1, side == 2]
    x, y = np.select(sides, [z, 1 + 0 * z, 1 - z], 0), np.select(sides, [0 * z, z, 1 + 0 * z], 1 - z)
    return torch.as_tensor(low + (high - low) * np.concatenate([inside, np.stack([x, y, t], 1), start]))


def observed(wake: Wake, n: int, rng: np.random.Generator) -> dict[str, Tensor]:
    """n random points (x, y, t) of the data without repetition: x [n, 3] and what is measured there, u [n, 2].

    The first m of them are such a sample too, so a smaller set is a prefix of a larger one.
    """
    N, S = wake.p.shape
    if not 1 <= n <= N * S:
        raise ValueError(f"{n} observations of a field known at {N * S} points and times; ask for 1 to {N * S}")
    where, when = np.divmod(rng.permutation(N * S)[:n], S)
    x = np.c_[wake.x[where], wake.t[when]]
    return {"x": torch.as_tensor(x), "u": torch.as_tensor(wake.u[where, :, when])}


def slabs(x: np.ndarray | Tensor, n: int) -> list[np.ndarray]:
    """n equal slabs in x, dealt to the clients in turn; refuses a client without observations (FedSciML, Fig. 2B)."""
    return slices(np.asarray(x)[:, 0], *DOMAIN[0], CLIENTS, per_client(n, CLIENTS))


def middle(wake: Wake, stride: int = 1) -> dict[str, Tensor]:
    """The flow at the middle time on every so many grid points in each direction: x [n, 3] and u, v, p there, u [n, 3].

    p has mean zero: the equation knows only its gradient.
    """
    half = len(wake.t) // 2
    some = np.arange(NX * NY).reshape(NY, NX)[::stride, ::stride].ravel()
    p = wake.p[some, half]
    x = np.c_[wake.x[some], np.full(len(some), wake.t[half])]
    return {"x": torch.as_tensor(x), "u": torch.as_tensor(np.c_[wake.u[some, :, half], p - p.mean()])}
