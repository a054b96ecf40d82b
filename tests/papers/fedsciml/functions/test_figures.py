"""Every figure of notebook 04 is drawn from what is stored, and says its numbers."""

from itertools import pairwise

import numpy as np
import pytest
import torch
import xarray
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fedlib.federated.experiment import data_of
from fedlib.federated.sweep import errors, sweep
from fedlib.notebook import pictures, style
from fedlib.numerics.metrics import percent
from fedlib.papers.fedsciml.functions import claims, figures, problem
from fedlib.trainings.store import Computed, calls_of, file_of, folder_of, read_call, read_computed

from ....conftest import every_move


@pytest.fixture(scope="module")
def stored():
    """Name -> history or dataset of what the paper profile has so far."""
    there = {}
    for name, call in calls_of(problem).items():
        path = file_of(folder_of(problem.NOTEBOOK), name)
        there[name] = (read_computed if isinstance(call, Computed) else read_call)(call, path)[0]
    return {name: of for name, of in there.items() if of is not None}


@pytest.fixture(scope="module")
def arrays(stored):
    return figures.arrays(calls_of(problem), stored)


@pytest.fixture(scope="module")
def before():
    return figures.earlier()


def of_blocks(errors):
    return {name: of for name, of in errors.items() if name.startswith("blocks/") and "/2" not in name}


MARK = {"line": (20, "20 pieces:\nhalf a wave each", 64)}
DRAW = {
    "error_level": lambda s, a, b: pictures.error_against_level({"line": a[1]["line"]}, MARK, (5.6, 3.2)),
    "answer": lambda s, a, b: figures.solution_figure(figures.solutions(a[0], s)["line"], 2),
    "half_waves": lambda s, a, b: figures.half_waves(problem.gramacy_lee(), 20),
    "divergence": lambda s, a, b: pictures.divergence_against_level(a[2], (3.9, 2.7)),
    "partitions": lambda s, a, b: figures.partitions(),
    "fig2_w1": lambda s, a, b: figures.w1_curves(figures.w1_by_method()),
    "four_kinds": lambda s, a, b: figures.four_kinds(),
    "partition": lambda s, a, b: figures.draw_partition("xy", 3, 4),
    "error_slabs": lambda s, a, b: pictures.error_against_level(claims.squares(a[1] | b)),
    "slabs_coded": lambda s, a, b: pictures.solution(figures.solutions(a[0], s)["slabs/coded"], 2),
    "fall": lambda s, a, b: pictures.dots(figures.stored_fall(), {"1 %": 1.0}),
    "error_blocks": lambda s, a, b: pictures.error_against_level(of_blocks(b)),
    "federations": lambda s, a, b: figures.federations(b),
    "what_if": lambda s, a, b: pictures.dots(figures.tried(s, "what_if")),
    "paths": lambda s, a, b: figures.paths(s["walks"]),
    "one_round": lambda s, a, b: figures.one_round(s["walks"], 2, 3000),
    "theorem": lambda s, a, b: figures.bound(s["theorem"]),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAW)
def test_a_figure_is_finite_within_its_limits_and_readable(name, stored, arrays, before):
    style.use()
    fig = DRAW[name](stored, arrays, before)
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
            boxes = [t.get_window_extent(renderer) for t in labels if t.get_text() and t.get_visible()]
            touching = [a for a, b in pairwise(boxes) if a.overlaps(b)]
            assert not touching, f"{name}: tick labels overlap"
    assert drawn
    for legend in [*fig.legends, *(ax.get_legend() for ax in fig.axes if ax.get_legend())]:
        assert len(legend.get_texts()) <= 6


def test_what_is_drawn_is_what_is_stored(stored, arrays):
    _, errors, divergences = arrays
    history, of = stored["line"], errors["line"]
    assert of.kind.values.tolist() == ["client 1 alone", "client 2 alone", "federated", "centralised"]
    seed = history.labels("seed")[0]
    at = of.isel(round=-1).sel(level=20, seed=seed)
    alone = history.last("error", kind="isolated", level=20, seed=seed)
    assert at.sel(kind="client 2 alone").item() == alone.sel(client=1).item() != alone.sel(client=0).item()
    assert at.sel(kind="federated").item() == errors(history).isel(round=-1).sel(kind="federated", level=20, seed=seed)
    solved = figures.solutions({"line": problem.gramacy_lee()}, stored)["line"]
    told = percent(solved.models[20]["federated"], solved.truth)
    assert told == pytest.approx(at.sel(kind="federated").item(), rel=1e-3), "the picture's own error is the stored one"
    assert divergences["line"].dims == ("seed", "level", "matrix") and divergences["line"].notnull().all()


