"""One command, one JSON per kind of machine, one figure."""

import json

from benchmarks import side_by_side
from fedlib.trainings.settings import FIGURES

COMMITTED = sorted((FIGURES / "speed").glob("*.json"))


def test_a_run_writes_its_numbers_and_draws_them(tmp_path, monkeypatch):
    found = json.loads(COMMITTED[0].read_text())
    monkeypatch.setattr(side_by_side, "bench", lambda quick: found | {"quick": quick})
    path = side_by_side.run(True, tmp_path)
    assert path.parent == tmp_path / "speed" / "changed"
    assert json.loads(path.read_text())["quick"]
    assert path.with_suffix(".png").stat().st_size > 10_000
    assert side_by_side.run(False, tmp_path).parent == tmp_path / "speed"


def test_committed_numbers_are_of_the_cases_that_are_measured():
    for path in COMMITTED:
        found = json.loads(path.read_text())["problems"]
        assert [case["problem"] for case in found] == [name for name, *_ in side_by_side.CASES], path.name
        assert path.with_suffix(".png").exists()
