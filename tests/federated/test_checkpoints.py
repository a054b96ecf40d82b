"""A stopped training goes on to the same result, and to no other training's."""

import numpy as np
import pytest
import torch

from fedlib.federated import checkpoints
from fedlib.federated.batches import Local
from fedlib.federated.checkpoints import Checkpoint
from fedlib.federated.federation import Federation
from fedlib.federated.mixing import ring
from fedlib.federated.rules import averaged_moments, fedadam, scaffold
from fedlib.federated.train import train

SETTINGS = dict(
    rounds=6, local=Local(3, "steps", 4), optimizer=scaffold(averaged_moments()), dtype=torch.float64, noise=(1,),
    evaluate_every=2,
)  # fmt: skip


def experiment(problem, stop_after=None, **changes):
    """Partial participation, mini-batches, noise, decay: all that is drawn per round; servers and rules with memory."""
    net, loss, pool, shards = problem

    def noisy(predict, batch):
        return loss(predict, batch) * (1 + 0.1 * (batch["w"][:, None] * batch["noise"]).sum())

    calls = []

    def evaluate(predict, test):
        if stop_after is not None and len(calls) > stop_after:  # the first one is dry
            raise KeyboardInterrupt
        calls.append(1)
        return {"u": predict(test["x"])}

    feds = [
        Federation(shards, fraction=0.67, lr=0.01, decay=0.9, server=fedadam(0.02)),
        Federation(shards, mixing=ring, seed=1, lr=0.02),
    ]
    test = {"x": pool["x"][:3].expand(2, 3, 2)}
    return train(net, noisy, pool, feds, **(dict(evaluate=evaluate, test=test) | SETTINGS | changes))


@pytest.mark.fault("survived")
def test_a_stopped_training_goes_on_to_the_same_result(problem, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0)  # after every round
    whole = experiment(problem)
    path = tmp_path / "new folder" / "state.pt"
    mine = Checkpoint(path, "mine")
    with pytest.raises(KeyboardInterrupt):
        experiment(problem, stop_after=2, checkpoint=mine)  # in round 6, after five that were kept
    assert [p.name for p in path.parent.iterdir()] == ["state.pt"]
    kept = torch.load(path)["state"]
    assert kept[0] == 5 and len(kept[3]) == 1 and {"c", "c_i", "m", "v", "t"} <= set(kept[2])
    resumed = experiment(problem, checkpoint=mine)
    finished = experiment(problem, stop_after=0, checkpoint=mine)  # nothing is left to do
    for other in (resumed, finished):
        assert torch.equal(whole.theta, other.theta)
        assert whole.rounds == other.rounds == [2, 4, 6]
        np.testing.assert_array_equal(whole.losses, other.losses)
        np.testing.assert_array_equal(whole.metrics["u"], other.metrics["u"])


def test_nothing_is_written_before_its_time_but_the_end(problem, tmp_path):
    path = tmp_path / "state.pt"
    with pytest.raises(KeyboardInterrupt):
        experiment(problem, stop_after=2, checkpoint=Checkpoint(path, "mine"))
    assert not path.exists()
    experiment(problem, checkpoint=Checkpoint(path, "mine"))
    assert torch.load(path)["state"][0] == 6


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("change", [dict(key="another loss"), dict(rounds=7), "clients"])
def test_another_trainings_checkpoint_is_refused(problem, tmp_path, change):
    """Whose it is says the key: no training can see all that its result depends on, a loss is a function."""
    mine = Checkpoint(tmp_path / "state.pt", "mine")
    experiment(problem, checkpoint=mine)
    net, loss, pool, shards = problem
    if change == "clients":
        problem, change = (net, loss, pool, shards[:2]), {}
    mine = mine._replace(key=change.get("key", "mine"))
    change = {name: value for name, value in change.items() if name != "key"}
    with pytest.raises(ValueError, match="belongs to a training with other data, clients or settings; remove"):
        experiment(problem, checkpoint=mine, **change)


