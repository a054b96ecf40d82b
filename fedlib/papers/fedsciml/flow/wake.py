"""Flow past a cylinder at Re = 100: the data of the inverse Navier-Stokes problem (FedSciML, Section 5.5).

The paper takes M. Raissi's file; this project ships a computation of its own with the same layout (``embedded``).
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.io import loadmat

from ....downloads import fetch
from ....files import ROOT

EMBEDDED = ROOT / "data/cylinder_wake.npz"


RAISSI = "cylinder_nektar_wake.mat"


MIRRORS = (
    f"https://raw.githubusercontent.com/maziarraissi/PINNs/master/main/Data/{RAISSI}",
    f"https://github.com/maziarraissi/PINNs/raw/master/main/Data/{RAISSI}",
)
BLOB = "0098e4098c1df61b009137c60e3a506f8ccd27e2"  # its name in that repository, from the tree of commit 932f50a


NX, NY = 100, 50


T = np.arange(11) / 10


GRID = np.stack([np.tile(np.linspace(1, 8, NX), NY), np.repeat(np.linspace(-2, 2, NY), NX)], 1)


KEYS = ({"x": "X_star", "t": "t", "u": "U_star", "p": "p_star"}, {"x": "x", "t": "t", "u": "u", "p": "p"})


class Wake(NamedTuple):
    """x [N, 2] points (diameters), t [S] times (diameter / inflow), u [N, 2, S] velocity, p [N, S] pressure.

    On the 100 x 50 grid of [1, 8] x [-2, 2] with x fastest. u is in units of the inflow, p of its square.
    """

    x: np.ndarray
    t: np.ndarray
    u: np.ndarray
    p: np.ndarray


def cylinder_wake(source: str | Path = "embedded", t_end: float = 1.0) -> Wake:
    """The wake behind a cylinder, u_t + (u . grad) u = -grad p + 0.01 laplace u, up to t_end.

    Args:
        source: "embedded", the file that this project ships (11 times, see tools/make_cylinder_wake.py); "raissi",
            the paper's file, fetched, compared with the one that git names, and kept in data/cache; or the path of a
            file of either layout, .mat or .npz, or of a folder that has one.

    Raises:
        FileNotFoundError, ValueError: no such file; truncated or of another layout. OSError: no mirror answers.
    """
    if source == "embedded":
        path = EMBEDDED
    elif source == "raissi":
        path = fetch(RAISSI, BLOB, MIRRORS)
    else:
        path = Path(source)
        candidates = [path / name for name in (RAISSI, EMBEDDED.name)] if path.is_dir() else [path]
        path = next((p for p in candidates if p.is_file()), None)
        if path is None:
            raise FileNotFoundError(
                f"source = {str(source)!r}: no such file, or a folder without {RAISSI} or {EMBEDDED.name}; "
                "expected 'embedded', 'raissi' or a path"
            )
    try:
        stored = read(path)
    except Exception as error:  # zipfile, scipy and numpy each raise errors of their own on a damaged file
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is truncated or no data file ({what}); replace it") from None
    return checked(stored, path, t_end)


def read(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a .mat or .npz file."""
    if path.suffix == ".mat":
        return {k: v for k, v in loadmat(path).items() if not k.startswith("__")}
    with path.open("rb") as file:  # numpy would leave a damaged file open
        return dict(np.load(file, allow_pickle=False))


def checked(stored: dict[str, np.ndarray], path: Path, t_end: float) -> Wake:
    """The arrays as a ``Wake``, with a clear error where the layout is another one."""
    keys = next((k for k in KEYS if set(k.values()) <= set(stored)), None)
    if keys is None:
        raise ValueError(
            f"{path} holds {sorted(stored) or 'nothing'}; expected {sorted(KEYS[0].values())} (the paper's file) or "
            f"{sorted(KEYS[1].values())}"
        )
    x, t, u, p = (np.asarray(stored[keys[k]], float) for k in "xtup")
    t = t.ravel()
    N, S = len(x), len(t)
    shapes = {"x": (x.shape, (N, 2)), "u": (u.shape, (N, 2, S)), "p": (p.shape, (N, S))}
    if "x" in stored:  # the embedded file has the components last
        shapes["u"] = (u.shape, (N, S, 2))
    for name, (shape, expected) in shapes.items():
        if shape != expected:
            raise ValueError(
                f"{path}: {keys[name]} has shape {shape}, expected {expected} for {N} points and {S} times"
            )
    if "x" in stored:
        u = u.swapaxes(1, 2)
    if broken := [keys[n] for n, v in zip("xtup", (x, t, u, p), strict=True) if not np.isfinite(v).all()]:
        raise ValueError(f"{path}: {broken[0]} has values that are not finite; fetch the file again")
    now = t <= t_end + 1e-9
    rising = now.sum() >= 7 and np.diff(t).min() > 0 and np.ptp(np.diff(t[now])) < 1e-6
    if N != NX * NY or np.abs(x - GRID).max() > 1e-4 or not rising:
        raise ValueError(
            f"{path}: {N} points, {now.sum()} times up to {t_end:g}; expected the {NX} x {NY} grid of [1, 8] x [-2, 2] "
            "(x fastest) and at least 7 rising, equispaced times"
        )
    return Wake(x, t[now], u[..., now], p[:, now])


FIRST = np.array([-1 / 60, 3 / 20, -3 / 4, 0, 3 / 4, -3 / 20, 1 / 60])


SECOND = np.array([1 / 90, -3 / 20, 3 / 2, -49 / 18, 3 / 2, -3 / 20, 1 / 90])


def fit_coefficients(wake: Wake) -> tuple[float, float]:
    """(C1, C2) of u_t + C1 (u . grad) u = -grad p + C2 laplace u by least squares over both components.

    Derivatives are central differences of order 6 on the grid; three points and times next to every end are left out.
    This is the check of the data: forces and frequency can look right while an underresolved flow biases C2.
    """

    def slope(f, axis, weights, h):  # f [NY, NX, S]
        n = f.shape[axis] - 6
        return sum(c * np.take(f, range(i, i + n), axis) for i, c in enumerate(weights)) / h

    def inner(f, *axes):
        for axis in axes:
            f = np.take(f, range(3, f.shape[axis] - 3), axis)
        return f

    hx, hy, ht = 7 / (NX - 1), 4 / (NY - 1), wake.t[1] - wake.t[0]
    fields = [f.reshape(NY, NX, -1) for f in (*wake.u.swapaxes(0, 1), wake.p)]
    Y, X, S = 0, 1, 2
    u, v = (inner(f, Y, X, S) for f in fields[:2])
    dx = [inner(slope(f, X, FIRST, hx), Y, S) for f in fields]
    dy = [inner(slope(f, Y, FIRST, hy), X, S) for f in fields]
    left, right = [], []
    for i, gradient in ((0, dx[2]), (1, dy[2])):
        laplace = sum(
            inner(slope(fields[i], axis, SECOND, h**2), *others)
            for axis, h, others in ((X, hx, (Y, S)), (Y, hy, (X, S)))
        )
        left.append(np.stack([-(u * dx[i] + v * dy[i]), laplace], -1).reshape(-1, 2))
        right.append((inner(slope(fields[i], S, FIRST, ht), Y, X) + gradient).ravel())
    C1, C2 = np.linalg.lstsq(np.concatenate(left), np.concatenate(right), rcond=None)[0]
    return float(C1), float(C2)
