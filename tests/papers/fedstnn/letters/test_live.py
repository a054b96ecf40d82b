"""Notebook 09 live: who owns what, and that the pictures are those of the networks that are trained."""

import numpy as np
import pytest
import torch

from fedlib.live import stage, views
from fedlib.live.player import PACES, moments
from fedlib.notebook.run import Run
from fedlib.papers.fedstnn.letters import figures, live, study

from ....pages.node import evaluate


@pytest.mark.parametrize(("L", "F"), [(400, 0), (20, 200)])
def test_what_clients_own(L, F):
    shown = live.training(L, F, clients=3).more
    for k, mine in enumerate(shown.shards):
        at_home = np.isin(mine, shown.picture.thirds[k])
        assert (at_home.sum(), (~at_home).sum()) == (L, F)


def test_the_pictures_are_of_the_networks_that_are_trained(page):
    training = live.training(active=1 / 3, E=2)
    shown = training.more
    white = shown.picture.truth.numpy()
    apart, averaged = (m for m, _ in zip(moments(training.begin(), lambda: PACES[1]), range(2), strict=False))
    assert len(apart.done.clients) == 3  # two of six, and the centralised one

    def drawn(model):
        torch.nn.utils.vector_to_parameters(model, training.net.parameters())
        score = training.net(shown.x, shown.w)[:, 0].detach().numpy()
        answer = np.zeros(len(white), bool)
        answer[np.argsort(-score)[: white.sum()]] = True
        return answer

    for moment, server in (apart, apart.walk[0, 0]), (averaged, averaged.done.after[0]):
        above, _, below, *_ = views.view(views.page(2), live.scene, training, moment, {}).axes
        colours = above.images[0].get_array().ravel()
        np.testing.assert_array_equal(np.isin(colours, (1, 2)), drawn(server))  # white, rightly or wrongly
        wrong = training.errors(moment)["federated"][0].item()
        assert wrong == pytest.approx(100 * (drawn(moment.models[0]) != white).mean(), abs=1e-3)
        sheet, (rows, columns) = below.images[0].get_array(), shown.picture.shape
        for i, k in enumerate((0, 2, 4)):
            top = i * (rows + live.GAP)
            left, right = sheet[top : top + rows, :columns], sheet[top : top + rows, -columns:]
            np.testing.assert_array_equal(np.flatnonzero(left != 4), np.sort(shown.shards[k]))
            np.testing.assert_array_equal(np.isin(right.ravel(), (1, 2)), drawn(apart.walk[k, 2]))
            np.testing.assert_array_equal(np.isin(right.ravel(), (0, 1)), drawn(apart.walk[k, 2]) == white)
    live.show()
    assert "round 1, after local step 10 of 10" in page[0][0]["text/plain"]
    stage.close("09")


@pytest.fixture(scope="module")
def piece():
    """The piece of stored drawings, as JavaScript sees it."""
    return live.explorer()


RUN = """
const data = M.unpacked(given.data), [r, k] = given.chosen;
return {
    truth: data.drawing("truth"), seen: data.drawing("seen", k), alone: data.drawing("alone", k),
    federated: data.drawing("federated", r), words: M.inWords(data, [r, k]),
    codes: M.codes(data.drawing("alone", k), data.drawing("truth")),
    known: M.known(data.drawing("seen", k), data.drawing("truth")),
};
"""


@pytest.mark.parametrize("chosen", [(0, 0), (2, 13), (24, 29)])
def test_the_piece_shows_what_is_stored(piece, chosen, tmp_path):
    shown = evaluate(piece._esm, RUN, {"data": piece.data, "chosen": chosen}, tmp_path)
    lesson, (r, k) = Run(study), chosen
    results = lesson.results()
    picture, truth = results.picture, results.picture.white.ravel()
    federated = results.together.sel(kind="federated").isel(seed=0, round=r).values
    alone = results.last("isolated").isel(seed=0, client=k).values
    assert shown["truth"] == truth.tolist() and shown["federated"] == federated.tolist()
    assert shown["alone"] == alone.tolist() and shown["codes"] == figures.codes(alone, truth).tolist()
    shard = study.owned(lesson.parameters, 0)[k]
    assert shown["known"] == figures.excerpt(shard, picture).tolist()
    for white in (federated, alone):
        assert figures.in_words(picture.overlaps(white), picture.names) in shown["words"]
    assert f"Client {k + 1} alone" in shown["words"] and len(piece.data["pictures"]) == 4


def test_the_piece_has_sliders_for_every_round_and_client(piece):
    rounds, clients = (control["options"] for control in piece.data["controls"])
    assert rounds[-1] == 100 and clients == [*range(1, 31)]
    assert [control["options"][control["start"]] for control in piece.data["controls"]] == [12, 1]
    assert sum(len(text) for text in piece.data["pictures"].values()) < 100_000, "so that a page is light"
