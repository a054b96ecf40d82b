"""What starts the server: an address, a pool of kernels, and an environment that finds template and widgets."""

import asyncio
import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fedlib.files import ROOT
from fedlib.pages import serve

SPEC = importlib.util.find_spec("anywidget")  # of a package that is there


def test_the_command_names_the_address_and_the_pool():
    words = serve.command(port=1234, browser=False, waiting=2)
    assert words[:4] == [sys.executable, "-m", "voila", str(serve.HERE)]
    assert {"--Voila.ip=127.0.0.1", "--port=1234", "--pool_size=2", "--no-browser"} <= set(words)
    assert "--preheat_kernel=False" in serve.command(waiting=0)
    assert "--no-browser" not in serve.command()


def test_a_kernel_ends_some_time_after_its_page_and_not_because_it_has_waited(monkeypatch):
    spec = importlib.util.spec_from_file_location("kernels", serve.HERE / "kernels.py")
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    name, clock, ended = "an hour old", [3600.0], []

    async def end(kernel_id):
        ended.append((kernel_id, clock[0]))

    monkeypatch.setattr(kernels, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    made = SimpleNamespace(alone={}, _kernel_connections={}, cull_idle_timeout=100, shutdown_kernel=end)
    for second, connected in {0: 0, 90: 1, 200: 1, 210: 0, 300: 0, 305: 1, 310: 0, 400: 0, 411: 0}.items():
        clock[0], made._kernel_connections[name] = 3600.0 + second, connected
        asyncio.run(kernels.Kernels.cull_kernel_if_idle(made, name))
    assert ended == [(name, 4011.0)] and made.alone == {}
    assert "--VoilaConfiguration.multi_kernel_manager_class=kernels.Kernels" in serve.command()


def test_the_environment_finds_template_widgets_and_code():
    given = serve.environment({"JUPYTER_PATH": "/theirs", "HOME": "/home/me"})
    ours, prefix, theirs = map(Path, given["JUPYTER_PATH"].split(os.pathsep))
    assert (ours / "voila/templates/fedlib/index.html.j2").exists()
    assert (prefix / "labextensions/anywidget/package.json").exists()
    assert (str(theirs), given["HOME"]) == ("/theirs", "/home/me")
    assert given["PYTHONPATH"].split(os.pathsep) == [str(ROOT), str(serve.HERE)]
    assert given["MALLOC_TRIM_THRESHOLD_"] == "4000000000"


def test_without_voila_a_word_says_what_to_do(monkeypatch):
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="make app"):
        serve.main([])


def test_the_server_is_started_with_what_was_asked(monkeypatch):
    started = []
    monkeypatch.setattr(serve, "find_spec", lambda name: SPEC)
    monkeypatch.setattr(serve.os, "execve", lambda *given: started.append(given))
    serve.main(["--port", "4321", "--ip", "0.0.0.0", "--no-browser", "--waiting", "3"])
    ((program, words, given),) = started
    assert program == sys.executable and words == serve.command("0.0.0.0", 4321, False, 3)
    assert given["JUPYTER_PATH"].startswith(str(serve.HERE / "share"))
