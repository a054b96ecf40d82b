"""Notebooks as pages: nothing is lost, nothing is dead, figures are the committed ones."""

import re
from html import escape

import nbformat
import pandas
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from fedlib.files import ROOT
from fedlib.notebook.claims import known_claims
from fedlib.notebook.report import facts
from fedlib.pages import build, report_table, source
from fedlib.pages.pieces import explorer, notebooks
from fedlib.trainings.settings import FIGURES, NOTEBOOKS

ALL = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture
def figures(tmp_path):
    """A committed figure "one" of a notebook 99."""
    (tmp_path / "99").mkdir()
    Image.new("RGB", (1400, 2)).save(tmp_path / "99/one.png")
    return tmp_path


def made(figures, *cells, name="99"):
    return source.page(new_notebook(cells=list(cells)), name, figures).cells


def test_a_figures_cell_is_followed_by_the_committed_picture_that_the_words_do_not_show(figures):
    code = (
        'run.figure(\n    fig, "one", alt=f"what {n} clients [of 2] "\n    "see")\nrun.figure(other, "three", alt="x")'
    )
    cell, picture = made(figures, new_code_cell(code))
    assert cell.source == code and "hide-input" in cell.metadata["tags"]
    image = '<img src="../figures/99/one.png" alt="what clients [of 2] see" width="700">'
    assert picture.source == image
    assert len(made(figures, new_code_cell(code), new_markdown_cell(image))) == 2


def test_code_between_which_nothing_is_seen_stands_behind_one_fold(figures):
    output = new_output("stream", text="two\n")
    first, words, last = made(
        figures, new_code_cell("a = 1"), new_code_cell("b = 2"), new_code_cell("print(b)", outputs=[output]),
        new_markdown_cell("Words."), new_code_cell("c = 3"),
    )  # fmt: skip
    assert first.source == "a = 1\n\n\nb = 2\n\n\nprint(b)" and first.outputs == [output]
    assert words.source == "Words." and last.source == "c = 3"


@pytest.mark.parametrize("call", ["live.show()", "display(draw.fit_explorer(x))", "panel.parameters('99')"])
def test_what_needs_a_kernel_is_named_and_gone(figures, call):
    (cell,) = made(figures, new_code_cell(call))
    assert cell.cell_type == "markdown" and cell.source == source.IN_LAB


def test_the_first_section_of_a_lesson_moves_on_its_page(figures):
    for name in notebooks():
        (cell,) = made(figures, new_code_cell(f'explorer("{name}")'), name=name)
        assert cell.cell_type == "markdown" and cell.source.endswith(f"../_pieces/explorer_{name}.html\n```")


def test_stored_outputs_stay_and_the_notebook_is_not_touched(figures):
    output = new_output("stream", text="fact: True\n")
    notebook = new_notebook(cells=[new_code_cell("show(f)", outputs=[output]), new_code_cell("x = 1")])
    before = nbformat.writes(notebook)
    shown, folded = source.page(notebook, "99", figures).cells
    assert shown.outputs == [output] and shown.metadata["tags"] == ["remove-input"]
    assert folded.metadata["tags"] == ["hide-input"]
    assert nbformat.writes(notebook) == before


@pytest.mark.parametrize("path", ALL, ids=lambda p: p.stem)
def test_every_notebook_becomes_a_page(path):
    notebook = nbformat.read(path, 4)
    cells = source.page(notebook, path.stem).cells
    words = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert {cell.source.lower() for cell in notebook.cells if cell.cell_type == "markdown"} <= {
        w.lower() for w in words
    }
    assert not [word for word in words if re.search(r"\]\(#[^)]*[A-Z]", word)], "anchors of a site are small letters"
    assert sum(len(c.get("outputs", [])) for c in cells) == sum(len(c.get("outputs", [])) for c in notebook.cells)
    pictures = re.findall(r"\.\./figures/([^)\"]+)", "\n".join(words))
    assert pictures and all((FIGURES / name).exists() for name in pictures)
    pieces = [word for word in words if "{raw} html" in word]
    assert len(pieces) == len([piece for piece in source.PIECES if piece[0] == path.stem])
    live = [c for c in notebook.cells if c.cell_type == "code" and source.MOVES.search(c.source)]
    assert words.count(source.IN_LAB) + len(pieces) == len([c for c in live if not source.figures_of(c.source)])


