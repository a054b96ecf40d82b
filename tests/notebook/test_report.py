"""Pages of what the papers' settings gave have each figure and each printed number; of the text see test_verdicts."""

import re

import pytest

from fedlib.notebook import report
from fedlib.papers.studies import STUDIES
from fedlib.trainings.settings import FIGURES, committed


@pytest.fixture(scope="module")
def gallery():
    path = FIGURES / "index.html"
    before = path.read_text() if path.exists() else None
    text = report.write_gallery().read_text()
    path.write_text(before) if before else path.unlink()
    return text


def test_the_gallery_has_every_committed_picture_and_its_links_lead_somewhere(gallery):
    pictures = re.findall(r'<img src="([^"]+)"', gallery)
    assert {*pictures} == {str(path.relative_to(FIGURES)) for name in STUDIES for path in FIGURES.glob(f"{name}/*.png")}
    assert len(pictures) == len({*pictures}) and 'alt=""' not in gallery
    links = re.findall(r'href="([^#"]+)"', gallery)
    assert links and all((FIGURES / link).exists() for link in links)
    assert "//" not in re.sub(r"\.\./", "", "".join(links + pictures)), "nothing is fetched"


def test_the_gallery_has_printed_numbers_beside_ours(gallery):
    for row in report.facts().rows[:3]:
        assert row[1].number.words in gallery and report.ours(row[1]) in gallery


def test_a_notebooks_page_is_the_committed_one():
    for name in ("01_pendulum", "13_one_round"):
        assert report.page(committed(name)) == (FIGURES / name / "README.md").read_text()


def test_a_table_in_markdown_keeps_its_columns():
    result = committed("01_pendulum")
    id = next(iter(result["claims"]))
    result["claims"][id]["why"] = "a | b"
    (line,) = [line for line in report.page(result).splitlines() if "a \\| b" in line]
    assert len(re.split(r"(?<!\\)\|", line)) == 5
