"""The site's address is one setting, which README, the page for teachers and the notebooks follow."""

import shutil

import nbformat
import pytest

from fedlib.files import ROOT
from fedlib.pages import address

URL = "https://lab.example/fedlib"


def test_all_follow_the_setting_of_the_project():
    stale = [path.name for path, text in address.written(address.setting()).items() if path.read_text() != text]
    assert not stale, "python -m fedlib.pages.address mends them"


def test_an_address_stands_where_readers_look_and_goes_again(tmp_path):
    for name in ("README.md", "CITATION.cff", "docs/teaching.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    address.main("", tmp_path)
    before = {path: path.read_text() for path in tmp_path.rglob("*.*") if path.is_file()}
    address.main(URL + "/", tmp_path)
    assert address.setting(tmp_path) == URL
    for name in ("README.md", "docs/teaching.md"):
        assert (tmp_path / name).read_text().count(f"published at <{URL}>") == 1
    notebooks = [*(tmp_path / "notebooks").glob("*.ipynb")]
    assert len(notebooks) == len([*(ROOT / "notebooks").glob("*.ipynb")])
    for path in notebooks:
        assert nbformat.read(path, 4).cells[0].source.endswith(f"({URL}/notebooks/{path.stem}.html)")
    address.main("https://lab.example/moved", tmp_path)
    assert not [path for path in before if URL in path.read_text()]
    address.main("", tmp_path)
    assert {path: path.read_text() for path in before} == before


def test_what_is_no_address_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"'lab.example' is no address; expected such as https://"):
        address.main("lab.example", tmp_path)