@pytest.mark.fault("clear error")
def test_a_damaged_checkpoint_is_refused(problem, tmp_path):
    path = tmp_path / "state.pt"
    path.write_bytes(b"PK half a file")
    with pytest.raises(ValueError, match=r"cannot be read as a checkpoint .*; remove .*state\.pt to start anew"):
        experiment(problem, checkpoint=Checkpoint(path, "mine"))


@pytest.mark.fault("clear error")
def test_a_flipped_bit_is_found(problem, tmp_path):
    """Refused, or in a byte that carries nothing, such as the padding between records: then the result is the same."""
    path, rng = tmp_path / "state.pt", np.random.default_rng(0)
    whole = experiment(problem, checkpoint=Checkpoint(path, "mine"))
    good, refused = path.read_bytes(), 0
    for at in rng.integers(len(good) * 8, size=150):
        bad = bytearray(good)
        bad[at // 8] ^= 1 << at % 8
        path.write_bytes(bad)
        try:
            found = experiment(problem, checkpoint=Checkpoint(path, "mine"))
        except ValueError as error:
            assert "cannot be read as a checkpoint" in str(error)
            refused += 1
        else:
            assert torch.equal(found.theta, whole.theta)
            np.testing.assert_array_equal(found.metrics["u"], whole.metrics["u"])
    assert refused > 20


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("change", [dict(evaluate_every=3), dict(evaluate=None, test=None)])
def test_metrics_of_other_rounds_are_refused(problem, tmp_path, change):
    mine = Checkpoint(tmp_path / "state.pt", "mine")
    experiment(problem, checkpoint=mine)
    with pytest.raises(ValueError, match=r"was evaluated after rounds \[2, 4, 6\], this training is after \["):
        experiment(problem, checkpoint=mine, **change)


class Evil:
    def __reduce__(self):
        return print, ("owned",)


@pytest.mark.fault("clear error")
def test_a_checkpoint_cannot_run_code(problem, tmp_path, capsys):
    path = tmp_path / "state.pt"
    torch.save({"key": "mine", "state": Evil()}, path)
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        experiment(problem, checkpoint=Checkpoint(path, "mine"))
    assert "owned" not in capsys.readouterr().out


@pytest.mark.fault("survived")
@pytest.mark.parametrize("change", [{"seed": 1}, {"loss": 1.001}, {"lr": 0.02}])
def test_a_training_whose_first_round_has_other_losses_begins_anew(problem, tmp_path, change):
    """Data, loss or start: what no key sees."""
    net, loss, pool, shards = problem

    def trained(checkpoint, seed=0, lr=0.01, **factor):
        weighted = lambda predict, batch: factor.get("loss", 1) * loss(predict, batch)  # noqa: E731
        return train(net, weighted, pool, [Federation(shards, seed=seed, lr=lr)], checkpoint=checkpoint, **plain)

    plain = dict(rounds=3, local=Local(2), backend="eager")
    mine = Checkpoint(tmp_path / "state.pt", "mine")
    first = trained(mine)
    with pytest.warns(
        UserWarning, match=r"first round had the loss [\d.]+ of 0, client \d, and has [\d.]+ now: .* anew"
    ):
        other = trained(mine, **change)
    assert torch.equal(other.theta, trained(None, **change).theta) and not torch.equal(other.theta, first.theta)
    assert torch.equal(trained(mine, **change).theta, other.theta), "and its checkpoint is its own from then on"


@pytest.mark.fault("survived")
def test_a_time_that_is_over_keeps_what_was_done(problem, tmp_path):
    whole, mine = experiment(problem), Checkpoint(tmp_path / "state.pt", "mine", until=0.0)
    for done in range(1, 6):
        with pytest.raises(checkpoints.OutOfTime, match=f"^{done} rounds are done"):
            experiment(problem, checkpoint=mine)
    assert torch.equal(experiment(problem, checkpoint=mine).theta, whole.theta)
