"""Notebook 09 live: who owns what, and that the pictures are those of the networks that are trained."""

import numpy as np
import pytest
import torch

from fedlib.live import views
from fedlib.live.player import PACES, moments
from fedlib.notebook.run import Run
from fedlib.papers.fedstnn.letters import figures, live, study

from ....pages.node import evaluate


def test_the_pictures_are_of_the_networks_that_are_trained():
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
        above, *_ = views.view(views.page(2), live.scene, training, moment, {}).axes
        colours = above.images[0].get_array().ravel()
        np.testing.assert_array_equal(np.isin(colours, (1, 2)), drawn(server))  # white, rightly or wrongly
        wrong = training.errors(moment)["federated"][0].item()
        assert wrong == pytest.approx(100 * (drawn(moment.models[0]) != white).mean(), abs=1e-3)
        np.testing.assert_array_equal(np.isin(colours, (0, 1)), drawn(server) == white)


RUN = """
const data = M.unpacked(given.data), [r, k] = given.chosen;
return {
    truth: data.drawing("truth"), seen: data.drawing("seen", k), alone: data.drawing("alone", k),
    federated: data.drawing("federated", r), words: M.inWords(data, [r, k]),
    codes: M.codes(data.drawing("alone", k), data.drawing("truth")),
    known: M.known(data.drawing("seen", k), data.drawing("truth")),
};
"""


def test_the_piece_shows_what_is_stored(tmp_path):
    piece, chosen = live.explorer(), (2, 13)
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
