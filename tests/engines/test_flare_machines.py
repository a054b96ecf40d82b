"""A federation of real processes on FLARE, with its certificates, on loopback: the same training, and its faults.

A start takes half a minute, so a test asks more than one question of it.
"""

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from fedlib.engines.local import in_one_process
from fedlib.runs.outputs import read_result

from .test_flare import largest_difference

PATH = Path(__file__).with_name("shapes.py")
SITES = "site-1", "site-2", "site-3"
LONG = 300  # s: a start takes 30 on a quiet machine
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not importlib.util.find_spec("nvflare"),
        reason="NVIDIA FLARE is not here: pip install '.[flare]', see make engines",
    ),
]


class Machines:
    """The commands of all machines of a federation, each a process here."""

    def __init__(self, folder: Path):
        self.folder, self.kits, self.started = folder, folder / "kits" / "federation" / "prod_00", {}
        with socket.socket() as free:
            free.bind(("localhost", 0))
            self.port = free.getsockname()[1]
        self.start("provision", str(PATH), "--kits", str(folder / "kits"), "--port", str(self.port))
        assert self.end("provision") == 0

    def start(self, name: str, *arguments: str, **environment: str):
        with open(self.output(name), "wb") as file:
            self.started[name] = subprocess.Popen(
                [sys.executable, "-m", "fedlib", "federate", name.split("-")[0], *arguments],
                stdout=file, stderr=subprocess.STDOUT, env=os.environ | environment,
            )  # fmt: skip

    def site(self, name: str, path: Path = PATH, **environment: str):
        kit, folder = str(self.kits / name), str(self.folder / "sites")
        self.start(name, str(path), "--kit", kit, "--folder", folder, **environment)

    def server(self, *arguments: str):
        kits, folder = str(self.kits), str(self.folder / "server")
        self.start("server", str(PATH), "--kits", kits, "--folder", folder, *arguments)

    def output(self, name: str) -> Path:
        return self.folder / f"{name}.out"

    def until(self, name: str, text: str, file: Path | None = None):
        """Wait for a text in what a command has printed."""
        file, end = file or self.output(name), time.monotonic() + LONG
        while not file.exists() or text not in file.read_text(errors="replace"):
            assert time.monotonic() < end and self.started[name].poll() is None, self.output(name).read_text()
            time.sleep(0.05)

    def end(self, name: str) -> int:
        return self.started[name].wait(LONG)

    def of(self, name: str) -> list[psutil.Process]:
        """FLARE's processes of a machine, the one of a training last."""
        return psutil.Process(self.started[name].pid).children(recursive=True)

    def left_over(self) -> list[str]:
        """Command lines of processes that have to do with these kits, ten seconds later at most."""
        for _ in range(100):
            found = [" ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])]
            if not (found := [line for line in found if str(self.folder) in line]):
                return []
            time.sleep(0.1)
        return found


@pytest.fixture
def machines(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_CASE", "momentum kept")
    its = Machines(tmp_path)
    yield its
    for process in its.started.values():
        with contextlib.suppress(psutil.NoSuchProcess):
            for each in [*psutil.Process(process.pid).children(recursive=True), process]:
                each.kill()
    assert its.left_over() == []


def test_real_processes_equal_one_process(machines):
    """Twenty rounds of five clients on three sites; each machine's command ends when the training does."""
    for name in SITES:
        machines.site(name)
    machines.server("--rounds", "20")
    assert machines.end("server") == 0, machines.output("server").read_text()
    assert [machines.end(name) for name in SITES] == [0, 0, 0]
    assert machines.left_over() == []
    together = in_one_process(PATH, rounds=20)
    assert largest_difference(machines.folder / "sites", together) < 1e-10
    metrics = read_result(machines.folder / "server" / "result.json")["metrics"]
    np.testing.assert_allclose(np.array(metrics["losses"], float), together.losses, rtol=1e-10)
    assert machines.output("server").read_text().count("\nround ") == 20
    seconds = np.median(metrics["seconds"])
    print(f"a steady round: {seconds:.3f} s")
    assert seconds < 2
