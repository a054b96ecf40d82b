"""What the pages promise: the example for one's own data runs, links lead somewhere, numbers are the report's."""

import re

import pytest

from fedlib.files import ROOT
from fedlib.notebook.report import paper_results
from fedlib.notebook.verdicts import rows_of, summary

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_example_for_ones_own_data_runs_and_federation_helps(capsys):
    (code,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/own_data.md").read_text(), re.M | re.S)
    assert len([line for line in code.splitlines() if line and not line.startswith("#")]) <= 30
    exec(compile(code, "docs/own_data.md", "exec"), {})
    together, alone = (float(x) for x in re.findall(r"error (\d+) %", capsys.readouterr().out))
    assert together < 0.5 * alone


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert link.startswith("https://") or (page.parent / link).exists(), link


def test_pictures_have_alt_texts():
    for page in PAGES:
        assert "![](" not in page.read_text(), page.name


def test_the_readme_says_what_the_report_says():
    rows = [row for r in paper_results() for row in rows_of(r)]
    assert summary(rows) in (ROOT / "README.md").read_text()
