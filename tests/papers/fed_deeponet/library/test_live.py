"""The slider of notebook 03: pendulums in closed form, and what is stored of networks that are not told k."""

import numpy as np
import pytest
import xarray

from fedlib.numerics.heterogeneity import hidden_parameter_floor
from fedlib.numerics.metrics import percent
from fedlib.papers.fed_deeponet.library import live


@pytest.fixture(scope="module")
def explored():
    hidden = xarray.DataArray([[4.0, 5.0], [20.0, 22.0]], {"level": [1.0, 3.0], "seed": [0, 1]}, ("level", "seed"))
    return live.explored(hidden)


def test_the_curves_are_pendulums_of_one_torque(explored):
    curves, errors = explored
    x = live.swings(3.0, 0.5)[0]
    state = {"seconds": 3.0, "± of k": 0.5}
    largest = np.abs(x[-1]).max()
    np.testing.assert_allclose(curves.truth.sel(state), x[-1] / largest)
    np.testing.assert_allclose(curves.sel(state).sel(model="softest"), x[0] / largest)
    np.testing.assert_allclose(curves.sel(state).sel(model="one curve for all"), x.mean(0) / largest)
    seed_0 = errors.sel(state).sel(seed=0)
    assert seed_0.sel(model="softest").item() == pytest.approx(percent(x[0], x[-1]))
    off = [percent(x.mean(0), member) for member in x]
    assert seed_0.sel(model="one curve for all").item() == pytest.approx(np.mean(off))


def test_no_one_curve_is_below_the_floor(explored):
    _, errors = explored
    for T in (1.0, 3.0):
        floor = 100 * hidden_parameter_floor(live.swings(T, 0.5))
        assert (errors.sel({"seconds": T, "± of k": 0.5, "model": "one curve for all"}).values >= floor).all()
