"""Pictures of heterogeneity show who owns what and the numbers that they are given, and answer a slider in time."""

import numpy as np
import pytest
import xarray

from fedlib.federated.partitions import sorted_shards
from fedlib.plots import skewed as draw
from fedlib.streams import stream

from ..conftest import assert_redraws_fast, every_move


@pytest.fixture
def levels():
    """2 000 sorted targets of 20 clients at four levels, as in the quick profile: targets, errors, distances."""
    values = stream(0, "values").normal(size=2000)
    deals = {v: sorted_shards(values, 20 * v, 20, stream(0, "deal", v)) for v in (1, 2, 5, 20)}
    targets = {v: [values[own] for own in owned] for v, owned in deals.items()}
    errors = {v: {"Algorithm 1": 2.0 * v, "Algorithm 2": 1.0 * v} for v in targets}
    return targets, errors, {v: 1.0 / v for v in targets}


@pytest.fixture
def errors():
    """algorithm -> level -> [2 seeds]; moments were kept at one level."""
    values = {"Algorithm 2": {1.0: [4.0, 6.0], 5.0: [1.0, 3.0]}, "Algorithm 1": {1.0: [9.0, 9.0], 5.0: [7.0, 8.0]}}
    values["moments kept"] = {5.0: [2.0, 2.0]}
    return {a: {v: np.array(e) for v, e in of.items()} for a, of in values.items()}


def lines(ax):
    return {line.get_label(): line.get_xydata().tolist() for line in ax.get_lines()}


def test_the_shard_explorer_goes_through_the_levels(levels):
    box = draw.shard_explorer(*levels)
    slider, pictures = box.children[0], set()
    for level in slider.options:
        slider.value = level
        pictures.add(box.children[-1].value)
    assert len(pictures) == 4


def test_a_move_redraws_fast_enough_for_200_ms(levels):
    assert_redraws_fast(every_move(draw.shard_explorer(*levels)))


def test_shard_view_says_how_far_apart_the_clients_are(levels):
    fig = draw.shard_view(*levels, 2)
    assert fig.axes[0].get_title() == "2 shards per client, $W_1$ = 0.500 rad"
    assert "Algorithm 1: e = 4.00 %" in [line.get_label() for line in fig.axes[1].get_lines()]
    assert draw.shard_view(*({1: part[1]} for part in levels), 1).axes[0].get_title().startswith("1 shard per")


def test_shards_have_a_panel_per_level_and_a_row_per_client(levels):
    targets = {draw.per_client(v, "block"): levels[0][v] for v in (1, 5)}
    fig = draw.draw_shards(targets, ms=3)
    assert [ax.get_title() for ax in fig.axes] == ["1 block per client", "5 blocks per client"]
    assert [ax.get_ylabel() for ax in fig.axes] == ["client", ""]
    for ax, own in zip(fig.axes, targets.values(), strict=True):
        assert len(ax.get_lines()) == 20
        np.testing.assert_array_equal(ax.get_lines()[3].get_xdata(), own[3])
        assert ax.get_lines()[3].get_markersize() == 3


def test_fields_are_drawn_over_a_second():
    draws = {0.2: stream(0, "u").normal(size=(2, 11)), 1.2: np.ones((6, 11))}
    fig = draw.draw_fields(draws)
    assert [ax.get_title() for ax in fig.axes] == ["l = 0.2", "l = 1.2"]
    t, u = fig.axes[0].get_lines()[1].get_data()
    np.testing.assert_allclose(t, np.arange(11) / 10)
    np.testing.assert_array_equal(u, draws[0.2][1])
    assert len(fig.axes[1].get_lines()) == 6
    many = draw.draw_fields({l: np.ones((1, 5)) for l in range(7)})
    assert [ax.get_title() for ax in many.axes if ax.axison] == [f"l = {l}.0" for l in range(7)]
    assert [ax.get_xlabel() for ax in many.axes] == ["", "", *["t (s)"] * 5, "", "", ""]


