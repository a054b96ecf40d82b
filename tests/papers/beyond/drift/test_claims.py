"""Verdicts of the room, on numbers that decide them."""

import xarray

from fedlib.notebook.claims import find
from fedlib.papers.beyond.drift import claims

from .results import NOTHING, by_rule


def test_every_claim_is_known_and_says_nothing_of_nothing():
    assert all(find(name).target for name in claims.CLAIMS), "ours, no paper's"
    assert [claim(NOTHING) for claim in claims.CLAIMS.values()] == [None] * 3


def test_repaired_is_a_fifth_of_fedavg_paired_by_seed():
    errors = {"line_20": by_rule(FedAvg=[10, 20], repair=[1, 2])}
    verdict = claims.repaired(NOTHING._replace(errors=errors))
    assert verdict.holds and verdict.why == "0.1 [0.1, 0.1] x"
    errors = {"line_20": by_rule(FedAvg=[10, 20], repair=[4, 3])}
    assert not claims.repaired(NOTHING._replace(errors=errors)).holds


def test_stale_looks_at_twenty_local_steps_and_nowhere_else():
    five, twenty = by_rule(FedAvg=[10, 10], repair=[1, 1]), by_rule(FedAvg=[10, 10], repair=[9, 9])
    steps = xarray.concat([five.expand_dims(E=[5]), twenty.expand_dims(E=[20])], "E")
    assert claims.stale(NOTHING._replace(local_steps={"line_20": steps})).holds
    assert claims.stale(NOTHING._replace(local_steps={"line_20": steps.sel(E=[5])})) is None
    flipped = steps.assign_coords(E=[20, 5])
    assert not claims.stale(NOTHING._replace(local_steps={"line_20": flipped})).holds


def test_everywhere_counts_the_problems_on_which_the_repair_is_better():
    errors = {"a": by_rule(FedAvg=[2, 2], repair=[1, 1]), "b": by_rule(FedAvg=[1, 1], repair=[2, 1])}
    verdict = claims.everywhere(NOTHING._replace(errors=errors))
    assert not verdict.holds and verdict.why == "1 of 2"
    assert claims.everywhere(NOTHING._replace(errors={"a": errors["a"]})).holds
    assert claims.everywhere(NOTHING._replace(errors={"c": by_rule(FedAvg=[1, 1])})) is None
