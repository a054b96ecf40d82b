"""Could a printed number be one more run of ours? Tested against papers that are drawn from our own distribution."""

from collections import Counter

import numpy as np
import pytest

from fedlib.notebook.report import facts
from fedlib.notebook.verdicts import (
    CONSISTENT,
    EFFECTS,
    HIGHER,
    LOWER,
    NOT_SEEN,
    ONE_SEED,
    PART,
    UNDEFINED,
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


@pytest.fixture(scope="module")
def rows():
    """Everything that the papers print and we have measured."""
    return [row for _, row in facts().rows]


@pytest.mark.parametrize("seeds", [3, 5, 20])
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_of_papers_drawn_from_our_distribution_95_percent_are_consistent(seeds, scale):
    draws = np.random.default_rng(seeds).normal(3.0, 0.4, (10_000, seeds + 1))
    draws = np.exp(draws) if scale == "log" else draws
    inside = 0
    for *runs, paper in draws:
        low, high = interval(runs, scale)
        inside += low <= paper <= high
    assert abs(inside / 10_000 - 0.95) < 0.0066  # three standard errors of a share


def test_the_papers_test_error_is_counted_once():
    """Each run, ours and theirs, is a model's error plus that of a test: the seeds' scatter contains both."""
    random = np.random.default_rng(0)
    runs = random.normal(3.0, 0.3, (10_000, 6)) + random.normal(0.0, 0.4, (10_000, 6))
    inside = sum(low <= paper <= high for *few, paper in runs for low, high in [interval(few, "linear")])
    assert abs(inside / 10_000 - 0.95) < 0.0066


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


def test_a_number_outside_is_lower_or_higher_and_which_is_better():
    assert verdict(1.05, FIVE).verdict == CONSISTENT
    assert verdict(2.0, FIVE).verdict == f"{LOWER} (better)"
    assert verdict(0.5, FIVE).verdict == f"{HIGHER} (worse)"
    assert verdict(0.5, FIVE, better="higher").verdict == f"{HIGHER} (better)"
    assert verdict(0.5, FIVE, better="equal").verdict == HIGHER


def test_few_seeds_are_said_and_not_counted_whichever_way_they_fall():
    assert verdict_in_words(verdict(1.05, FIVE[:3])) == "consistent, few seeds"
    assert verdict_in_words(verdict(9.0, FIVE[:4])) == "lower (better), few seeds"
    assert {verdict(paper, FIVE[:4]).sort for paper in (1.05, 9.0)} == {"few seeds"}


def test_a_verdict_that_can_hardly_fail_says_so():
    wide = verdict(1.05, [0.1, 1.0, 10.0, 1.0, 1.0])
    assert wide.sort == CONSISTENT and wide.high / wide.low > 100
    factor = f"{wide.high / wide.low:.0f}"
    assert verdict_in_words(wide) == f"consistent, can hardly fail: an interval of a factor {factor}"
    assert "(1 of them by an interval of more than a factor 100, which can hardly fail)" in summary([wide])
    assert not verdict(1.05, FIVE).wide and not verdict(1e6, [0.1, 1.0, 10.0, 1.0, 1.0]).wide


def test_accuracies_are_compared_in_points():
    row = verdict(70.0, [80.0, 82.0, 84.0, 81.0, 83.0], scale="linear", better="equal")
    mean, half = 82.0, 2.7764 * np.sqrt(2.5 * 1.2)
    assert row.verdict == HIGHER
    np.testing.assert_allclose([row.low, row.high], [mean - half, mean + half], rtol=1e-4)


def test_what_cannot_be_judged_is_not():
    assert verdict(1.0, [1.0]).verdict == ONE_SEED
    assert verdict(1.0, [1.0, np.inf]).verdict == NOT_SEEN
    row = verdict(1.0, FIVE, undefined="no unit")
    assert row.verdict == UNDEFINED and "one more: 0.8" in ours(row), "our reading stands beside it"


def test_what_was_not_waited_for_is_not_judged_but_may_be_later_than_printed():
    late = judge(PaperNumber("a", 5.3, "T", "k epochs"), measured([np.nan] * 5, bound=10))
    assert ours(late) == "0 of 5 seeds came in 10 k epochs"
    assert (late.verdict, verdict_in_words(late)) == (NOT_SEEN, f"{NOT_SEEN}, but later than printed")
    some = judge(PaperNumber("a", 5.3, "T", "k epochs"), measured([np.nan, 4.0], bound=10))
    assert ours(some) == "1 of 2 seeds came in 10 k epochs" and verdict_in_words(some) == NOT_SEEN
    assert verdict_in_words(verdict(18.0, [np.nan] * 5, bound=10)) == NOT_SEEN


def test_a_blank_is_an_event_that_never_came():
    """Ours may agree, never coming either, or come; one seed says it, five judge it."""
    assert PaperNumber("a", np.inf, "T", "k epochs").printed == "never"
    assert verdict_in_words(verdict(np.inf, [np.nan])) == "not judged (one seed), but never, as printed"
    assert verdict_in_words(verdict(np.inf, [0.9])) == "not judged (one seed), but ours came"
    assert verdict_in_words(verdict(np.inf, [np.nan], bound=10)) == "not judged (one seed)", "it may come later"
    assert verdict(np.inf, [np.nan] * 5).verdict == CONSISTENT
    assert verdict(np.inf, [np.nan, *FIVE]).verdict == CONSISTENT, "one more run of ours may come or not"
    assert verdict(np.inf, FIVE, better="equal").verdict == LOWER
    assert verdict(np.inf, [np.nan] * 5, bound=10).verdict == NOT_SEEN


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


def test_below_is_a_bound():
    """Divided by what the paper calls "below" a number, an effect is at least the printed one."""
    assert verdict(0.5, FIVE, at_least=True).verdict == CONSISTENT == verdict(1.0, FIVE, at_least=True).verdict
    assert verdict(2.0, FIVE, at_least=True, better="equal").verdict == LOWER
    assert PaperNumber("a", 2.0, "T", at_least=True).printed == "at least 2"


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
    text = summary(compare(found, numbers))
    assert text == (
        "Of 6 numbers that the papers print and 1 cells that they leave blank, 1 repeat another one. Of the other 6, "
        "1 could be one more run of ours and 1 could not (T of FedSciML); of 1 we have fewer than five seeds, which do "
        "not count; 2 are not judged, for ours is a single run or ended before (all of them: T 2 of FedSciML); 1 are "
        "not defined well enough to "
        "compare.\n\n"
        "Of 2 effects (a growth, a fall, a gain, taken seed by seed), 1 could be one more run of ours, 1 could "
        "not, and 0 are undefined, not judged or of few seeds. "
        "Those that could not: T of FedSciML, c over a: printed 3, ours 1."
    )


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


def test_every_number_of_the_list_has_a_row_of_its_own(rows):
    assert Counter(row.number.id for row in rows) == dict.fromkeys(paper_numbers(), 1)


def test_sixty_numbers_and_eight_effects_are_counted(rows):
    """By hand: 8 means and 8 st.devs of Fed-DeepONet's tables, 3 + 3 captions of Figs. 3 and 4, 2 of Experiment 4 and 3
    of Fig. 8; of FedSciML 23 times of Table 2 and a W1; an MSE of FedStNN; 8 accuracies of FedDRO."""
    sizes = Counter(row.number.id.split(".")[0] for row in counted(rows) if row.number.kind == "level")
    assert sizes == {"fed-deeponet": 27, "fedsciml": 24, "fedstnn": 1, "feddro": 8}
    assert sum(row.number.kind == "level" for row in rows) == 60 + 15
    assert {row.number.id for row in counted(rows) if row.number.kind in EFFECTS} == {
        "fed-deeponet.table1.growth", "fed-deeponet.table2.few", "fedsciml.schaffer2.fall",
        "fedsciml.antiderivative.fall", *(f"feddro.table1.gain.{size}" for size in ("0.5", "2", "3", "5")),
    }  # fmt: skip


def test_what_was_counted_wrongly_is_not(rows):
    """Each of these was a flaw of the list."""
    by_id = {row.number.id: row for row in rows}
    assert not {"fedsciml.table2.gain.C1.10", "fed-deeponet.fig8.mean"} & by_id.keys(), "printed nowhere"
    assert verdict_in_words(by_id["fedsciml.table2.n2.C1.0.5"]) == "not seen", "it may come after the rounds of ours"
    for blank in ("C2.1", "C2.0.5"):
        assert by_id[f"fedsciml.table2.n2.{blank}"].sort == LOWER, "all of ours came"
    not_twice = {row.number.id for row in counted(rows)}
    assert {f"fedsciml.table2.n2.{c}" for c in ("C2.1", "C2.0.5", "C1.0.5")} <= not_twice
    assert "fedsciml.table2.central.C2.5" in not_twice
    assert "fedsciml.schaffer2-printed.fall" not in not_twice
    assert all(row.sort == UNDEFINED for id, row in by_id.items() if id.startswith("feddro.") or id.endswith(".sd"))


def test_the_growth_of_table_1_differs_though_both_its_ends_do_not(rows):
    by_id = {row.number.id: row for row in rows}
    assert by_id["fed-deeponet.table1.C10"].sort == by_id["fed-deeponet.table1.C50"].sort == CONSISTENT
    growth = by_id["fed-deeponet.table1.growth"]
    assert growth.sort == LOWER and growth.number.value == pytest.approx(2.642, abs=1e-3)
    np.testing.assert_allclose([growth.low, growth.high], [1.09, 2.19], atol=0.005)
