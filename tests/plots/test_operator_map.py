"""The map of notebook 07 has every claim of Section 6 once, and no target."""

from fedlib.notebook.claims import find, known_claims
from fedlib.plots.operator_map import PANELS


def test_the_map_has_every_claim_of_section_6_once():
    ids = [id for panel in PANELS for id in panel.claims]
    questions = tuple(f"fedsciml.q{q}." for q in range(10, 16))
    assert sorted(ids) == sorted(id for id in known_claims() if id.startswith(questions))
    assert not any(find(id).target for id in ids)
