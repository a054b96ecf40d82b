"""Verdicts: each turns when the numbers that it is about turn, and no other numbers decide it."""

import numpy as np
import pytest

from fedlib.notebook.claims import known_claims
from fedlib.problems import operator_claims as claims
from fedlib.problems.operator_results import Found

NOTHING = Found({}, {}, {}, {}, {})


def study(levels, federated, one, two, centre=None):
    """Errors of a federation and of two clients alone, [S, levels] each."""
    alone = np.stack([np.array(one, float), np.array(two, float)], -1)
    return {"levels": levels, "federated": np.array(federated, float), "isolated": alone, "centralised": centre or {}}


E = study([2, 5, 6, 10], [[40, 16, 4, 2], [40, 20, 6, 2]], [[50, 30, 30, 5]] * 2, [[90, 80, 70, 5]] * 2, {10: [2, 2]})


def holds(said):
    return {id: claims.plain(holds) for id, (holds, _) in said.items()}


def test_a_federation_that_is_as_the_paper_says():
    said = holds(claims.clients("burgers_2", E))
    assert [said[f"q10.{what}.burgers_2"] for what in ("below", "falls", "central")] == [True] * 3
    assert said["q12.below.burgers_2"] and not said["target.q12.ten.burgers_2"]


@pytest.mark.parametrize(
    ("what", "changed"),
    [
        ("q10.below", {"federated": np.array([[40, 31, 4, 2.0]])}),
        ("q10.falls", {"federated": np.array([[4, 16, 20, 40.0]])}),
        ("q10.central", {"centralised": {10: [1.0]}}),
        ("q12.below", {"isolated": E["isolated"][..., ::-1]}),
    ],
)
def test_each_claim_on_clients_turns_with_its_numbers(what, changed):
    before, after = (holds(claims.clients("burgers_2", e)) for e in (E, E | changed))
    assert before[f"{what}.burgers_2"] and not after[f"{what}.burgers_2"]


def test_what_is_not_there_is_not_judged():
    one = {"levels": [5], "federated": np.ones((1, 1)), "isolated": np.full((1, 1, 2), 2.0), "centralised": {}}
    assert set(claims.clients("antiderivative", one)) == {"q10.below.antiderivative", "target.q12.below.antiderivative"}
    assert claims.jump(one) == {} and claims.judge(NOTHING) == {} and claims.judge(NOTHING, {"a": [[1, 2]]}) == {}


def test_the_jump_is_one_of_medians():
    said = holds(claims.jump(E))
    assert said["q10.jump"] and said["target.q10.largest"] and said["target.q10.level"]
    seeds = study([5, 6, 8], [[10, 4, 3], [10, 4, 3], [10, 90, 3]], [[1] * 3] * 3, [[1] * 3] * 3)
    assert holds(claims.jump(seeds))["q10.jump"], "one lost seed does not undo a fall of the others"
    slow = study([5, 6, 8], [[10, 6, 1]], [[1] * 3], [[1] * 3])
    assert holds(claims.jump(slow)) == {"q10.jump": False, "target.q10.largest": False}


def test_a_trend_is_one_of_all_matrices():
    rising = {"branch, matrix 1": [[4, 3, 2, 1]], "trunk, matrix 1": [[8, 4, 2, 1]]}
    mixed = rising | {"trunk, matrix 1": [[1, 2, 1, 1]]}
    falling = rising | {"trunk, matrix 1": [[1, 2, 3, 4]]}
    for divergence, trendless in ((rising, False), (mixed, True), (falling, False)):
        found = NOTHING._replace(divergence={"antiderivative": divergence}, union={"antiderivative": [1, 5, 6, 10]})
        assert holds(claims.weights(found, None)) == {"q11.trend": trendless, "target.q11.none": False}
        assert holds(claims.weights(found, {"a": [[100, 1]]}))["q11.less"]
        assert not holds(claims.weights(found, {"a": [[1.1, 1]]}))["q11.less"]


def test_two_and_three_clients_of_burgers():
    two = study([2, 8, 10], [[50, 18, 16], [52, 18, 16]], [[60, 40, 20]] * 2, [[99, 90, 20]] * 2)
    alone = np.array([[[55, 99, 97], [40, 66, 70], [30, 30, 30]]] * 2, float)
    three = two | {"isolated": alone, "federated": np.array([[40, 18.1, 16], [40, 17.9, 16]])}
    said = holds(claims.burgers({"burgers_2": two, "burgers_3": three}))
    assert said["q13.sharp"] and said["q12.both.burgers_3"] and said["q12.similar.burgers_3"] and said["q14.better"]
    assert not said["target.q14.strict"], "equal at n = 8"
    worse = three | {"federated": three["federated"] + [[0, 5, 0]]}
    assert not holds(claims.burgers({"burgers_2": two, "burgers_3": worse}))["q14.better"]
    apart = three | {"isolated": alone + np.array([0, 0, 45])}
    assert not holds(claims.burgers({"burgers_3": apart}))["q12.similar.burgers_3"]


def test_local_steps_against_the_spread_over_seeds():
    wide = np.array([[1.0, 10], [3, 20]])  # [S, levels]
    same = {"antiderivative": {"levels": [2, 5], "steps": 9, "percent": {1: wide, 1000: wide * 1.1}}}
    assert holds(claims.local(same)) == {"q15.antiderivative": True, "target.q15.ratio.antiderivative": True}
    apart = {"antiderivative": same["antiderivative"] | {"percent": {1: wide, 1000: wide * 3}}}
    assert holds(claims.local(apart)) == {"q15.antiderivative": False, "target.q15.ratio.antiderivative": False}
    one = {"diffusion_reaction": {"levels": [5], "steps": 9, "percent": {1: wide[:1, :1], 1000: 2 * wide[:1, :1]}}}
    said = {"q15.diffusion_reaction": None, "target.q15.ratio.diffusion_reaction": False}
    assert holds(claims.local(one)) == said, "few steps do not decide the paper's question"
    full = {"diffusion_reaction": one["diffusion_reaction"] | {"steps": 50_000}}
    assert holds(claims.local(full))["q15.diffusion_reaction"] is False


def test_examples_are_those_of_the_papers_levels():
    good, bad = ({"example": {"federated": f, "isolated 1": 2.0, "isolated 2": 3.0}} for f in (1.0, 2.5))
    found = NOTHING._replace(examples={"antiderivative": {2: bad, 6: good}, "burgers_3": {2: bad}})
    assert holds(claims.examples(found)) == {"q10.example.antiderivative": True}
    found = NOTHING._replace(examples={"diffusion_reaction": {10: bad}, "burgers_2": {5: good, 10: bad}})
    assert holds(claims.examples(found)) == {
        "q10.example.diffusion_reaction": False,
        "q12.example.diffusion_reaction": True,
        "target.q10.example.burgers_2": False,
    }


def test_every_verdict_is_one_of_a_known_claim():
    e = {name: E for name in ("antiderivative", "diffusion_reaction", "burgers_2")}
    found = NOTHING._replace(errors=e | {"burgers_3": E | {"isolated": np.ones((2, 4, 3))}})
    assert {f"fedsciml.{id}" for id in claims.judge(found)} <= set(known_claims())
