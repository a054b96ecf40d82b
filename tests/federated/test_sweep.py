"""Axes of settings: whatever they change, rows are those of a sweep of their own, and nobody else's."""

import numpy as np
import pytest
import torch

from fedlib.federated import mixing
from fedlib.federated.batches import Local
from fedlib.federated.checkpoints import Checkpoint, OutOfTime
from fedlib.federated.experiment import KINDS, Data
from fedlib.federated.history import History
from fedlib.federated.optimizers import sgd
from fedlib.federated.partitions import index_rule
from fedlib.federated.rules import fedadam, fedprox
from fedlib.federated.sweep import best, combinations, divergences, errors, models_of, stacks, sweep, whole_levels
from fedlib.federated.train import train
from tests.federated.test_experiment import EXACT, POOL, N, X, drawn, line

RULES = {
    ("FedAvg", 0.0): {},
    ("FedProx", 0.1): {"optimizer": fedprox(0.1)},
    ("FedProx", 0.3): {"optimizer": fedprox(0.3)},
}
STEPS = {1: {"local": Local(1), "rounds": 10}, 5: {"local": Local(5), "rounds": 2}}


def test_axes_of_settings_are_rows_of_sweeps_of_their_own():
    over = {"lr": [0.01, 0.03], ("rule", "knob"): RULES, "E": STEPS}
    history = sweep(line(), [1, 3], [0], over=over, **EXACT)
    assert history.parts == ("kind", "level", "seed", "lr", "rule", "knob", "E")
    assert len(history.rows) == 6 * 2 * 3 * 2 and whole_levels(history) == [1, 3]
    error = errors(history)
    assert error.dims == ("round", "kind", "level", "seed", "lr", "rule", "knob", "E")
    for lr, (rule, knob), E in ((0.01, ("FedAvg", 0.0), 1), (0.03, ("FedProx", 0.3), 5)):
        alone = sweep(line(lr=lr), [1, 3], [0], **RULES[rule, knob], **STEPS[E], **EXACT)
        ours = error.sel(lr=lr, rule=rule, knob=knob, E=E)
        np.testing.assert_allclose(ours[-1], errors(alone)[-1], rtol=1e-9)
        assert torch.equal(models_of(history, "isolated", 3, 0, lr, rule, knob, E), models_of(alone, "isolated", 3, 0))
    assert error.sel(rule="FedAvg", knob=0.3).isnull().all(), "a combination that nobody wanted"


def test_what_a_stack_can_share_is_one_stack(monkeypatch):
    trained = []
    monkeypatch.setattr("fedlib.federated.sweep.train", lambda **args: trained.append(args["rounds"]) or train(**args))
    sweep(line(), [1, 3], [0, 1], over={"lr": [0.01, 0.03], "common_init": [True, False]}, rounds=3)
    assert trained == [3]
    sweep(line(), [1], [0], over={"lr": [0.01, 0.03], "E": STEPS, ("rule", "knob"): RULES})
    assert sorted(trained[1:]) == [2, 2, 2, 10, 10, 10], (
        "a rate varies within a stack, a rule and a number of steps do not"
    )
    assert len(stacks(combinations({"optimizer": {"Adam": None, "SGD": sgd()}, "rounds": [1, 2]}))) == 4


def test_with_unequal_rounds_a_model_that_has_ended_keeps_its_error_and_has_no_losses():
    history = sweep(line(), [2], [0], ["federated"], over={"E": STEPS}, evaluations=2, **EXACT)
    assert history.rounds == [1, 2, 5, 10] and len(history.losses) == 10
    short, long = (history.metric("error", E=E, client=0).squeeze() for E in (5, 1))
    assert short.isnull().values.tolist() == [False] * 4 and (short[1:] == short[1]).all()
    assert long.isnull().values.tolist() == [True, True, False, False]
    losses = history.metric("loss", E=5, client=0).squeeze()
    assert losses.notnull().values.tolist() == [True] * 2 + [False] * 8


def test_rows_that_are_asked_for_are_trained_and_no_others():
    over = {"lr": [0.01, 0.03], "E": STEPS}
    wanted = [("federated", 1, 0, 0.03, 5), ("centralised", 3, 0, 0.01, 1)]
    history = sweep(line(), [1, 3], [0], over=over, rows=wanted, **EXACT)
    assert {*history.rows} == {*wanted, ("centralised", 1, 0, 0.01, 1)}
    assert np.isnan(errors(history).sel(kind="federated", level=3)).all()


