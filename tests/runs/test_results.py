"""Comparisons with printed numbers, and result files that are whole or refused."""

import json

import matplotlib.figure
import numpy as np
import pytest

from fedlib import files
from fedlib.notebook.style import panels
from fedlib.runs import results
from fedlib.runs.outputs import read_result
from fedlib.runs.profiles import NOTEBOOKS, parameters_of
from fedlib.runs.results import Run, paper_numbers
from fedlib.runs.settings import whole
from fedlib.runs.verdicts import (
    BETTER,
    NOT,
    NOT_REACHED,
    ORDERING,
    PART,
    REPRODUCED,
    PaperNumber,
    compare,
    judged,
    ordered,
    summary,
)  # fmt: skip

NUMBERS = {
    "a": PaperNumber("a", 1.0, "Table 1", "%", spread=2.0, samples=100, group="t"),
    "b": PaperNumber("b", 2.0, "Table 1", "%", group="t"),
    "c": PaperNumber("c", 3.0, "Table 1", "%", group="t"),
    "high": PaperNumber("high", 0.9, "text", better="higher"),
    "equal": PaperNumber("equal", 1.0, "text", spread=0.1, better="equal"),
}


def verdicts(**measured):
    return {c.id: c.verdict for c in compare({k: np.atleast_1d(v) for k, v in measured.items()}, NUMBERS)}


def test_a_mean_within_both_standard_errors_is_reproduced_and_below_them_better():
    assert verdicts(a=1.19) == verdicts(a=0.81) == {"a": REPRODUCED}
    assert verdicts(a=0.79) == {"a": BETTER}
    assert verdicts(a=1.21) == {"a": NOT}


def test_the_spread_over_our_seeds_counts_too():
    """4.06 +- 0.24 % over three seeds says nothing against a printed 4.05."""
    assert verdicts(b=[1.8, 2.05, 2.3]) == {"b": REPRODUCED}  # 2.05, standard error 0.144
    assert verdicts(b=[1.95, 2.2, 2.45]) == {"b": NOT}  # 2.2
    assert verdicts(a=[1.0, 1.24, 1.48]) == {"a": REPRODUCED}  # 1.24 <= 1 + hypot(0.2, 0.139)
    assert verdicts(a=[1.02, 1.26, 1.50]) == {"a": NOT}
    assert verdicts(equal=[0.6, 0.85, 1.1]) == {"equal": REPRODUCED}


def test_better_can_mean_higher_or_nothing():
    assert verdicts(high=0.95, equal=1.05) == {"high": BETTER, "equal": REPRODUCED}
    assert verdicts(high=0.9, equal=1.15) == {"high": REPRODUCED, "equal": NOT}
    assert verdicts(high=0.85, equal=0.85) == {"high": NOT, "equal": NOT}


def test_ordering_of_a_group():
    assert verdicts(a=2, b=4, c=6) == dict.fromkeys("abc", ORDERING)
    assert verdicts(a=4, b=2.1, c=6) == dict.fromkeys("abc", NOT)
    assert verdicts(a=0.5, b=4, c=6) == {"a": BETTER, "b": ORDERING, "c": ORDERING}
    same = ordered([(1, 5), (1, 4), (2, 6)])
    assert same, "numbers that are printed equal have no order of their own"


def test_what_is_never_reached_is_a_row_and_comes_last():
    assert verdicts(a=2, b=4, c=np.nan) == {"a": ORDERING, "b": ORDERING, "c": NOT_REACHED}
    assert verdicts(a=np.inf, b=4) == {"a": NOT_REACHED, "b": NOT}
    (row,) = compare({"b": [1.0, np.nan, 3.0]}, NUMBERS)
    assert (row.verdict, row.ours, row.why) == (NOT_REACHED, None, "(2 of 3 seeds get there)")
    assert results.ours(results.asdict(row)) == "not reached (2 of 3 seeds get there)"


