"""Could a printed number be one more run of ours? Tested against papers that are drawn from our own distribution."""

import numpy as np
import pytest

from fedlib.notebook.verdicts import (
    CONSISTENT,
    HIGHER,
    LOWER,
    NOT_SEEN,
    ONE_SEED,
    PART,
    UNDEFINED,
    PaperNumber,
    compare,
    interval,
    judge,
    measured,
    ours,
    paper_numbers,
    said,
    summary,
    table,
)

FIVE = [0.9, 1.0, 1.1, 1.0, 1.0]


def verdict(paper, values, **more):
    return judge(PaperNumber("a", paper, "Table 1", **more), measured(values))


@pytest.mark.parametrize("seeds", [3, 5, 20])
@pytest.mark.parametrize(("scale", "error"), [("log", 0.0), ("linear", 0.0), ("linear", 0.3)])
def test_of_papers_drawn_from_our_distribution_95_percent_are_consistent(seeds, scale, error):
    """error: the papers' own standard error, drawn on top; hypot of both intervals holds a little more than 95 %."""
    random = np.random.default_rng(seeds)
    draws = random.normal(3.0, 0.4, (10_000, seeds + 1)) + error * np.eye(1, seeds + 1, seeds) * random.normal(
        size=(10_000, 1)
    )
    draws = np.exp(draws) if scale == "log" else draws
    inside = 0
    for *runs, paper in draws:
        low, high = interval(runs, scale, error)
        inside += low <= paper <= high
    assert abs(inside / 10_000 - 0.95) < (0.0066 if not error else 0.03)  # three standard errors of a share


def test_a_number_outside_is_lower_or_higher_and_which_is_better():
    assert verdict(1.05, FIVE).verdict == CONSISTENT
    assert verdict(2.0, FIVE).verdict == f"{LOWER} (better)"
    assert verdict(0.5, FIVE).verdict == f"{HIGHER} (worse)"
    assert verdict(0.5, FIVE, better="higher").verdict == f"{HIGHER} (better)"
    assert verdict(0.5, FIVE, better="equal").verdict == HIGHER
    assert verdict(1.5, FIVE).verdict != CONSISTENT == verdict(1.5, FIVE, spread=4.0, samples=100).verdict


def test_few_seeds_or_a_wide_interval_prove_little_where_they_agree():
    assert not verdict(1.05, FIVE).little
    assert verdict(1.05, FIVE[:3]).little
    assert verdict(1.05, [0.6, 1.0, 1.4, 1.0, 1.0]).little
    assert not verdict(9.0, FIVE[:3]).little  # a wide interval was in the paper's favour
    assert said(verdict(1.05, FIVE[:3])) == "consistent, proves little"


def test_what_cannot_be_judged_is_not():
    assert verdict(1.0, [1.0]).verdict == ONE_SEED
    assert verdict(1.0, [1.0, np.inf]).verdict == verdict(1.0, []).verdict == NOT_SEEN
    assert verdict(1.0, FIVE, undefined="no unit").verdict == UNDEFINED
    late = judge(PaperNumber("a", 5.0, "T", "k epochs"), measured([np.nan], "in 3000 epochs", 4.4))
    assert ours(late) == "not seen in 3000 epochs; at 4.4 k epochs at the latest"
    assert said(late) == "not seen, but earlier than printed"


def test_an_effect_is_judged_by_its_ratio_seed_by_seed():
    numbers = {
        "fall": PaperNumber("fall", 10.0, "text", kind="ratio", of=("p", "q"), better="equal"),
        "p": PaperNumber("p", 1.0, "text", kind="part"),
        "q": PaperNumber("q", 0.1, "text", kind="part"),
    }

    def fall(p, q):
        return {row.number.id: row for row in compare({"p": measured(p), "q": measured(q)}, numbers)}

    assert [row.verdict for row in fall([0.2], [0.1]).values()] == [PART, PART, ONE_SEED]
    assert fall([2.0, 3.0], [0.1, 0.2])["fall"].measured.values == (20, 15)
    assert fall([1.0], [np.nan])["fall"].verdict == NOT_SEEN
    assert "fall" not in {row.number.id for row in compare({"p": measured([1.0])}, numbers)}
    with pytest.raises(ValueError, match="no printed number has the id 'd'"):
        compare({"d": measured([1.0])}, numbers)


def test_the_headline_counts_nothing_twice():
    numbers = {
        "a": PaperNumber("a", 1.0, "T"),
        "b": PaperNumber("b", 1.0, "T", same_as="a"),
        "c": PaperNumber("c", 3.0, "T"),
        "d": PaperNumber("d", 3.0, "T", undefined="unit"),
        "e": PaperNumber("e", 1.0, "T"),
        "f": PaperNumber("f", 1.0, "T"),
    }
    rows = compare(dict.fromkeys("abcd", measured(FIVE)) | {"e": measured([1.0]), "f": measured(FIVE[:3])}, numbers)
    text = summary(rows)
    assert text.startswith(
        "Of 6 numbers that the papers print, 1 repeat another one. Of the other 5, 2 could be one more"
    )
    assert (
        "(1 where" in text and "1 with a scatter" in text and "1 could not, 1 rest on" in text and "1 are not" in text
    )


def test_a_quick_run_gets_no_verdict_of_its_own():
    numbers = {"b": PaperNumber("b", 2.0, "T", "%")}
    quick, full = (compare({"b": measured(v)}, numbers) for v in ([5.0], [1.5, 1.5, 1.6, 1.4, 1.5]))
    header, row = table(quick, "quick")
    assert "ours, quick profile" in header and row[-2] == "run `make paper`"
    assert table(quick, "quick", full)[1][-2] == "lower (better)"


def test_the_papers_numbers_are_well_formed():
    numbers = paper_numbers()
    assert len(numbers) >= 76
    for number in numbers.values():
        assert number.better in ("lower", "higher", "equal") and number.scale in ("log", "linear")
        assert number.where and number.kind in ("level", "ratio", "part")
        assert len(number.of) == 2 * (number.kind == "ratio")
        assert {*number.of, number.same_as} - {""} <= set(numbers)
        if number.kind == "part":
            assert any(number.id in n.of for n in numbers.values()), f"{number.id}: no verdict at all"
    assert numbers["fed-deeponet.table1.C20"].value == numbers["fed-deeponet.table2.a75"].value == 1.154
