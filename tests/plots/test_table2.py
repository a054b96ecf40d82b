"""Table 2: what is printed, what we measure in both definitions, and what stays blank."""

import numpy as np

from fedlib.notebook.verdicts import paper_numbers
from fedlib.plots import table2

FED, CENTRAL, MANY = ("federated", 2), ("centralised", 700), ("many", 7000)


def test_printed_times_are_those_of_the_paper_and_blank_cells_are_blank():
    printed = table2.printed_times([FED, ("federated", 4), ("summed", 2), CENTRAL])
    np.testing.assert_array_equal(printed[FED], [[18, 28, np.inf, np.inf], [3.4, 3.5, np.inf, np.inf]])
    np.testing.assert_array_equal(printed[CENTRAL][0], [2.9, 3.8, 5.3, 5.6])
    assert np.isnan(printed["federated", 4]).all() and np.isnan(printed["summed", 2]).all()
    every = {id for m in [("federated", n) for n in (2, 6, 10)] + [CENTRAL] for row in table2.ids(*m) for id in row}
    of_table = {id for id, number in paper_numbers().items() if "fedsciml.table2" in id and number.kind != "ratio"}
    assert of_table <= every


def test_the_printed_centralised_model_stands_beside_that_with_as_many_observations():
    printed = table2.printed_times([FED, CENTRAL, MANY])
    np.testing.assert_array_equal(printed[MANY][1], [1, 2.3, 2.4, 2.4])
    assert np.isnan(printed[CENTRAL]).all()


def cases():
    """Times in thousands: first passage, from when on it stays, printed."""
    first = {
        FED: np.array([[1.0, 2, 3, np.inf], [0.5, 0.6, np.inf, np.inf]]),
        CENTRAL: np.full((2, 4), 2.0),
        MANY: np.full((2, 4), 1.5),
    }
    stays = {m: np.where(np.arange(4) < 2, 3 * t, np.inf) for m, t in first.items()}
    return first, stays, table2.printed_times(first)


def test_never_and_not_printed_are_left_out_of_the_picture():
    first, stays, printed = cases()
    fig = table2.passages(first, printed, stays)
    C1, C2, below, _ = fig.axes
    lines = {line.get_label(): line.get_ydata() for line in C1.get_lines()}
    assert list(lines) == ["n = 2, printed", "n = 2", "centralised, 700", "centralised, printed", "centralised, 7000"]
    assert lines["n = 2"].tolist()[:3] == [1, 2, 3] and np.isnan(lines["n = 2"][3])
    assert lines["n = 2, printed"].tolist()[:2] == [18, 28]
    stayed = {line.get_label(): line.get_ydata() for line in below.get_lines()}
    assert stayed["n = 2"].tolist()[:2] == [3, 6] and np.isnan(stayed["n = 2"][2:]).all()
    assert C1.get_ylim() == below.get_ylim() and len(C2.get_lines()) == 5
    names = [t.get_text() for t in fig.legends[0].get_texts()]
    assert names == ["n = 2, printed", "centralised, printed", "n = 2", "centralised, 700", "centralised, 7000"]
    assert len(table2.passages(first, printed, None).axes) == 2


def test_the_table_has_three_times_for_each_tolerance():
    header, rows = table2.passage_table(*cases())
    assert header[1:4] == ["10 %: printed", "10 %: reaches", "10 %: stays"] and len(header) == 13
    assert rows[0] == ["C1, n = 2", "18", "1", "3", "28", "2", "6", "-", "3", "-", "-", "-", "-"]
    assert rows[3][:4] == ["C2, n = 2", "3.4", "0.5", "1.5"]
    assert rows[1][:4] == ["C1, centralised, 700", "-", "2", "6"] and rows[2][1] == "2.9"


def test_ratios_are_of_few_over_many_subdomains():
    times = {FED: np.array([[4.0, 6, np.inf, 1], [1] * 4]), ("federated", 10): np.array([[2.0, 5, 1, np.inf], [1] * 4])}
    assert table2.ratios(times) == ["2", "1.2", "-", "-"]
    assert table2.ratios({FED: times[FED]}) == ["-"] * 4
    assert table2.ratios(table2.printed_times([FED, ("federated", 10), CENTRAL]))[:2] == ["3.27", "3.37"]


def test_times_of_a_result_file_are_means_over_seeds():
    found = table2.named({"federated 2": [[[1.0, None]], [[3.0, 4.0]]]})
    np.testing.assert_array_equal(found["federated", 2], [[2.0, np.inf]])


def test_where_a_committed_result_ends():
    metrics = {
        "coefficients": {"federated 2": [[1.02, 0.005]], "centralised 300": [[1.0, 0.0102]]},
        "error_percent": {"federated 2": {"u": [2.0], "p": [12.34]}, "centralised 300": {"u": [0.1], "p": [1.0]}},
    }
    header, rows = table2.ends_table({"metrics": metrics})
    assert header == ["at the end", "C1", "C2", "velocity, e", "pressure, e"]
    assert rows[0] == ["n = 2", "+2 %", "-50 %", "2 %", "12 %"] and rows[1][2] == "+2 %"


def test_several_seeds_as_a_table():
    C = np.ones((2, 3, 2)) * (1, 0.01)
    C[:, 0] = 0
    C[1, 1, 0] = 0.5
    metrics = {
        "coefficients": {"federated 2": [[1.0, 0.012], [1.02, 0.012]]}, "recorded_every": 100,
        "C1_C2_every_tenth_record": {"federated 2": C.tolist()},
    }  # fmt: skip
    (row,) = table2.seeds_table({"metrics": metrics}, (10,))[1]
    assert row == ["n = 2", "1.6 ± 0.7", "1.0 ± 1.4", "20.0 ± 0.0"]  # thousands 1.1 and 2.1


def test_measured_are_the_federations_and_the_model_with_most_observations():
    models = [FED, ("federated", 4), CENTRAL, MANY, ("summed", 2)]
    times = {m: 100.0 * i + np.arange(16).reshape(2, 2, 4) for i, m in enumerate(models)}  # [seeds, 2, tolerances]
    found = list(table2.measured(times))
    assert len({id for id, _ in found}) == 24 and [id.split(".")[3] for id, _ in found] == ["C1"] * 12 + ["C2"] * 12
    assert dict(found)["fedsciml.table2.n4.C2.5"].tolist() == [105, 113]
    assert dict(found)["fedsciml.table2.central.C1.0.5"].tolist() == [303, 311]
    without = {m: t for m, t in times.items() if m[0] != "many"}
    assert dict(table2.measured(without))["fedsciml.table2.central.C1.10"].tolist() == [200, 208]
