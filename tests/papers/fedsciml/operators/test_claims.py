"""Claims on operators: each turns when the numbers that it is about turn, and no other numbers decide it."""

import numpy as np
import pytest
import xarray

from fedlib.notebook import relations
from fedlib.notebook.claims import known_claims
from fedlib.papers.fedsciml.operators import claims
from fedlib.papers.fedsciml.operators.study import LINE, Results

NOTHING = Results({}, None, None, {}, {}, None)


def judged(id, results):
    return relations.judged(claims.CLAIMS[f"fedsciml.{id}"], results)


def errors(levels, federated, one, two, centre=None, *more):
    """[kind, level, seed] of a federation, of clients alone and of the centralised model, [S, levels] each."""
    alone = {f"client {k + 1} alone": values for k, values in enumerate((one, two, *more))}
    kinds = alone | {"federated": federated} | ({} if centre is None else {"centralised": centre})
    shape = np.shape(federated)
    values = [np.broadcast_to(np.array(v, float), shape).T for v in kinds.values()]
    coords = {"kind": [*kinds], "level": levels, "seed": range(shape[0])}
    values = xarray.DataArray(np.array(values), coords, ("kind", "level", "seed"))
    return values.assign_coords(unknown=("level", 10 - np.array(levels)))


LEVELS = [2, 4, 5, 6, 10]
E = errors(LEVELS, [[40, 30, 16, 4, 2], [40, 30, 20, 6, 2]], [50, 40, 30, 30, 5], [90, 85, 80, 70, 5], [9, 9, 9, 9, 2])


def of(values, name=LINE):
    """Results with errors of one operator."""
    return NOTHING._replace(last={name: values})


def with_(kind, values):
    changed = E.copy()
    changed.loc[{"kind": kind}] = np.broadcast_to(np.array(values, float), (2, 5)).T
    return changed


TURNS = [
    ("q10.below.antiderivative", with_("federated", [40, 30, 31, 4, 2])),
    ("q10.falls.antiderivative", with_("federated", [4, 16, 20, 30, 40])),
    ("q10.central.antiderivative", with_("centralised", 0.9)),
    ("q10.central.antiderivative", E * 0 + 100),
    ("target.q12.below.antiderivative", with_("client 2 alone", [49, 85, 80, 70, 5])),
    ("q10.jump", with_("federated", [40, 30, 16, 10, 2])),
    ("target.q10.level", with_("federated", [40, 30, 16, 6, 5.5])),
    ("q12.below.burgers_2", with_("client 2 alone", [90, 85, 80, 29, 5])),
    ("q13.sharp", with_("client 2 alone", [90, 85, 80, 70, 60])),
]


@pytest.mark.parametrize("id, changed", TURNS)
def test_each_turns_with_its_numbers(id, changed):
    name = "burgers_2" if "q13" in id or "burgers" in id else LINE
    assert judged(id, of(E, name)).holds is True and judged(id, of(changed, name)).holds is False


def test_levels_that_are_not_trained_are_left_out():
    few = of(E.where(E.level != 4))
    assert judged("q10.below.antiderivative", few).why == "8 of 8 places"
    assert judged("q10.falls.antiderivative", few).holds is None, "four levels are no trend"
    assert judged("q10.central.antiderivative", of(E.where(E.kind != "centralised"))) is None
    assert judged("q10.jump", of(E.sel(level=[5, 10]))) is None


def test_the_jump_is_one_of_medians():
    verdict = judged("q10.jump", of(errors([5, 6, 8], [[10, 4, 3], [10, 4, 3], [10, 90, 3]], 1, 1)))
    assert verdict.holds, "one lost seed does not undo it"


def matrices(*rows, levels=(1, 3, 5, 6, 10)):
    """Divergence [seed, level, matrix] of two seeds that differ a little."""
    values = np.multiply.outer([0.95, 1.05], np.transpose(rows))
    names = ["branch 1", "trunk 1"][: len(rows)]
    coords = {"seed": [0, 1], "level": [*levels], "matrix": names, "unknown": ("level", 10 - np.array(levels))}
    return xarray.DataArray(values, coords, ("seed", "level", "matrix"))


@pytest.mark.parametrize("rows, trendless", [
    (([5, 4, 3, 2, 1],), False), (([1, 2, 3, 4, 5],), False), (([5, 4, 3, 2, 1], [1, 3, 2, 1, 2]), False),
    (([1, 3, 2, 1, 2], [2, 1, 3, 1, 2]), True),
])  # fmt: skip
def test_a_trend_of_one_matrix_is_a_trend_up_or_down(rows, trendless):
    assert judged("q11.trend", NOTHING._replace(divergence=matrices(*rows))).holds is trendless


