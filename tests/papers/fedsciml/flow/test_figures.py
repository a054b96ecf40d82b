"""What the figures of notebook 06 compute: printed times, bounds, what never comes, and where a field is off."""

import numpy as np
import pytest

from fedlib.notebook.verdicts import paper_numbers
from fedlib.papers.fedsciml.flow import figures, study

from .results import R, made

MANY = 7000


def test_printed_times_are_those_of_the_paper():
    ids = {label: figures.ids(label, MANY) for label in made().C.model.values}
    assert not ids["centralised, 700"] and not ids["aliased, n = 2"] and not figures.ids("n = 4", MANY)
    central = [paper_numbers()[ids["centralised, 7000"]["C2", t]].value for t in study.TOLERANCES]
    assert central == [1, 2.3, 2.4, 2.4]
    every = {id for numbers in ids.values() for id in numbers.values()}
    assert every == {id for id in paper_numbers() if id.startswith("fedsciml.table2.")}


def test_what_few_rounds_cannot_tell_from_never_has_a_bound():
    late = dict(C1=(1000, 50, 40, 30, 25, 50))
    whole, part = figures.measured(made(**late), MANY), figures.measured(made(**late, whole=1000), MANY)
    row = whole["fedsciml.table2.n2.C1.1"]
    assert np.isinf(row["values"]).all() and row["bound"] is None
    assert np.isnan(part["fedsciml.table2.n2.C1.1"]["values"]).all()
    assert {id for id, row in part.items() if row["bound"] == R / 1000} == {id for id in whole if ".n2.C1." in id}
    assert whole["fedsciml.table2.n6.C1.10"] == {"values": pytest.approx([0.045, 0.045]), "bound": None}


def test_table_2_shows_every_seed_the_printed_time_and_what_never_comes():
    fig = figures.passages(made(C1=(1000, 50, 40, 30, 25, 50)), MANY)
    printed = fig.axes[1].lines[0].get_ydata()
    never = 1.6 * R / 1000
    np.testing.assert_allclose(printed, np.minimum([6.8, 10.2, 23.6, 25.9], never))
    seeds = [line.get_ydata() for line in fig.axes[0].lines if line.get_label() == "_seeds"]
    np.testing.assert_allclose(seeds, never)
    lines = figures.passages(made(C1=(1000,) * 6, whole=999), MANY).axes[0].lines
    triangles = [line for line in lines if line.get_marker() == "^"]
    assert {y for line in triangles for y in line.get_ydata()} == {R / 1000}
