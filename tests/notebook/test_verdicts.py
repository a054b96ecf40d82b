"""Could a printed number be one more run of ours? Tested against papers that are drawn from our own distribution."""

import re
from collections import Counter

import numpy as np
import pytest

from fedlib.notebook.report import facts
from fedlib.notebook.verdicts import (
    CONSISTENT,
    EFFECTS,
    NOT_SEEN,
    ONE_SEED,
    PART,
    PaperNumber,
    compare,
    counted,
    effect,
    interval,
    judge,
    measured,
    ours,
    paper_numbers,
    summary,
    table,
    verdict_in_words,
)

FIVE = [0.9, 1.0, 1.1, 1.0, 1.0]


def verdict(paper, values, bound=None, **more):
    return judge(PaperNumber("a", paper, "Table 1", **more), measured(values, bound=bound))


@pytest.mark.parametrize(("seeds", "scale"), [(3, "log"), (20, "linear")])
def test_of_papers_drawn_from_our_distribution_95_percent_are_consistent(seeds, scale):
    draws = np.random.default_rng(seeds).normal(3.0, 0.4, (10_000, seeds + 1))
    draws = np.exp(draws) if scale == "log" else draws
    inside = 0
    for *runs, paper in draws:
        low, high = interval(runs, scale)
        inside += low <= paper <= high
    assert abs(inside / 10_000 - 0.95) < 0.0066  # three standard errors of a share


@pytest.mark.parametrize("kind", EFFECTS)
def test_effects_of_seeds_that_share_their_scatter_are_consistent_in_95_percent_and_seen_where_levels_hide_them(kind):
    """Both levels of a run share most of its scatter; an effect of twice its own scatter too much is found by pairs."""
    random = np.random.default_rng(1)
    noise = random.normal(0.0, 1.0, (3000, 6, 1)) + random.normal(0.0, 0.1, (3000, 6, 2))
    runs = np.exp(noise) if kind == "ratio" else noise
    scale = "log" if kind == "ratio" else "linear"
    off = np.exp(0.6) if kind == "ratio" else 0.6

    def verdicts(paper):
        for run, (a, b) in zip(runs, paper, strict=True):
            numbers = {
                "a": PaperNumber("a", a, "T", scale=scale, better="equal"),
                "b": PaperNumber("b", b, "T", scale=scale, better="equal"),
            }
            fields = effect(kind, numbers["a"], numbers["b"])
            numbers["e"] = PaperNumber("e", where="T", kind=kind, parts=("a", "b"), **fields)
            found = {"a": measured(run[:5, 0]), "b": measured(run[:5, 1])}
            yield tuple(row.verdict == CONSISTENT for row in compare(found, numbers))

    *_, inside = zip(*verdicts(runs[:, 5]), strict=True)
    assert abs(np.mean(inside) - 0.95) < 0.012
    paper = runs[:, 5].copy()
    paper[:, 0] = paper[:, 0] * off if kind == "ratio" else paper[:, 0] + off
    level, _, of_pairs = np.mean([*verdicts(paper)], 0)
    assert level > 0.85 and of_pairs < 0.25


