"""Make data/cylinder_wake.npz: flow past a cylinder at Re = 100, by NGSolve (pip install -e ".[ngsolve]").

u_t + (u . grad) u = -grad p + nu laplace u, div u = 0, diameter 1, inflow 1, nu = 0.01. Taylor-Hood elements P5/P4
on a curved mesh, third-order semi-implicit time steps (SBDF3): the Stokes part is implicit and factored once, the
convection is extrapolated. About five minutes on one core. The file has u, v, p on 100 x 50 points of [1, 8] x [-2, 2]
at t = 0, 0.1, ..., 1 from the next upward zero of the lift on, in the layout that
``fedlib.papers.fedsciml.flow.wake`` reads.

    python tools/make_cylinder_wake.py [output.npz]
"""

import sys
from collections import deque
from pathlib import Path

import numpy as np
from netgen.occ import Circle, Glue, MoveTo, OCCGeometry
from ngsolve import (
    H1,
    BilinearForm,
    CoefficientFunction,
    Grad,
    GridFunction,
    InnerProduct,
    Mesh,
    SetNumThreads,
    VectorH1,
    div,
    dx,
)

from fedlib.files import replacing
from fedlib.papers.fedsciml.flow.wake import GRID

NU = 0.01
T = np.arange(11) / 10
BOX = (-20, 28, -20, 20)
ZONES = (((-1.5, 9, -2.5, 2.5), 0.408), ((-3.5, 28, -5, 5), 1.08), (BOX, 3.6))  # extent, size of the elements
GRAD_DIV = 0.1
U_PAST, C_PAST = (3, -3 / 2, 1 / 3), (3, -3, 1)  # SBDF3: weights of the three last velocities and convections


def wake_mesh() -> Mesh:
    """Zones that get finer towards the cylinder at the origin, curved elements of order 6."""

    def rectangle(x0, x1, y0, y1):
        return MoveTo(x0, y0).Rectangle(x1 - x0, y1 - y0).Face()

    hole, inner = Circle((0, 0), 0.5).Face(), Circle((0, 0), 0.85).Face()
    parts, within = [inner - hole], inner
    parts[0].maxh = 0.168
    for extent, size in ZONES:
        parts.append(rectangle(*extent) - within)
        parts[-1].maxh, within = size, rectangle(*extent)
    shape = Glue(parts)
    for edge in shape.edges:
        (x0, y0, _), (x1, y1, _) = (tuple(corner) for corner in edge.bounding_box)
        if max(abs(v) for v in (x0, x1, y0, y1)) < 0.6:
            edge.name, edge.maxh = "cylinder", 0.132
        elif x1 < BOX[0] + 0.1:
            edge.name = "inlet"
        elif x0 > BOX[1] - 0.1:
            edge.name = "outlet"
        elif y1 < BOX[2] + 0.1 or y0 > BOX[3] - 0.1:
            edge.name = "side"
    return Mesh(OCCGeometry(shape, dim=2).GenerateMesh(maxh=3.6, grading=0.3)).Curve(6)


