"""`make lab` as its reader meets it: JupyterLab in a real browser, at the notebooks, with their pictures."""

import os
import platform
import re
import shlex
import subprocess

import nbformat
import pytest

from fedlib.files import ROOT
from fedlib.trainings.settings import NOTEBOOKS
from tools.latency import hands, latency
from tools.latency.browser import lab

from . import chromium

PANEL = "window.jupyterapp.shell.currentWidget"
pytestmark = chromium.needed


def options(*assignments, **environment):
    """What `make lab` tells JupyterLab."""
    command = ["make", "-n", "lab", *assignments]
    said = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=True)
    return shlex.split(re.search(r"bin/jupyter lab (.*)", said.stdout)[1])


@pytest.mark.parametrize("user", [0, 1000])
def test_lab_takes_flags_and_root(user, tmp_path):
    (tmp_path / "id").write_text(f"#!/bin/sh\necho {user}\n")
    (tmp_path / "id").chmod(0o755)
    flags = options("FLAGS=--no-browser --port 9000", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert flags[-3:] == ["--no-browser", "--port", "9000"] and ("--allow-root" in flags) == (user == 0)


def test_what_latency_imports_is_there():
    exec(latency.IMPORTS, {})


@pytest.fixture
def page(browser):
    opened = browser.new_page()
    yield opened
    opened.close()


def test_lab_opens_at_the_notebooks_finds_their_pictures_and_changes_nothing(tmp_path, page):
    """And with the first of them, without a question whether one wants news; nothing is saved unasked."""
    path = min(NOTEBOOKS.glob("*.ipynb"))
    notebook = nbformat.read(path, 4)
    static = next(i for i, c in enumerate(notebook.cells) if c.cell_type == "markdown" and "../figures/" in c.source)
    with lab(tmp_path, ROOT, options()) as address:
        page.goto(f"{address}/?token=see")
        page.locator(".jp-Notebook h1").get_by_text("Can two learn one curve").wait_for(timeout=60_000)
        page.wait_for_timeout(3000)
        assert page.get_by_text("Jupyter news").count() == 0
        assert page.evaluate("window.jupyterapp.commands.isToggled('docmanager:toggle-autosave')") is False
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
from fedlib.notebook.style import panels
from fedlib.live.widgets import explore, slider
def draw(a):
    fig, ((ax,),) = panels()
    ax.plot([0, 1], [0, a])
    return fig
explore(draw, "a line", a=slider(range(6), 1))
"""


PIECES = """
from IPython.display import display
from fedlib.live import explorer
from fedlib.live.training import Training
from fedlib.pages import pieces
display(Training(), explorer("07_operator_learning"))
"""
CANVAS = "[...document.querySelectorAll('.jp-OutputArea-output canvas')].map(canvas => canvas.toDataURL())"


def test_keys_change_the_pictures_of_the_kernel_and_of_the_pieces_without_one(tmp_path, page):
    with lab(tmp_path, tmp_path) as address:
        hands.begin(page, address, tmp_path)
        hands.run(page, EXPLORER, "img[src^=blob]")
        picture = page.locator(".jp-OutputArea-output img")
        before = picture.get_attribute("src")
        assert picture.get_attribute("alt") == "a line (a 1)"
        page.get_by_label("a", exact=True).focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("document.querySelector('.jp-OutputArea-output img').alt == 'a line (a 2)'")
        assert picture.get_attribute("src") != before
        assert picture.evaluate("async image => { await image.decode(); return image.naturalWidth }") == 1200
        hands.run(page, PIECES, "canvas[aria-label]")
        page.locator("canvas[aria-label]").nth(1).wait_for()
        before = page.evaluate(CANVAS)
        for name in ("pieces", "T1"):
            page.get_by_label(name).focus()
            page.keyboard.press("ArrowRight")
        after = page.evaluate(CANVAS)
        assert len(after) == 2 and before[0] != after[0] and before[1] != after[1]
        for rounds, key in enumerate(("Enter", "Space"), 1):
            page.get_by_role("button", name="Step one round").focus()
            page.keyboard.press(key)
            assert f"after {rounds} round" in page.locator("canvas[aria-label]").first.get_attribute("aria-label")


def test_a_press_before_the_kernel_is_there_harms_nothing_and_a_federation_trains_in_sight(tmp_path, page):
    page.set_viewport_size({"width": 1280, "height": 900})
    with lab(tmp_path, ROOT, options()) as address:
        page.goto(f"{address}/?token=see")
        cell = page.locator(".jp-Notebook .jp-CodeCell").first
        cell.locator(".jp-Editor").click(timeout=90_000)
        page.keyboard.press("Shift+Enter")
        page.wait_for_function(f"{PANEL}?.context?.sessionContext?.session?.kernel?.status == 'idle'", timeout=90_000)
        page.wait_for_timeout(3000)
        said = page.locator(".fed-said")
        if not said.count():  # JupyterLab has dropped the press
            cell.locator(".jp-Editor").click()
            page.keyboard.press("Shift+Enter")
        page.wait_for_function(
            "document.querySelector('.fed-said')?.textContent.startsWith('after 400 rounds: ')", timeout=120_000
        )
        page.get_by_role("button", name="Play").wait_for()  # it has stopped
        foot, notebook = said.bounding_box(), page.locator(".jp-NotebookPanel-notebook").bounding_box()
        assert foot["y"] + foot["height"] < notebook["y"] + notebook["height"]
        assert not page.locator("[data-mime-type='application/vnd.jupyter.error']").count()


@pytest.mark.parametrize("key", ["Shift+Enter", "Escape"])
def test_after_three_keys_the_slider_is_in_sight_and_after_it_the_keys_go_on(key, tmp_path, page):
    page.set_viewport_size({"width": 1280, "height": 900})
    with lab(tmp_path, ROOT, options()) as address:
        page.goto(f"{address}/lab/tree/notebooks/05_pinn_forward.ipynb?token=see&reset")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=90_000)
        page.wait_for_function(f"{PANEL}?.context?.sessionContext?.session?.kernel?.status == 'idle'", timeout=90_000)
        page.evaluate(f"{PANEL}.content.activeCellIndex = 0")
        page.locator(".jp-Notebook .jp-Cell").first.focus()
        for _ in range(3):
            page.keyboard.press("Shift+Enter")
        slider = page.locator(".fed-live").get_by_label("pieces", exact=True)
        slider.wait_for(timeout=60_000)
        page.wait_for_timeout(1000)  # until JupyterLab has scrolled
        slider_box, notebook = slider.bounding_box(), page.locator(".jp-NotebookPanel-notebook").bounding_box()
        foot = slider_box["y"] + slider_box["height"]
        assert notebook["y"] < slider_box["y"] and foot < notebook["y"] + notebook["height"]
        slider.click()
        page.keyboard.press("d")
        page.keyboard.press("d")
        assert page.evaluate(f"{PANEL}.content.activeCellIndex") == 2 and slider.count() == 1, (
            "letters stay in the slider"
        )
        page.keyboard.press(key)
        assert page.evaluate(
            "document.activeElement.closest('.jp-Cell') !== null && document.activeElement.tagName != 'INPUT'"
        )
        if key == "Escape":
            page.keyboard.press("Shift+Enter")
        page.wait_for_function(f"{PANEL}.content.activeCellIndex == 3")


LIVE = """
from fedlib.federated.mixing import fedavg, isolated
from fedlib import live
from fedlib.live.widgets import choice, slider
from fedlib.papers.fedsciml.forward.problem import poisson
made = live.live(
    poisson(), level=slider([2, 4, 8, 16, 32], 2, "pieces"), E=slider([5, 20], 5, "local steps E"),
    mixing=choice([("FedAvg", fedavg), ("no one", isolated)], fedavg, "mixing"),
)
made.box
"""
STOP = (
    "document.activeElement.getAttribute('aria-label') ?? document.activeElement.closest('[role=radiogroup]')"
    "?.getAttribute('aria-label') ?? document.activeElement.innerText"
)
SAID = "document.querySelector('.jp-OutputArea-output img').alt"


def test_a_live_piece_by_keyboard_alone_and_two_steps_at_once_while_it_plays(tmp_path, page):
    """Each control is one stop of Tab. JupyterLab sends the first step to another thread of the kernel than the second:
    the training went on in neither."""
    with lab(tmp_path, tmp_path) as address:
        hands.begin(page, address, tmp_path)
        hands.run(page, LIVE, "img[src^=blob]")
        page.get_by_role("button", name="Play").focus()
        stops = [page.evaluate(STOP)]
        for _ in range(6):
            page.keyboard.press("Tab")
            stops.append(page.evaluate(STOP))
        assert stops == ["Play", "Step one round", "Reset", "pace", "pieces", "local steps E", "mixing"]
        before = page.evaluate(SAID)
        page.get_by_role("button", name="Play").focus()
        page.keyboard.press("Enter")
        page.wait_for_function(f"before => {SAID} !== before", arg=before)
        page.wait_for_timeout(3000)
        page.get_by_label("pieces").focus()
        for _ in range(2):
            page.keyboard.press("ArrowRight")
        page.wait_for_timeout(4000)
        assert page.get_by_role("button", name="Pause").count() == 1, "the button says that it plays"
        page.wait_for_function(f"before => {SAID} !== before", arg=page.evaluate(SAID), timeout=5000)
        page.get_by_role("button", name="Pause").focus()
        page.keyboard.press("Space")
        page.get_by_role("button", name="Play").wait_for()
        page.get_by_role("button", name="Reset").focus()
        page.keyboard.press("Enter")
        page.wait_for_function(f"{SAID}.includes('round 1, after local step')")
        page.get_by_label("mixing", exact=True).locator("input:checked").focus()
        page.keyboard.press("ArrowRight")
        page.get_by_text("mixing: acts at the next average.").wait_for()
        page.get_by_label("pace", exact=True).focus()
        page.keyboard.press("ArrowDown")
        assert page.get_by_label("pace", exact=True).input_value() == "each step", "a list takes keys in JupyterLab"


PANEL_OF_05 = """
from fedlib.live import panel
panel.parameters("05_pinn_forward")
"""


def test_the_panel_by_keyboard_alone(tmp_path, page):
    with lab(tmp_path, tmp_path) as address:
        hands.begin(page, address, tmp_path)
        hands.run(page, PANEL_OF_05, "img[src^=blob]")
        field = page.get_by_label("local_updates", exact=True)
        field.focus()
        page.keyboard.press("End")
        page.keyboard.type("x")
        wrong = page.get_by_text("local_updates = '5x'; expected int")
        wrong.wait_for()
        assert abs(wrong.bounding_box()["y"] - field.bounding_box()["y"]) < 30, "the message stands beside the field"
        page.keyboard.press("Backspace")
        wrong.wait_for(state="detached")
        field.focus()
        page.keyboard.press("End")
        page.keyboard.type("0")
        page.get_by_text("local_updates 50 instead of 5").wait_for()
