"""The page of all figures: what there is, in words, and the printed numbers; nothing from elsewhere."""

import json
import re

import pytest

from fedlib.notebook import gallery
from fedlib.notebook.verdicts import PaperNumber, judge, measured
from fedlib.trainings.settings import FIGURES, NOTEBOOKS, REQUIRED


@pytest.fixture
def figures(tmp_path):
    """01 with two pictures, and a printed number."""
    folder, names = tmp_path / "01_pendulum", ["z_first", "both"]
    folder.mkdir()
    for name in names:
        (folder / f"{name}.png").touch()
    measured = {"fed-deeponet.table1.C20": {"values": [1.0, 1.1], "why": "", "bound": None}}
    result = {name: {} for name in REQUIRED} | {"figures": {name: f"a <{name}>" for name in names}}
    (folder / "result.json").write_text(json.dumps(result | {"measured": measured}))
    return tmp_path


def test_a_row_per_figure_in_the_notebooks_order(figures):
    text = gallery.write(figures).read_text()
    rows = re.findall(r"<tr><td.*?</tr>", text.split("<details")[0])
    assert len(rows) == 2
    assert [f'src="01_pendulum/{name}.png"' in row for name, row in zip(("z_first", "both"), rows, strict=True)] == [
        1,
        1,
    ]
    assert "a &lt;both&gt;" in rows[1] and "01_pendulum.ipynb does not draw it any more" in rows[1]


def test_printed_numbers_stand_beside_the_papers_settings(figures):
    text = gallery.write(figures).read_text()
    (row,) = re.findall(r"<li>Table 1: .*?</li>", text)
    assert "printed 1.154 %; ours 1.050 +- 0.071 % (2 seeds" in row and "consistent" in row


def test_a_printed_number_stands_beside_the_figure_that_is_named_after_its_place():
    row = judge(PaperNumber("a", 1.0, "Fig. 1, u = t"), measured([1.0]))
    assert gallery.stands_in(row, "fig1") and gallery.stands_in(row, "fig1_ab")
    assert not gallery.stands_in(row, "fig12") and not gallery.stands_in(row, "table1")


def test_a_link_leads_to_the_cell_that_draws_a_figure():
    (path,) = NOTEBOOKS.glob("05*")
    cells = gallery.cells_of(path)
    for name in ("error_level", "poisson_fine"):  # by its name, and by an f-string
        index = gallery.cell_of(cells, name)
        source = "".join(cells[index]["source"])
        assert ".figure(" in source and (name in source or "{name}_{which}" in source)
        (number,) = re.findall(
            r'href="\.\./notebooks/05_pinn_forward\.ipynb#\S+">.*cell (\d+): ', gallery.link(path, cells, name)
        )
        assert int(number) == index + 1


def test_every_link_of_the_true_gallery_leads_somewhere(tmp_path):
    for path in FIGURES.glob("[0-9]*"):
        (tmp_path / path.name).symlink_to(path)
    text = gallery.write(tmp_path).read_text()
    assert "does not draw it any more" not in text
    links = re.findall(r'(?:src|href)="([^"#]+)[#"]', text)
    assert len(links) > 100 and not [link for link in links if link.startswith(("http", "/"))]
    for link in links:
        assert (FIGURES / link).exists(), link
    assert all(f'id="{path.stem}"' in text for path in NOTEBOOKS.glob("*.ipynb") if (FIGURES / path.stem).exists())
