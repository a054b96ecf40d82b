"""Pictures of notebook 07 show the numbers of their arrays: of the stored trainings, and of a small study."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.run import Run
from fedlib.notebook.style import CLIENTS, COLORS
from fedlib.numerics import solutions, spaces
from fedlib.papers.fedsciml.operators import figures, live, problem, study
from fedlib.streams import stream

LINE = study.LINE
WAVES = stream(0, "test waves").uniform(-1, 1, (1, 2, 9))
C = problem.draws("forward", 10, 1, 0)


def pictures(results):
    """Name -> figure."""
    made = {
        "inputs": figures.inputs_figure(0, (2, 6)),
        "cover": figures.cover_figure(),
        "solutions": figures.solutions_figure(C, WAVES, 0.2),
        "errors": figures.error_figure(results.last, results.steps, figures.printed_errors()),
        "jump": figures.jump_figure(results.last[LINE], printed=figures.printed_errors()),
        "clients": figures.clients_figure(results.last),
        "divergence": figures.divergence_figure(results.divergences, results.apart),
        "local": figures.local_steps_figure(results.local),
    }
    for (name, n), one in results.examples.items():
        made[f"{name} {n}"] = figures.example_figure(one, f"{name}, n = {n}")
    return made


@pytest.fixture(scope="module")
def figs(results):
    return pictures(results)


@pytest.fixture(scope="module")
def stored():
    """Of what is stored at the paper's settings."""
    return Run(study).results()


@pytest.fixture(scope="module")
def from_files(stored):
    return pictures(stored) | {"answer": figures.answer_figure(live.stored_models()[6], 6)}


def lines_of(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def test_errors_are_medians_with_every_seed_and_printed_squares(figs, results):
    axes = {ax.get_title().split(" (")[0].split(", T")[0]: ax for ax in figs["errors"].axes}
    assert [*axes] == [problem.TITLES[name] for name in results.last]
    lines, last = lines_of(axes["antiderivative"]), results.last[LINE]
    for kind in last.kind.values:
        np.testing.assert_allclose(lines[kind].get_ydata(), last.sel(kind=kind).median("seed").dropna("level"))
    assert lines["client 1 alone"].get_color() == CLIENTS[0] and lines["federated"].get_color() == COLORS["federated"]
    square = lines["printed, federated"]
    assert dict(zip(square.get_xdata(), square.get_ydata(), strict=True)) == figures.printed_errors() == {5: 10, 6: 5}
    assert all(ax.get_xlim()[1] < 11 for ax in axes.values()), "there is no n beyond 10"
    assert axes["antiderivative"].get_title().endswith("(Fig. 12A), T = 8")


def test_the_jump_has_a_line_for_each_start(stored):
    fig = figures.jump_figure(stored.last[LINE], printed={5: 10, 6: 5})
    left = fig.axes[0]
    both = stored.last[LINE].sel(kind="federated", level=[5, 6]).dropna("seed")
    lines = [line for line in left.get_lines() if line.get_label().startswith("_")]
    assert len(lines) == both.sizes["seed"]
    np.testing.assert_allclose([line.get_ydata() for line in lines], both.transpose("seed", "level"))
    np.testing.assert_allclose(lines_of(left)["federated, median"].get_ydata(), both.median("seed"))
    assert list(lines_of(left)["printed"].get_ydata()) == [10, 5]
    assert left.get_title() == f"federated, {both.sizes['seed']} starts"


def test_two_and_three_clients_share_an_axis():
    def of(values, centre):
        table = np.array([values, [[np.nan] * 3, [centre] * 3]], float)
        return xarray.DataArray(table, {"kind": ["federated", "centralised"], "level": [2, 10], "seed": range(3)},
                                ("kind", "level", "seed"))  # fmt: skip

    fig = figures.clients_figure(
        {"burgers_2": of([[9, 7, 1], [3, 3, 3]], 2), "burgers_3": of([[9, 7, 1], [3, 3, 3]], np.nan)}
    )
    lines = {label: list(line.get_ydata()) for label, line in lines_of(fig.axes[0]).items()}
    assert lines["2 clients"] == lines["3 clients"] == [7, 3]
    assert lines["centralised, functions of 2 clients"] == [2, 2] and len(fig.legends[0].get_texts()) == 3


def test_hollow_marks_stand_at_their_n(figs, results):
    ax = figs["divergence"].axes[0]
    hollow = [line for line in ax.get_lines() if line.get_mfc() == "none" and len(line.get_xdata())]
    assert len(hollow) == 4 and all(list(line.get_xdata()) == [10] for line in hollow) and ax.get_xlim()[1] < 11
    np.testing.assert_allclose([line.get_ydata()[0] for line in hollow], results.apart.median("seed")[0])


def test_local_steps_are_drawn_against_n_and_against_E(figs, results):
    left, right = figs["local"].axes
    values = results.local[LINE, 8].median("seed")
    for E in (1, 2, 4):
        np.testing.assert_allclose(lines_of(left)[f"E = {E}"].get_ydata(), values.sel(E=E))
    for n in (5, 6):
        np.testing.assert_allclose(lines_of(right)[f"n = {n}"].get_ydata(), values.sel(level=n))
    assert left.get_title() == "antiderivative (Fig. 15A), T = 8"


def test_the_answer_says_who_is_off_by_how_much(from_files):
    left, middle, right = from_files["answer"].axes
    x, c = problem.learn(LINE).points[:, 0], np.array([figures.MIXED])
    np.testing.assert_allclose(left.get_lines()[0].get_ydata(), spaces.chebyshev_series(c, x)[0])
    truth = solutions.antiderivative(c, x)[0]
    labels = lines_of(right)
    np.testing.assert_allclose(labels["truth"].get_ydata(), truth)
    for label, line in labels.items():
        if label != "truth":
            off = 100 * np.linalg.norm(line.get_ydata() - truth) / np.linalg.norm(truth)
            assert label.split(": ")[1] == f"{figures.in_percent(off)}"
    squares = [line.get_xdata().tolist() for line in middle.get_lines() if line.get_marker() == "s"]
    assert squares == [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 8, 9]]
    assert left.get_lines()[0].get_color() not in CLIENTS


