"""Figures, tables and claims of the noisy surface show what they are given."""

import numpy as np
import pytest
import xarray
from matplotlib.colors import to_hex

from fedlib.notebook.claims import known_claims
from fedlib.papers.fedstnn import figures as shared_figures
from fedlib.papers.fedstnn.plane import on_grid, quadrants, surface_grid
from fedlib.papers.fedstnn.surface import claims, figures, study
from fedlib.papers.fedstnn.surface.readings import some
from fedlib.streams import stream

POINTS, F, SIGMA, SEEDS = surface_grid(), on_grid(), 0.1, [0, 1]
MODELS = ["federated", "centralised", *(f"client {k} alone" for k in (1, 3, 5, 7))]


def normal(name, *shape):
    return SIGMA * stream(0, name).standard_normal((*shape, len(F)))


@pytest.fixture(scope="module")
def every():
    """What models say: a federation that is right; clients alone that are so in their quadrant only."""
    mean = np.tile(F, (6, 2, 1)) + 0.02
    for row, quadrant in zip(mean[2:], quadrants(POINTS), strict=True):
        outside = np.setdiff1d(np.arange(len(F)), quadrant)
        row[:, outside] += 0.5
    axes = ("model", "seed", "x")
    return xarray.Dataset(
        {
            "mean": (axes, mean), "std": (axes, np.full_like(mean, SIGMA)), "path": (axes, mean + normal("p", 6, 2)),
            "inside": (axes[:2], np.full((6, 2), 0.9)),
        },
        {"model": MODELS, "seed": SEEDS},
    )  # fmt: skip


@pytest.fixture(scope="module")
def results(every):
    return of_answers(every)


def of_answers(every):
    observed = xarray.DataArray(F + normal("z", 2), {"seed": SEEDS}, ("seed", "x"))
    return study.Results(study.chosen(every, observed, SIGMA, 8), observed, None, SIGMA, 8)


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def test_a_model_is_judged_where_it_knows_and_elsewhere(results):
    rows = study.report(results)
    assert len(rows) == 12
    np.testing.assert_allclose(rows["client 3 alone, own quadrant"]["RMSE"], 0.02)
    np.testing.assert_allclose(rows["client 3 alone, elsewhere"]["RMSE"], 0.52)
    assert (rows["client 3 alone, elsewhere"]["in band"] < 0.05).all()
    np.testing.assert_allclose(rows["federated, whole grid"]["MSE"], 0.0204, rtol=0.05)


def test_claims_hold_where_they_should_and_can_fail(every, results):
    assert {*claims.CLAIMS} <= {*known_claims()}
    assert all(claim(results).holds for claim in claims.CLAIMS.values())
    mean = every["mean"] + xarray.where(every.model == "federated", 1.5, 0.7)
    wrong = of_answers(every.assign(mean=mean, std=0 * mean + 0.01, path=mean))
    failed = {id for id, claim in claims.CLAIMS.items() if not claim(wrong).holds}
    assert failed == {*claims.CLAIMS}
    assert all(claim(results._replace(answers=None)) is None for claim in claims.CLAIMS.values())


def test_maps_share_one_scale_of_colours(results):
    axes = figures.maps(results).axes
    images = [ax.images[0] for ax in axes if ax.images]
    assert images[0].get_clim() == images[1].get_clim() == images[2].get_clim() != images[3].get_clim()
    assert images[3].get_clim() == (0, pytest.approx(0.3))
    federated = results.answers["mean"].sel(model="federated").values
    np.testing.assert_array_equal(images[1].get_array(), federated.reshape(101, 101).T)
    assert [ax.get_title() for ax in axes[:3]] == ["true f", "federated mean", "client 1 alone"]


def test_clouds_draw_all_observations_and_some_predictions(results):
    left, right = figures.clouds(results).axes
    z, chosen = results.observed.sel(seed=0).values, some(len(F))[0]
    np.testing.assert_array_equal(left.collections[0]._offsets3d[2], z)
    predicted = results.answers["path"].sel(seed=0).values
    for name, values in (("observation", z), ("prediction", predicted)):
        drawn = np.stack(lines(right)[name].get_data_3d(), 1)
        np.testing.assert_array_equal(drawn, np.c_[POINTS[chosen], values[chosen]])


def test_slices_are_the_papers_in_the_colours_of_their_roles(results):
    left, right = figures.slices(results).axes
    for ax, (fixed, value, label) in ((left, (0, -0.64, "y")), (right, (1, 0.96, "x"))):
        where, shown = np.isclose(POINTS[:, fixed], value), lines(ax)
        assert ax.get_xlabel() == label and where.sum() == 101
        np.testing.assert_allclose(shown["true f"].get_ydata(), F[where])
        assert to_hex(shown["true f"].get_color()) == "#000000"
        assert len({shown[name].get_marker() for name in ("observations", "one prediction each")}) == 2
        band = ax.collections[0].get_paths()[0].vertices
        assert band[:, 1].max() == pytest.approx(F[where].max() + 0.2)


def test_residuals_are_densities():
    path, z = normal("p"), normal("z")
    left, right = shared_figures.residuals({"5.1": (path, z), "5.2": (0 * path, z)}, SIGMA).axes
    areas = [sum(p.get_height() * p.get_width() for p in ax.patches[:60]) for ax in (left, right)]
    assert areas == pytest.approx([1, 1])
    (law,) = left.lines
    assert law.get_ydata().max() == pytest.approx(1 / (0.1 * np.sqrt(2 * np.pi)))
    assert right.patches[-1].get_xy()[:, 1].max() > 5 * left.patches[-1].get_xy()[:, 1].max(), "all samples at f"


def test_the_schemes():
    server, ring = shared_figures.who_talks().axes
    assert (len(server.patches), len(ring.patches)) == (5, 5), "arrows to the server, and round the ring"
    assert [text.get_text() for text in server.texts] == ["1", "2", "3", "4", "5", "server"]
    horizontal, vertical, transfer = shared_figures.sorts_of_federation().axes
    spans = [
        [(p.get_x(), p.get_width(), p.get_y(), p.get_height()) for p in ax.patches[1:]] for ax in (horizontal, vertical)
    ]
    assert spans[0][0][:2] == spans[0][1][:2] and spans[1][0][2:] == spans[1][1][2:], "same features; same samples"
    assert transfer.get_title() == "transfer"
