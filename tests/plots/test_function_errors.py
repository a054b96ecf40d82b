"""Errors over levels: every seed and the median, both axes, any number of seeds and levels."""

import numpy as np
import pytest
from matplotlib.container import BarContainer

from fedlib.notebook.pages import png
from fedlib.notebook.style import panels
from fedlib.plots import function_errors as draw
from fedlib.problems.function_claims import Errors


def some(seeds, levels, K=2):
    """Errors 0.1 / level, of the clients 2 and more times as large."""
    fed = np.outer(np.arange(1, seeds + 1), 0.1 / np.arange(1, levels + 1))
    alone = np.stack([(k + 2) * fed for k in range(K)], 2)
    return Errors([(K, 3 + p) for p in range(levels)], fed, alone, np.full(seeds, 0.01))


@pytest.mark.parametrize(("seeds", "levels"), [(1, 1), (3, 2), (2, 6)])
def test_pictures_of_levels_take_any_number_of_seeds_and_levels(seeds, levels):
    of, w1 = some(seeds, levels), 1 / np.arange(1, levels + 1)
    drift = {f"layer {i}": of.federated for i in (1, 2)}
    by_K = {K: some(seeds, levels, K) for K in (2, 3, 4, 5)}
    n = min(levels, 2)
    everything = [
        draw.errors_and_drift(w1, {"a": of, "b": of}, drift),
        draw.more_clients({str(K): w1 for K in by_K}, by_K),
        draw.bound_panels(np.arange(1, levels + 1), [2, 5][:n], {"2": np.ones((n, levels))}, np.ones((n, levels))),
    ]
    for fig in everything:
        assert png(fig)
        assert all(ax.get_xlabel() for ax in fig.axes)


def test_lines_are_medians_and_dots_are_seeds():
    of = some(3, 2)
    fig = draw.errors_and_drift([1.0, 0.5], {"f": of}, {"$W_1$": of.federated})
    lines = {line.get_label(): line for line in fig.axes[0].get_lines()}
    np.testing.assert_allclose(lines["federated"].get_ydata(), of.federated[1])
    np.testing.assert_allclose(lines["client 2 alone"].get_ydata(), 3 * of.federated[1])
    assert lines["centralised"].get_ydata()[0] == 0.01
    dots = {x for line in fig.axes[0].get_lines() if line.get_label() == "_seeds" for x in line.get_ydata()}
    assert set(of.federated.ravel()) <= dots
    labels = [line.get_label() for line in fig.axes[1].get_lines()]
    assert "layer 1" in labels and not any("W" in label for label in labels), "W1 is the distance, and no weights"


def test_the_axis_above_names_the_levels_that_have_room():
    of, w1 = some(1, 19), 1 / np.arange(1, 20)
    fig = draw.errors_and_drift(w1, {"f": of}, {"layer 1": of.federated})
    above = fig.axes[2]
    names = [text.get_text() for text in above.get_xticklabels()]
    assert names[-1] == "6" and set(names) <= {str(n) for n in of.subdomains} and len(names) < 12
    assert not any("," in name for name in names)
    np.testing.assert_allclose(sorted(above.get_xticks())[-1], 1)


def test_bars_are_medians_and_dots_the_seeds():
    _, ((ax,),) = panels()
    values = {"a": np.array([[0.1, 0.2], [0.3, 0.2], [0.9, 0.2]]), "b": np.full((3, 2), 0.5)}
    draw.bars(ax, values, ["coarse", "fine"])
    coarse, fine = (c for c in ax.containers if isinstance(c, BarContainer))
    np.testing.assert_allclose([bar.get_width() for bar in coarse], [0.3, 0.5])
    np.testing.assert_allclose([bar.get_width() for bar in fine], [0.2, 0.5])
    shown = np.concatenate([line.get_xdata().ravel() for line in ax.get_lines()])
    assert {0.1, 0.3, 0.9} <= set(shown)


def test_starts_share_their_axis():
    one = {"layer 1": np.ones((1, 1)), "layer 2": np.full((1, 1), 2)}
    fig = draw.starts({"own": ([2], one), "common": ([2, 4], {"layer 1": np.ones((3, 2)), "layer 2": np.ones((3, 2))})})
    left, right = fig.axes
    assert (left.get_title(), right.get_title()) == ("own", "common") and left.get_ylim() == right.get_ylim()
    assert png(fig) and png(draw.variants({"as above": np.ones((1, 1)), "E = 3": np.ones((1, 1))}, ["2 subdomains"]))
