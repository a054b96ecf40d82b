"""Flow past a cylinder at Re = 100: the data of the inverse Navier-Stokes problem (FedSciML, Section 5.5).

The paper takes M. Raissi's file; this project ships a computation of its own (tools/make_cylinder_wake.py).
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.io import loadmat

from ....downloads import fetch
from ....files import ROOT

EMBEDDED = ROOT / "data/cylinder_wake.npz"
RAISSI = "cylinder_nektar_wake.mat"
URL = f"https://raw.githubusercontent.com/maziarraissi/PINNs/master/main/Data/{RAISSI}"
BLOB = "0098e4098c1df61b009137c60e3a506f8ccd27e2"  # its name in that repository, from the tree of commit 932f50a
NX, NY = 100, 50
GRID = np.stack([np.tile(np.linspace(1, 8, NX), NY), np.repeat(np.linspace(-2, 2, NY), NX)], 1)


class Wake(NamedTuple):
    """x [N, 2] points (diameters), t [S] times (diameter / inflow), u [N, 2, S] velocity, p [N, S] pressure.

    On the 100 x 50 grid of [1, 8] x [-2, 2] with x fastest. u is in units of the inflow, p of its square.
    """

    x: np.ndarray
    t: np.ndarray
    u: np.ndarray
    p: np.ndarray


def cylinder_wake(source: str | Path = "embedded") -> Wake:
    """The wake behind a cylinder, u_t + (u . grad) u = -grad p + 0.01 laplace u, up to t = 1.

    source: "embedded", the file that this project ships; "raissi", the paper's, fetched, compared with the one that git
    names, and kept in data/cache; or the path of a file like one of them, .npz or .mat.

    Raises:
        FileNotFoundError, ValueError: no such file; truncated or of another layout. OSError: no server answers.
    """
    path = EMBEDDED if source == "embedded" else Path(source)
    if source == "raissi":
        path = fetch(RAISSI, BLOB, [URL])
    if not path.is_file():
        raise FileNotFoundError(f"source = {str(source)!r}: no such file; expected 'embedded', 'raissi' or a path")
    try:
        wake = read(path)
    except Exception as error:  # zipfile, scipy and numpy each raise errors of their own on a damaged file
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is truncated or no such data ({what}); replace it") from None
    N, S = NX * NY, len(wake.t)
    expected = Wake((N, 2), (S,), (N, 2, S), (N, S))
    for name, value, shape in zip(Wake._fields, wake, expected, strict=True):
        if value.shape != shape or not np.isfinite(value).all():
            raise ValueError(f"{path}: {name} of shape {value.shape}; expected finite numbers of shape {shape}")
    now = wake.t <= 1 + 1e-9
    rising = now.sum() >= 7 and np.diff(wake.t).min() > 0 and np.ptp(np.diff(wake.t[now])) < 1e-6
    if np.abs(wake.x - GRID).max() > 1e-4 or not rising:
        raise ValueError(
            f"{path}: {now.sum()} times up to 1; expected the {NX} x {NY} grid of [1, 8] x [-2, 2] (x fastest) and at "
            "least 7 rising, equispaced times"
        )
    return Wake(wake.x, wake.t[now], wake.u[..., now], wake.p[:, now])


def read(path: Path) -> Wake:
    """The arrays of a .mat file as the paper's, or of a .npz file as ours, whose components are last."""
    if path.suffix == ".mat":
        stored = loadmat(path)
        arrays = [stored["X_star"], stored["t"].ravel(), stored["U_star"], stored["p_star"]]
    else:
        with path.open("rb") as file:  # numpy would leave a damaged file open
            stored = np.load(file, allow_pickle=False)
            arrays = [stored["x"], stored["t"], stored["u"].swapaxes(1, 2), stored["p"]]
    return Wake(*(np.asarray(array, float) for array in arrays))
