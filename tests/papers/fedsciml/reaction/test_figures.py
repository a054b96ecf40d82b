"""Pictures of notebook 06b show the numbers of their arrays: of the stored trainings, and of a small study."""

import numpy as np
import pytest

from fedlib.federated.experiment import data_of
from fedlib.notebook.style import CLIENTS, COLORS
from fedlib.numerics.metrics import in_percent, percent
from fedlib.numerics.solutions import reaction_rate
from fedlib.papers.fedsciml.reaction import figures, problem


def drawn(fig):
    """Label -> lines of all panels."""
    lines = {}
    for line in (line for ax in fig.axes for line in ax.get_lines()):
        lines.setdefault(line.get_label(), []).append(line)
    return lines


def pictures(results, data):
    """Name -> figure."""
    inner, ends = (results.answers[name] for name in results.answers)
    finest = {name: a.sel(field="k").isel(seed=0, level=-1) for name, a in results.answers.items()}
    places = dict.fromkeys(finest, np.linspace(0, 1, 5))
    squares = results.squares[[*results.squares][1]]
    return {
        "data": figures.data_figure(data, "code"),
        "answer": figures.answer_figure(finest, places),
        "seeds": figures.seeds_figure(inner),
        "points": figures.points_figure({name: e.sel(field="k") for name, e in results.errors.items()}),
        "residual": figures.residual_figure(squares, ends.isel(level=0).sel(model="centralised", field="u")),
    }


@pytest.fixture(scope="module")
def figs(results):
    return pictures(results, data_of(problem.reaction(), 2))


def test_the_data_figure_shows_who_observes_u_and_both_k(figs):
    lines, data = drawn(figs["data"]), data_of(problem.reaction(), 2)
    for c, shard in enumerate(data.owners):
        (line,) = lines[f"client {c + 1} observes"]
        np.testing.assert_array_equal(line.get_ydata(), data.pool["u"][shard])
        assert line.get_color() == CLIENTS[c]
    np.testing.assert_allclose(
        lines["k of the code"][0].get_ydata(), reaction_rate(data.test["x"][:, 0].numpy(), "code")
    )


def test_titles_of_the_answer_say_the_federated_error(figs, results):
    for ax, (name, answers) in zip(figs["answer"].axes, results.answers.items(), strict=True):
        k = answers.isel(seed=0, level=-1).sel(field="k", model="federated")
        assert ax.get_title() == f"{name} points: off by {in_percent(percent(k.values, k.truth.values))}"


def test_all_seeds_are_drawn_at_the_coarsest_and_the_finest_level(figs, results):
    fig = figs["seeds"]
    assert [ax.get_title() for ax in fig.axes] == ["2 pieces", "8 pieces", "", ""]
    colours = [line.get_color() for line in fig.axes[0].get_lines()]
    assert colours.count(COLORS["federated"]) == colours.count(COLORS["centralised"]) == 2
    assert [colours.count(CLIENTS[k]) for k in (0, 1)] == [1, 1]


def test_choices_of_points_share_a_scale(figs, results):
    first, second = figs["points"].axes[:2]
    assert first.get_ylim() == second.get_ylim()
    assert (first.get_title(), second.get_title()) == ("4 inner points", "3 inner and 2 end points")
    expected = results.last["4 inner"].sel(field="k", kind="federated").median("seed").sortby("level")
    line = next(line for line in first.get_lines() if line.get_label() == "federated")
    np.testing.assert_array_equal(line.get_ydata(), expected)


def test_the_residual_picture_shows_shares_and_the_first_network(figs, results):
    left, right = figs["residual"].axes
    shares = np.array([line.get_ydata() for line in left.get_lines()])
    np.testing.assert_allclose(shares.sum(1), 100)
    exact, *ours = right.get_lines()
    x = exact.get_xdata()
    assert 0 < x.min() < 0.01 and x.max() == pytest.approx(0.2) and len(ours) == 2
    u = results.answers["3 inner and 2 end"].sel(model="centralised", field="u", level=2, seed=3).interp(x=x)
    np.testing.assert_allclose(ours[0].get_ydata() * np.tanh(x) * np.tanh(1 - x), u, atol=1e-6)


def test_rows_of_medians_and_of_how_often_k_is_found(results):
    rows = figures.median_rows(results.last)
    assert len(rows) == 6 and rows[0][0] == "4 inner, federated" and len(rows[0]) == 3
    median = results.last["4 inner"].sel(field="k", kind="federated", level=2).median().item()
    assert in_percent(median) in rows[0]
    many = results.many["4 inner"].copy()
    many.loc[{"field": "u"}] = [[10, 49, 51]]
    many.loc[{"field": "k"}] = [[3, 5, 700]]
    assert figures.found_rows({"4 inner": many}) == [["4 inner", "2", "2 of 3", "4.0 %", "700 %"]]
    many.loc[{"field": "u"}] = 60
    assert figures.found_rows({"4 inner": many})[0][2:] == ["0 of 3", "-", "5.0 %"]
