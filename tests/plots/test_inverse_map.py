"""The map names claims that exist."""

from fedlib.notebook.claims import find
from fedlib.plots import inverse_map


def test_every_claim_of_the_map_exists_and_none_is_a_target():
    ids = [id for panel in inverse_map.PANELS for id in panel.claims]
    assert len(ids) == len(set(ids)) and not any(find(id).target for id in ids)
