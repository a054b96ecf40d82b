"""Rules on tasks: what is trained, what validation chooses, what a message costs."""

import numpy as np
import pytest
import torch

from fedlib.federated.batches import Local
from fedlib.federated.rules import RULES
from fedlib.problems import drift
from fedlib.problems.drift_study import CENTRAL, REPAIR, best, run

EXACT = {"dtype": torch.float64, "backend": "eager"}


LINE = drift.gramacy_lee(16, 4)._replace(rounds=2, local=Local(4))  # 8 steps
ON_LINE = (LINE, 4, [2, 5])


def test_with_one_local_step_the_repair_is_centralised_training():
    (repaired,), (central,) = (run(*ON_LINE, name, [1e-3, 1e-2], E=1, **EXACT) for name in (REPAIR, CENTRAL))
    for at, errors in repaired.last().items():
        np.testing.assert_allclose(errors, central.last()[at], rtol=1e-9)
    (fedavg,) = run(*ON_LINE, "FedAvg", [1e-3, 1e-2], E=4, **EXACT)
    assert not np.allclose(fedavg.last()[1e-3, 0.0], central.last()[1e-3, 0.0], rtol=1e-9)


def test_the_share_of_the_steps_gives_the_rounds_and_errors_are_kept_on_the_way():
    (found,) = run(*ON_LINE, "FedAvg", [1e-3], E=2, share=0.5, evaluations=2, **EXACT)
    path = found.path()
    assert path["round"].values.tolist() == [1, 2] and path.shape == (2, 2)
    np.testing.assert_array_equal(path.isel(round=-1), found.error())


@pytest.mark.parametrize(("name", "sent"), [("FedAvg", 1), ("SCAFFOLD", 2), ("averaged moments", 3), (REPAIR, 4)])
def test_bytes_of_a_round(name, sent):
    (found,) = run(*ON_LINE, name, [1e-3], E=4, **EXACT)
    P = sum(p.numel() for p in LINE.net.parameters())
    assert found.bytes(3) == 3 * 2 * 4 * sent * P


def test_knobs_of_a_server_share_a_stack_those_of_clients_do_not():
    (server,) = run(*ON_LINE, "FedAdam", [1e-3], E=4, **EXACT)
    assert list(server.last()) == [(1e-3, knob) for knob in RULES["FedAdam"].knobs]
    clients = run(*ON_LINE, "FedProx", [1e-3], E=4, **EXACT)
    assert [list(of.last()) for of in clients] == [[(1e-3, mu)] for mu in RULES["FedProx"].knobs]
    chosen = best(clients)
    assert chosen.error("validation error").mean() == min(of.error("validation error").mean() for of in clients)


def test_validation_chooses_and_the_test_set_does_not():
    (found,) = run(*ON_LINE, "FedAvg", [1e-3, 3e-2], E=4, **EXACT)
    validation = {at: e.mean() for at, e in found.last("validation error").items()}
    assert found.chosen() == min(validation, key=validation.get)
    np.testing.assert_array_equal(found.error(), found.last()[found.chosen()])


def test_fewer_clients_take_part():
    whole, half = (run(*ON_LINE, "FedAvg", [1e-2], E=2, fraction=a, **EXACT)[0] for a in (1.0, 0.5))
    assert (whole.error() != half.error()).all()
