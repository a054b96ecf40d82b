"""The buttons, the picture that follows, and what is on the page where no browser is."""

import asyncio
import threading
import time

import ipywidgets
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from fedlib.federated.experiment import Data, Experiment
from fedlib.federated.mixing import fedavg, isolated, ring
from fedlib.federated.rules import fedadam
from fedlib.live import player as module
from fedlib.live import stage, views
from fedlib.live.player import PACES, moments
from fedlib.live.watched import watched_experiment
from fedlib.live.widgets import choice, slider
from fedlib.models.networks import mlp
from fedlib.papers.fedsciml.functions.problem import gramacy_lee


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    clients = ipywidgets.IntSlider(2, min=1, max=5)
    found = stage.live(lambda clients: small(clients), views.experiment_scene, "two fits", clients=clients)
    yield found, clients
    found.player.stop()


def small(clients=2, **values):
    if clients == 4:
        raise ValueError("four are <too> many")
    return watched_experiment(gramacy_lee(clients, width=8), clients, **{"E": 3, "lr": 0.003, **values})


def buttons(found):
    return {child.description: child for child in found.box.children[1].children}


def test_buttons(made):
    found, _ = made
    first = found.picture.value
    assert found.picture.alt.startswith("two fits (round 1, after local step 3 of 3: clients apart; mean errors: fed")
    assert not found.player.playing
    buttons(found)["Step one round"].click()
    found.player.thread.join()
    assert "round 1, averaged" in found.picture.alt and found.picture.value != first
    buttons(found)["Play"].click()
    assert found.player.playing and buttons(found)["Pause"].icon == "pause"
    buttons(found)["Reset"].click()
    assert not found.player.playing
    assert "round 1, after local step 3" in found.picture.alt and found.picture.value == first


def test_a_control_begins_anew_and_what_is_refused_is_said(made):
    found, clients = made
    buttons(found)["Play"].click()
    clients.value = 3
    assert found.player.playing, "it plays on, from round 1, with three clients"
    assert len(found.player.last.models) == 4
    clients.value = 4
    assert found.box.children[3].value == "<b>four are &lt;too&gt; many</b>"
    assert not found.player.playing
    clients.value = 2
    assert found.box.children[3].value == "" and found.player.playing, "what was refused has not stopped it"
    buttons(found)["Pause"].click()
    found.player.thread.join()
    assert not found.player.playing and "Play" in buttons(found)


def test_what_acts_at_the_next_average_says_so_and_what_has_no_effect_is_disabled():
    mixing = choice([("FedAvg", fedavg), ("no one", isolated)], fedavg, "mixing")
    E = slider([3, 5], 3, "local steps E")
    clients = slider([1, 2], 2, "clients")

    alone = lambda mixing, E, clients: ["mixing"] if clients == 1 else []  # noqa: E731
    controls = {"mixing": mixing, "E": E, "clients": clients}
    found = stage.live(small, views.experiment_scene, "two fits", idle=alone, **controls)
    message = found.box.children[3]
    mixing.value = isolated
    assert message.value == "<i>mixing: acts at the next average.</i>"
    E.value = 5
    assert message.value == "" and not mixing.disabled
    clients.value = 1
    assert mixing.disabled
    found.player.stop()


def test_moves_that_come_from_two_threads_at_once_do_not_stop_it(monkeypatch):
    """JupyterLab sends a page's first move to the kernel's own thread, and the second to a thread with its own loop."""
    monkeypatch.setattr(module, "PAUSE", 0.0)
    clients, threads, at_work = slider([2, 3, 5], 2, "clients"), set(), threading.Event()

    def training(clients):
        threads.add(threading.current_thread().name)
        if clients == 3:  # the first move is at work while the second comes
            at_work.set()
            time.sleep(0.5)
        return small(clients)

    async def kernel():
        found = stage.live(training, views.experiment_scene, "fits", clients=clients)
        found.player.pace = PACES[2]
        buttons(found)["Play"].click()
        await asyncio.sleep(0.5)
        clients.value = 3

        async def second():
            clients.value = 5
            await asyncio.sleep(0.5)  # the loop of that thread goes on

        subshell = threading.Thread(target=lambda: (at_work.wait(), asyncio.run(second())))
        subshell.start()
        for _ in range(300):  # a busy machine may be slow
            await asyncio.sleep(0.1)
            if found.player.playing and len(found.player.last.models) == 6:
                break
        subshell.join()
        playing, models = found.player.playing, len(found.player.last.models)
        found.player.stop()
        return playing, models

    assert asyncio.run(kernel()) == (True, 6), "it plays on with the five clients of the second move"
    assert threads == {threading.main_thread().name}, "trainings are made one after the other, in the kernel's thread"


def test_without_a_browser_a_picture_stands_there_and_the_next_one_replaces_it(page):
    for _ in range(2):
        stage.show("a test", small, views.experiment_scene, "two <fits>")
    (data, _), (second, metadata) = page
    assert {"application/vnd.jupyter.widget-view+json", "image/png", "text/html"} <= data.keys()
    assert 'alt="two &lt;fits&gt; (round 1' in data["text/html"]
    assert metadata["image/png"]["alt"] in second["text/plain"]
    shown = stage.OPEN["a test"]
    stage.close("a test")
    assert shown.box.comm is None and shown.picture.comm is None and shown.player.coming is None


def two_moments(**values):
    training = small(**values)
    apart, averaged = (m for _, m in zip(range(2), moments(training.begin(), lambda: PACES[1]), strict=False))
    return training, apart, averaged


