"""The attack on sums (``beyond.points``), on those of Poisson's equation with sines."""

from collections.abc import Sequence

import numpy as np
import xarray

from ....federated import sums
from ....federated.experiment import data_of
from ....numerics.tabulated import tabulated
from ....streams import stream
from ..points import points_behind, poisson_rows, spectrum_of
from .problem import EQUATIONS, error, start, with_sines


def points_of_sums(
    features: Sequence[int], seeds: Sequence[int], scale: float = 6.0, level: int = 8, size: int = 501
) -> xarray.Dataset:
    """How far the server's guess of the points is off, that it makes of Poisson's sums, for m sines.

    off, middle [sums, m, seed]: the largest and the median distance of a point from where it is guessed to be; of the
    sums of "one client", of the "total", and of a "total, random": as many points at random places.
    error (%) of the solution, products: independent ones of the features [m, seed]. size: of the attack's grid.
    """
    grid, data = np.linspace(0, np.pi, size), data_of(EQUATIONS["poisson"](), level)
    x = data.pool["x"][:, 0].double().numpy()

    def attacked(m: int, seed: int) -> dict:
        experiment = with_sines("poisson", m, scale, seed)
        rows = poisson_rows(experiment, start(experiment))

        def curve(x: np.ndarray) -> np.ndarray:
            return rows(x)[:, :-1]

        spectrum, off = spectrum_of(curve, grid), []
        for points in (x[data.owners[0]], x, stream(seed, "random points").uniform(0, np.pi, len(x))):
            J = curve(np.sort(points))
            off.append(np.abs(points_behind(J.T @ J, len(J), spectrum) - np.sort(points)))
        solution = sums.one_round(experiment, data, start(experiment))
        return {
            "off": ("sums", [distance.max() for distance in off]), "middle": ("sums", [*map(np.median, off)]),
            "error": error(experiment, solution.step, data.test), "products": len(spectrum.s),
        }  # fmt: skip

    table = tabulated(attacked, m=features, seed=seeds).transpose("sums", "m", "seed")
    table = table.assign_coords(sums=["one client", "total", "total, random"])
    return table.assign_attrs(points=[len(data.owners[0]), len(x), len(x)])
