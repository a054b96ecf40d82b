"""The cylinder wake: the shipped field obeys the equation, other files are read or refused with a clear error."""

import hashlib
from functools import partial

import numpy as np
import pytest
from scipy.io import savemat
from scipy.ndimage import correlate1d

from fedlib import downloads
from fedlib.downloads import fetch
from fedlib.papers.fedsciml.flow import wake
from fedlib.papers.fedsciml.flow.wake import GRID, NX, NY, Wake, cylinder_wake

FIRST = np.array([-1 / 60, 3 / 20, -3 / 4, 0, 3 / 4, -3 / 20, 1 / 60])
SECOND = np.array([1 / 90, -3 / 20, 3 / 2, -49 / 18, 3 / 2, -3 / 20, 1 / 90])


def fit_coefficients(wake):
    """(C1, C2) of u_t + C1 (u . grad) u = -grad p + C2 laplace u by least squares over both components.

    Derivatives are central differences of order 6; three points and times next to every end are left out. Forces and
    frequency can look right while an underresolved flow biases C2.
    """
    inner = np.s_[3:-3, 3:-3, 3:-3]  # y, x, t
    fields = [f.reshape(NY, NX, -1) for f in (*wake.u.swapaxes(0, 1), wake.p)]
    h = 4 / (NY - 1), 7 / (NX - 1), wake.t[1] - wake.t[0]
    dy, dx, dt = ([correlate1d(f, FIRST / h[axis], axis)[inner] for f in fields] for axis in range(3))
    carried, spread, rest = [], [], []
    for i, slope in ((0, dx[2]), (1, dy[2])):
        carried.append(-(fields[0][inner] * dx[i] + fields[1][inner] * dy[i]))
        spread.append(sum(correlate1d(fields[i], SECOND / h[axis] ** 2, axis)[inner] for axis in (0, 1)))
        rest.append(dt[i] + slope)
    left = np.stack([np.ravel(carried), np.ravel(spread)], 1)
    return np.linalg.lstsq(left, np.ravel(rest), rcond=None)[0]


def taylor_green(nu, C1=1.0, steps=11):
    """An exact solution on the same grid: the vortex's convection is a gradient, which p balances."""
    (x, y), t = GRID.T[:, :, None], np.arange(steps) / 10
    decay = np.exp(-2 * nu * t)
    u = np.stack([-np.cos(x) * np.sin(y) * decay, np.sin(x) * np.cos(y) * decay], 1)
    return Wake(GRID, t, u, -C1 / 4 * (np.cos(2 * x) + np.cos(2 * y)) * decay**2)


@pytest.mark.parametrize(("nu", "C1"), [(0.01, 1.0), (0.05, 0.7)])
def test_the_fit_finds_the_coefficients_of_an_exact_flow(nu, C1):
    np.testing.assert_allclose(fit_coefficients(taylor_green(nu, C1)), (C1, nu), rtol=1e-5)


def test_the_shipped_field_obeys_navier_stokes_at_Re_100():
    """Frequency and forces are properties of tools/make_cylinder_wake.py's run; this is of the file."""
    data = cylinder_wake()
    np.testing.assert_allclose(fit_coefficients(data), (1, 0.01), rtol=0.005)
    assert data.x.shape == (5000, 2) and data.u.shape == (5000, 2, 11) and data.p.shape == (5000, 11)
    np.testing.assert_allclose(data.t, np.arange(11) / 10, atol=1e-6)
    u, v = data.u.swapaxes(0, 1).reshape(2, NY, NX, 11)
    divergence = np.gradient(u, 7 / 99, axis=1, edge_order=2) + np.gradient(v, 4 / 49, axis=0, edge_order=2)
    assert np.sqrt((divergence**2).mean()) < 0.02 * np.abs(np.gradient(u, 4 / 49, axis=0)).max()


def paper_layout(steps=20, **change):
    """The names and shapes of cylinder_nektar_wake.mat, with an exact flow and more times than t <= 1."""
    flow = taylor_green(0.01, steps=steps)
    return {"X_star": flow.x, "t": flow.t[:, None], "U_star": flow.u, "p_star": flow.p} | change


def test_a_file_of_the_papers_layout_is_read_up_to_one(tmp_path):
    savemat(tmp_path / wake.RAISSI, paper_layout())
    data = cylinder_wake(tmp_path / wake.RAISSI)
    assert data.u.shape == (5000, 2, 11)
    np.testing.assert_allclose(fit_coefficients(data), (1, 0.01), rtol=1e-4)


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(U_star=np.zeros((5000, 3, 20))), r"u of shape \(5000, 3, 20\); expected .* \(5000, 2, 20\)"),
        (dict(p_star=np.zeros((5000, 19))), "p of shape"),
        (dict(p_star=np.full((5000, 20), np.nan)), "p of shape .* expected finite"),
        (dict(X_star=GRID[:, ::-1]), "expected the 100 x 50 grid"),
        (dict(U_star=None), "KeyError: 'U_star'"),
        *(
            (dict(t=t), "at least 7 rising, equispaced times")
            for t in (np.linspace(0, 30, 20), np.r_[0, 0.11, np.arange(2, 20) * 0.1], np.arange(20)[::-1] * 0.1)
        ),
    ],
)
def test_another_layout_is_refused(tmp_path, change, message):
    savemat(
        tmp_path / "other.mat", {name: value for name, value in paper_layout(**change).items() if value is not None}
    )
    with pytest.raises(ValueError, match=message):
        cylinder_wake(tmp_path / "other.mat")


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(("suffix", "kept"), [(".mat", 0), (".mat", 0.9), (".npz", 100), (".npz", 0.9)])
def test_a_truncated_or_missing_file_is_refused(tmp_path, suffix, kept):
    path = tmp_path / f"cut{suffix}"
    if suffix == ".mat":
        savemat(path, paper_layout())
    else:
        path.write_bytes(wake.EMBEDDED.read_bytes())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else kept])
    with pytest.raises(ValueError, match="is truncated or no such data"):
        cylinder_wake(path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="expected 'embedded', 'raissi' or a path"):
        cylinder_wake(path)


def test_the_papers_file_is_verified(tmp_path, monkeypatch):
    monkeypatch.setattr(wake, "fetch", partial(fetch, cache=tmp_path / "cache"))
    monkeypatch.setenv(downloads.LOCAL, str(tmp_path))
    savemat(tmp_path / wake.RAISSI, paper_layout())
    with pytest.raises(ValueError, match=r"another file: its name in git is .*, expected 0098e4098c1d"):
        cylinder_wake("raissi")
    content = (tmp_path / wake.RAISSI).read_bytes()
    monkeypatch.setattr(wake, "BLOB", hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest())
    np.testing.assert_allclose(fit_coefficients(cylinder_wake("raissi")), (1, 0.01), rtol=1e-4)
    assert not (tmp_path / "cache").exists()
