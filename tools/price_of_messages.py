"""python tools/price_of_messages.py: what a round of a federation costs over messages, and in one process.

Writes figures/12_real_federation/price.json. Notebook 12's federation, with more and more clients at each of its three
sites.
"""

import json
import time
from collections.abc import Iterator

import numpy as np

from fedlib.federated.rounds import play
from fedlib.files import write_atomically
from fedlib.machines.engines import ask_in_turn, sites_of
from fedlib.machines.plan import Plan
from fedlib.machines.points import train_arguments_of
from fedlib.machines.server import federate
from fedlib.papers.beyond.leak import problem, study
from fedlib.trainings.settings import FIGURES

CLIENTS = 1, 2, 5, 10, 20, 50  # at each site
ROUNDS = 21


def plan_of(n: int) -> Plan:
    """With n clients at each site."""
    p = study.PAPER
    experiment = problem.laboratories(updates=p["local_updates"], lr=study.LR, rounds=ROUNDS)
    sites = np.split(np.arange(n * len(p["clients"])), len(p["clients"]))
    return Plan(experiment, lambda k: problem.points(k, p["points"]), sites)


def timed(playing: Iterator) -> tuple[float, object]:
    """Median CPU seconds of a round but the first, in which much is done for the first time, and the last one done:
    what else the machine does is not in them."""
    seconds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        done = next(playing)
        seconds.append(time.process_time() - began)
    return float(np.median(seconds[1:])), done


def main() -> None:
    p, plans = study.PAPER, [plan_of(n) for n in CLIENTS]
    alone = [timed(play(**train_arguments_of(plan), rounds=ROUNDS)) for plan in plans]
    sent = [timed(federate(plan, ask_in_turn(sites_of(plan)), rounds=ROUNDS)) for plan in plans]
    names = {"in one process": alone, "a loop over the sites": sent}
    seconds = {name: [median for median, _ in costs] for name, costs in names.items()}
    down, up = np.array([np.sum(list(done.sent.values()), 0) for _, done in sent]).T.tolist()
    data = [n * len(p["clients"]) * p["points"] * 4 * 52 for n in CLIENTS]  # float32: a torque at 50 times, time, angle
    result = {"clients": CLIENTS, "seconds": seconds, "down": down, "up": up, "data": data}
    write_atomically(FIGURES / study.NOTEBOOK / "price.json", json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
