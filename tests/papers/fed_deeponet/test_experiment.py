"""An experiment on triplets: what it measures, what it answers, and that it is one like any other."""

import numpy as np

from fedlib.federated.experiment import Data
from fedlib.federated.partitions import deal
from fedlib.federated.solved import answer
from fedlib.federated.sweep import errors, sweep
from fedlib.papers.fed_deeponet import experiment, physics
from fedlib.papers.fed_deeponet.trainings import one_place
from fedlib.streams import stream

M = 8


def data(clients: int, seed: int) -> Data:
    random = physics.random_tests(5, M, 0.3, seed)
    common = experiment.common_tests(M, 0.3, 6)
    test = physics.both_tests(random, physics.unseen_tests(M), common=common)
    pool = physics.pendulum_triplets(24, M, 0.3, stream(seed, "train"))
    return Data(pool, deal(24, clients, stream(seed, "deal", clients)), test)


SMALL = experiment.learning("pendulum", data, sensors=M, width=6, rounds=2, lr=0.01)._replace(
    local=experiment.Local(2, "steps", 4)
)


def test_a_sweep_measures_its_own_and_the_common_trajectories():
    history = sweep(SMALL, [2, 3], [0, 1], ["federated", "centralised"], backend="eager")
    assert {*history.metrics} == {"error", "spread", "unseen", "common"}
    model = history.model("federated", 3, 1)
    for name, seed_tests in (
        ("error", physics.random_tests(5, M, 0.3, 1)),
        ("common", experiment.common_tests(M, 0.3, 6)),
    ):
        u, x1 = (seed_tests[key].float() for key in ("u", "x1"))
        said = answer(SMALL, model, {"GRF u": u, "times": physics.times(M)})
        each = 100 * np.linalg.norm(said - x1.numpy(), axis=1) / np.linalg.norm(x1, axis=1)
        measured = errors(history, name)[-1].sel(kind="federated", level=3, seed=1)
        np.testing.assert_allclose(measured, each.mean(), rtol=1e-4)
        if name == "error":
            spread = errors(history, "spread")[-1].sel(kind="federated", level=3, seed=1)
            np.testing.assert_allclose(spread, each.std(ddof=1), rtol=1e-4)
    assert errors(history, "unseen").sizes["i"] == 3


def test_one_place_works_as_much_as_those_who_answer_make_together():
    work = one_place({"local_updates": 200}, clients=50, share=0.5)
    assert work["same passes"]["local"].updates == 25 * 200


def test_common_trajectories_are_in_no_other_set():
    common = experiment.common_tests(M, 0.3, 6)["u"]
    own = [physics.random_tests(6, M, 0.3, 0, use=use)["u"] for use in ("test", "validation")]
    own.append(physics.pendulum_triplets(6, M, 0.3, stream(0, "train"))["u"])
    for others in own:
        assert (common[:, None] - others[None]).abs().amax(-1).min() > 1e-3
