"""The map of notebook 04: its claims exist, and none of Section 4 is missing."""

from fedlib.notebook import maps
from fedlib.notebook.claims import find
from fedlib.notebook.run import committed
from fedlib.plots.function_panels import PANELS
from fedlib.problems.function_claims import judged


def test_every_claim_of_the_notebook_is_in_the_map():
    inside = {id for panel in PANELS for id in panel.claims}
    assert all(find(id) for id in inside)
    said = judged(committed("04_function_approximation")["metrics"])
    assert inside == {f"fedsciml.{id}" for id in said}


def test_the_map_has_a_verdict_for_each_panel():
    table = maps.rows(PANELS, [])
    assert len(table) == len(PANELS)
    assert all("not run" in verdicts for panel, (*_, verdicts) in zip(PANELS, table, strict=True) if panel.claims)
