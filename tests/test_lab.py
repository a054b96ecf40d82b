"""`make lab` as its reader meets it: JupyterLab in a real browser, at the notebooks, with their pictures."""

import os
import platform
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.request import urlopen

import nbformat
import pytest

from fedlib.files import ROOT
from fedlib.runs.profiles import NOTEBOOKS

from . import chromium

PANEL = "window.jupyterapp.shell.currentWidget"
pytestmark = chromium.needed


OPTIONS = shlex.split(re.search(r"jupyter lab (.*)", (ROOT / "Makefile").read_text())[1], comments=True)


@contextmanager
def server(tmp_path, options, folder):
    """Address of a JupyterLab with settings of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = {f"{n}_DIR": str(tmp_path / n) for n in ("JUPYTER_CONFIG", "JUPYTER_RUNTIME", "JUPYTERLAB_SETTINGS")}
    command = [
        sys.executable, "-m", "jupyterlab", *options, "--no-browser", "--allow-root",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--IdentityProvider.token=see",
        "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    environment = os.environ | folders | {"JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces")}
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stderr=log, start_new_session=True)
        try:
            wait_for(f"http://127.0.0.1:{port}/api", tmp_path / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()


@pytest.fixture
def page(browser):
    opened = browser.new_page()
    yield opened
    opened.close()


def wait_for(address, log, seconds=60):
    for _ in range(2 * seconds):
        try:
            return urlopen(address, timeout=2).close()
        except OSError:
            time.sleep(0.5)
    raise TimeoutError(f"JupyterLab did not start within {seconds} s:\n{log.read_text()[-2000:]}")


def test_lab_opens_at_the_notebooks_finds_their_pictures_and_changes_nothing(tmp_path, page):
    path = min(NOTEBOOKS.glob("*.ipynb"))
    notebook = nbformat.read(path, 4)
    static = next(i for i, c in enumerate(notebook.cells) if c.cell_type == "markdown" and "(../figures/" in c.source)
    with server(tmp_path, OPTIONS, ROOT) as lab:
        page.goto(f"{lab}/?token=see")
        assert page.url.startswith(f"{lab}/lab/tree/notebooks")
        page.goto(f"{lab}/lab/tree/notebooks/{path.name}?reset")
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
from fedlib.plots.style import panels
from fedlib.plots.widgets import explore
def draw(a):
    fig, ((ax,),) = panels()
    ax.plot([0, 1], [0, a])
    return fig
explore(draw, "a line", a=IntSlider(1, min=0, max=5))
"""


def test_a_key_on_a_slider_changes_picture_and_alt_text(tmp_path, page):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(EXPLORER)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    nbformat.write(notebook, tmp_path / "one.ipynb")
    with server(tmp_path, [], tmp_path) as lab:
        page.goto(f"{lab}/lab/tree/one.ipynb?token=see&reset")
        page.locator(".jp-CodeCell").first.wait_for(timeout=90_000)
        page.wait_for_function(f"{PANEL}?.context?.sessionContext?.session?.kernel?.status == 'idle'", timeout=90_000)
        page.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^Run$")).click()
        page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Run All Cells$")).click()
        picture = page.locator(".jp-OutputArea-output img")
        picture.wait_for(timeout=90_000)
        before = picture.get_attribute("src")
        assert picture.get_attribute("alt") == "a line (a 1)"
        page.locator(".noUi-handle").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("document.querySelector('.jp-OutputArea-output img').alt == 'a line (a 2)'")
        assert picture.get_attribute("src") != before
        assert picture.evaluate("async image => { await image.decode(); return image.naturalWidth }") == 1200
