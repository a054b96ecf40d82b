"""python -m benchmarks [--quick]: time the engine beside what else one would take; writes JSON and figure."""

import argparse
from pathlib import Path

from fedlib.trainings.settings import FIGURES

from .side_by_side import run

parser = argparse.ArgumentParser("benchmarks", description=__doc__)
parser.add_argument("--quick", action="store_true", help="two and twenty clients, and the peers that are there")
parser.add_argument("--figures", type=Path, default=FIGURES, help="output folder")

if __name__ == "__main__":
    given = parser.parse_args()
    path = run(given.quick, given.figures)
    print("Numbers and figure:", path, path.with_suffix(".png"))