@pytest.mark.parametrize(
    ("paper", "values", "more", "words"),
    [
        (1.05, FIVE, {}, "consistent"),
        (2.0, FIVE, {}, "lower (better)"),
        (0.5, FIVE, {}, "higher (worse)"),
        (0.5, FIVE, {"better": "higher"}, "higher (better)"),
        (0.5, FIVE, {"better": "equal"}, "higher"),
        (1.05, FIVE[:3], {}, "consistent, few seeds"),
        (9.0, FIVE[:4], {}, "lower (better), few seeds"),
        (1.0, [1.0], {}, "not judged (one seed)"),
        (1.0, [1.0, np.inf], {}, "not seen"),
        (1.0, FIVE, {"undefined": "no unit"}, "undefined"),
        (0.5, FIVE, {"at_least": True}, "consistent"),
        (2.0, FIVE, {"at_least": True, "better": "equal"}, "lower"),
        (18.0, [np.nan] * 5, {"bound": 10}, "not seen"),
        (5.3, [np.nan] * 5, {"bound": 10}, "not seen, but later than printed"),
        (5.3, [np.nan, 4.0], {"bound": 10}, "not seen"),
        (np.inf, [np.nan], {}, "not judged (one seed), but never, as printed"),
        (np.inf, [0.9], {}, "not judged (one seed), but ours came"),
        (np.inf, [np.nan], {"bound": 10}, "not judged (one seed)"),
        (np.inf, [np.nan] * 5, {}, "consistent"),
        (np.inf, [np.nan, *FIVE], {}, "consistent"),
        (np.inf, FIVE, {"better": "equal"}, "lower"),
        (np.inf, [np.nan] * 5, {"bound": 10}, "not seen"),
    ],
)
def test_the_verdict_on_a_printed_number(paper, values, more, words):
    """inf is an event that never came in the paper; ours is waited for up to a bound, and without one never comes."""
    row = verdict(paper, values, **more)
    assert verdict_in_words(row) == words
    assert (row.sort == "few seeds") == words.endswith("few seeds")


def test_our_side_of_a_row():
    assert "one more: 0.8" in ours(verdict(1.0, FIVE, undefined="no unit"))
    late = judge(PaperNumber("a", 5.3, "T", "k epochs"), measured([np.nan, 4.0], bound=10))
    assert ours(late) == "1 of 2 seeds came in 10 k epochs"


def test_a_verdict_that_can_hardly_fail_says_so():
    wide = verdict(1.05, [0.1, 1.0, 10.0, 1.0, 1.0])
    factor = f"{wide.high / wide.low:.0f}"
    assert verdict_in_words(wide) == f"consistent, can hardly fail: an interval of a factor {factor}"
    assert "(1 of them by an interval of more than a factor 100, which can hardly fail)" in summary([wide])
    assert not verdict(1e6, [0.1, 1.0, 10.0, 1.0, 1.0]).wide


@pytest.mark.parametrize(("kind", "value"), [("ratio", (20, 15)), ("difference", (1.9, 2.8))])
def test_an_effect_is_judged_seed_by_seed(kind, value):
    numbers = {
        "p": PaperNumber("p", 1.0, "text", "%", kind="part", undefined="where"),
        "q": PaperNumber("q", 0.1, "text", "%", kind="part"),
    }
    fields = effect(kind, *numbers.values())
    assert fields["value"] == {"ratio": 10, "difference": 0.9}[kind] and fields["undefined"] == "where"
    assert fields["unit"] == {"ratio": "", "difference": "points"}[kind]
    numbers["fall"] = PaperNumber("fall", where="text", kind=kind, parts=("p", "q"), **fields | {"undefined": ""})

    def fall(p, q):
        return {row.number.id: row for row in compare({"p": measured(p), "q": measured(q)}, numbers)}

    assert [row.verdict for row in fall([0.2], [0.1]).values()] == [PART, PART, ONE_SEED]
    np.testing.assert_allclose(fall([2.0, 3.0], [0.1, 0.2])["fall"].measured.values, value)
    assert fall([1.0, 1.0], [np.nan, 1.0])["fall"].verdict == NOT_SEEN
    assert "fall" not in {row.number.id for row in compare({"p": measured([1.0])}, numbers)}
    assert not compare({"d": measured([1.0])}, numbers), "what no paper prints"