class Flow:
    """Velocity of order k and pressure of order k - 1, stepped by dt.

    The outlet is natural, nu du/dn - p n = 0, which also fixes the pressure's constant; the sides slip.
    """

    def __init__(self, mesh: Mesh, k: int, dt: float):
        self.mesh, self.dt = mesh, dt
        self.X = VectorH1(mesh, order=k, dirichlet="inlet|cylinder", dirichlety="inlet|cylinder|side") * H1(
            mesh, order=k - 1
        )
        (u, p), (v, q) = self.X.TnT()
        mass = InnerProduct(u, v) / dt
        stokes = NU * InnerProduct(Grad(u), Grad(v)) - p * div(v) - q * div(u) + GRAD_DIV * div(u) * div(v)
        self.M, self.A = (BilinearForm(self.X, symmetric=True) for _ in range(2))
        self.M += mass * dx
        self.A += (11 / 6 * mass + stokes) * dx
        self.M.Assemble(), self.A.Assemble()
        self.convection = BilinearForm(self.X, nonassemble=True)
        self.convection += InnerProduct(Grad(u) * u, v) * dx(bonus_intorder=k - 1)
        self.inverse = self.A.mat.Inverse(self.X.FreeDofs(), inverse="sparsecholesky")
        self.x = GridFunction(self.X)
        self.rhs, self.residual = self.x.vec.CreateVector(), self.x.vec.CreateVector()
        self.along = []  # e_x and e_y on the cylinder: the residual tested with them is the force
        for e in ((1, 0), (0, 1)):
            test = GridFunction(self.X)
            test.components[0].Set(CoefficientFunction(e), definedon=mesh.Boundaries("cylinder"))
            self.along.append(test.vec)

    def start(self, velocity, pressure=None):
        """Initial fields; all three past states are the same, which costs a small shift in phase."""
        self.x.components[0].Set(velocity)
        if pressure is not None:
            self.x.components[1].Set(pressure)
        fixed = GridFunction(self.X)  # a transfer can leave slip on the wall: overwrite every Dirichlet value
        fixed.components[0].Set(self.mesh.BoundaryCF({"inlet": (1, 0)}, default=(0, 0)),
                                definedon=self.mesh.Boundaries("inlet|cylinder"))  # fmt: skip
        bound = ~np.array(list(self.X.FreeDofs()))
        self.x.vec.FV().NumPy()[bound] = fixed.vec.FV().NumPy()[bound]
        self.past = deque([self._terms()] * 3, maxlen=3)

    def _terms(self):
        """(M u, c(u)) of the present state."""
        Mu, c = self.x.vec.CreateVector(), self.x.vec.CreateVector()
        Mu.data = self.M.mat * self.x.vec
        self.convection.Apply(self.x.vec, c)
        return Mu, c

    def step(self) -> tuple[float, float]:
        """One step; returns drag and lift coefficient."""
        self.rhs[:] = 0
        for (Mu, c), a, b in zip(self.past, U_PAST, C_PAST, strict=True):
            self.rhs.data += a * Mu - b * c
        self.residual.data = self.rhs - self.A.mat * self.x.vec
        self.x.vec.data += self.inverse * self.residual  # correction form keeps the Dirichlet values
        self.residual.data = self.A.mat * self.x.vec - self.rhs
        drag, lift = (-2 * InnerProduct(self.residual, e) for e in self.along)
        if not np.isfinite(drag):
            raise FloatingPointError(f"the flow diverged (drag {drag}); dt = {self.dt} is too long for this mesh")
        self.past.appendleft(self._terms())
        return drag, lift


def periods(t: np.ndarray, lift: np.ndarray) -> np.ndarray:
    """Upward zeros of the lift."""
    i = np.flatnonzero((lift[:-1] < 0) & (lift[1:] >= 0))
    return t[i] - lift[i] * (t[i + 1] - t[i]) / (lift[i + 1] - lift[i])


def simulate():
    """-> (u [5000, 11, 2], p [5000, 11], verification numbers)."""
    from ngsolve import exp, x, y

    mesh = wake_mesh()
    print(f"{mesh.ne} triangles", flush=True)
    coarse = Flow(mesh, 3, 0.008)
    coarse.start(CoefficientFunction((1, 0.6 * exp(-((x - 1.5) ** 2) - y**2))))
    for _ in range(5000):
        drag, lift = coarse.step()
    print(f"P3 at t = 40: drag {drag:.4f}, lift {lift:.4f}", flush=True)
    fine = Flow(mesh, 5, 0.005)
    fine.start(*coarse.x.components)
    where = mesh(*GRID.T)
    history, u, p, started, n = [], [], [], None, 0
    while started is None or n - started < 1500:  # 7.5 time units hold a whole period
        history.append(fine.step())
        n += 1
        if started is None and n > 2400 and history[-2][1] < 0 <= history[-1][1]:
            started = n
            print(f"sampling starts at t = {40 + n * fine.dt:.3f}", flush=True)
        if started is not None and (n - started) % 20 == 0 and len(u) < len(T):
            u.append(fine.x.components[0](where)), p.append(fine.x.components[1](where)[:, 0])
    drag, lift = np.array(history[started - 2 :]).T
    zeros = periods(fine.dt * np.arange(len(lift)), lift)
    one = slice(0, round((zeros[1] - zeros[0]) / fine.dt))
    found = {
        "Strouhal number": 1 / (zeros[1] - zeros[0]), "mean drag": drag[one].mean(),
        "drag amplitude": np.ptp(drag[one]) / 2, "lift amplitude": np.ptp(lift[one]) / 2,
    }  # fmt: skip
    return np.stack(u, 1), np.stack(p, 1), found


def save(path: Path, u: np.ndarray, p: np.ndarray) -> None:
    """The four arrays in float32."""
    arrays = {"x": GRID, "t": T, "u": u, "p": p}
    with replacing(path) as partial, partial.open("wb") as file:  # given a name, numpy would append .npz to it
        np.savez_compressed(file, **{name: value.astype(np.float32) for name, value in arrays.items()})


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("cylinder_wake.npz")
    SetNumThreads(1)
    u, p, found = simulate()
    save(out, u, p)
    for name, value in found.items():
        print(f"{name}: {value:.6f}")
