"""python tools/sums_on_machines.py ENGINE: how many messages a round of sums takes on it, and FedAvg beside it.

Writes figures/13_one_round/machines.json. ENGINE: local, flower or flare, each where it is installed (make engines).
It is itself the experiment that the machines play: FedSciML's Poisson equation on two sites, each of which knows the
right-hand side on its pieces of [0, pi]; with random sines in the place of its network where FEDLIB_SUMS is set.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from fedlib.federated.experiment import Experiment
from fedlib.files import write_atomically
from fedlib.notebook import models
from fedlib.papers.beyond.one_round.problem import error, with_sines
from fedlib.papers.fedsciml.forward.problem import poisson
from fedlib.trainings.settings import FIGURES, read_result

FILE = FIGURES / "13_one_round/machines.json"
WAYS = {"one round of sums": ["--sums"], "FedAvg, as printed": ["--rounds", "1000"]}

SITES = [0], [1]  # the clients of each
LEVEL = 4  # pieces in all, dealt to the two clients in turn
SUMS = "FEDLIB_SUMS" in os.environ
DTYPE = torch.float64 if SUMS else torch.float32


def make() -> Experiment:
    return with_sines("poisson", 60, 6.0, seed=0) if SUMS else poisson()


def points(client: int) -> dict[str, torch.Tensor]:
    data = make().data(LEVEL, 0)
    return {name: value[data.owners[client]] for name, value in data.pool.items()}


def counted(arguments: list[str], engine: str) -> dict:
    """Rounds, messages, bytes and the error (%) of the experiment, played to its end."""
    sums = "--sums" in arguments
    with TemporaryDirectory() as folder:
        command = ["federate", "simulate", __file__, "--engine", engine, "--folder", folder, *arguments]
        env = os.environ | ({"FEDLIB_SUMS": "1"} if sums else {})
        subprocess.run([sys.executable, "-m", "fedlib", *command], check=True, env=env)
        metrics = read_result(Path(folder) / "result.json")["metrics"]
        if sums:
            with np.load(Path(folder) / "solution.npz") as file:
                theta = file["theta"]
        else:
            (theta,) = models.load(Path(folder))["federation"]
    experiment = with_sines("poisson", 60, 6.0, seed=0) if sums else poisson()
    e = error(experiment, torch.as_tensor(theta).double(), experiment.data(LEVEL, 0).test)
    return {"rounds": len(metrics["bytes"]), **metrics["traffic"], "error": e}


if __name__ == "__main__":
    before = json.loads(FILE.read_text()) if FILE.exists() else {}
    counts = {way: counted(arguments, sys.argv[1]) for way, arguments in WAYS.items()}
    write_atomically(FILE, json.dumps(before | {sys.argv[1]: counts}, indent=1) + "\n")
