"""Pictures by concept draw the arrays that they are given, and are pure functions; their explorer answers in time."""

import numpy as np
import pytest
import torch
import xarray
from matplotlib import colormaps
from torch import nn

from fedlib.federated.experiment import KINDS, Data, Experiment, data_of
from fedlib.federated.partitions import index_rule
from fedlib.federated.solved import solved
from fedlib.federated.stack import draw_parameters
from fedlib.federated.sweep import divergences, models_of, sweep
from fedlib.live.explorers import solution_explorer
from fedlib.models.networks import glorot_uniform, mlp
from fedlib.notebook.pictures import (
    alone_and_together,
    divergence_against_level,
    dots,
    error_against_level,
    error_on_the_way,
    level_in_words,
    lines_of,
    panels_of,
    points_and_distance,
    seeds_and_median,
    solution,
    solution_alt,
    style_of,
)
from fedlib.notebook.style import COLORS, panels
from fedlib.numerics.metrics import in_percent, percent
from fedlib.papers.fedsciml.forward import problem
from fedlib.streams import stream, torch_stream

from ..conftest import assert_redraws_fast, every_move

QUICK = {
    "poisson": (problem.poisson(), (2, 8, 32)),
    "helmholtz": (problem.helmholtz(2 * np.pi, 8, 16), (2, 8)),
    "allen_cahn_2": (problem.allen_cahn(2, 12, 10, 12, 12, 0.01, 1.0), (2, 6)),
    "allen_cahn_3": (problem.allen_cahn(3, 12, 10, 12, 12, 0.01, 1.0), (3, 15)),
    "beam": (problem.euler_beam(), (2, 10)),
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


def test_the_line_is_the_median_and_every_seed_a_dot():
    _, ((ax,),) = panels()
    values = np.array([[1.0, 5.0], [2.0, 4.0], [30.0, 3.0]])
    seeds_and_median(ax, [0.1, 0.2], values, "federated", color="k", marker="s")
    line, *dots = ax.lines
    assert line.get_ydata().tolist() == [2, 4] and line.get_label() == "federated"
    assert sorted(tuple(dot.get_ydata()) for dot in dots) == sorted(map(tuple, values))
    assert {dot.get_marker() for dot in dots} == {"s"}


@pytest.fixture
def errors():
    values = stream(0, "errors").uniform(1, 2, (12, 3, 3, 2))
    coords = W1 | {"round": ROUNDS, "kind": sorted(KINDS), "seed": [0, 1]}
    return xarray.DataArray(values, coords, ["round", "kind", "level", "seed"], "Poisson", {"level": "pieces"})


def lines(ax, color):
    return [line for line in ax.lines if line.get_color() == color]


def test_errors_stand_over_the_level_and_the_distance_above(errors):
    fig = error_against_level({"poisson": errors}, {"poisson": (8, "look here", 40)})
    ax, above = fig.axes
    assert ax.get_title() == "Poisson"
    for kind in KINDS:
        line, *dots = lines(ax, COLORS[kind])
        last = errors.sel(kind=kind, level=[2, 8, 32]).isel(round=-1)
        np.testing.assert_array_equal(line.get_xdata(), [2, 8, 32])
        np.testing.assert_allclose(line.get_ydata(), last.median("seed"), rtol=1e-12)
        np.testing.assert_array_equal([dot.get_ydata() for dot in dots], last.transpose("seed", "level"))
    for axes, labels in ((ax, ["2", "8", "32"]), (above, ["0.9", "0.1", "0.2"])):
        assert axes.get_xticks().tolist() == [2, 8, 32]
        assert [text.get_text() for text in axes.get_xticklabels()] == labels
    (note,) = ax.texts
    assert note.get_text() == "look here"
    assert note.xy == (8, errors.isel(round=-1).sel(kind="federated", level=8).median())


@pytest.mark.parametrize("levels", [["b", "a", "c"], [1, 0, 2]])
def test_levels_without_a_logarithm_stand_at_equal_distances(errors, levels):
    named = errors.assign_coords(level=levels)
    divergence = named.isel(round=-1).rename(kind="matrix")
    mark = {"poisson": (levels[0], "look here", 40)}
    for fig in (error_against_level({"poisson": named}, mark), divergence_against_level({"poisson": divergence})):
        ax, above = fig.axes
        for axes, labels in ((ax, map(str, sorted(levels))), (above, ["0.1", "0.9", "0.2"])):
            assert axes.get_xscale() == "linear" and axes.get_xticks().tolist() == [0, 1, 2]
            assert [text.get_text() for text in axes.get_xticklabels()] == [*labels]
        assert all(line.get_xdata().tolist() == [0, 1, 2] for line in ax.lines)
        first = divergence.transpose("matrix", "level", "seed")[0].median("seed").sortby("level")
        np.testing.assert_allclose(ax.lines[0].get_ydata(), first, rtol=1e-12)
        fig.draw_without_rendering()
    (note,) = error_against_level({"poisson": named}, mark).axes[0].texts
    assert note.xy == (1, named.isel(round=-1).sel(kind="federated", level=levels[0]).median())


def test_a_seed_without_a_number_leaves_the_median_of_the_others():
    _, ((ax,),) = panels()
    seeds_and_median(ax, [1, 2], np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]]), "federated", color="k")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [2, np.nan])


