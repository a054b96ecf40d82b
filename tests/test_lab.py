"""`make lab` as its reader meets it: JupyterLab in a real browser, at the notebooks, with their pictures."""

import os
import platform
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import nbformat
import pytest
from playwright.sync_api import sync_playwright

from fedlib.batch import NOTEBOOKS
from fedlib.results import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PANEL = "window.jupyterapp.shell.currentWidget"


@pytest.fixture
def lab(tmp_path):
    """Address of a server with the options of the Makefile, and settings of its own."""
    options = re.search(r"jupyter lab (.*)", (ROOT / "Makefile").read_text())[1]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = {f"{n}_DIR": str(tmp_path / n) for n in ("JUPYTER_CONFIG", "JUPYTER_RUNTIME", "JUPYTERLAB_SETTINGS")}
    command = [
        sys.executable, "-m", "jupyterlab", *shlex.split(options, comments=True), "--no-browser", "--allow-root",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--IdentityProvider.token=see",
        "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    environment = os.environ | folders | {"JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces")}
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log, start_new_session=True)
        try:
            wait_for(f"http://127.0.0.1:{port}/api", tmp_path / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait()


def wait_for(address, log, seconds=60):
    for _ in range(2 * seconds):
        try:
            return urlopen(address, timeout=2).close()
        except OSError:
            time.sleep(0.5)
    raise TimeoutError(f"JupyterLab did not start within {seconds} s:\n{log.read_text()[-2000:]}")


@pytest.mark.skipif(not CHROMIUM, reason="no chromium on the PATH (.ci/run installs it)")
def test_lab_opens_at_the_notebooks_finds_their_pictures_and_changes_nothing(lab):
    path = min(NOTEBOOKS.glob("*.ipynb"))
    notebook = nbformat.read(path, 4)
    static = next(i for i, c in enumerate(notebook.cells) if c.cell_type == "markdown" and "(../figures/" in c.source)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
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
        browser.close()
