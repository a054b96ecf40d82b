"""python tools/price_of_messages.py: what a round of a federation costs over messages, and in one process.

Writes figures/12_real_federation/price.json. Notebook 12's federation, with more and more clients at each of its three
sites.
"""

import json

import numpy as np

from fedlib.files import write_atomically
from fedlib.machines.plan import Plan
from fedlib.papers.beyond.leak import price, problem, study
from fedlib.trainings.settings import FIGURES

CLIENTS = 1, 2, 5, 10, 20, 50  # at each site
ROUNDS = 21


def plan_of(n: int) -> Plan:
    """With n clients at each site."""
    p = study.PAPER
    experiment = problem.laboratories(p["sensors"], p["width"], p["local_updates"], lr=p["lr"], rounds=ROUNDS)
    sites = np.split(np.arange(n * len(p["clients"])), len(p["clients"]))
    return Plan(experiment, lambda k: problem.points(k, p["points"], p["sensors"]), sites)


def main() -> None:
    p = study.PAPER
    alone = [price.of_one_process(plan_of(n), ROUNDS) for n in CLIENTS]
    sent = [price.of_sites(plan_of(n), ROUNDS) for n in CLIENTS]
    names = {"in one process": alone, "a loop over the sites": sent}
    seconds = {name: [cost.median for cost in costs] for name, costs in names.items()}
    data = [n * len(p["clients"]) * p["points"] * 4 * (p["sensors"] + 2) for n in CLIENTS]  # float32
    down, up = ([int(getattr(cost, way)[-1]) for cost in sent] for way in ("down", "up"))
    result = {"clients": CLIENTS, "seconds": seconds, "down": down, "up": up, "data": data}
    write_atomically(FIGURES / study.NOTEBOOK / "price.json", json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