def test_less_than_a_function_network_has_an_interval_and_asks_for_the_papers_ends():
    ours = matrices([2, 2, 2, 1, 1])
    pieces = {"levels": (2, 10, 66, 100, 200)}
    scattered = ours.copy()
    scattered[1, 0] *= 3
    scattered = scattered.assign_coords(level=[*pieces["levels"]])
    for theirs, holds in ((matrices([9, 5, 3, 1, 9], **pieces), True), (scattered, False)):
        verdict = claims.less(NOTHING._replace(divergence=ours, functions=theirs))
        assert verdict.holds is holds and "±" in verdict.why and "two standard errors" in verdict.why
        for given, some in ((ours.sel(level=[5, 6, 10]), theirs), (ours, theirs.sel(level=[2, 200]))):
            assert claims.less(NOTHING._replace(divergence=given, functions=some)) is None
    assert claims.less(NOTHING._replace(divergence=ours)) is None


def two_and_three(three=(40, 18.1, 16), alone=(97, 70, 30)):
    two = errors([2, 8, 10], [[50, 18, 16], [52, 18, 16]], [60, 40, 20], [99, 90, 20])
    other = errors([2, 8, 10], [three, three], [55, 40, 30], [99, 66, 30], None, alone)
    other = other + xarray.DataArray([0, 0.1, 0], {"level": [2, 8, 10]}) * xarray.DataArray([-1, 1], {"seed": [0, 1]})
    return NOTHING._replace(last={"burgers_2": two, "burgers_3": other}, faded=5.0)


def test_two_and_three_clients_of_burgers():
    results = two_and_three()
    assert judged("q14.better", results).holds, "equal at n = 8"
    assert judged("q14.better", two_and_three((40, 25, 16))).holds is False and claims.better(NOTHING) is None
    assert judged("q12.both.burgers_3", results).holds and judged("q12.similar.burgers_3", results).holds
    assert judged("q12.both.burgers_3", two_and_three(alone=(54, 70, 30))).holds is False
    assert judged("q12.similar.burgers_3", two_and_three(alone=(150, 120, 30))).holds is False
    assert judged("q13.decay", results).holds and judged("q13.decay", results._replace(faded=11.0)).holds is False


def local(factor, T=9, name=LINE):
    wide = np.array([[1.0, 3], [10, 20]])  # [level, seed]
    coords = {"E": [1, 1000], "level": [2, 5], "seed": [0, 1]}
    values = xarray.DataArray(np.array([wide, wide * factor]), coords, ("E", "level", "seed"), attrs={"steps": T})
    return NOTHING._replace(local={name: values})


def test_local_steps_against_the_spread_over_seeds():
    assert judged("q15.antiderivative", local(1.1)).holds and judged("q15.antiderivative", local(3)).holds is False
    once = local(3).local[LINE].isel(seed=[0])
    assert judged("q15.antiderivative", NOTHING._replace(local={LINE: once})) is None


def test_few_steps_do_not_decide_the_papers_question_nor_levels_that_lack_an_E():
    name, id = "diffusion_reaction", "q15.diffusion_reaction"
    assert judged(id, local(3, 5000, name)) is None
    assert judged(id, local(3, 50_000, name)).holds is False and judged(id, local(1.1, 50_000, name)).holds
    values = local(1.1, 50_000, name).local[name]
    gap = values.where((values.E == 1) | (values.level == 2))
    assert claims.ratio_over_E(NOTHING._replace(local={name: gap})).level.values.tolist() == [2]


def example(*first):
    models = ["client 1 alone", "client 2 alone", "federated"]
    return xarray.Dataset({"error": ("model", np.array(first, float))}, {"model": models})


def test_examples_are_those_of_the_papers_levels():
    good, bad = example(2, 3, 1), example(2, 3, 2.5)
    at = {(LINE, 2): bad, (LINE, 6): good, (LINE, 10): good, ("diffusion_reaction", 10): bad}
    results = NOTHING._replace(examples=at)
    assert judged("q10.example.antiderivative", results).holds
    assert relations.seeds(claims.CLAIMS["fedsciml.q10.example.antiderivative"], results) == 1
    assert judged("q10.example.diffusion_reaction", results).holds is False
    assert judged("q12.example.diffusion_reaction", results).holds
    assert judged("q12.example.diffusion_reaction", NOTHING._replace(examples={(LINE, 10): good})) is None


def test_nothing_is_said_of_nothing(results):
    assert not any(relations.judged(claim, NOTHING) for claim in claims.CLAIMS.values())
    verdicts = {id: relations.judged(claim, results) for id, claim in claims.CLAIMS.items()}
    assert sum(verdict is not None for verdict in verdicts.values()) > 18, "of a small run of all operators"
    ours = sorted(id for id in known_claims() if id.startswith(tuple(f"fedsciml.q{q}." for q in range(10, 16))))
    assert sorted(id for panel in claims.PANELS for id in panel.claims) == ours
