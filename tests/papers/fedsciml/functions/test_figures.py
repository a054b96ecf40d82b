"""Every figure of notebook 04 is drawn from what is stored, and says its numbers."""

from itertools import pairwise

import numpy as np
import pytest
import torch
import xarray
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fedlib.federated.experiment import data_of
from fedlib.notebook import pictures, style
from fedlib.papers.fedsciml.functions import figures, problem, study
from fedlib.trainings.store import folder_of, histories_of

from ....conftest import every_move


@pytest.fixture(scope="module")
def stored():
    """Results of what is stored so far."""
    p = study.PAPER
    histories = histories_of(study.trainings(p), folder_of(study.NOTEBOOK))
    return study.results(p, histories | study.earlier())


def on_blocks(results):
    return {name: values for name, values in results.blocks.items() if name[-1] > 2}


MARK = {"line": (20, "half a wave each", 55)}
DRAW = {
    "error_level": lambda r: pictures.error_against_level({"line": r.errors["line"]}, MARK, (5.6, 3.2)),
    "answer": lambda r: pictures.alone_and_together(r.solutions["line"], 2),
    "half_waves": lambda r: figures.half_waves(problem.gramacy_lee(), 20),
    "divergence": lambda r: pictures.divergence_against_level(r.divergences, (3.9, 2.7)),
    "partitions": lambda r: figures.partitions(),
    "fig2_w1": lambda r: figures.w1_curves(r.partitions),
    "four_kinds": lambda r: figures.four_kinds(),
    "partition": lambda r: figures.draw_partition("xy", 3, 4),
    "error_slabs": lambda r: pictures.error_against_level({name: r.errors[name] for name in study.SLABS}),
    "slabs_coded": lambda r: pictures.solution(r.solutions[study.SLABS[0]], 2),
    "fall": lambda r: pictures.dots(r.fall, {"1 %": 1.0}),
    "error_blocks": lambda r: pictures.error_against_level(on_blocks(r)),
    "federations": lambda r: figures.federations(r.blocks),
    "what_if": lambda r: pictures.dots(r.what_if),
    "paths": lambda r: figures.paths(r.walks),
    "one_round": lambda r: figures.one_round(r.walks, 2, 3000),
    "theorem": lambda r: figures.bound(r.theorem),
}


@pytest.mark.parametrize("name", DRAW)
def test_a_figure_is_finite_within_its_limits_and_readable(name, stored):
    style.use()
    fig = DRAW[name](stored)
    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    renderer = canvas.get_renderer()
    drawn = 0
    for ax in fig.axes:
        for line in ax.lines:
            x, y = (np.asarray(v, float) for v in line.get_data())
            there = np.isfinite(y)
            drawn += there.sum()
            inside = (x[there] >= min(ax.get_xlim()) - 1e-9) & (x[there] <= max(ax.get_xlim()) + 1e-9)
            if line.get_transform() == ax.transData and len(x) > 1:
                assert inside.all(), f"{line.get_label()} leaves the picture"
        for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
            seen = [label for label in labels if label.get_text() and label.get_visible()]
            for second_line in (False, True):
                line = [t.get_window_extent(renderer) for t in seen if ("\n" in t.get_text()) == second_line]
                touching = [a for a, b in pairwise(line) if a.overlaps(b)]
                assert not touching, f"{name}: tick labels overlap"
    assert drawn
    for legend in [*fig.legends, *(ax.get_legend() for ax in fig.axes if ax.get_legend())]:
        assert len(legend.get_texts()) <= 6


def test_at_twenty_pieces_a_client_owns_hills_or_valleys():
    data = data_of(problem.gramacy_lee(), 20)
    wave = -torch.sin(10 * torch.pi * data.pool["x"][:, 0])
    valleys, hills = (wave[own][wave[own].abs() > 0.1] for own in data.owners)
    assert (valleys < 0).all() and (hills > 0).all()


def test_rows_of_the_fall():
    coords = {"level": [2, 50], "seed": [0, 1]}
    rows = figures.fall_rows({("reset",): xarray.DataArray([[20.0, 22.0], [2.0, 2.2]], coords, ["level", "seed"])})
    assert rows == [["reset", "2", "21.00 ± 1.41", "2.10 ± 0.14", "10.0"]] and len(figures.FALL_HEADER) == 5


def test_w1_is_drawn_over_levels_beside_its_closed_form(stored):
    fig = figures.w1_curves(stored.partitions)
    for ax, clients in zip(fig.axes, (4, 4, 1), strict=True):  # of blocks it is known for two clients
        curves = [line for line in ax.lines if line.get_linestyle() != ":"]
        closed = [line for line in ax.lines if line.get_linestyle() == ":"]
        assert len(curves) == 4 and len(closed) == clients
        for line, dotted in zip(curves, closed, strict=False):
            np.testing.assert_array_equal(line.get_xdata(), dotted.get_xdata())
            if clients > 1:  # that of blocks is for many of them
                np.testing.assert_allclose(line.get_ydata()[:3], dotted.get_ydata()[:3], rtol=0.08)


def test_four_kinds_of_difference_and_what_w1_sees_of_them():
    w1 = {kind: distance for kind, (_, _, distance) in figures.kinds().items()}
    assert w1["concept shift"] == 0 < w1["concept drift"] < w1["covariance shift"]


def test_explorers_draw_at_every_move(stored):
    few = stored.walks.isel(round=[0, 5, -1])
    for box in (figures.paths_explorer(few), figures.partition_explorer()):
        every_move(box)