def test_a_row_that_diverges_is_named_and_the_others_go_on():
    over = {"lr": [1e-3, 1e30], "optimizer": {"SGD": sgd(), "momentum": sgd(0.9)}}
    with pytest.warns(UserWarning, match="is NaN from there on"):
        history = sweep(line(), [2], [0], ["federated"], over=over, rounds=8)
    last = errors(history)[-1].squeeze()
    assert last.sel(lr=1e30).isnull().all() and last.sel(lr=1e-3).notnull().all()
    assert {key[3] for key in history.diverged} == {1e30}
    with pytest.warns(UserWarning), pytest.raises(FloatingPointError, match=r"line, level 2.* lower lr"):
        sweep(line(lr=1e30), [2], [0], ["federated"], over={"optimizer": {"SGD": sgd()}, "rounds": [8, 9]})
    with pytest.warns(UserWarning):
        nothing = sweep(line(lr=1e30, optimizer=sgd()), [2], [0], ["federated"], rounds=8, may_all_diverge=True)
    assert np.isnan(nothing.metrics["error"][-1]).all() and len(nothing.diverged) == 1


@pytest.mark.parametrize("order", [[1, 3], [3, 1]])
def test_one_model_of_all_levels_is_trained_once_and_tested_on_each_level_s_own_test(monkeypatch, order):
    """The same points at both levels; the truth of the test is larger by the level."""
    federations = []
    monkeypatch.setattr(
        "fedlib.federated.sweep.train", lambda **args: federations.extend(args["federations"]) or train(**args)
    )

    def data(level, seed):
        test, validation = ({"x": X, "u": u} for u in (level * POOL["f"], -level * POOL["f"]))
        return Data(POOL, index_rule(N, 2, level), test, validation)

    history = sweep(line(data=data), order, [0], evaluations=2, over={"lr": [0.01, 0.02]}, **EXACT)
    assert sum(key[0] == "centralised" for key in federations) == 2, "one for each rate"
    assert torch.equal(history.models("centralised", 1, 0, 0.01), history.models("centralised", 3, 0, 0.01))
    for metric in ("error", "validation error"):
        central = errors(history, metric).sel(kind="centralised", seed=0)
        for level in order:
            alone = sweep(line(data=data, lr=0.02), [level], [0], ["centralised"], evaluations=2, **EXACT)
            np.testing.assert_allclose(central.sel(level=level, lr=0.02), errors(alone, metric).squeeze(), rtol=1e-9)
        assert (central.sel(level=1) != central.sel(level=3)).all()
    assert history.metric("loss", kind="centralised", level=3).notnull().all()


def test_models_that_stand_twice_go_on_from_a_checkpoint(tmp_path):
    how = dict(rounds=4, evaluations=4, **EXACT)
    whole = sweep(line(), [1, 2, 3], [0], **how)
    stopped = Checkpoint(tmp_path / "a.pt", "a", until=0)
    with pytest.raises(OutOfTime):
        sweep(line(), [1, 2, 3], [0], checkpoint=stopped, **how)
    after = sweep(line(), [1, 2, 3], [0], checkpoint=stopped._replace(until=np.inf), **how)
    assert errors(after).identical(errors(whole)) and torch.equal(after.theta, whole.theta)


def test_a_history_carries_what_pictures_need():
    experiment = line(distance=lambda data: 1 / len(data.owners[0]), level="pieces")
    history = sweep(experiment, [1, 2], [0, 1], over={"lr": [0.01, 0.02]})
    for kept in (history, History.from_dataset(history.to_dataset())):
        error = errors(kept)
        assert error.name == "line" and error.attrs["level"] == "pieces"
        assert error.distance.values.tolist() == [experiment.distance(experiment.data(n, 0)) for n in (1, 2)]
        assert [*kept.rows] == [*history.rows] and kept.parts[3:] in (("lr",), ["lr"])
    assert "distance" not in errors(sweep(line(), [1], [0])).coords
    history.diverged["federated", 2, 1, 0.02] = "the loss became inf"
    assert History.from_dataset(history.to_dataset()).diverged == history.diverged