def test_an_effect_is_judged_by_its_ratio():
    """Two levels that are both below the printed ones are no fall by ten; its sd is that of drawn ratios."""
    numbers = NUMBERS | {
        "fall": PaperNumber("fall", 10.0, "text", kind="ratio", of=("p", "q"), better="higher"),
        "p": PaperNumber("p", 1.0, "text", kind="part"),
        "q": PaperNumber("q", 0.1, "text", kind="part"),
    }

    def fall(p, q):
        return {c.id: c for c in compare({"p": p, "q": q}, numbers)}

    assert {id: c.verdict for id, c in fall([0.2], [0.1]).items()} == {"p": PART, "q": PART, "fall": NOT}
    assert fall([2.0], [0.1])["fall"].verdict == BETTER
    assert fall([1.0], [np.nan])["fall"].verdict == NOT_REACHED
    assert "fall" not in {c.id for c in compare({"p": [1.0]}, numbers)}
    draw = np.random.default_rng(0).normal([3.0, 0.3], [0.09, 0.012], (20_000, 2))
    ratio = fall(*draw.T)["fall"]
    assert ratio.ours == pytest.approx(10, rel=0.01)
    assert ratio.sd == pytest.approx((draw[:, 0] / draw[:, 1]).std(), rel=0.02)
    assert fall([9.0, 10.0, 11.0], [0.99, 1.0, 1.01])["fall"].verdict == REPRODUCED  # 10 +- 0.6


def test_an_old_result_is_judged_by_todays_rules():
    """It says "reproduced" of what is better, and leaves out what it never reached."""
    old = [{"id": "a", "ours": 0.2, "sd": 0.0, "seeds": 1, "verdict": REPRODUCED}]
    assert [c["verdict"] for c in judged(old, NUMBERS)] == [BETTER]
    numbers = {f"p.t.{k}": PaperNumber(f"p.t.{k}", 1.0, "T") for k in "xy"} | {"p.u.z": PaperNumber("p.u.z", 1.0, "U")}
    old = [{"id": "p.t.x", "ours": 1.0, "sd": 0.0, "seeds": 1}]
    assert {c["id"]: c["verdict"] for c in judged(old, numbers, whole=True)} == {
        "p.t.x": REPRODUCED,
        "p.t.y": NOT_REACHED,
    }
    assert len(judged(old, numbers)) == 1


def test_the_summary_counts_every_number_once():
    rows = [{"verdict": v} for v in (REPRODUCED, BETTER, BETTER, ORDERING, NOT, NOT_REACHED, PART, PART)]
    assert summary(rows) == (
        "1 of 6 printed numbers reproduced, 2 better than printed, 1 in the same order at a different level, "
        "1 not reproduced, 1 not reached."
    )


def test_mean_and_standard_deviation_over_seeds():
    (row,) = compare({"b": [1.0, 2.0, 6.0]}, NUMBERS)
    assert (row.ours, row.seeds) == (3.0, 3)
    assert row.sd == pytest.approx(7**0.5)


def test_unknown_number():
    with pytest.raises(ValueError, match="no printed number has the id 'd'"):
        compare({"d": [1.0]}, NUMBERS)


def test_the_papers_numbers_are_well_formed():
    numbers = paper_numbers()
    assert len(numbers) >= 12
    for number in numbers.values():
        assert number.better in ("lower", "higher", "equal")
        assert number.where
        assert number.kind in ("level", "ratio", "part")
        assert len(number.of) == 2 * (number.kind == "ratio")
        assert set(number.of) <= set(numbers)
        if number.kind == "part":
            assert any(number.id in n.of for n in numbers.values()), (
                f"{number.id} is part of no ratio: no verdict at all"
            )
    assert numbers["fed-deeponet.table1.C20"].value == numbers["fed-deeponet.table2.a75"].value == 1.154


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path / "out"))
    return Run("nb", "quick", {"seeds": [0]})


def test_the_profile_stands_clear_of_the_labels(run):
    fig = matplotlib.figure.Figure((1.5, 1.5), layout="constrained")
    ax = fig.subplots()
    ax.set_xlabel("steps of a long training")
    run.figure(fig, "narrow", alt="an empty panel")
    label, profile = (text.get_window_extent() for text in (ax.xaxis.label, fig.texts[0]))
    assert profile.y1 <= label.y0


