"""JupyterLab, served from a process of its own, and the Chromium in which it is looked at."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from fedlib.files import code_path
from fedlib.notebook.batch import kernel_environment

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def chromium() -> Iterator:
    """A headless browser, as playwright's ``Browser``."""
    from playwright.sync_api import sync_playwright  # the environments of other engines do without it

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@contextmanager
def lab(own: Path, folder: Path, options: Sequence[str] = ()) -> Iterator[str]:
    """Address of a JupyterLab on a folder, with settings of its own in another one; its token is ``see``."""
    port, log = free_port(), own / "log"
    folders = {f"{n}_DIR": str(own / n) for n in ("JUPYTER_CONFIG", "JUPYTER_RUNTIME", "JUPYTERLAB_SETTINGS")}
    command = [
        sys.executable, "-m", "jupyterlab", *options, "--no-browser", "--allow-root",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--IdentityProvider.token=see",
        "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    environment = (
        os.environ
        | kernel_environment()
        | folders
        | {"PYTHONPATH": code_path(), "JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces")}
    )
    with log.open("w") as to:
        process = subprocess.Popen(command, cwd=folder, env=environment, stderr=to, start_new_session=True)
        try:
            wait_for(f"http://127.0.0.1:{port}/api", log)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:  # once a page has restarted a kernel, JupyterLab does not end by itself
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(address: str, log: Path, seconds: int = 60) -> None:
    for _ in range(2 * seconds):
        try:
            return urlopen(address, timeout=2).close()
        except OSError:
            time.sleep(0.5)
    raise TimeoutError(f"JupyterLab did not start within {seconds} s:\n{log.read_text()[-2000:]}")
