"""What starts the server: an address, a pool of kernels, and an environment that finds template and widgets."""

import os
import sys
from pathlib import Path

import pytest

from fedlib.app import __main__ as serve
from fedlib.files import ROOT


def test_the_command_names_the_address_and_the_pool():
    words = serve.command(port=1234, browser=False, waiting=2)
    assert words[:4] == [sys.executable, "-m", "voila", str(ROOT / "app")]
    assert {"--Voila.ip=127.0.0.1", "--port=1234", "--pool_size=2", "--no-browser"} <= set(words)
    assert "--preheat_kernel=False" in serve.command(waiting=0)
    assert "--no-browser" not in serve.command()


def test_a_training_that_nobody_sees_is_no_sign_of_life():
    words = serve.command()
    assert "--MappingKernelManager.cull_busy=True" in words
    assert "--MappingKernelManager.untracked_message_types=comm_msg" in words


def test_the_environment_finds_template_widgets_and_code():
    given = serve.environment({"JUPYTER_PATH": "/theirs", "HOME": "/home/me"})
    ours, prefix, theirs = map(Path, given["JUPYTER_PATH"].split(os.pathsep))
    assert (ours / "voila/templates/fedlib/index.html.j2").exists()
    assert (prefix / "labextensions/anywidget/package.json").exists()
    assert (str(theirs), given["HOME"]) == ("/theirs", "/home/me")
    assert given["PYTHONPATH"] == str(ROOT) and given["MALLOC_TRIM_THRESHOLD_"] == "4000000000"


def test_without_voila_a_word_says_what_to_do(monkeypatch):
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="make app"):
        serve.main([])


def test_the_server_is_started_with_what_was_asked(monkeypatch):
    started = []
    monkeypatch.setattr(serve, "find_spec", lambda name: __import__("importlib.util").util.find_spec("anywidget"))
    monkeypatch.setattr(serve.os, "execve", lambda *given: started.append(given))
    serve.main(["--port", "4321", "--ip", "0.0.0.0", "--no-browser", "--waiting", "3"])
    ((program, words, given),) = started
    assert program == sys.executable and words == serve.command("0.0.0.0", 4321, False, 3)
    assert given["JUPYTER_PATH"].startswith(str(ROOT / "app/share"))
