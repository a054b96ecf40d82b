"""JupyterLab and the app, each served from a process of its own, and the Chromium in which they are looked at."""

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

import psutil

from fedlib.pages import serve as app
from fedlib.pages.app import PAGES

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
    environment = app.environment() | folders | {"JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces")}
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


class App:
    """`make app` on a free port, without opening a browser."""

    def __init__(self, own: Path):
        self.port, self.log = free_port(), (own / "log").open("w")
        words = app.command(port=self.port, browser=False)
        self.process = subprocess.Popen(words, env=app.environment(), stdout=self.log, stderr=self.log)
        self.me = psutil.Process(self.process.pid)

    def url(self, name: str | None = None) -> str:
        return f"http://127.0.0.1:{self.port}/" + (f"voila/render/{name}.ipynb" if name else "")

    def kernels(self) -> set[int]:
        return {child.pid for child in self.me.children(recursive=True)}

    def wait_until_full(self, limit_s: float = 300) -> set[int]:
        """A kernel for each page waits and does nothing more; which they are."""
        end, before = time.monotonic() + limit_s, {}
        while time.monotonic() < end:
            time.sleep(2)
            now = {child.pid: sum(child.cpu_times()[:2]) for child in self.me.children(recursive=True)}
            settled = len(now) == len(PAGES) and now.keys() == before.keys()
            if settled and all(now[pid] > 2 and now[pid] - before[pid] < 0.1 for pid in now):
                return set(now)
            before = now
        raise TimeoutError(f"{len(before)} kernels, CPU seconds {before}")

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.log.close()
