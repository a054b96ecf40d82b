"""python tools/sums_on_machines.py ENGINE: how many messages a round of sums takes on it, and FedAvg beside it.

Writes figures/13_one_round/machines.json. ENGINE: local, flower or flare, each where it is installed (make engines).
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from fedlib.files import ROOT, write_atomically
from fedlib.machines.experiment import load
from fedlib.notebook import models
from fedlib.papers.beyond.one_round.problem import error
from fedlib.trainings.profiles import FIGURES, read_result

FILE = FIGURES / "13_one_round/machines.json"
WAYS = {
    "one round of sums": ("poisson_sums.py", ["--sums"]),
    "FedAvg, as printed": ("poisson.py", ["--rounds", "1000"]),
}


def counted(name: str, arguments: list[str], engine: str) -> dict:
    """Rounds, messages, bytes and the error (%) of an experiment that is played to its end."""
    path = ROOT / "experiments" / name
    with TemporaryDirectory() as folder:
        command = ["federate", "simulate", str(path), "--engine", engine, "--folder", folder, *arguments]
        subprocess.run([sys.executable, "-m", "fedlib", *command], check=True)
        metrics = read_result(Path(folder) / "result.json")["metrics"]
        if "--sums" in arguments:
            with np.load(Path(folder) / "solution.npz") as file:
                theta = file["theta"]
        else:
            (theta,) = models.load(Path(folder))["federation"]
    experiment = load(path).experiment
    e = error(experiment, torch.as_tensor(theta).double(), experiment.data(4, 0).test)
    return {"rounds": len(metrics["bytes"]), **metrics["traffic"], "error": e}


if __name__ == "__main__":
    before = json.loads(FILE.read_text()) if FILE.exists() else {}
    counts = {way: counted(*case, sys.argv[1]) for way, case in WAYS.items()}
    write_atomically(FILE, json.dumps(before | {sys.argv[1]: counts}, indent=1) + "\n")
