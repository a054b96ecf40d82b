"""Serves the pages in ``voila`` with Voila: `python -m fedlib.pages.serve` (make app)."""

import argparse
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from ..files import ROOT
from ..notebook.batch import kernel_environment

HERE = Path(__file__).parent / "voila"
ALONE_S = 180  # after which a kernel ends whose page has gone without a word
WIDGETS = "@voila-dashboards/widgets-manager8", "@jupyter-widgets/jupyterlab-manager"
EXTENSIONS = [*WIDGETS, "anywidget"]  # all that a page loads


def command(ip: str = "127.0.0.1", port: int = 8866, browser: bool = True, waiting: int = 1) -> list[str]:
    """What starts the server. waiting: kernels for each page that have drawn it before anybody comes."""
    options = {
        "Voila.ip": ip,
        "port": port,
        "Voila.port_retries": 0,
        "template": "fedlib",
        "Voila.log_level": "ERROR",
        "VoilaConfiguration.classic_tree": True,
        "VoilaConfiguration.extension_allowlist": EXTENSIONS,
        "preheat_kernel": waiting > 0,
        "pool_size": waiting,
        "VoilaKernelManager.fill_delay": 5,  # s: the page that was just opened comes first
        "VoilaConfiguration.multi_kernel_manager_class": "kernels.Kernels",
        "MappingKernelManager.cull_idle_timeout": ALONE_S,
        "MappingKernelManager.cull_interval": 10,
    }
    flags = [f"--{k}={v}" for k, values in options.items() for v in (values if isinstance(values, list) else [values])]
    return [sys.executable, "-m", "voila", str(HERE), *flags, *([] if browser else ["--no-browser"])]


def environment(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Of the server and its kernels: our template, the pictures' widget wherever it is installed, one thread each."""
    prefix = Path(find_spec("anywidget").origin).parents[4]
    paths = [str(HERE / "share"), str(prefix / "share/jupyter"), variables.get("JUPYTER_PATH", "")]
    code = [str(ROOT), str(HERE), variables.get("PYTHONPATH", "")]
    ours = {"JUPYTER_PATH": paths, "PYTHONPATH": code}
    return dict(variables) | kernel_environment() | {k: os.pathsep.join(filter(None, v)) for k, v in ours.items()}


def main(arguments: list[str] | None = None) -> None:
    """Become the server."""
    parser = argparse.ArgumentParser(prog="python -m fedlib.pages.serve", description=__doc__)
    parser.add_argument("--ip", default="127.0.0.1", help="0.0.0.0 lets other machines in (default: only this one)")
    parser.add_argument("--port", type=int, default=8866)
    parser.add_argument("--waiting", type=int, default=1, help="kernels that wait for each page (about 0.5 GB each)")
    parser.add_argument("--no-browser", action="store_false", dest="browser", help="open no browser")
    chosen = parser.parse_args(arguments)
    if find_spec("voila") is None:
        sys.exit("voila is not installed here; `make app` makes an environment with it")
    os.execve(sys.executable, command(**vars(chosen)), environment())


if __name__ == "__main__":
    main()
