"""What the figures of notebook 06 compute: printed times, bounds, and what has not come."""

import numpy as np
import pytest

from fedlib.notebook.verdicts import paper_numbers
from fedlib.papers.fedsciml.flow import claims, figures, study

from .results import R, made


def test_printed_times_are_those_of_the_paper():
    ids = {label: claims.printed(label) for label in [*made().C.model.values, "n = 4", "centralised, 600"]}
    assert {label for label, numbers in ids.items() if numbers} == {*claims.ROWS}
    central = [paper_numbers()[ids["centralised, 7000"]["C2", t]].value for t in study.TOLERANCES]
    assert central == [1, 2.3, 2.4, 2.4]
    every = {id for numbers in ids.values() for id in numbers.values()}
    assert every == {id for id in paper_numbers() if id.startswith("fedsciml.table2.")}


def test_what_few_rounds_cannot_tell_from_never_has_a_bound():
    late = dict(C1=(1000, 50, 40, 30, 25, 50))
    whole, part = claims.measured(made(**late)), claims.measured(made(**late, whole=1000))
    row = whole["fedsciml.table2.n2.C1.1"]
    assert np.isinf(row["values"]).all() and row["bound"] is None
    assert np.isnan(part["fedsciml.table2.n2.C1.1"]["values"]).all()
    assert {id for id, row in part.items() if row["bound"] == R / 1000} == {id for id in whole if ".n2.C1." in id}
    assert whole["fedsciml.table2.n6.C1.10"] == {"values": pytest.approx([0.045, 0.045]), "bound": None}


def test_table_2_shows_every_seed_and_the_printed_time_where_all_have_come():
    fig = figures.passages(made(C1=(1000, 50, 40, 30, 25, 50)))
    late, six = ({line.get_label(): line.get_xydata() for line in ax.lines} for ax in fig.axes[:2])
    np.testing.assert_allclose(six["printed"], [(0.5, 25.9), (1, 23.6), (5, 10.2), (10, 6.8)])
    assert len(six["ours"]) == 4 and six["ours"][-1] == pytest.approx((10, 0.045)) and "ours" not in late
