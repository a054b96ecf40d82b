"""Every figure of notebook 06 is finite, within its limits and readable, and says its numbers."""

import numpy as np
import pytest
import xarray

from fedlib.notebook import style
from fedlib.notebook.verdicts import paper_numbers
from fedlib.papers.fedsciml.flow import figures, study

from .results import R, made

MANY = 7000


def columns():
    panels = {f"{n} pieces": [f"n = {n}"] for n in (2, 6, 10)}
    return panels | {"centralised": ["centralised, 700", "centralised, 7000"]}


def with_readings(results):
    """Results in which those readings that are not there are the reading of n = 2."""
    absent = [name for name in study.READINGS if name not in results.C.model.values]
    again = [results.C.sel(model="n = 2").assign_coords(model=name) for name in absent]
    return results._replace(C=xarray.concat([results.C, *again], "model"))


def test_a_panel_per_number_of_pieces_with_bands_and_shades_of_one_colour():
    fig = figures.training_view(made().C, columns())
    above = fig.axes[:4]
    assert [ax.get_title() for ax in above] == [*columns()]
    assert [len(ax.collections) for ax in above] == [1, 1, 1, 2], "a band of one st.dev. each"
    federated = [ax.lines[0].get_color() for ax in above[:3]]
    assert federated == figures.blues(3) and len({*federated}) == 3
    assert above[3].lines[0].get_color() == style.COLORS["centralised"]
    mean = made().C.sel(model="n = 6", coefficient="C1").mean("seed")
    np.testing.assert_allclose(above[1].lines[0].get_ydata(), mean, rtol=1e-6)


def test_a_model_that_is_not_trained_is_drawn_as_absent():
    fig = figures.training_view(made().C, {"4 pieces": ["n = 4"], "2 pieces": ["n = 2"]})
    assert [line.get_label() for line in fig.axes[0].lines] == ["truth"]


def test_printed_times_are_those_of_the_paper():
    ids = {label: figures.ids(label, MANY) for label in made().C.model.values}
    assert not ids["centralised, 700"] and not ids["aliased, n = 2"] and not figures.ids("n = 4", MANY)
    printed = [[paper_numbers()[ids["n = 2"][name, t]].value for t in study.TOLERANCES] for name in ("C1", "C2")]
    assert printed == [[18, 28, np.inf, np.inf], [3.4, 3.5, np.inf, np.inf]]
    central = [paper_numbers()[ids["centralised, 7000"]["C2", t]].value for t in study.TOLERANCES]
    assert central == [1, 2.3, 2.4, 2.4]
    every = {id for numbers in ids.values() for id in numbers.values()}
    assert every == {id for id in paper_numbers() if id.startswith("fedsciml.table2.")}


def test_what_few_rounds_cannot_tell_from_never_has_a_bound():
    late = dict(C1=(1000, 50, 40, 30, 25, 50))
    whole, part = figures.measured(made(**late), MANY), figures.measured(made(**late, whole=1000), MANY)
    assert len(whole) == len(part) == 32
    assert (
        np.isinf(whole["fedsciml.table2.n2.C1.1"]["values"]).all() and whole["fedsciml.table2.n2.C1.1"]["bound"] is None
    )
    assert np.isnan(part["fedsciml.table2.n2.C1.1"]["values"]).all()
    assert {id for id, row in part.items() if row["bound"] == R / 1000} == {id for id in whole if ".n2.C1." in id}
    assert whole["fedsciml.table2.n6.C1.10"] == {"values": pytest.approx([0.045, 0.045]), "bound": None}


def test_table_2_shows_every_seed_the_printed_time_and_what_never_comes():
    fig = figures.passages(made(C1=(1000, 50, 40, 30, 25, 50)), MANY)
    assert [ax.get_title() for ax in fig.axes[:4]] == ["2 pieces", "6 pieces", "10 pieces", "centralised, 7000"]
    printed = fig.axes[1].lines[0].get_ydata()
    never = 1.6 * R / 1000
    np.testing.assert_allclose(printed, np.minimum([6.8, 10.2, 23.6, 25.9], never))
    seeds = [line.get_ydata() for line in fig.axes[0].lines if line.get_label() == "_seeds"]
    np.testing.assert_allclose(seeds, never)
    lines = figures.passages(made(C1=(1000,) * 6, whole=999), MANY).axes[0].lines
    triangles = [line for line in lines if line.get_marker() == "^"]
    assert {y for line in triangles for y in line.get_ydata()} == {R / 1000}


def test_error_maps_are_named_with_their_error():
    results = made()
    fig = figures.error_maps(results)
    titles = [ax.get_title() for ax in fig.axes if ax.get_title()]
    assert titles[0].startswith("true p") and titles[1] == "2 pieces: off by 1.0 %" and len(titles) == 6
    gap = np.abs(results.fields.sel(model="n = 6", seed=0)[:, 2].values - results.truth[:, 2])
    top = np.abs(results.truth[:, 2]).max()
    np.testing.assert_allclose(fig.axes[2].images[0].get_array(), gap.clip(top / 1000, top).reshape(10, 20))


def test_the_table_of_ends_has_a_row_for_each_model():
    header, rows = figures.ends_table(made())
    assert {len(row) for row in rows} == {len(header)} and rows[0][:3] == ["n = 2", "2", "100"]
    assert rows[0][3].startswith("5.") and rows[3][0] == "centralised, 700"


def test_each_reading_stands_beside_the_printed_time():
    results = with_readings(made(C1=(1000, 50, 40, 30, 25, 50), whole=1000))
    left, right = figures.readings_figure(results, 2, [*study.READINGS], MANY).axes
    assert [left.lines[0].get_ydata()[0], right.lines[0].get_ydata()[0]] == [18, 3.4]
    triangles = [line.get_ydata() for line in left.lines if line.get_marker() == "^" and len(line.get_xdata())]
    assert len(triangles) == 5 and {y for line in triangles for y in line} == {R / 1000}
    dots = [line.get_ydata() for line in right.lines if line.get_label() == "_seeds"]
    np.testing.assert_allclose(dots, 5 * [[0.018, 0.018]])
