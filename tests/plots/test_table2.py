"""Table 2: what is printed, what we measure, and what stays blank."""

import numpy as np

from fedlib.plots import table2
from fedlib.runs.verdicts import paper_numbers

FED, CENTRAL = ("federated", 2), ("centralised", 300)


def test_printed_times_are_those_of_the_paper_and_blank_cells_are_blank():
    printed = table2.printed_times([FED, ("federated", 4), ("summed", 2), CENTRAL, ("many", 7000)])
    np.testing.assert_array_equal(printed[FED], [[18, 28, np.nan, np.nan], [3.4, 3.5, np.nan, np.nan]])
    np.testing.assert_array_equal(printed[CENTRAL][0], [2.9, 3.8, 5.3, 5.6])
    np.testing.assert_array_equal(printed["many", 7000], printed[CENTRAL])
    assert np.isnan(printed["federated", 4]).all() and np.isnan(printed["summed", 2]).all()
    every = {id for m in [("federated", n) for n in (2, 6, 10)] + [CENTRAL] for row in table2.ids(*m) for id in row}
    of_table = {id for id, number in paper_numbers().items() if "fedsciml.table2" in id and number.kind != "ratio"}
    assert of_table <= every


def test_what_never_settles_and_what_is_not_printed_is_left_out():
    times = {
        FED: np.array([[1.0, 2, 3, np.inf], [3, np.inf, np.inf, np.inf]]),
        ("federated", 4): np.full((2, 4), np.inf),
    }
    printed = {FED: 2 * times[FED], ("federated", 4): np.full((2, 4), np.nan)}
    paper, ours, never = table2.settling_times(times, printed).axes[0].get_lines()
    assert [line.get_label() for line in (paper, ours, never)] == ["n = 2, paper", "n = 2", "n = 4"]
    assert paper.get_ydata().tolist()[:3] == [2, 4, 6] and ours.get_ydata().tolist()[:3] == [1, 2, 3]
    assert np.isnan(ours.get_ydata()[3]) and np.isnan(never.get_ydata()).all()
    header, rows = table2.settling_table(times, printed)
    assert header[:2] == ["within", "paper, 10 %"] and header[-1] == "ours, 0.5 %"
    assert rows[0] == ["C1, n = 2", "2", "4", "6", "-", "1", "2", "3", "-"] and rows[3] == ["C2, n = 4", *"--------"]


def test_a_committed_result_as_a_table():
    c = {"id": "fedsciml.table2.n2.C1.10", "ours": 2.5, "sd": 0.0, "seeds": 1}
    result = {
        "profile": "paper", "label": "paper profile", "comparisons": [c],
        "metrics": {
            "coefficients": {"federated 2": [[1.02, 0.005]], "centralised 300": [[1.0, 0.0102]]},
            "error_percent": {"federated 2": {"p": [12.34]}, "centralised 300": {"p": [1.0]}},
        },
    }  # fmt: skip
    header, rows = table2.paper_table(result)
    assert header[1:4] == ["C1, printed", "C1, ours", "C1, ends at"]
    of_C2 = ["3.4, 3.5, -, -", "-, -, -, -", "-50 %"]
    assert rows[0] == ["n = 2", "18, 28, -, -", "2.5, -, -, -", "+2 %", *of_C2, "12 %"]
    assert rows[1][:3] == ["centralised, 300", "", ""] and rows[1][6] == "+2 %"


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
    models = [FED, ("federated", 4), CENTRAL, ("many", 7000), ("summed", 2)]
    times = {m: 100.0 * i + np.arange(16).reshape(2, 2, 4) for i, m in enumerate(models)}  # [seeds, 2, tolerances]
    found = list(table2.measured(times))
    assert len({id for id, _ in found}) == 24 and [id.split(".")[3] for id, _ in found] == ["C1"] * 12 + ["C2"] * 12
    assert dict(found)["fedsciml.table2.n4.C2.5"].tolist() == [105, 113]
    assert dict(found)["fedsciml.table2.central.C1.0.5"].tolist() == [303, 311]
    without = {m: t for m, t in times.items() if m[0] != "many"}
    assert dict(table2.measured(without))["fedsciml.table2.central.C1.10"].tolist() == [200, 208]
