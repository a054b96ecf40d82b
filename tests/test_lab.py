"""`make lab` as its reader meets it: JupyterLab in a real browser, at the notebooks, with their pictures."""

import platform
import re
import shlex

import nbformat
import pytest

from fedlib.files import ROOT
from fedlib.notebook.profiles import NOTEBOOKS
from tools.latency import hands
from tools.latency.browser import lab

from . import chromium

PANEL = "window.jupyterapp.shell.currentWidget"
pytestmark = chromium.needed


OPTIONS = shlex.split(re.search(r"jupyter lab (.*)", (ROOT / "Makefile").read_text())[1], comments=True)


@pytest.fixture
def page(browser):
    opened = browser.new_page()
    yield opened
    opened.close()


def test_lab_opens_at_the_notebooks_finds_their_pictures_and_changes_nothing(tmp_path, page):
    path = min(NOTEBOOKS.glob("*.ipynb"))
    notebook = nbformat.read(path, 4)
    static = next(i for i, c in enumerate(notebook.cells) if c.cell_type == "markdown" and "(../figures/" in c.source)
    with lab(tmp_path, ROOT, OPTIONS) as address:
        page.goto(f"{address}/?token=see")
        assert page.url.startswith(f"{address}/lab/tree/notebooks")
        page.goto(f"{address}/lab/tree/notebooks/{path.name}?reset")
        page.wait_for_function(f"{PANEL}?.context?.sessionContext?.session?.kernel?.status == 'idle'", timeout=90_000)
        page.evaluate(f"Promise.all(['info', 'spec'].map(what => {PANEL}.context.sessionContext.session.kernel[what]))")
        page.evaluate(f"{PANEL}.content.scrollToItem({static}, 'start')")
        picture = page.locator(f".jp-Cell[data-windowed-list-index='{static}'] img").first
        picture.wait_for(state="attached", timeout=30_000)
        assert picture.evaluate("async image => { await image.decode(); return image.naturalWidth }") > 0
        same_python = notebook.metadata.language_info.version == platform.python_version()
        assert not page.evaluate(f"{PANEL}.context.model.dirty") or not same_python


EXPLORER = """
from ipywidgets import IntSlider
from fedlib.notebook.style import panels
from fedlib.notebook.widgets import explore
def draw(a):
    fig, ((ax,),) = panels()
    ax.plot([0, 1], [0, a])
    return fig
explore(draw, "a line", a=IntSlider(1, min=0, max=5))
"""


PIECES = """
from IPython.display import display
from fedlib.pages import pieces
display(pieces.Training(), pieces.Operator(weights=pieces.weights()))
"""
CANVAS = "[...document.querySelectorAll('.jp-OutputArea-output canvas')].map(canvas => canvas.toDataURL())"


def test_keys_change_the_pictures_of_the_kernel_and_of_the_pieces_without_one(tmp_path, page):
    with lab(tmp_path, tmp_path) as address:
        hands.begin(page, address, tmp_path)
        hands.run(page, EXPLORER, "img[src^=blob]")
        picture = page.locator(".jp-OutputArea-output img")
        before = picture.get_attribute("src")
        assert picture.get_attribute("alt") == "a line (a 1)"
        page.locator(".noUi-handle").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("document.querySelector('.jp-OutputArea-output img').alt == 'a line (a 2)'")
        assert picture.get_attribute("src") != before
        assert picture.evaluate("async image => { await image.decode(); return image.naturalWidth }") == 1200
        hands.run(page, PIECES, "canvas[aria-label]")
        page.locator("canvas[aria-label]").nth(1).wait_for()
        before = page.evaluate(CANVAS)
        for name in ("pieces each", "T1"):
            page.get_by_label(name).focus()
            page.keyboard.press("ArrowRight")
        after = page.evaluate(CANVAS)
        assert len(after) == 2 and before[0] != after[0] and before[1] != after[1]
        for rounds, key in enumerate(("Enter", "Space"), 1):
            page.get_by_role("button", name="Step one round").focus()
            page.keyboard.press(key)
            assert f"after {rounds} rounds" in page.locator("canvas[aria-label]").first.get_attribute("aria-label")
