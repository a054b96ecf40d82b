"""Pictures by concept draw the arrays that they are given, and are pure functions; their explorer answers in time."""

import numpy as np
import pytest
import torch
import xarray
from torch import nn

from fedlib.federated.experiment import KINDS, Data, Experiment, data_of
from fedlib.federated.partitions import index_rule
from fedlib.federated.solved import solved
from fedlib.federated.stack import draw_parameters
from fedlib.federated.sweep import divergences, models_of, sweep
from fedlib.models.networks import glorot_uniform, mlp
from fedlib.notebook.pictures import (
    alone_and_together,
    curves,
    error_rows,
    level_in_words,
    lines_of,
    points_and_distance,
    seeds_and_median,
    shade,
    solution,
)
from fedlib.notebook.style import panels
from fedlib.numerics.metrics import in_percent, percent
from fedlib.papers.fedsciml.forward import problem
from fedlib.papers.fedsciml.forward.live import solution_explorer
from fedlib.streams import stream, torch_stream

from ..conftest import assert_redraws_fast, every_move

QUICK = {
    "poisson": (problem.poisson(), (2, 8, 32)),
    "helmholtz": (problem.helmholtz(2 * np.pi, 8, 16), (2, 8)),
    "allen_cahn_3": (problem.allen_cahn(3, 12, 10, 12, 12, 0.01, 1.0), (3, 15)),
}
W1 = {"level": [2, 8, 32], "distance": ("level", [0.9, 0.1, 0.2])}  # in no order, as Allen-Cahn's may be
ROUNDS = list(range(1, 13))


def untrained(name):
    """Models that nobody trained, all different."""
    experiment, levels = QUICK[name]
    clients = len(data_of(experiment, levels[0]).owners)
    labels = [f"isolated client {k + 1}" for k in range(clients)] + ["federated", "centralised"]

    def row(level, label):
        return draw_parameters(experiment.net, glorot_uniform, torch_stream(0, label, level))

    rows = {level: {label: row(level, label) for label in labels} for level in levels}
    return solved(experiment, rows, {level: experiment.distance(data_of(experiment, level)) for level in levels})


def texts(fig):
    legends = [t for ax in fig.axes if ax.get_legend() for t in ax.get_legend().texts]
    return [t.get_text() for t in (*fig.texts, *legends, *(t for ax in fig.axes for t in (*ax.texts, ax.title)))]


def test_the_line_is_the_median_of_the_seeds_that_have_a_number_and_every_seed_a_dot():
    _, ((ax,),) = panels()
    values = np.array([[1.0, 5.0, np.nan], [2.0, np.nan, np.nan], [30.0, 3.0, np.nan]])
    seeds_and_median(ax, [0.1, 0.2, 0.3], values, "federated", color="k")
    line, *seeds = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), [2, 4, np.nan])
    np.testing.assert_array_equal([seed.get_ydata() for seed in seeds], values)


@pytest.fixture
def errors():
    values = stream(0, "errors").uniform(1, 2, (12, 3, 3, 2))
    coords = W1 | {"round": ROUNDS, "kind": sorted(KINDS), "seed": [0, 1]}
    return xarray.DataArray(values, coords, ["round", "kind", "level", "seed"], "Poisson", {"level": "pieces"})


def lines(ax, color):
    return [line for line in ax.lines if line.get_color() == color]


@pytest.mark.parametrize(
    ("levels", "places"), [([2, 8, 32], [2, 8, 32]), (["b", "a", "c"], [0, 1, 2]), ([1, 0, 2], [0, 1, 2])]
)
def test_errors_and_divergences_stand_over_their_level_in_order_and_the_distance_above(errors, levels, places):
    """At equal distances where a level has no logarithm."""
    last = errors.assign_coords(level=levels).isel(round=-1)
    mark, ordered = {"poisson": (levels[0], "look here", 40)}, last.sortby("level")
    by_matrix = last.rename(kind="matrix").assign_coords(matrix=[1, 2, 3])
    for fig in (curves({"poisson": last}, mark=mark), curves({"poisson": by_matrix}, hue="matrix")):
        ax, above = fig.axes
        for axes, labels in ((ax, ordered.level.values), (above, ordered.distance.values)):
            assert axes.get_xticks().tolist() == places
            assert [text.get_text() for text in axes.get_xticklabels()] == [f"{label}" for label in labels]
        named = [line for line in ax.lines if not line.get_label().startswith("_")]
        for line, kind in zip(named, last.kind.values, strict=True):
            assert line.get_xdata().tolist() == places
            np.testing.assert_allclose(line.get_ydata(), ordered.sel(kind=kind).median("seed"), rtol=1e-12)
        fig.draw_without_rendering()
    (note,) = curves({"poisson": errors.assign_coords(level=levels)}, mark=mark).axes[0].texts
    x = places[ordered.level.values.tolist().index(levels[0])]
    assert note.xy == (x, last.sel(kind="federated", level=levels[0]).median())