def test_a_lessons_page_carries_its_piece_in_little_more_than_a_hundred_kilobytes():
    sizes = {name: len(explorer(name)) for name in notebooks()}
    assert {*sizes} == {path.stem for path in ALL if "run.explorer(" in path.read_text()}
    assert sizes.pop("07_operator_learning") < 400_000, "it carries networks"
    assert sizes.pop("10_transport") < 160_000, "it carries clouds"
    assert max(sizes.values()) < 130_000, sizes


def test_the_report_has_every_claim_and_number_in_words_and_escapes_them():
    html, (rows, claims, _) = report_table.html(), facts()
    words = [row.number.words for _, row in rows] + [claim.text for claim, _ in claims]
    assert {claim.id.split("/")[0] for claim, _ in claims} >= known_claims().keys()
    assert not [text for text in words if escape(text) not in html]
    assert html.count("<table>") == 2 and "|s| < 1" not in html and "fedsciml." not in html


def test_a_long_cell_folds_out_and_loses_nothing():
    text = "the paper prints no rate, batch, sensors, start; ours: a < b"
    assert report_table.folded("short") == "short"
    html = report_table.folded(text)
    assert re.fullmatch(r"<details><summary>.{20,40} …</summary>.*</details>", html)
    assert re.sub("<[^>]+>", "", html.replace(" …", "")) == escape(text)
    table = report_table.as_table("c", pandas.DataFrame({"a < b": ["<b>"]}))
    assert "a &lt; b" in table and "&lt;b&gt;" in table


def test_without_its_tools_the_site_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "NEEDED", ("json", "no_such_tool"))
    with pytest.raises(SystemExit, match=r"^no_such_tool not installed here; `make site`"):
        build.main(tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_only_notebooks_that_git_tracks_are_published(monkeypatch, tmp_path):
    draft = NOTEBOOKS / "99_draft.ipynb"
    draft.touch()
    try:
        assert draft not in (there := build.published()) and len(there) >= 2 * len(ALL) - 1
    finally:
        draft.unlink()
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    assert {*ALL} <= {*build.published()}, "all of them, where there is no repository"


def test_links_of_a_page_lead_to_its_place_on_the_site():
    def relinked(name: str) -> str:
        return build.relinked((ROOT / name).read_text(), ROOT / name)

    lesson = relinked("docs/site/lessons/05.md")
    assert "](../notebooks/05_pinn_forward.ipynb)" in lesson and '<img src="../figures/05_pinn_forward/' in lesson
    data = relinked("docs/own_data.md")
    assert "[machines.md](machines.md)" in data and "](../" not in data
    assert "tests/new_problem.py is an equation in 40 lines" in data, "no link, for the file is not on the site"
    assert build.relinked("$u[0](x)$", ROOT / "README.md") == "$u[0](x)$", "a formula"


def test_links_of_everything_that_is_laid_out_lead_to_what_is(tmp_path):
    """Sphinx refuses others; where it is not installed, nothing else would see them."""
    build.lay_out(tmp_path)
    pages = {path: path.read_text() for path in tmp_path.rglob("*.md")}
    for path in tmp_path.rglob("*.ipynb"):
        cells = nbformat.read(path, 4).cells
        pages[path] = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    links = [(path, link) for path, text in pages.items() for link in re.findall(r"\]\(([\w./-]+\.\w+)[#)]", text)]
    assert len(links) > 100 and not [link for link in links if not (link[0].parent / link[1]).exists()]