def test_a_sixth_client_looks_as_the_first():
    assert style_of("client 6 alone") == style_of("client 1 alone") != style_of("client 2 alone")


def test_the_way_of_clients_alone(errors):
    kinds = ["client 1 alone", "best client alone", "federated"]
    (ax,) = error_on_the_way({"poisson": errors.assign_coords(kind=kinds)}).axes
    for kind in kinds:
        assert len(lines(ax, style_of(kind)["color"])) == 2


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
    for axes in error_against_level({"line": line}, {"line": (20, "half a wave each", 40)}).axes:
        labels = [text.get_text() for text in axes.get_xticklabels()]
        assert "" in labels and labels[levels.index(20)].strip()


def test_the_way_of_the_coarsest_and_the_finest_partition(errors):
    (ax,) = error_on_the_way({"poisson": errors}).axes
    for kind in KINDS:
        dashed, solid = lines(ax, COLORS[kind])
        assert (dashed.get_linestyle(), solid.get_linestyle()) == ("--", "-")
        for line, n in ((dashed, 2), (solid, 32)):
            np.testing.assert_array_equal(line.get_xdata(), ROUNDS)
            np.testing.assert_allclose(line.get_ydata(), errors.sel(kind=kind, level=n).mean("seed"), rtol=1e-12)


def test_every_matrix_has_its_line():
    values = stream(0, "divergence").uniform(1, 2, (2, 3, 4))
    given = xarray.DataArray(
        values, W1 | {"seed": [0, 1], "matrix": [1, 2, 3, 4]}, ["seed", "level", "matrix"], "beam", {"level": "n"}
    )
    fig = divergence_against_level({"beam": given})
    assert [text.get_text() for text in fig.legends[0].texts] == [f"matrix {i}" for i in (1, 2, 3, 4)]
    named = [line for line in fig.axes[0].lines if not line.get_label().startswith("_")]
    order = np.argsort(W1["level"])
    for line, matrix in zip(named, np.median(values, 0).T, strict=True):
        np.testing.assert_allclose(line.get_ydata(), matrix[order], rtol=1e-12)


def of_depth(n):
    """A problem with n weight matrices, two rounds of it, and the divergence of each."""
    x = torch.linspace(0, 1, 12)[:, None]
    experiment = Experiment(
        f"{n} matrices", mlp((1, *[3] * (n - 1), 1), nn.Tanh), lambda predict, batch: predict(batch["x"]) - 1,
        data=lambda level, seed: Data({"x": x}, index_rule(12, 2, level)), level="laboratories",
    )  # fmt: skip
    history = sweep(experiment, [1, 3], [0, 1], rounds=2)
    return history, divergences(history, experiment.net, [1, 3])


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
def test_a_network_may_have_any_number_of_matrices(n):
    history, divergence = of_depth(n)
    assert divergence.sizes == {"seed": 2, "level": 2, "matrix": n} and (divergence > 0).all()
    federated, central = (models_of(history, kind, 3, 1)[0] for kind in ("federated", "centralised"))
    difference, last = federated - central, slice(-4, -1)  # the last matrix, before the last bias
    expected = difference[last].norm() / central[last].norm()
    assert divergence.sel(level=3, seed=1, matrix=n).item() == pytest.approx(expected.item(), rel=1e-5)
    fig = divergence_against_level({"one": divergence.assign_coords(distance=("level", [0.2, 0.1]))})
    named = [line for line in fig.axes[0].lines if not line.get_label().startswith("_")]
    assert [line.get_label() for line in named] == [f"matrix {i + 1}" for i in range(n)]
    for line, values in zip(named, np.median(divergence, 0).T, strict=True):
        np.testing.assert_allclose(line.get_ydata(), values, rtol=1e-12)
    assert len({line.get_color() for line in named}) == n
    assert [line.get_marker() for line in named] == [*"os^Dvos"][:n]
    if n == 4:
        assert [line.get_color() for line in named] == [colormaps["magma"](shade) for shade in (0.1, 0.4, 0.6, 0.75)]


@pytest.mark.parametrize("order", [(2, 5), (5, 2)])
def test_networks_of_several_depths_share_shades_and_one_legend(order):
    divergences = {}
    for n in order:
        _, divergence = of_depth(n)
        divergences[n] = divergence.assign_coords(distance=("level", [0.2, 0.1]))
    fig = divergence_against_level(divergences)
    assert [text.get_text() for text in fig.legends[0].texts] == [f"matrix {i + 1}" for i in range(5)]
    first, second = ({line.get_label(): line.get_color() for line in ax.lines} for ax in fig.axes[:2])
    assert first["matrix 1"] == second["matrix 1"] and first["matrix 2"] == second["matrix 2"]