def test_a_run_writes_figures_and_result(run):
    fig = matplotlib.figure.Figure()
    fig.subplots().plot([1, 2])
    run.figure(fig, "f", alt="a line")
    run.measure("fed-deeponet.table1.C20", [1.0, 1.2])
    run.not_reached("fed-deeponet.table1.C50", "in so few rounds")
    run.finish(error=np.array([1.0, 1.2]), count=np.int64(3))
    path = run.folder / "result.json"
    result = read_result(path)
    assert result["metrics"] == {"error": [1.0, 1.2], "count": 3}
    assert result["comparisons"][0]["verdict"] == REPRODUCED
    assert json.dumps(result, allow_nan=False)
    assert result["environment"]["versions"]["torch"].startswith("2.13.0")
    assert sorted(p.name for p in path.parent.iterdir()) == ["f.png", "result.json"]
    assert any(text.get_text() == "quick profile" for text in fig.texts)


def test_a_misspelt_number_fails_where_it_is_measured(run):
    with pytest.raises(KeyError, match=r"table1\.C21"):
        run.measure("fed-deeponet.table1.C21", 1.0)


@pytest.mark.fault("clear error")
def test_an_object_that_is_no_number_is_refused_and_nothing_is_left(run):
    with pytest.raises(TypeError, match="Figure cannot stand in a result file"):
        run.finish(figure=matplotlib.figure.Figure())
    assert not run.folder.exists()


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("cut", [0, 10, -3])
def test_truncated_result_file_is_refused(run, cut):
    run.finish(error=1.0)
    path = run.folder / "result.json"
    path.write_text(path.read_text()[:cut])
    with pytest.raises(ValueError, match="truncated or damaged"):
        read_result(path)


@pytest.mark.fault("clear error")
def test_result_file_without_its_fields_is_refused(tmp_path):
    path = tmp_path / "result.json"
    for content in ({"metrics": {}}, [1]):
        path.write_text(json.dumps(content))
        with pytest.raises(ValueError, match="comparisons, environment"):
            read_result(path)


@pytest.mark.fault("survived")
def test_atomic_write_replaces_or_leaves_alone(tmp_path):
    path = tmp_path / "a" / "x.json"
    files.write_atomically(path, "one")
    files.write_atomically(path, "two")
    assert path.read_text() == "two"
    assert [p.name for p in path.parent.iterdir()] == ["x.json"]


def test_a_quick_run_gets_no_verdict_of_its_own():
    quick = compare({"b": [5.0]}, NUMBERS)
    header, row = results.table(quick, "quick")
    assert "ours, quick profile" in header
    assert row[-1] == "run `make paper`"
    full = [results.asdict(c) for c in compare({"b": [1.5]}, NUMBERS)]
    assert results.table(quick, "quick", full)[1][-2:] == ["1.500 % (1 seed)", BETTER]
    assert results.table(quick, "paper")[1][-1] == NOT


def test_a_changed_parameter_makes_a_custom_run(tmp_path, monkeypatch, page):
    """Its figures have a folder and a stamp of their own, and it may measure what the paper does not print."""
    defaults = {name: default for name, (_, default) in parameters_of(NOTEBOOKS / "01_pendulum.ipynb").items()}
    monkeypatch.setattr(results, "FIGURES", tmp_path)
    assert Run("01_pendulum", "quick", defaults).folder == tmp_path / "01_pendulum/quick"
    run = Run("01_pendulum", "quick", defaults | {"rounds": 5})
    assert run.custom
    assert run.folder.parent == tmp_path / "01_pendulum"
    fig, _ = panels()
    run.figure(fig, "f", alt="an empty panel")
    assert fig.texts[0].get_text() == "custom: rounds=5"
    run.measure("fed-deeponet.table1.C11", [1.0, 3.0])
    run.measure("fed-deeponet.table1.C20", [1.0])
    run.table()
    rows = page[-1][0]["text/plain"].splitlines()
    assert rows[-1].split()[:6] == ["fed-deeponet.table1.C11", "not", "printed", "2.000", "+-", "1.414"]
    assert rows[1].startswith("fed-deeponet.table1.C20 [Table 1")


def test_parameters_are_checked_by_their_rules(run):
    with pytest.raises(ValueError, match="-1 is no entry"):
        Run("nb", "quick", {"seeds": [-1]}).check(seeds=whole(0))


def test_a_notebook_reads_its_committed_result(run):
    committed = Run("01_pendulum", "quick", {}).committed()
    assert committed["notebook"] == "01_pendulum"
    assert committed["profile"] == "paper"
    with pytest.raises(ValueError, match="nb has no committed result; run it with the paper profile"):
        run.committed()