def test_two_clients_are_drawn_in_their_own_plane():
    _, apart, averaged = two_moments()
    walk = apart.walk[:2]
    way, axes, lengths = views.plane(walk)
    torch.testing.assert_close(axes @ axes.T, torch.eye(2), atol=1e-5, rtol=0)
    ends = walk[:, -1] - walk[:, 0]
    torch.testing.assert_close(way[:, -1].norm(dim=-1), ends.norm(dim=-1))
    torch.testing.assert_close(lengths, ends.norm(dim=-1))
    torch.testing.assert_close((way[0, -1] - way[1, -1]).norm(), (ends[0] - ends[1]).norm())
    average = axes @ (averaged.done.after[0] - walk[0, 0])
    assert average[0] > 0 and abs(average[1]) < 1e-5 * average[0], "the average goes along the first axis"
    way, _, lengths = views.plane(torch.zeros(2, 4, 7))  # who does not move has a plane
    assert torch.isfinite(way).all() and (lengths == 0).all()


def test_the_plane_of_weights_shows_the_average_in_the_middle_of_the_clients_ends():
    training, _, averaged = two_moments(clients=2)
    lines = views.view(views.page(), views.experiment_scene, training, averaged, {}).axes[-2].get_lines()
    ends, given = ([line.get_xydata()[0] for line in lines if line.get_markersize() == size] for size in (7, 8))
    assert len(ends) == len(given) == 2 and np.linalg.norm(ends[0] - ends[1]) > 0.1
    np.testing.assert_allclose(given, [np.mean(ends, 0)] * 2, atol=1e-5)


def test_errors_are_those_of_the_networks():
    training, _, averaged = two_moments()
    past = {}
    said = views.remember(past, training, averaged)
    test = training.more.data.test
    for name, own in training.where().items():
        torch.nn.utils.vector_to_parameters(averaged.done.after[own][0], training.net.parameters())
        guess = training.net(test["x"])[:, 0].detach().numpy()
        expected = 100 * np.linalg.norm(guess - test["u"].numpy()) / np.linalg.norm(test["u"].numpy())
        assert said[name] == pytest.approx(expected, rel=1e-4)
    assert past["federated"] == [(1, said["federated"])]


def test_the_scene_shows_clients_at_their_step_and_the_server():
    training, apart, averaged = two_moments()
    lines = {}
    for moment in (apart, averaged):
        fig = views.view(views.page(), views.experiment_scene, training, moment, {})
        lines |= {line.get_label(): line.get_ydata() for line in fig.axes[0].get_lines()}
    test = training.more.data.test
    for name, row in {
        "client 1": apart.walk[0, -1], "client 2": apart.walk[1, -1],
        "where the round began": apart.walk[0, 0], "federated": apart.walk[:2, -1].mean(0),
    }.items():  # fmt: skip
        torch.nn.utils.vector_to_parameters(row, training.net.parameters())
        np.testing.assert_allclose(lines[name], training.net(test["x"])[:, 0].detach(), atol=1e-5)


@pytest.mark.parametrize("mixing", [fedavg, ring, isolated])
def test_every_mixing_and_server_goes(mixing):
    for server in (None, fedadam(0.01)):
        training, _, averaged = two_moments(mixing=mixing, server=server, clients=3)
        together = (averaged.done.after[:3] == averaged.done.after[0]).all()
        assert together == (mixing != isolated)  # on a ring of three all are neighbours
        views.view(views.page(), views.experiment_scene, training, averaged, {})


def labels(**changes) -> Experiment:
    """Two classes, whole numbers, and no curve that could be drawn."""
    x = torch.linspace(-1, 1, 24)[:, None]
    pool = {"x": x, "label": (x[:, 0] > 0).long()}

    def loss(predict, batch):
        return (batch["w"] * functional.cross_entropy(predict(batch["x"]), batch["label"], reduction="none")).sum()

    def evaluate(predict, test):
        wrong = (predict(test["x"]).argmax(1) != test["label"]).float()
        return {"error": 100 * wrong.mean(), "loss": functional.cross_entropy(predict(test["x"]), test["label"])}

    owners = [np.arange(12), np.arange(12, 24)]
    made = Experiment(
        "labels",
        mlp((1, 8, 2), nn.Tanh),
        loss=loss,
        data=lambda level, seed: Data(pool, owners, pool),
        evaluate=evaluate,
    )
    return made._replace(**changes)


@pytest.mark.parametrize("answer", [None, lambda predict, test: predict(test["x"])], ids=["no answer", "no truth"])
def test_an_experiment_without_a_curve_shows_weights_and_errors(answer):
    made = stage.live(labels(answer=answer), level=[1, 2], rule=["FedAvg", "SCAFFOLD"])
    before = made.picture.value
    made.player.step()
    made.player.thread.join()
    assert made.picture.value != before and made.picture.value.startswith(b"\x89PNG")
    assert "round 1, averaged; mean errors: federated" in made.picture.alt and "curve" not in made.picture.alt
    made.player.stop()


@pytest.mark.fault("clear error")
def test_an_experiment_without_errors_says_that_they_are_missing():
    with pytest.raises(ValueError, match="labels has no evaluate"):
        stage.live(labels(evaluate=None), level=[1, 2])


@pytest.mark.parametrize(
    ("controls", "message"),
    [
        ({}, r"live has no level to show; say live\(experiment, level="),
        ({"level": []}, r"level = \[\]; expected a widget, or a list of its values"),
        ({"level": [1], "E": 5}, "E = 5; expected a widget, or a list"),
        ({"level": [1], "rounds_": [5]}, "'rounds_' is no control of an experiment, .*did you mean 'rounds'"),
    ],
)
def test_controls_that_an_experiment_has_not_are_refused(controls, message):
    with pytest.raises(ValueError, match=message):
        stage.live(labels(), **controls)
