"""Test errors of the setting that tools/pendulum_grid.py chose, for Tables 1 and 2 of Fed-DeepONet, five seeds.

python tools/pendulum_steps.py          # writes data/pendulum_steps.json; about eight minutes on one core
"""

import json

from fedlib.federated import mixing
from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation, join
from fedlib.federated.partitions import deal
from fedlib.federated.train import train
from fedlib.models.networks import DeepONet, glorot_uniform
from fedlib.numerics.metrics import mean_sd
from fedlib.problems import pendulum
from fedlib.problems.pendulum_search import STEPS, best, load, where
from fedlib.streams import stream

N, m, SCALE, SEEDS = 10_000, 100, 0.2, [0, 1, 2, 3, 4]


def federations(s: int, at, rate: dict) -> dict[str, Federation]:
    """Tables 1 and 2, the varying share, and one client alone."""

    def dealt(C):
        return at(s, deal(N, C, stream(s, "deal", C)))

    feds = {f"C={C}": Federation(dealt(C), fraction=0.75, seed=s, **rate) for C in (10, 20, 40, 50)}
    feds |= {f"alpha={a}": Federation(dealt(20), fraction=a, seed=s, **rate) for a in (0.25, 0.5, 1.0)}
    feds["varying"] = Federation(dealt(20), fraction=(0.1, 1.0), seed=s, **rate)
    return feds | {"isolated": Federation(dealt(20)[:1], mixing=mixing.isolated, seed=s, **rate)}


def main(rounds: int = 20) -> None:
    chosen = best(where(load(), optimizer="Adam", updates=200, clients=[10, 20, 50]))
    pool, at = join({s: pendulum.pendulum_triplets(N, m, SCALE, stream(s, "train")) for s in SEEDS})
    tests = {s: pendulum.random_tests(100, m, SCALE, s) for s in SEEDS}
    unseen = pendulum.unseen_tests(m)
    history = train(
        DeepONet((m, 50, 50), (1, 50, 50), domain=(0.0, 1.0)), pendulum.loss, pool,
        {(name, s): f for s in SEEDS for name, f in federations(s, at, dict(lr=chosen.lr, decay=chosen.decay)).items()},
        parts=("name", "seed"), rounds=rounds, local=Local(chosen.updates, "steps", chosen.batch_size),
        reset_moments=chosen.reset_moments, init=glorot_uniform, constants={"times": pendulum.times(m)},
        evaluate=pendulum.errors, evaluate_every=rounds, backend="auto",
        test=lambda key: pendulum.both_tests(tests[key[-1]], unseen),
    )  # fmt: skip
    grf, out = (history.last(of, client=0).transpose("name", "seed", "i").astype(float) for of in ("GRF", "unseen"))
    rows = {}
    for name in grf["name"].values:
        mean, sd = mean_sd(grf.sel(name=name).values, 1)
        rows[str(name)] = dict(mean=mean, sd=sd, unseen=out.sel(name=name).values)
    rows = {name: {k: v.round(4).tolist() for k, v in row.items()} for name, row in rows.items()}
    names = ("optimizer", "batch_size", "reset_moments", "lr", "decay", "updates")
    setting = {name: getattr(chosen, name) for name in names} | {"rounds": rounds}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    head = f'{{\n "setting": {json.dumps(setting)},\n "seeds": {SEEDS},\n "error_percent": {{\n'
    STEPS.write_text(f"{head}{lines}\n }}\n}}\n")


if __name__ == "__main__":
    main()
