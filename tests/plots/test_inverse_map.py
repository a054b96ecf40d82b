"""The map names claims that exist and says what the first result with a verdict says."""

from fedlib.plots import inverse_map
from fedlib.runs.claims import find


def test_every_claim_of_the_map_exists_and_none_is_a_target():
    ids = [id for panel in inverse_map.PANELS for id in panel.claims]
    assert len(ids) == len(set(ids)) and not any(find(id).target for id in ids)


def test_verdicts_are_grouped_by_word():
    panel = inverse_map.Panel("Fig. 1", "here", "so", ("fedsciml.q8.sooner.C1", "fedsciml.q8.sooner.C2"))
    claims = {"fedsciml.q8.sooner.C1": {"holds": True, "why": ""}, "fedsciml.q8.sooner.C2": {"holds": None, "why": ""}}
    later = {"fedsciml.q8.sooner.C1": {"holds": False, "why": ""}, "fedsciml.q8.sooner.C2": {"holds": False, "why": ""}}
    (row,) = inverse_map.rows([panel], [{"claims": claims}, {"claims": later}])
    assert row == ["Fig. 1", "here", "so", "holds: q8.sooner.C1; does not hold: q8.sooner.C2"]
    assert inverse_map.rows([inverse_map.Panel("A", "b", "c")], [])[0][-1] == "shown"
