"""A study of the flow: summed steps are a gain, every model sees its own observations, and times to settle."""

import numpy as np
import pytest
import torch

from fedlib.federated.batches import Local
from fedlib.federated.federation import Federation
from fedlib.federated.train import train
from fedlib.models.networks import glorot_uniform
from fedlib.problems import flow, flow_study
from fedlib.problems.wake import cylinder_wake
from fedlib.streams import stream

WAKE = cylinder_wake()
POOLS = {s: flow.observations(WAKE, 40, stream(s, "observations")) for s in (3, 1)}
WIDTHS, RESIDUAL = (3, 8, 8, 3), (14, 8, 6)
HOW = dict(rounds=4, local=Local(1), init=glorot_uniform, dtype=torch.float64)


@pytest.fixture(scope="module")
def history():
    pool, cases = flow_study.federations(POOLS, 30, (2, 4), (4,), lr=0.01)
    return train(**flow_study.experiment(WAKE, WIDTHS, RESIDUAL, pool, cases, 20), evaluate_every=2, **HOW)


def test_every_model_sees_its_own_observations_with_its_gain():
    pool, cases = flow_study.federations(POOLS, 30, (2, 4), (4,), lr=0.01)
    kinds = [("federated", 2), ("federated", 4), ("summed", 4), ("centralised", 30)]
    assert list(cases) == [(*kind, s) for s in POOLS for kind in kinds]
    for (kind, n, s), fed in cases.items():
        own = flow.slabs(POOLS[s]["x"][:30], n) if kind != "centralised" else [np.arange(30)]
        for shard, mine in zip(fed.shards, own, strict=True):
            assert (pool["x"][shard] == POOLS[s]["x"][mine]).all() and (pool["u"][shard] == POOLS[s]["u"][mine]).all()
            assert set(pool["gain"][shard].tolist()) == {2.0 if kind == "summed" else 1.0}
        assert (fed.seed, fed.lr) == (s, 0.01)
    assert list(flow_study.federations(POOLS, 40, kind="many")[1]) == [("many", 40, s) for s in POOLS]
    with pytest.raises(ValueError, match="6 is compared with its mean"):
        flow_study.federations(POOLS, 30, (2, 4), (6,))


@pytest.mark.parametrize(("kind", "gain"), [("federated", 1.0), ("summed", 2.0)])
def test_one_stack_trains_what_each_would_alone(history, kind, gain):
    own = {name: values[:30] for name, values in POOLS[1].items()}
    points = flow.residual_points(*RESIDUAL)

    def loss(predict, batch):
        return flow.navier_stokes_loss(flow_study.with_gain(predict, gain), batch | {"points": points})

    net = flow.navier_stokes_net(WIDTHS)
    alone = train(net, loss, own, [Federation(flow.slabs(own["x"], 4), lr=0.01, seed=1)], **HOW)
    torch.testing.assert_close(history.models(kind, 4, 1), alone.models(0), rtol=0, atol=1e-10)


def test_curves_stand_by_model_and_errors_are_those_of_the_last_record(history):
    C = flow_study.curves([history], "C")
    assert list(C) == [("federated", 2), ("federated", 4), ("centralised", 30), ("summed", 4)]
    assert {c.shape for c in C.values()} == {(2, 2, 2)}  # seeds, records, coefficients
    np.testing.assert_array_equal(C["summed", 4][1], history.metric("C", kind="summed", n=4, seed=1, client=0))
    np.testing.assert_array_equal(C["summed", 4][1], history.metric("C", kind="summed", n=4, seed=1, client=1))
    twice = flow_study.curves([history, history], "C")
    assert twice["federated", 2].shape == (4, 2, 2)
    fields = flow_study.final_fields([history], WAKE, WIDTHS, 20)
    errors, kept = flow_study.final_errors(fields)["federated", 4], flow_study.metrics([history], fields)
    end = C["federated", 4][:, -1]
    np.testing.assert_allclose(errors[:, :2], np.abs(end - [1, 0.01]) / [0.01, 0.0001], rtol=1e-5)
    np.testing.assert_allclose(errors[:, 3], history.last("error_p", kind="federated", n=4, client=0), rtol=1e-4)
    np.testing.assert_allclose(kept["coefficients"]["federated 4"], end, rtol=1e-5)
    np.testing.assert_array_equal(kept["error_percent"]["federated 4"]["u"], errors[:, 2])
    assert kept["reached_thousand"]["federated 4"] == [[[None] * 4] * 2] * 2  # two seeds, no coefficient comes close
    assert kept["recorded_every"] == 2 and kept["C1_C2_every_tenth_record"]["summed 4"].shape == (2, 1, 2)


def test_fields_at_the_end_need_no_record(history):
    """Without fields only C is recorded, after every round; the fields of the models at the end are the same."""
    pool, cases = flow_study.federations(POOLS, 30, (2, 4), (4,), lr=0.01)
    little = flow_study.experiment(WAKE, WIDTHS, RESIDUAL, pool, cases, 20, fields=False)
    lean = train(**little, evaluate_every=1, **HOW)
    assert list(lean.metrics) == ["C"] and lean.rounds == [1, 2, 3, 4]
    for model, C in flow_study.curves([lean], "C").items():
        np.testing.assert_array_equal(C[:, 1::2], flow_study.curves([history], "C")[model])
    fields, seen = (
        flow_study.final_fields([lean], WAKE, WIDTHS, 20),
        flow_study.final_fields([history], WAKE, WIDTHS, 20),
    )
    for model, of in fields.items():
        for name in ("C", "p", "error_u", "error_p"):
            np.testing.assert_allclose(of[name], flow_study.curves([history], name)[model][:, -1], rtol=2e-4, atol=1e-6)
            np.testing.assert_array_equal(of[name], seen[model][name])