def test_fields_are_those_of_the_solvers_on_a_symmetric_scale(figs):
    shown = {ax.get_title(): ax.images[0] for ax in figs["solutions"].axes if ax.images}
    v = spaces.chebyshev_series(C, figures.X)
    reacted = solutions.diffusion_reaction(lambda z: spaces.chebyshev_series(C, z), figures.X)[0]
    clean = spaces.fourier_series(WAVES, figures.X, (0, np.pi / 2))[:, :-1]
    for title, u in {"diffusion-reaction": reacted, "Burgers": solutions.burgers(v[:, :-1], 0.2)[0],
                     "Burgers, Fourier input": solutions.burgers(clean, 0.2)[0]}.items():  # fmt: skip
        np.testing.assert_array_equal(shown[title].get_array(), u.T)
        low, high = shown[title].get_clim()
        assert low == -high == -np.abs(u).max()


def test_examples_show_all_functions(figs, results):
    one = results.examples[LINE, 6]
    _, middle, right = figs[f"{LINE} 6"].axes
    for model in one.model.values:
        label = f"{model}: {figures.in_percent(one.error.sel(model=model)[0].item())}"
        np.testing.assert_array_equal(lines_of(middle)[label].get_ydata(), one.u.sel(model=model))
    clouds = [line for line in right.get_lines() if line.get_marker() == "o"]
    np.testing.assert_array_equal([line.get_xdata() for line in clouds], one.error[:2])
    maps = [ax for ax in figs["burgers_2 10"].axes if ax.images]
    assert [ax.get_title().split(":")[0] for ax in maps] == ["u(x, t)", "federated", "client 1 alone", "client 2 alone"]


def test_tables_say_what_is_there(results):
    rows = figures.level_rows(results)
    assert len(rows) == 4 + 4 + 3 + 4 and all(len(row) == 11 for row in rows)
    row = next(row for row in rows if row[0] == "antiderivative, federated")
    assert row[1] == "" and row[5] == figures.number(results.last[LINE].sel(kind="federated", level=5).values)
    (line,) = [row for row in figures.example_rows(results.examples) if row[0] == "antiderivative, n = 6"]
    share = (results.examples[LINE, 6].error[2] < results.examples[LINE, 6].error[:2]).all("model").mean().item()
    assert line[-2:] == [f"{share:.0%}", "5"] and len(line) == len(figures.EXAMPLE_HEADER)
    assert len(figures.local_rows(results.local, [5, 6])) == 3
    table = figures.as_table(xarray.DataArray([[1.0, np.nan]], {"kind": ["federated"], "level": [2, 5]}))
    assert table == {"kind": ["federated"], "level": [2, 5], "values": [[1.0, None]]}