def test_panels_of_variants_are_called_as_their_levels_are():
    coords = {"level": [2, 20], "seed": [0, 1]}
    errors = xarray.DataArray([[3.0, 4.0], [1.0, 2.0]], coords, ["level", "seed"], attrs={"level": "slabs n"})
    fig = dots({"as above": errors, "twice": 2 * errors}, {"10 %": 10})
    assert [ax.get_title() for ax in fig.axes] == ["2 slabs", "20 slabs"]
    assert [line.get_xdata()[0] for line in fig.axes[1].lines if line.get_marker() == "|"] == [1.5, 3]


def test_alone_and_together_over_who_owns_what():
    of = untrained("poisson")
    fig = alone_and_together(of, 8)
    assert fig.axes[0].get_title() == "8 pieces, owned in turn (shades)"
    lines = {line.get_label().split(":")[0]: line for line in fig.axes[0].lines}
    assert [*lines] == ["truth", "client 1 alone", "client 2 alone", "federated"]
    np.testing.assert_array_equal(lines["federated"].get_ydata(), of.models[8]["federated"])
    off = in_percent(percent(of.models[8]["federated"], of.truth))
    assert lines["federated"].get_label() == f"federated: off by {off}"


def test_six_alone_and_together():
    of = untrained("poisson")
    of.models[8].update({f"isolated client {k}": of.models[8]["federated"] for k in range(1, 7)})
    labels = [text.get_text() for text in alone_and_together(of, 8).legends[0].texts]
    assert any(text.startswith("client 6 alone: off by") for text in labels)


def test_panels_in_rows_of_three():
    fig, axes = panels_of(QUICK)
    assert list(axes) == list(QUICK) and len(fig.axes) == len(QUICK)


def test_points_and_distances():
    experiments = {name: of for name, (of, _) in QUICK.items()}
    distances = {
        name: {n: experiment.distance(data_of(experiment, n)) for n in levels}
        for name, (experiment, levels) in QUICK.items()
    }
    fig = points_and_distance(experiments, distances, problem.CLOSED_FORM)
    assert len(fig.axes) == 2 * len(QUICK)
    for lower, name in zip(fig.axes[len(QUICK) :], QUICK, strict=True):
        np.testing.assert_array_equal(lower.lines[0].get_xdata(), QUICK[name][1])
        np.testing.assert_array_equal(lower.lines[0].get_ydata(), list(distances[name].values()))
        if name in problem.CLOSED_FORM:  # which is that of a line, not of so many points
            np.testing.assert_allclose(lower.lines[1].get_ydata()[0], lower.lines[0].get_ydata()[0], rtol=0.1)
    assert fig.axes[0].get_title() == "Poisson\nn = 2"
    assert len(points_and_distance({"beam": experiments["beam"]}, {"beam": {4: 0.1}}, {}).axes) == 2


@pytest.mark.parametrize("name", ["poisson", "helmholtz", "allen_cahn_3"])
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


@pytest.mark.parametrize("name", ["poisson", "helmholtz"])
def test_levels_of_a_problem_share_their_scale(name):
    """A colour, and a height, means the same error at every level."""
    of = untrained(name)
    gaps = [np.abs(u - of.truth) for models in of.models.values() for u in models.values()]
    assert of.limits[1] == max(gap.max() for gap in gaps)
    scales = {tuple(ax.get_ylim() for ax in solution(of, n).axes) for n in of.models}
    assert len(scales) == 1


@pytest.mark.parametrize("name", ["poisson", "helmholtz", "allen_cahn_3"])
def test_the_explorer_redraws_fast(name):
    limit = 0.1 if name == "allen_cahn_3" else 0.07  # seven panels, five of them maps
    assert_redraws_fast(every_move(solution_explorer({name: untrained(name)})), limit)


def test_the_explorer_keeps_equation_and_level_together():
    solutions = {name: untrained(name) for name in ("poisson", "helmholtz", "allen_cahn_3")}
    box = solution_explorer(solutions)
    equation, n, message, shown = box.children
    for name in ("helmholtz", "allen_cahn_3", "poisson"):
        equation.value = name
        assert list(n.options) == list(solutions[name].models)
        assert n.description == ("blocks per axis" if name == "helmholtz" else "pieces")
        assert message.value == ""
        assert shown.value == solution_explorer({name: solutions[name]}).children[-1].value, (
            "the picture before left its layout"
        )


def test_a_level_in_words():
    assert level_in_words(QUICK["helmholtz"][0].level, 4) == "4 x 4 blocks"
    assert level_in_words(QUICK["poisson"][0].level, 4) == "4 pieces"
    names = ("slabs n", "blocks per axis s", "clients", "level n", "noise")
    assert [level_in_words(name, 3) for name in names] == ["3 slabs", "3 x 3 blocks", "3 clients", "level 3", "noise 3"]
    assert "3 pieces" in solution_alt(untrained("allen_cahn_3"), 3)


def test_three_coordinates_have_no_picture():
    space = Experiment("cube", nn.Linear(3, 1), data=lambda level, seed: Data({}, []), coordinates="xyt")
    with pytest.raises(ValueError, match="3 coordinates 'xyt'"):
        solution(untrained("poisson")._replace(experiment=space), 2)
