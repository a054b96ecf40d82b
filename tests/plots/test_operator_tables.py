"""What committed results say, as tables: levels that an operator lacks stay blank, one seed has no spread."""

import numpy as np

from fedlib.plots import operator_tables as tables


def results():
    alone = np.stack([np.repeat([[20.0], [22.0]], 3, 1), np.full((2, 3), 40.0)], -1)  # [S, levels, K]
    alone[:, -1] = [[5, 8], [5, 10]]
    many = {
        "levels": {"burgers_2": [2, 6, 10]}, "error_percent": {"burgers_2": {
            "isolated": alone.tolist(), "federated": [[12, 9, 4], [14, 9, 4]]}},
        "centralised_percent": {"burgers_2": [[1, 3.0], [1, 5.0]]},
        "weight_divergence": {"burgers_2": {"trunk, matrix 1": [[2, 1, 0.5], [4, 1, 1]]}},
    }  # fmt: skip
    one = {
        "levels": {"diffusion_reaction": [5, 10]}, "error_percent": {"diffusion_reaction": {
            "isolated": [[[50, 80], [7, 7.5]]], "federated": [[11, 4.5]]}},
        "centralised_percent": {"diffusion_reaction": [[4.6]]},
        "weight_divergence": {"diffusion_reaction": {"branch, matrix 1": [[1, 4]]}},
    }  # fmt: skip
    return [{"metrics": many}, {"metrics": one}]


def test_errors_by_level():
    header, rows = tables.level_table(results())
    assert header == ["e (%)", "n = 2", "n = 5", "n = 6", "n = 10"]
    known = {row[0]: row[1:] for row in rows}
    assert known["Burgers, 2 clients, client 1 alone"] == ["21.0 ± 1.4", "", "21.0 ± 1.4", "5.00 ± 0.00"]
    assert known["Burgers, 2 clients, federated"] == ["13.0 ± 1.4", "", "9.00 ± 0.00", "4.00 ± 0.00"]
    assert known["Burgers, 2 clients, centralised"] == ["", "", "", "4.00 ± 1.41"]
    assert known["diffusion-reaction, client 2 alone"] == ["", "80.0", "", "7.50"]


def test_the_difference_at_the_end_comes_with_two_standard_errors():
    _, rows = tables.end_table(results())
    assert rows == [["Burgers, 2 clients", "4.00", "2.00"], ["diffusion-reaction", "0.50", "one seed"]]


def test_divergence_is_a_factor_per_matrix():
    header, rows = tables.divergence_table(results())
    assert header[1:] == ["branch, matrix 1", "trunk, matrix 1"]
    assert rows == [["Burgers, 2 clients", "", "4.00"], ["diffusion-reaction", "0.25", ""]]


def test_local_updates_by_level():
    header, rows = tables.local_updates_table([2, 10], {"1": [[30, 1], [32, 2]], "50": [[9, 3], [9, 3]]})
    assert header[1:] == ["n = 2", "n = 10"]
    assert rows == [["E = 1", "31.00 ± 1.41", "1.50 ± 0.71"], ["E = 50", "9.00 ± 0.00", "3.00 ± 0.00"]]


def test_a_run_as_a_table():
    e = {"levels": [2, 10], "isolated": np.array([[[5.0, 7], [1, 3]], [[7, 9], [1, 5]]]),
         "federated": np.array([[3.0, 1], [5, 1]]), "centralised": {10: np.array([0.5, 1.5])}}  # fmt: skip
    header, rows = tables.final_table("burgers_2", e)
    assert header == ["Burgers, 2 clients: e (%), mean over 2 seeds", "n = 2", "n = 10"]
    assert rows[1] == ["client 2 alone (inverse)", 8, 4] and rows[2] == ["federated", 4, 1]
    assert rows[3] == ["centralised, union", "-", 1]


def test_examples_in_a_table_and_in_words():
    one = {"functions": 200, "example": {"federated": 2.0, "isolated 1": 1.5, "isolated 2": 90.0, "centralised": 0.1},
           "below": {"isolated 1": 0.4, "isolated 2": 0.99}, "best": 0.39}  # fmt: skip
    header, rows = tables.example_table({"burgers_2": {5: one}})
    assert rows == [["Burgers, 2 clients, n = 5", "2.0", "1.5", "90", "40%", "99%", "39%", "200"]]
    assert len(header) == len(rows[0])
    (said,) = tables.example_words({"burgers_2": {5: one}})
    assert "the best here is client 1, then federated, then client 2; of 200 functions" in said and "39%" in said