def test_labels_that_would_touch_stand_on_a_second_line_or_nowhere():
    labels, places = ["20", "21", "22", "25"], [0, 0.05, 0.1, 0.2]
    assert lines_of(places, labels, 0.02, [False] * 4) == [0, 1, 0, 0]
    assert lines_of(places, labels, 0.04, [False] * 4) == [0, 1, 2, 0]
    assert lines_of(places, labels, 0.04, [False, False, True, False]) == [1, 2, 0, 1], "the marked one stays"


def test_the_marked_level_has_its_labels():
    """At the levels of notebook 04, where there is no room for all distances."""
    levels = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32]
    values = stream(0, "errors").uniform(1, 2, (1, 1, len(levels), 1))
    coords = {"round": [1], "kind": ["federated"], "level": levels, "seed": [0]}
    coords["distance"] = "level", np.linspace(0.111, 0.222, len(levels))
    line = xarray.DataArray(values, coords, ["round", "kind", "level", "seed"], "line", {"level": "pieces"})
    for axes in curves({"line": line}, mark={"line": (20, "half a wave each", 40)}).axes:
        labels = [text.get_text() for text in axes.get_xticklabels()]
        assert "" in labels and labels[levels.index(20)].strip()


def test_the_way_is_drawn_over_rounds_and_what_is_absent_is_not(errors):
    """Seeds of which one diverged still have a median; of a level that is not trained there is no point."""
    way = errors.sel(kind="federated").assign_attrs(long_name="error", units="%")
    way = way.where((way.level != 8) & ~((way.level == 2) & (way.seed == 0)))
    (ax,) = curves({"poisson": way}, "round", "level").axes
    named = {line.get_label(): line.get_ydata() for line in ax.lines if not line.get_label().startswith("_")}
    assert [*named] == ["level 2", "level 32"]
    for level in (2, 32):
        np.testing.assert_allclose(named[f"level {level}"], way.sel(level=level).median("seed"), rtol=1e-12)
    assert (ax.get_ylabel(), ax.get_xlabel(), ax.get_yscale()) == ("error (%)", "round", "log")
    assert curves({"a": way.assign_attrs(scale="linear")}, "round", "level").axes[0].get_yscale() == "linear"


def test_panels_that_are_compared_share_an_axis(errors):
    fig = curves({"one": errors, "ten times": 10 * errors}, share=True)
    assert len({ax.get_ylim() for ax in fig.axes[:2]}) == 1 and fig.axes[0].get_ylim()[1] > 9 * float(errors.max())


def test_levels_stand_where_they_say_and_printed_values_beside_ours(errors):
    """Of printed levels that are not trained there is no square."""
    linear = errors.copy()
    linear["level"].attrs |= {"scale": "linear"}
    fig = curves({"poisson": linear}, printed={"poisson": {8: 3.0, 9: 4.0}})
    ax = fig.axes[0]
    assert ax.get_xscale() == "linear" and ax.get_xticks().tolist() == sorted(errors.level.values.tolist())
    (squares,) = (line for line in ax.lines if line.get_label() == "printed, federated")
    assert squares.get_xydata().tolist() == [[8, 3]]
    assert "printed, federated" in [text.get_text() for text in fig.legends[0].texts]


def of_depth(n):
    """A problem with n weight matrices, two rounds of it, and the divergence of each."""
    x = torch.linspace(0, 1, 12)[:, None]
    experiment = Experiment(
        f"{n} matrices", mlp((1, *[3] * (n - 1), 1), nn.Tanh), lambda predict, batch: predict(batch["x"]) - 1,
        data=lambda level, seed: Data({"x": x}, index_rule(12, 2, level)), level="laboratories",
    )  # fmt: skip
    history = sweep(experiment, [1, 3], [0, 1], rounds=2)
    return history, divergences(history, experiment.net, [1, 3])


def test_networks_of_any_depth_share_shades_and_one_legend():
    of = {}
    for n in (7, 2):
        history, of[n] = of_depth(n)
        assert of[n].sizes == {"seed": 2, "level": 2, "matrix": n} and (of[n] > 0).all()
        federated, central = (models_of(history, kind, 3, 1)[0] for kind in ("federated", "centralised"))
        last = slice(-4, -1)  # the last matrix, before the last bias
        expected = (federated - central)[last].norm() / central[last].norm()
        assert of[n].sel(level=3, seed=1, matrix=n).item() == pytest.approx(expected.item(), rel=1e-5)
    fig = curves({n: values.assign_coords(distance=("level", [0.2, 0.1])) for n, values in of.items()}, hue="matrix")
    assert [text.get_text() for text in fig.legends[0].texts] == [f"matrix {i + 1}" for i in range(7)]
    first, second = ({line.get_label(): line.get_color() for line in ax.lines} for ax in fig.axes[:2])
    assert first["matrix 1"] == second["matrix 1"] and first["matrix 2"] == second["matrix 2"]
    assert len({*first.values()}) == 7


