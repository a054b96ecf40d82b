"""Fresh and frozen noise in the engine."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from fedlib.federated import reference
from fedlib.federated.batches import Local, participants
from fedlib.federated.federation import Federation, centralised
from fedlib.federated.mixing import isolated, ring
from fedlib.federated.optimizers import sgd
from fedlib.federated.stack import draw_parameters, load
from fedlib.federated.train import train
from fedlib.models.networks import fan_in_uniform
from fedlib.streams import torch_stream

SCHEDULES = {"full batch": Local(2), "mini": Local(2, "epochs", 4)}


def noisy_error(predict, batch):
    return (batch["w"] * (predict(batch["x"])[:, 0] - batch["y"] - batch["noise"].sum(-1)) ** 2).sum()


def run(problem, feds, loss=noisy_error, **settings):
    net, _, pool, _ = problem
    settings = dict(rounds=3, local=Local(2), dtype=torch.float64, noise=(2,)) | settings
    return train(net, loss, pool, feds, **settings)


@pytest.mark.filterwarnings("ignore:.*the mean loss went from")  # it is nothing but noise
def test_noise_is_standard_normal_and_new_for_every_client_and_round(problem):
    """The loss is the mean noise of two clients with equal data: of 5 points x 2 numbers, with variance 2 / 5."""

    def loss(predict, batch):
        return (batch["w"][:, None] * batch["noise"]).sum() + 0 * predict(batch["x"]).sum()

    feds = [Federation([problem[3][0]] * 2, mixing=isolated)]
    losses = run(problem, feds, loss, rounds=200, local=Local(1)).losses
    assert len(np.unique(losses.round(9))) == losses.size
    assert abs(losses.mean()) < 4 * (0.4 / losses.size) ** 0.5
    assert abs(losses.var() / 0.4 - 1) < 4 * (2 / losses.size) ** 0.5
    assert abs(np.corrcoef(losses.T)[0, 1]) < 4 / len(losses) ** 0.5


def test_every_local_step_has_noise_of_its_own(problem):
    """With frozen noise two steps without movement would see the same loss."""
    one, two = (run(problem, [Federation(problem[3], lr=1e-12)], rounds=1, local=Local(k)).losses for k in (1, 2))
    assert (np.abs(2 * two - 2 * one) > 1e-3).all()


@pytest.mark.parametrize("local", [Local(6, frozen=True), Local(6, "steps", 5, replacement=True, frozen=True)])
def test_a_frozen_point_keeps_its_noise_over_the_steps_of_a_round_only(problem, local):
    """Seen through the loss: the noise of a point, found by its position, is one number in all steps of a round."""
    pool = problem[2] | {"at": torch.arange(len(problem[2]["y"]), dtype=torch.float64)}
    seen = []

    def loss(predict, batch):
        seen.append((batch["at"], batch["noise"][:, 0]))
        return 0 * predict(batch["x"]).sum()

    fed = Federation(problem[3][:1], mixing=isolated)
    for batch in (b for r in range(2) for b in reference.client_batches(pool, fed, 0, r, local, (1,))):
        loss(lambda x: x, batch)
    for half in (seen[:6], seen[6:]):
        pairs = {(int(i), float(e)) for at, noise in half for i, e in zip(at, noise, strict=True)}
        assert len(pairs) == len({i for i, _ in pairs}) > 3
    assert not {float(e) for e in torch.cat([e for _, e in seen[:6]])} & {float(e) for _, n in seen[6:] for e in n}


@pytest.mark.parametrize("local", [Local(3, frozen=True), Local(4, "steps", 30, True, True)])
def test_frozen_noise_and_replacement_are_the_same_in_loop_and_stack(problem, local):
    """Ragged clients, partial participation, batches larger than a client."""
    net, _, pool, shards = problem
    fed = Federation(shards, fraction=0.67, seed=1, lr=0.01)
    theta = draw_parameters(net, fan_in_uniform, torch_stream(1, "init"))
    for r in range(3):
        here = np.flatnonzero(participants(1, r, len(shards), 0.67))
        clients = [load(deepcopy(net), theta) for _ in here]
        for c, own in zip(here, clients, strict=True):
            points = reference.client_batches(pool, fed, c, r, local, (2,))
            reference.local_updates(own, torch.optim.SGD(own.parameters(), 0.01), noisy_error, points)
        theta = reference.average(clients, fed.p[here])
    assert (run(problem, [fed], local=local, optimizer=sgd()).model(0) - theta).abs().max() < 1e-12


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_stack_trains_every_federation_as_if_alone(problem, schedule):
    shards = problem[3]
    feds = [
        Federation(shards, fraction=0.67, seed=1),
        centralised(shards, seed=2),
        Federation(shards, mixing=isolated, seed=3),
        Federation(shards, mixing=ring, seed=4, common_init=False),
    ]
    together = run(problem, feds, local=SCHEDULES[schedule])
    for f, fed in enumerate(feds):
        alone = run(problem, [fed], local=SCHEDULES[schedule])
        torch.testing.assert_close(together.theta[together.rows[f]], alone.theta, rtol=0, atol=1e-12)
        np.testing.assert_allclose(together.losses[:, together.rows[f]], alone.losses, rtol=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise": 3}, "expected a shape"),
        ({"noise": (2.5,)}, "expected a shape"),
        ({"local": Local(1, replacement=True)}, "how many points"),
    ],
)
def test_what_means_nothing_is_refused(problem, changes, message):
    with pytest.raises(ValueError, match=message):
        run(problem, [Federation(problem[3])], **changes)


def test_the_name_noise_belongs_to_the_engine(problem):
    net, loss, pool, shards = problem
    with pytest.raises(ValueError, match="rename"):
        train(net, loss, pool | {"noise": pool["y"]}, [Federation(shards)], rounds=1, local=Local(1), noise=(2,))