def test_who_is_alone_is_shown_by_mean_each_or_best():
    history = sweep(drawn(), [2, 3], [0, 1, 2], **EXACT)
    clients = history.metric("error", kind="isolated")
    assert errors(history).kind.values.tolist() == ["federated", "isolated", "centralised"]
    np.testing.assert_allclose(errors(history).sel(kind="isolated"), clients.mean("client"))
    each = errors(history, alone="each")
    assert each.kind.values.tolist() == ["client 1 alone", "client 2 alone", "federated", "centralised"]
    np.testing.assert_array_equal(each.sel(kind="client 2 alone"), clients.sel(client=1))
    best = errors(history, alone="best")
    assert best.kind.values.tolist() == ["best client alone", "federated", "centralised"]
    means = clients[-1].mean("seed")
    for level in (2, 3):
        k = int(means.sel(level=level).argmin("client"))
        np.testing.assert_array_equal(
            best.sel(kind="best client alone", level=level), clients.sel(level=level, client=k)
        )
    with pytest.raises(ValueError, match=r"alone = 'bst'.* did you mean 'best'"):
        errors(history, alone="bst")


def test_who_is_alone_stays_alone_whatever_varies():
    over = {("mixing", "server"): {(1, 1): {"mixing": mixing.ring, "server": fedadam(0.1)}}, "fraction": [0.5, 1.0]}
    alone, both = (
        errors(sweep(line(), [2], [0], ["isolated", "centralised"], over=of, **EXACT)).squeeze() for of in ({}, over)
    )
    for fraction in (0.5, 1.0):
        np.testing.assert_array_equal(both.sel(fraction=fraction), alone)


def test_a_checkpoint_is_of_one_stack(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c.pt", "k")
    with pytest.raises(ValueError, match="over makes 2 stacks, and a checkpoint is of one"):
        sweep(line(), [2], [0], over={"reset_moments": [False, True]}, checkpoint=checkpoint)
    one = sweep(line(), [2], [0], over={"lr": [0.01, 0.02]}, checkpoint=checkpoint, **EXACT)
    assert len(one.rows) == 6 and checkpoint.path.exists()


def test_the_best_is_that_of_the_federation():
    over = {"lr": [1e-3, 0.02]}
    whole, federated = (sweep(line(), [2, 3], [0, 1], kinds, over=over) for kinds in (KINDS, ["federated"]))
    chosen = best(federated)
    for kind, level, seed, lr in whole.rows:
        if kind != "federated" and lr == chosen["lr"]:  # however bad those are who do not talk
            whole.metrics["validation error"][:, whole.rows[kind, level, seed, lr]] = 1e9
    assert best(whole) == chosen


@pytest.mark.parametrize(
    ("rows", "message"),
    [([], "rows has nothing; expected some of"), ([("federatd", 2, 0)], r"rows has \('federatd', 2, 0\)")],
)
def test_rows_that_there_are_not_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        sweep(line(), [2], [0], rows=rows)
    assert len(sweep(line(), [2, 3], [0], rows=(("isolated", n, 0) for n in (2, 3))).rows) == 2


def named_levels(level, seed) -> Data:
    return line().data(2 if level == "few" else level, seed)


def test_the_weights_of_a_setting_diverge_by_its_labels():
    over = {("rule", "knob"): {("a", np.float32(0.5)): {}, ("b", 1): {"lr": 0.03}}}
    history = sweep(line(data=named_levels, distance=lambda data: np.float32(0.5)), ["few", 3], [0], over=over, **EXACT)
    net = line().net
    assert whole_levels(history) == [3, "few"]
    with pytest.raises(ValueError, match="the history has axes rule, knob; expected a label for each"):
        divergences(history, net)
    slow, fast = (divergences(history, net, labels=labels) for labels in (("a", 0.5), ("b", 1)))
    assert slow.sizes == {"seed": 1, "level": 2, "matrix": 2} and not np.allclose(slow, fast)
    assert History.from_dataset(history.to_dataset()).distance == {"few": 0.5, 3: 0.5}
    personal = sweep(line(personal=["0.weight"]), [2], [0], **EXACT)
    with pytest.raises(ValueError, match="the clients have models of their own"):
        divergences(personal, net)
