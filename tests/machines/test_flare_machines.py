"""A federation of real processes on FLARE, with its certificates, on loopback: the same training, and its faults.

A start takes half a minute, so a test asks more than one question of it. A site that is killed and comes back with
another table, or its own: test_story; one that sends nonsense: test_arriving.
"""

import contextlib
import importlib.util
import os
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from fedlib.machines.engines import sites_of
from fedlib.machines.plan import load
from fedlib.machines.points import in_one_process
from fedlib.machines.server import federate, stored_progress
from fedlib.trainings.settings import read_result

from .test_engines import broken, silent
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

    def __init__(self, folder: Path, port: int | None = None, path: Path = PATH):
        self.folder, self.kits, self.started = folder, folder / "kits" / "federation" / "prod_00", {}
        with socket.socket() as free:
            free.bind(("localhost", 0))
            self.port = port or free.getsockname()[1]
        self.start("provision", str(path), "--kits", str(folder / "kits"), "--port", str(self.port))
        assert self.end("provision") == 0

    def start(self, name: str, *arguments: str, **environment: str):
        with open(self.output(name), "wb") as file:
            self.started[name] = subprocess.Popen(
                [sys.executable, "-m", "fedlib", "federate", name.split("-")[0], *arguments],
                stdout=file, stderr=subprocess.STDOUT, env=os.environ | environment,
            )  # fmt: skip
        return self.started[name]

    def site(self, name: str, path: Path = PATH, *arguments: str, **environment: str):
        kit, folder = str(self.kits / name), str(self.folder / "sites")
        return self.start(name, str(path), "--kit", kit, "--folder", folder, *arguments, **environment)

    def server(self, *arguments: str, path: Path = PATH):
        kits, folder = str(self.kits), str(self.folder / "server")
        self.start("server", str(path), "--kits", kits, "--folder", folder, *arguments)

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

    def kill(self, name: str):
        """As if the machine lost its power: the command and all that FLARE started there."""
        its = psutil.Process(self.started[name].pid)
        for process in [its, *its.children(recursive=True)]:
            process.kill()
        self.end(name)

    def clear(self):
        """End what is still there, at the end of a test; nothing may be left over."""
        for process in self.started.values():
            with contextlib.suppress(psutil.NoSuchProcess):
                for each in [*psutil.Process(process.pid).children(recursive=True), process]:
                    each.kill()
            process.wait()
        assert self.left_over() == []

    def left_over(self) -> list[str]:
        """Command lines of processes that have to do with these kits, ten seconds later at most."""
        for _ in range(100):
            found = [" ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])]
            if not (found := [line for line in found if str(self.folder) in line]):
                return []
            time.sleep(0.1)
        return found


def knock(machines: Machines, of: Machines | None = None) -> bytes:
    """What the server answers who trusts its certificate, and shows that of site-3 of a federation, or none."""
    context = ssl.create_default_context(cafile=machines.kits / "site-1" / "startup" / "rootCA.pem")
    if of:
        kit = of.kits / "site-3" / "startup"
        context.load_cert_chain(kit / "client.crt", kit / "client.key")
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("localhost", machines.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as its,
    ):
        its.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return its.recv(100)
    return b""


def ask_but_not(ask, name, first):
    """An engine on which a site does not answer a roll call either, once its first round without it was played."""
    gone = []

    def asking(questions):
        gone.extend(q["round"] for q in questions.values() if q.get("round", -1) >= first)
        answers = ask(questions)
        return answers | {name: silent({})} if gone and name in answers else answers

    return asking


@pytest.fixture
def machines(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_CASE", "momentum kept")
    its = Machines(tmp_path)
    yield its
    its.clear()


def test_real_processes_equal_one_process(machines):
    """Twenty rounds of five clients on three sites; each machine's command ends when the training does."""
    for name in SITES:
        machines.site(name)
    machines.server("--rounds", "20")
    assert machines.end("server") == 0, machines.output("server").read_text()
    assert [machines.end(name) for name in SITES] == [0, 0, 0]
    assert machines.left_over() == []
    together = in_one_process(load(PATH), rounds=20)
    assert largest_difference(machines.folder / "sites", together) < 1e-10
    metrics = read_result(machines.folder / "server" / "result.json")["metrics"]
    np.testing.assert_allclose(np.array(metrics["losses"], float), together.losses, rtol=1e-5)  # six digits in a file
    assert machines.output("server").read_text().count("\nround ") == 20
    seconds = np.median(metrics["seconds"])
    print(f"a steady round: {seconds:.3f} s")
    assert seconds < 2


@pytest.mark.fault("survived")
def test_a_round_goes_on_without_a_killed_site(machines):
    """With the weights of those who are there: as in one process where the same site is silent from that round on."""
    for name in SITES:
        machines.site(name, FEDLIB_SLOW="0.5")
    machines.server("--rounds", "6", "--timeout", "10", "--min-sites", "2")
    machines.until("server", "round    2")
    machines.kill("site-3")
    assert machines.end("server") == 0, machines.output("server").read_text()
    lost = read_result(machines.folder / "server" / "result.json")["metrics"]["lost"]
    first = [*map(bool, lost)].index(True)
    assert 2 <= first < 5 and {*map(tuple, lost[first:])} == {("site-3",)}
    ask = broken(sites_of(load(PATH)), "site-3", range(first, 6), silent)
    *_, last = federate(load(PATH), ask_but_not(ask, "site-3", first), rounds=6, min_sites=2)
    state = stored_progress(machines.folder / "server" / "server.pt", load(PATH).identity).state
    np.testing.assert_allclose(state.theta, last.progress.state.theta, rtol=0, atol=1e-12)


@pytest.mark.fault("survived")
def test_a_killed_server_goes_on_from_its_checkpoint(machines):
    """The sites were not touched: they wait for the server until it is there again."""
    for name in SITES:
        machines.site(name, FEDLIB_SLOW="0.2")
    machines.server("--rounds", "8")
    machines.until("server", "round    2")
    machines.started["server"].kill()  # its FLARE goes with it
    machines.end("server")
    machines.server("--rounds", "8")
    assert machines.end("server") == 0, machines.output("server").read_text()
    assert "round    2" not in machines.output("server").read_text()
    assert largest_difference(machines.folder / "sites", in_one_process(load(PATH), rounds=8)) < 1e-12


@pytest.mark.fault("clear error")
def test_a_stranger_and_another_experiment_are_refused(machines, tmp_path):
    """A site-3 of another federation does not get in, nor who has no certificate or a foreign one and trusts the
    server; a site-2 with another number is named."""
    (elsewhere := tmp_path / "elsewhere").mkdir()
    stranger = Machines(elsewhere, machines.port)
    machines.started["stranger"] = stranger.site("site-3")
    other = tmp_path / "other.py"
    other.write_text(PATH.read_text().replace("0.02", "0.03"))
    machines.site("site-1")
    machines.site("site-2", other)
    machines.server()
    log = elsewhere / "sites" / "site-3.log"
    machines.until("stranger", "CERTIFICATE_VERIFY_FAILED", log)
    assert machines.started["server"].poll() is None
    assert knock(machines) == knock(machines, stranger) == b""
    assert knock(machines, machines).startswith(b"HTTP/1.1")
    machines.site("site-3")
    assert machines.end("server") == 2
    assert "site-2 is refused: its experiment has hash" in machines.output("server").read_text()
    assert "round    1" not in machines.output("server").read_text()