def test_alone_and_together_over_who_owns_what():
    of = untrained("poisson")
    (ax,) = alone_and_together(of, 8).axes
    off = {line.get_label().split(":")[0]: line.get_label().split("off by ")[-1] for line in ax.lines}
    models = of.models[8]
    for words, label in (("federated", "federated"), ("client 2 alone", "isolated client 2")):
        assert off[words] == in_percent(percent(models[label], of.truth))


def test_a_shade_goes_half_the_way_to_the_neighbour():
    _, ((ax,),) = panels()
    shade(ax, np.array([0.0, 1.0, 2.0, 4.0]), [np.array([0, 1]), np.array([2, 3])])
    assert [(area.get_x(), area.get_x() + area.get_width()) for area in ax.patches] == [(0, 1.5), (1.5, 4)]


def test_the_table_of_errors_has_means_over_seeds_and_the_ratio_of_the_means():
    error = {"federated": [[4.0], [8.0]], "isolated": [[9.0], [9.0]], "centralised": [[1.0], [3.0]]}
    (row,) = error_rows({"error_percent": {"beam": error}, "levels": {"beam": [2]}})
    assert row[:2] == ["beam", "2"] and row[2].startswith("6.00 ±") and row[-1] == "3.0"


def test_points_stand_over_the_coarsest_level_and_distances_over_all():
    experiment, levels = QUICK["poisson"]
    distances = {n: experiment.distance(data_of(experiment, n)) for n in levels}
    upper, lower = points_and_distance({"poisson": experiment}, {"poisson": distances}, problem.CLOSED_FORM).axes
    coarsest = data_of(experiment, 2)
    drawn = [np.sort(line.get_xdata()) for line in upper.lines]
    for x, shard in zip(drawn, coarsest.owners, strict=True):
        np.testing.assert_allclose(x, np.sort(coarsest.pool["x"][shard, 0]))
    measured, closed = lower.lines
    np.testing.assert_allclose(closed.get_ydata()[0], measured.get_ydata()[0], rtol=0.1)  # of a line, not of points


@pytest.mark.parametrize("name", ["poisson", "helmholtz"])
def test_the_view_names_every_model_and_changes_nothing(name):
    of = untrained(name)
    level = min(of.models)
    before = [np.copy(a) for a in (of.x, of.truth, *of.models[level].values())]
    text = texts(solution(of, level))
    for label, u in of.models[level].items():
        e = in_percent(100 * np.linalg.norm(u - of.truth) / np.linalg.norm(of.truth))
        words = f"client {label[-1]} alone" if label.startswith("isolated") else label
        assert any(t.startswith(words) and t.endswith(f"e = {e}") for t in text)
    for a, b in zip(before, (of.x, of.truth, *of.models[level].values()), strict=True):
        np.testing.assert_array_equal(a, b)


def test_levels_of_a_problem_share_their_scale():
    """A colour, and a height, means the same error at every level."""
    of = untrained("poisson")
    gaps = [np.abs(u - of.truth) for models in of.models.values() for u in models.values()]
    assert of.limits[1] == max(gap.max() for gap in gaps)
    scales = {tuple(ax.get_ylim() for ax in solution(of, n).axes) for n in of.models}
    assert len(scales) == 1


@pytest.mark.parametrize(("name", "limit"), [("poisson", 0.07), ("allen_cahn_3", 0.1)])  # curves; seven maps
def test_the_explorer_redraws_fast(name, limit):
    assert_redraws_fast(every_move(solution_explorer({name: untrained(name)})), limit)


def test_the_explorer_keeps_equation_and_level_together():
    solutions = {name: untrained(name) for name in ("poisson", "helmholtz", "allen_cahn_3")}
    box = solution_explorer(solutions)
    shown, equation, n, message = box.children
    for name in ("helmholtz", "allen_cahn_3", "poisson"):
        equation.value = name
        assert list(n.options) == list(solutions[name].models)
        assert n.description == ("blocks per axis" if name == "helmholtz" else "pieces")
        assert message.value == ""
        assert shown.value == solution_explorer({name: solutions[name]}).children[0].value, (
            "the picture before left its layout"
        )


def test_a_level_in_words():
    names = ("slabs n", "blocks per axis s", "clients", "level n", "noise")
    assert [level_in_words(name, 3) for name in names] == ["3 slabs", "3 x 3 blocks", "3 clients", "level 3", "noise 3"]


def test_three_coordinates_have_no_picture():
    space = Experiment("cube", nn.Linear(3, 1), data=lambda level, seed: Data({}, []), coordinates="xyt")
    with pytest.raises(ValueError, match="3 coordinates 'xyt'"):
        solution(untrained("poisson")._replace(experiment=space), 2)
