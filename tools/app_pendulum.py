"""Trains the two networks that `make app` lets one question: data/app_pendulum/models.npz (a minute on one thread).

The setting is that of notebook 01's paper profile, seed 0: 20 clients that all answer, and the first of them alone.
"""

import json
from pathlib import Path

from fedlib import Federation, Local, train
from fedlib.federated.mixing import isolated
from fedlib.federated.partitions import deal
from fedlib.files import ROOT
from fedlib.models.networks import DeepONet, glorot_uniform
from fedlib.notebook import models
from fedlib.papers.fed_deeponet import physics as pendulum
from fedlib.streams import stream

FOLDER, CLIENTS, SEED = Path(ROOT) / "data/app_pendulum", 20, 0


def main() -> None:
    p = json.loads((ROOT / "figures/01_pendulum/paper/result.json").read_text())["parameters"]
    m, scale = p["sensors"], p["length_scale"]
    own = deal(p["n_triplets"], CLIENTS, stream(SEED, "deal", CLIENTS))
    how = dict(lr=p["lr"], decay=p["decay"], seed=SEED)
    history = train(
        DeepONet((m, 50, 50), (1, 50, 50), domain=(0.0, 1.0)),
        pendulum.loss,
        pendulum.pendulum_triplets(p["n_triplets"], m, scale, stream(SEED, "train")),
        {"federated": Federation(own, **how), "isolated": Federation(own[:1], mixing=isolated, **how)},
        rounds=p["rounds"],
        local=Local(p["local_updates"], "steps", p["batch_size"]),
        reset_moments=p["reset_moments"],
        init=glorot_uniform,
        constants={"times": pendulum.times(m)},
        evaluate=pendulum.mean_errors,
        test=lambda key: pendulum.both_tests(
            pendulum.random_tests(p["n_test"], m, scale, SEED), pendulum.unseen_tests(m)
        ),
        backend="xla",
        progress=True,
    )
    FOLDER.mkdir(exist_ok=True)
    models.save(FOLDER, {name: history.model(name)[None] for name in ("federated", "isolated")})
    for name in ("federated", "isolated"):
        print(name, history.last("GRF", name=name, client=0).values, "%")


if __name__ == "__main__":
    main()