def test_the_headline_counts_nothing_twice():
    numbers = {
        "fedsciml.a": PaperNumber("fedsciml.a", 1.0, "T"),
        "fedsciml.b": PaperNumber("fedsciml.b", 1.0, "T", same_as="a"),
        "fedsciml.c": PaperNumber("fedsciml.c", 3.0, "T"),
        "fedsciml.d": PaperNumber("fedsciml.d", 3.0, "T", undefined="unit"),
        "fedsciml.e": PaperNumber("fedsciml.e", 1.0, "T 2, left"),
        "fedsciml.f": PaperNumber("fedsciml.f", 1.0, "T"),
        "fedsciml.i": PaperNumber("fedsciml.i", np.inf, "T 2, right"),
        "fedsciml.g": PaperNumber("fedsciml.g", 3.0, "T, c over a", kind="ratio", parts=("fedsciml.c", "fedsciml.a")),
        "fedsciml.h": PaperNumber("fedsciml.h", 1.0, "T, a over a", kind="ratio", parts=("fedsciml.a", "fedsciml.a")),
    }
    found = dict.fromkeys([f"fedsciml.{x}" for x in "abcd"], measured(FIVE))
    found |= {"fedsciml.e": measured([1.0]), "fedsciml.i": measured([1.0]), "fedsciml.f": measured(FIVE[:3])}
    found["fedsciml.c"] = measured(FIVE[::-1])
    levels, effects = summary(compare(found, numbers)).split("\n\n")
    # printed, blank, repeated, others, consistent, not; few seeds, not judged (Table 2), undefined
    assert re.findall(r"\d+", levels) == ["6", "1", "1", "6", "1", "1", "1", "2", "2", "1"]
    assert "(T of FedSciML)" in levels and "(all of them: T 2 of FedSciML)" in levels
    assert re.findall(r"\d+", effects)[:4] == ["2", "1", "1", "0"]
    assert "T of FedSciML, c over a: printed 3, ours 1." in effects


def test_a_changed_run_gets_no_verdict_of_its_own():
    numbers = {"b": PaperNumber("b", 2.0, "T", "%")}
    changed, full = (compare({"b": measured(v)}, numbers) for v in ([5.0], [1.5, 1.5, 1.6, 1.4, 1.5]))
    assert table(changed, True)[1][-2] == "-"
    header, row = table(changed, True, full)
    assert "ours, the paper's settings" in header and row[-2] == "lower (better)"


# the list


def test_the_papers_numbers_are_well_formed():
    numbers = paper_numbers()
    for number in numbers.values():
        assert number.better in ("lower", "higher", "equal") and number.scale in ("log", "linear")
        assert number.where and number.kind in ("level", "part", *EFFECTS)
        assert len(number.parts) == 2 * (number.kind in EFFECTS)
        assert {*number.parts, number.same_as} - {""} <= set(numbers)
        assert not (number.same_as and numbers[number.same_as].same_as), f"{number.id}: counted by none"
        if number.kind == "part":
            assert any(number.id in n.parts for n in numbers.values()), f"{number.id}: no verdict at all"
    assert numbers["fed-deeponet.table1.C20"].value == numbers["fed-deeponet.table2.a75"].value == 1.154


def test_sixty_numbers_and_eight_effects_are_counted():
    """By hand: 8 means and 8 st.devs of Fed-DeepONet's tables, 3 + 3 captions of Figs. 3 and 4, 2 of Experiment 4 and 3
    of Fig. 8; of FedSciML 23 times of Table 2 and a W1; an MSE of FedStNN; 8 accuracies of FedDRO."""
    rows = [row for _, row in facts().rows]
    sizes = Counter(row.number.id.split(".")[0] for row in counted(rows) if row.number.kind == "level")
    assert sizes == {"fed-deeponet": 27, "fedsciml": 24, "fedstnn": 1, "feddro": 8}
    assert sum(row.number.kind == "level" for row in rows) == 60 + 15
    assert {row.number.id for row in counted(rows) if row.number.kind in EFFECTS} == {
        "fed-deeponet.table1.growth", "fed-deeponet.table2.few", "fedsciml.schaffer2.fall",
        "fedsciml.antiderivative.fall", *(f"feddro.table1.gain.{size}" for size in ("0.5", "2", "3", "5")),
    }  # fmt: skip
