"""Rules on tasks: what is trained, what validation chooses, what a message costs."""

import numpy as np
import pytest
import torch

from fedlib.problems import drift
from fedlib.problems.drift_study import CENTRAL, REPAIR, RULES, best, both_sets, run

EXACT = {"dtype": torch.float64, "backend": "eager"}


@pytest.fixture(scope="module")
def tasks():
    return {s: drift.gramacy_lee(4, 16, 4)._replace(steps=8) for s in (2, 5)}


def test_with_one_local_step_the_repair_is_centralised_training(tasks):
    (repaired,), (central,) = (run(tasks, name, [1e-3, 1e-2], E=1, **EXACT) for name in (REPAIR, CENTRAL))
    for at, errors in repaired.last().items():
        np.testing.assert_allclose(errors, central.last()[at], rtol=1e-9)
    (fedavg,) = run(tasks, "FedAvg", [1e-3, 1e-2], E=4, **EXACT)
    assert not np.allclose(fedavg.last()[1e-3, 0.0], central.last()[1e-3, 0.0], rtol=1e-9)


def test_the_share_of_the_steps_gives_the_rounds_and_errors_are_kept_on_the_way(tasks):
    (found,) = run(tasks, "FedAvg", [1e-3], E=2, share=0.5, evaluations=2, **EXACT)
    path = found.path()
    assert path["round"].values.tolist() == [1, 2] and path.shape == (2, 2)
    np.testing.assert_array_equal(path.isel(round=-1), found.error())


@pytest.mark.parametrize(("name", "sent"), [("FedAvg", 1), ("SCAFFOLD", 2), ("averaged moments", 3), (REPAIR, 4)])
def test_bytes_of_a_round(tasks, name, sent):
    (found,) = run(tasks, name, [1e-3], E=4, **EXACT)
    P = sum(p.numel() for p in tasks[2].net.parameters())
    assert found.bytes(3) == 3 * 2 * 4 * sent * P


def test_knobs_of_a_server_share_a_stack_those_of_clients_do_not(tasks):
    (server,) = run(tasks, "FedAdam", [1e-3], E=4, **EXACT)
    assert list(server.last()) == [(1e-3, knob) for knob in RULES["FedAdam"].knobs]
    clients = run(tasks, "FedProx", [1e-3], E=4, **EXACT)
    assert [list(of.last()) for of in clients] == [[(1e-3, mu)] for mu in RULES["FedProx"].knobs]
    chosen = best(clients)
    assert chosen.error("validation").mean() == min(of.error("validation").mean() for of in clients)


def test_validation_chooses_and_the_test_set_does_not(tasks):
    (found,) = run(tasks, "FedAvg", [1e-3, 3e-2], E=4, **EXACT)
    validation = {at: e.mean() for at, e in found.last("validation").items()}
    assert found.chosen() == min(validation, key=validation.get)
    np.testing.assert_array_equal(found.error(), found.last()[found.chosen()])


def test_both_sets_are_measured_on_their_own_points(tasks):
    evaluate, test = both_sets(tasks[2])
    found = evaluate(lambda x: x[:, :1], test)
    for name, own in (("test", tasks[2].test), ("validation", tasks[2].validation)):
        assert found[name] == tasks[2].evaluate(lambda x: x[:, :1], own)["e"]
    assert found["test"] != found["validation"]


def test_fewer_clients_take_part(tasks):
    whole, half = (run(tasks, "FedAvg", [1e-2], E=2, fraction=a, **EXACT)[0] for a in (1.0, 0.5))
    assert (whole.error() != half.error()).all()
