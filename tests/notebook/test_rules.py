"""Parameters that cannot mean anything are refused before any work, with what was expected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlib.notebook.rules import USUAL, check, check_tables, number, one_of, positive, share, whole


@pytest.mark.parametrize(
    ("value", "rule", "message"),
    [
        (-1, whole(), "x = -1: expected a whole number >= 1"),
        (True, whole(), "x = True: expected a whole number >= 1"),
        (2.0, whole(), "x = 2.0: expected a whole number"),
        ([10, 100000], whole(1, 2000), r"x = \[10, 100000\]: 100000 .* between 1 and 2000"),
        ([], whole(), "x is empty: expected at least one entry, each a whole number"),
        ([0.5, 1.5], share(), "1.5 .* a share > 0 and <= 1"),
        (0.0, share(), "x = 0.0: expected a share > 0 and <= 1"),
        (0, positive(), "x = 0: expected a number > 0"),
        (float("inf"), positive(), "x = inf: expected a number > 0"),
        ("adma", one_of("adam", "sgd"), "x = 'adma': expected one of 'adam', 'sgd'"),
        ({"a": 1, "b": [0]}, whole(), r"x\['b'\] = \[0\]"),
        (-0.1, number(0, 4), "x = -0.1: expected a number between 0 and 4"),
    ],
)
def test_a_broken_rule_is_named(value, rule, message):
    with pytest.raises(ValueError, match=message):
        check({"x": value}, x=rule)


@given(st.lists(st.integers(1, 9), min_size=1), st.floats(0, 1, exclude_min=True))
def test_what_keeps_the_rules_passes(n, a):
    check({"n": n, "a": a, "kind": "sgd"}, n=whole(1, 9), a=share(), kind=one_of("adam", "sgd"))


def test_a_rule_for_no_parameter_is_a_mistake_of_the_notebook():
    with pytest.raises(KeyError, match="'clinets'"):
        check({"clients": 3}, clinets=whole())


def test_usual_names_have_usual_rules_unless_a_notebook_has_its_own():
    with pytest.raises(ValueError, match="device = 'gpu': expected one of 'auto', 'cpu', 'cuda'"):
        check({"device": "gpu"})
    with pytest.raises(ValueError, match="clients = 3: expected a whole number >= 4"):
        check({"clients": 3}, clients=whole(4))
    assert {"seeds", "rounds", "lr"} <= set(USUAL)


def test_a_table_has_an_entry_for_every_problem():
    ok = {"levels": {"beam": [1], "line": [2]}}
    check_tables(ok, ["beam"], ("beam", "line"), "levels")
    with pytest.raises(ValueError, match="has no 'beam', which is in problems; add it"):
        check_tables({"levels": {"line": [2]}}, ["beam"], ("beam", "line"), "levels")
    with pytest.raises(ValueError, match="'lime' is none of beam, line"):
        check_tables({"levels": {"beam": [1], "lime": [2]}}, ["beam"], ("beam", "line"), "levels")
