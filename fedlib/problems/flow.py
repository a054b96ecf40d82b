"""The inverse Navier-Stokes problem: two unknown numbers are trained with the network (FedSciML, Section 5.5).

Only the observations are divided among the clients: every client knows the same residual points, so they belong to the
loss and not to the pool.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ..federated.partitions import halton, per_client, slices
from ..models.jets import VALUE_ONLY, Jet, JetNet
from ..models.networks import mlp
from ..numerics.metrics import relative_l2
from .wake import NX, NY, Wake

DOMAIN = ((1.0, 8.0), (-2.0, 2.0), (0.0, 1.0))  # x, y, t of the wake


TRUTH = (1.0, 0.01)  # C1, C2 at Re = 100


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


def navier_stokes_net(widths: Sequence[int] = (3, *[50] * 6, 3)) -> WithCoefficients:
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


def residual_points(interior: int, boundary: int, initial: int) -> Tensor:
    """Low-discrepancy points (x, y, t) of the wake's domain: inside, on its four sides, and at t = 0, [n, 3]."""
    low, high = np.array(DOMAIN).T
    inside = halton(interior, 3)
    start = np.c_[halton(initial, 2), np.zeros(initial)]
    along, t = halton(boundary, 2).T
    side, z = np.divmod(4 * along, 1)
    at = [side == 0, side == 1, side == 2]
    x, y = np.select(at, [z, 1 + 0 * z, 1 - z], 0), np.select(at, [0 * z, z, 1 + 0 * z], 1 - z)
    return torch.as_tensor(low + (high - low) * np.concatenate([inside, np.stack([x, y, t], 1), start]))


def observations(wake: Wake, n: int, rng: np.random.Generator) -> dict[str, Tensor]:
    """n random points (x, y, t) of the data without repetition: x [n, 3] and what is measured there, u [n, 2].

    The first m of them are such a sample too, so a smaller set is a prefix of a larger one.
    """
    N, S = wake.p.shape
    if not 1 <= n <= N * S:
        raise ValueError(f"{n} observations of a field known at {N * S} points and times; ask for 1 to {N * S}")
    where, when = np.divmod(rng.permutation(N * S)[:n], S)
    x = np.c_[wake.x[where], wake.t[when]]
    return {"x": torch.as_tensor(x), "u": torch.as_tensor(wake.u[where, :, when])}


def slabs(x: np.ndarray | Tensor, n: int, clients: int = 2) -> list[np.ndarray]:
    """n equal slabs in x, dealt to the clients in turn; refuses a client without observations (FedSciML, Fig. 2B)."""
    return slices(np.asarray(x)[:, 0], *DOMAIN[0], clients, per_client(n, clients))


def wake_test(wake: Wake, copies: int, stride: int = 2) -> dict[str, Tensor]:
    """Test fields for the engine's ``evaluate`` at the middle time: x [F, n, 3], u [F, n, 2], p [F, n].

    stride: every how many grid points in each direction. p has mean zero: the equation knows only its gradient.
    """
    middle = len(wake.t) // 2
    some = np.arange(NX * NY).reshape(NY, NX)[::stride, ::stride].ravel()
    x = np.c_[wake.x[some], np.full(len(some), wake.t[middle])]
    p = wake.p[some, middle]
    known = {"x": x, "u": wake.u[some, :, middle], "p": p - p.mean()}
    return {name: torch.as_tensor(v).expand(copies, *v.shape) for name, v in known.items()}


def wake_errors(predict, test: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of ONE model: C [2], pressure p [n] with mean zero, relative L2 errors (%) of velocity and pressure."""
    value, C = predict(test["x"], VALUE_ONLY)
    p = value[:, 2] - value[:, 2].mean()
    error_u = relative_l2(value[:, :2].flatten(), test["u"].flatten())
    return {"C": C, "p": p, "error_u": 100 * error_u, "error_p": 100 * relative_l2(p, test["p"])}


def true_pressure(wake: Wake, stride: int) -> np.ndarray:
    """The pressure of ``wake_test`` as a map [ny, nx], which is as flat a row as the models' p."""
    return wake_test(wake, 1, stride)["p"][0].numpy().reshape(-(-NY // stride), -(-NX // stride))
