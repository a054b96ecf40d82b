"""Commands of README and docs/running.md work: ours are run as they stand, of `make` the target exists."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fedlib.files import ROOT
from fedlib.trainings.settings import NOTEBOOKS

TEXT = "\n".join((ROOT / name).read_text() for name in ("README.md", "docs/running.md"))
FENCED = [line for block in re.findall(r"^```\w*\n(.*?)^```", TEXT, re.M | re.S) for line in block.splitlines()]
PROGRAM = re.compile(r"(\$ )?(\S*/)?(python|papermill) ")
COMMANDS = [shlex.split(line.removeprefix("$ "), comments=True) for line in FENCED if PROGRAM.match(line)]
TARGETS = sorted(set(re.findall(r"(?:^|`)make ([a-z]+)", TEXT, re.M)))
SMALL = {"01_pendulum": {"n_triplets": 300, "n_test": 10, "sensors": 20, "local_updates": 1}}
"""Added where a command takes more than a minute: sizes that it does not name itself."""


def is_run(command):
    return Path(command[0]).name == "papermill" or command[1:4] in (["-m", "fedlib", "run"], ["-m", "fedlib", "report"])


def smaller(command):
    """More -p options, as ``python -m fedlib`` (name=value) or papermill (name value) writes them."""
    for notebook, sizes in SMALL.items():
        if any(notebook in word for word in command):
            for name, value in sizes.items():
                if not any(word == name or word.startswith(f"{name}=") for word in command):
                    command = [*command, "-p", *([name, str(value)] if "-m" not in command else [f"{name}={value}"])]
    return command


@pytest.mark.parametrize("command", [c for c in COMMANDS if is_run(c)], ids=" ".join)
def test_commands_of_the_readme_succeed(command, tmp_path):
    """In a folder that looks like the project, with this interpreter's programs and an output folder of its own."""
    (tmp_path / "notebooks").symlink_to(NOTEBOOKS)
    command = smaller([str(Path(sys.executable).parent / Path(command[0]).name), *command[1:]])
    if command[1:4] == ["-m", "fedlib", "run"]:
        command += ["--figures", str(tmp_path / "figures")]
    environment = os.environ | {"FEDLIB_OUTPUT": str(tmp_path / "output"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    if "report" not in command:
        assert list(tmp_path.glob("*/**/result.json")), "it left no result"


@pytest.mark.parametrize("target", TARGETS)
def test_make_targets_of_the_readme_exist(target):
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