@pytest.fixture
def W1():
    """[what, seed, level], the samples' distances not monotonic in the level."""
    coords = {"what": ["s", "(u, y, s)"], "seed": [0, 1], "level": [1.0, 5.0]}
    return xarray.DataArray([[[4.0, 1.0], [6.0, 3.0]], [[7.0, 8.0], [7.0, 8.0]]], coords, list(coords))


def test_distances_are_means_over_the_seeds(W1):
    left, right = draw.draw_distances({"shards": W1, "fields": W1 - 8}, np.array([[1.0, 2.0], [3.0, 4.0]])).axes
    samples = "$W_1$ of (u, y, s), without the bias of finite samples"
    drawn = {name: points for name, points in lines(left).items() if not name.startswith("_")}
    assert drawn == {"$W_1$ of s": [[1, 5], [5, 2]], samples: [[1, 7], [5, 8]]}
    assert left.get_xlabel() == draw.LEVELS["shards"]
    assert left.get_ylim()[0] == 0
    assert lines(right)["$W_2$ of u, exact"] == [[1, 2], [5, 3]]
    assert right.get_ylim()[0] < -7  # de-biased distances may be negative


def test_errors_are_means_over_the_seeds_and_moments_are_dashed(errors):
    views = {"inside": errors, "outside": {"Algorithm 2": errors["Algorithm 2"]}, "third": errors, "last": errors}
    fig = draw.draw_errors(views, "fields")
    assert lines(fig.axes[0]) == {
        "Algorithm 1": [[1, 9], [5, 7.5]],
        "Algorithm 2": [[1, 5], [5, 2]],
        "moments kept": [[5, 2]],
    }
    assert [text.get_text() for text in fig.legends[0].get_texts()] == [*list(errors)[1::-1], "moments kept"]
    assert lines(fig.axes[1]) == {"Algorithm 2": [[1, 5], [5, 2]]}
    assert fig.axes[0].get_lines()[2].get_linestyle() == "--"
    assert [ax.get_title() for ax in fig.axes] == list(views)
    assert [ax.get_xlabel() for ax in fig.axes] == ["", "", *[draw.LEVELS["fields"]] * 2]


def test_errors_against_distance_are_sorted_by_it(errors, W1):
    distances = {"shards": W1.sel(what="s"), "fields": W1.sel(what="(u, y, s)")}
    fig = draw.draw_against_distance({"shards": errors, "fields": errors}, distances)
    assert lines(fig.axes[0]) == {"Algorithm 1": [[2, 7.5], [5, 9]], "Algorithm 2": [[2, 2], [5, 5]]}
    assert lines(fig.axes[1]) == {"Algorithm 1": [[7, 9], [8, 7.5]], "Algorithm 2": [[7, 5], [8, 2]]}
    assert fig.axes[1].get_xlabel() == "mean pairwise $W_1$ of (u, y, s)"


@pytest.mark.parametrize("S", [1, 2])
def test_rates_and_weights(errors, S):
    weights = {"p = n/N": np.array([1.0, 3.0])[:S], "p = 1/C": np.array([4.0, 4.0])[:S]}
    curves = {"Algorithm 2, falling rate": errors["Algorithm 2"], "Algorithm 1": errors["Algorithm 1"]}
    fig = draw.draw_rates({1: curves, 2: curves}, weights, 20)
    left, middle, right = fig.axes
    assert lines(left) == {"Algorithm 1": [[1, 9], [5, 7.5]], "Algorithm 2, falling rate": [[1, 5], [5, 2]]}
    assert [left.get_title(), middle.get_title()] == ["1 shard per client", "2 shards per client"]
    assert [bar.get_height() for bar in right.patches] == [[1, 4], [2, 4]][S - 1]
    assert len(right.collections) == S - 1  # st.dev. of several seeds only
    assert right.get_title().endswith(": 20")