def test_an_explorer_offers_only_what_was_trained(stored):
    solved = figures.solutions({"line": problem.gramacy_lee()}, stored)["line"]
    pieces = figures.solution_slider(solved).children[0]
    assert list(pieces.options) == sorted(solved.models)
    few = sweep(problem.gramacy_lee(n=40, width=4), [2, 10], [3], rounds=2)
    line = pictures.stored_solutions(few, problem.gramacy_lee(n=40, width=4))
    assert list(figures.solution_slider(line).children[0].options) == [2, 10]


def test_at_twenty_pieces_a_client_owns_hills_or_valleys():
    data = data_of(problem.gramacy_lee(), 20)
    wave = -torch.sin(10 * torch.pi * data.pool["x"][:, 0])
    valleys, hills = (wave[own][wave[own].abs() > 0.1] for own in data.owners)
    assert (valleys < 0).all() and (hills > 0).all()


def test_the_best_client_is_the_one_with_the_smallest_mean():
    coords = {"kind": ["client 1 alone", "client 2 alone", "federated"], "level": [3, 5], "seed": [0, 1]}
    values = [[[1, 9], [2, 2]], [[4, 4], [3, 3]], [[0, 0], [1, 1]]]  # means 5, 2; 4, 3
    errors = xarray.DataArray([values], {"round": [9], **coords}, ["round", "kind", "level", "seed"])
    best = pictures.best_alone(errors)
    assert best.kind.values.tolist() == ["best client alone", "federated"]
    assert best.sel(kind="best client alone").values.tolist() == [[[4, 4], [2, 2]]]
    assert claims.best(best.isel(round=-1)).tolist() == [4, 2]


def test_three_clients_on_blocks_are_compared_with_the_one_model_that_sees_all(before):
    errors = before
    two, three = (errors[f"blocks/{K} clients{claims.EARLIER}"].isel(round=-1) for K in (2, 3))
    np.testing.assert_array_equal(two.sel(kind="centralised"), three.sel(kind="centralised"))
    assert three.level.values.tolist() == [3, 5, 11] and three.name == "3 clients on blocks, 1600 points"


def test_rows_of_the_fall():
    coords = {"level": [2, 50], "seed": [0, 1]}
    rows = figures.fall_rows({"reset": xarray.DataArray([[20.0, 22.0], [2.0, 2.2]], coords, ["level", "seed"])})
    assert rows == [["reset", "2", "21.00 ± 1.41", "2.10 ± 0.14", "10.0"]] and len(figures.FALL_HEADER) == 5


def test_w1_follows_its_closed_forms():
    methods = figures.w1_by_method(200, 500)
    for method in ("line [-1, 1]", "square, x method"):
        for K, (levels, w1, closed) in methods[method][1].items():
            assert (levels % K == 0).all()
            np.testing.assert_allclose(w1[:3], closed[:3], rtol=0.08)
    name, by_K = methods["square, xy method"]
    assert name == "blocks per axis s" and np.isnan(by_K[3][2]).all()
    few = figures.w1_by_method(16)["line [-1, 1]"][1]
    assert all(max(levels) <= 16 for levels, *_ in few.values()), "no client without a point"


def test_four_kinds_of_difference_and_what_w1_sees_of_them():
    w1 = {kind: distance for kind, (_, _, distance) in figures.kinds().items()}
    assert w1["concept shift"] == 0 < w1["concept drift"] < w1["covariance shift"]


def test_explorers_draw_at_every_move(stored):
    few = stored["walks"].isel(round=[0, 5, -1])
    for box in (figures.paths_explorer(few), figures.partition_explorer()):
        every_move(box)
