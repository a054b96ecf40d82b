"""Claims: ids that notebooks use are known, old result files still speak, a target never counts as a paper's claim."""

import json
import re
from importlib import import_module

import nbformat
import pytest
import xarray

from fedlib.files import ROOT
from fedlib.notebook import claims
from fedlib.notebook.claims import Claim, Seeded, Verdict, all_claims, fewest, find, known_claims, summary
from fedlib.notebook.report import facts, report
from fedlib.notebook.run import Run
from fedlib.notebook.verdicts import PAPERS, counted, paper_numbers
from fedlib.papers.fed_deeponet.pendulum import study as pendulum
from fedlib.papers.studies import STUDIES
from fedlib.trainings.settings import FIGURES, NOTEBOOKS, paper, read_result

COMMITTED = sorted(FIGURES.glob("[0-9]*/result.json"))


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path / "out"))
    return Run(pendulum)


def test_the_claims_are_well_formed():
    papers = {n.split(".")[0] for n in paper_numbers()}
    for claim in known_claims().values():
        assert claim.paper in papers, claim.id
        assert claim.where
        assert (".target." in claim.id) == claim.target, f"{claim.id}: a criterion of our own is called a target"
        assert claim.text == claim.text.strip()
    assert len({c.text for c in known_claims().values()}) == len(known_claims()), "two claims say the same"


def test_what_a_run_claims_is_stored_and_shown(run, page):
    run.claim("fedsciml.q17", 1 < 2, "0.1 against 0.2")
    run.claim("fedsciml.q18", None)
    run.claim("fedsciml.target.k.points/18", False)
    run.claims_table()
    header, *rows = page[-1][0]["text/plain"].splitlines()
    assert header.split() == ["claim", "verdict", "numbers"]
    assert re.split(r"  +", rows[0])[1:] == ["holds", "0.1 against 0.2"]
    assert re.split(r"  +", rows[1])[1:] == ["not run", "-"]
    assert rows[2].startswith("our target: centralised with 18 residual points, all inside")
    assert re.split(r"  +", rows[2])[1:] == ["missed", "-"]
    run.finish()
    result = read_result(run.folder / "result.json")
    assert result["claims"]["fedsciml.q17"] == {"holds": True, "why": "0.1 against 0.2"}


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("fedsciml.q71", "no claim has the id 'fedsciml.q71'; did you mean 'fedsciml.q1"),
        ("fedsciml.target.k.points", "expected an id with '/value'"),
        ("fedsciml.q17/3", "expected an id with '/value'"),
    ],
)
def test_an_unknown_claim_fails_in_its_own_cell(run, id, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        run.claim(id, True)
    assert not run.claims


ABSENT = {"fedsciml.q8.converge", "fedsciml.q8.error.C1", "fedsciml.q8.error.C2", "fedsciml.q15.diffusion_reaction"}
"""Claims that rest on what is not trained yet."""


def test_rooms_and_the_list_of_claims_agree():
    """Every claim of a room is known, and every known one is a room's, whose notebook reports it: one of which nothing
    is said where all is trained has a wrong label."""
    files = [path.relative_to(ROOT).with_suffix("").parts for path in (ROOT / "fedlib/papers").glob("**/claims.py")]
    judged = {id for parts in files for id in import_module(".".join(parts)).CLAIMS}
    assert {id.partition("/")[0] for id in judged} == {*known_claims()}
    assert judged - {id for path in COMMITTED for id in read_result(path)["claims"]} == ABSENT
    cells = [c for path in NOTEBOOKS.glob("*.ipynb") for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    assert not any("run.claim(" in cell.source or "run.judge(" in cell.source for cell in cells), "run.report does"


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.parent.name)
def test_committed_results_name_known_claims_and_have_todays_settings(path):
    """A result of other settings than the paper's is one that nobody would find out about."""
    result = read_result(path)
    assert result["changed"] == {} and result["parameters"] == json.loads(json.dumps(paper(path.parent.name)))
    for id in result["claims"]:
        assert find(id)


def test_the_first_run_of_a_claim_counts_and_none_is_lost():
    first, second = ({"claims": {"fedsciml.q17": {"holds": h, "why": ""}}} for h in (None, True))
    third = {"claims": {"fedsciml.q17": {"holds": False, "why": ""}}}
    assert all_claims([first, second, third])["fedsciml.q17"]["holds"] is True
    assert all_claims([])["fedsciml.q17"]["holds"] is None
    assert all_claims([], whole=False) == {}


def test_targets_are_not_counted_as_claims():
    claim, target, sure = (
        Claim("p.a", "a", "1"),
        Claim("p.b", "b", "1", target=True),
        Claim("p.c", "c", "1", trivial=True),
    )
    said = [(claim, True), (claim, None), (target, True), (target, False), (sure, True)]
    judged = [(one, {"holds": holds, "why": ""}) for one, holds in said]
    judged += [(claim, {"holds": False, "seeds": 5}), (claim, {"holds": True, "seeds": 4})]
    assert re.findall(r"\d+", summary(judged)) == ["4", "1", "1", "1", "1"], "all, hold, do not, few seeds, not run"
    assert target.sort({"holds": False, "seeds": 1}) == claims.TARGET_WORDS[False] != claim.sort({"holds": False})
    assert claim.in_words({"holds": False, "seeds": 1}) == "does not hold, few seeds"


def test_a_run_keeps_on_how_many_seeds_a_claim_rests(run):
    """The fewest that it has anywhere, of those places that have any."""
    errors = xarray.DataArray([[1.0, 2, 3], [1, 2, float("nan")], [float("nan")] * 3], dims=["level", "seed"])
    judges = {"fedsciml.q17": Seeded(lambda results: Verdict(True, "so"), lambda results: fewest(results))}
    run.judge(judges | {"fedsciml.q16": lambda results: Verdict(False)}, errors)
    assert run.claims["fedsciml.q17"] == {"holds": True, "why": "so", "seeds": 2}
    assert run.claims["fedsciml.q16"] == {"holds": False, "why": ""}


def test_the_report_has_a_line_per_paper_every_number_and_every_claim_once_what_differs_first():
    text, (rows, judged, _) = report(), facts()
    assert {id for id in known_claims()} <= {claim.id.split("/")[0] for claim, _ in judged}
    for id in [row.number.id for _, row in rows] + [claim.id for claim, _ in judged]:
        assert text.count(f"({id})") == 1, id
    for name, title in PAPERS.items():
        (line,) = re.findall(rf"^{title}  .*", text, re.M)
        counts = [int(n) for n in re.findall(r"\d+", line)]
        assert sum(counts[3:]) == len([claim for claim, _ in judged if claim.paper == name])
        sorts = [row.sort for row in counted(row for _, row in rows) if row.number.paper == name]
        assert counts[:3] == [sorts.count(sort) for sort in ("consistent", "lower", "higher")]
    for name in STUDIES:
        assert re.search(rf"^  {name}: (\d+ s|stored trainings, [\d.]+ core-hours) on .*$", text, re.M)
    assert max(map(len, text.splitlines())) <= 120
    places = [text.index(head) for head in ("could not be one more", "do not hold", "are missed", "That could", "took")]
    assert places == sorted(places) and places[0] < 2000
