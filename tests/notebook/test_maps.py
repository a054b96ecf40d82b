"""The map of a notebook says what its run says."""

from fedlib.notebook.maps import Panel, rows


def test_verdicts_are_grouped_by_word():
    panel = Panel("Fig. 1", "here", "so", ("fedsciml.q8.sooner.C1", "fedsciml.q8.sooner.C2"))
    claims = {"fedsciml.q8.sooner.C1": {"holds": True, "why": ""}, "fedsciml.q8.sooner.C2": {"holds": None, "why": ""}}
    (row,) = rows([panel], claims)
    assert row == ["Fig. 1", "here", "so", "holds: q8.sooner.C1; not run: q8.sooner.C2"]
    assert rows([Panel("A", "b", "c")], {})[0][-1] == "shown"


def test_a_claim_with_variants_that_no_run_has_was_not_run():
    (row,) = rows([Panel("A", "b", "c", ("fedstnn.ways.51.mean/as coded",))], {})
    assert row[-1] == "not run: ways.51.mean/as coded"
