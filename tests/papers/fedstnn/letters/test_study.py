"""What notebook 09 trains, and what is computed of it, against drawings that are made by hand."""

import numpy as np
import pytest
import xarray

from fedlib.notebook.relations import judged
from fedlib.papers.fedstnn.letters import claims, study
from fedlib.papers.fedstnn.letters.edges import edge_distance
from fedlib.papers.fedstnn.letters.picture import PAPER_SHAPE, Picture, letters

PICTURE, SEEDS, K = Picture(letters()), [0, 1], 6
TRUTH = PICTURE.white.ravel()


def one_letter(j):
    """The letter of a third, and the other white pixels in the right lower corner of the picture that is left."""
    white = np.zeros_like(TRUTH)
    white[PICTURE.thirds[j]] = TRUTH[PICTURE.thirds[j]]
    free = np.flatnonzero(~white & ~TRUTH & ~np.isin(np.arange(len(TRUTH)), PICTURE.thirds[j]))
    white[free[-(PICTURE.xi - white.sum()) :]] = True
    return white


def drawn(values, **axes):
    """A drawing [pixel] for all labels of some axes."""
    shape = [len(labels) for labels in axes.values()]
    return xarray.DataArray(np.broadcast_to(values, (*shape, *np.shape(values)[-1:])), axes, (*axes, "pixel"))


@pytest.fixture
def results():
    """A federation that is right after two rounds, clients who are right in their third only."""
    together = drawn(TRUTH, kind=["federated", "centralised"], seed=SEEDS, round=[1, 2]).copy()
    together[dict(round=0)] = one_letter(1)
    alone = xarray.concat([drawn(one_letter(k * 3 // K), seed=SEEDS) for k in range(K)], "client")
    levels = xarray.concat([drawn(one_letter(0), seed=SEEDS), drawn(TRUTH, seed=SEEDS)], "level")
    tried = xarray.DataArray(
        [[[[3.0]], [[1.0]]], [[[2.0]], [[1.5]]]],
        {"seed": [100, 101], "steps": [50, 100], "lr": [0.02], "lr_end": [0.1]},
    )
    authors = {"our steps": drawn(letters(PAPER_SHAPE).ravel(), seed=SEEDS)}
    levels = levels.assign_coords(level=[100, 400])
    return study.Results(PICTURE, 400, together, alone.transpose("seed", ...), levels, authors, tried)


def test_claims_hold_where_they_should(results):
    together = results.together.copy()
    place = np.flatnonzero(abs(edge_distance(PICTURE.white)).ravel() == 1)[0]
    together[dict(round=-1, pixel=place)] = ~TRUTH[place]
    verdicts = {id: judged(claim, results._replace(together=together)) for id, claim in claims.CLAIMS.items()}
    not_run = {id for id, verdict in verdicts.items() if verdict is None}
    assert not_run == {"fedstnn.53.blurry", "fedstnn.53.solid"}
    assert all(verdict.holds for id, verdict in verdicts.items() if id not in not_run)


def test_claims_fail_where_a_letter_is_missing(results):
    lost = results._replace(together=results.together.copy(data=np.roll(results.together.values, 40, -1)))
    failing = {id for id, claim in claims.CLAIMS.items() if (verdict := judged(claim, lost)) and not verdict.holds}
    assert {"fedstnn.53.together", "fedstnn.target.53.iou"} <= failing
    swapped = results._replace(alone=results.alone.isel(client=slice(None, None, -1)))
    failing = {id for id, claim in claims.CLAIMS.items() if (verdict := judged(claim, swapped)) and not verdict.holds}
    assert failing >= {"fedstnn.53.others"}
    own = results._replace(picture=Picture(PICTURE.white, ("left", "middle", "right")))
    assert claims.holes(own) is None, "a reader's picture may have holes"


def test_speckles_at_the_edges_blur_them_and_are_holes(results):
    white = letters(PAPER_SHAPE)
    inside, at_edge = edge_distance(white), np.zeros_like(white)
    at_edge[::2, ::2] = (abs(inside) <= 2)[::2, ::2]  # a quarter of the pixels there
    for pixels, verdicts in ((at_edge, (True, False)), (at_edge & False, (False, True)), (inside < -2, (False, False))):
        made = results._replace(authors={"their steps": drawn((white ^ pixels).ravel(), seed=SEEDS)})
        assert tuple(judged(claims.CLAIMS[f"fedstnn.53.{id}"], made).holds for id in ("blurry", "solid")) == verdicts


def test_who_draws_whose_letter(results):
    groups = study.by_group(results)
    assert groups["own"].shape == (2, K) and groups["others"].shape == (2, K, 2)
    np.testing.assert_array_equal(groups["own"], 1)
    assert groups["others"].max() < 0.5


def test_the_best_settings_come_first(results):
    ranked = study.settings_tried(results)
    assert [setting for setting, _ in ranked] == [(100, 0.02, 0.1), (50, 0.02, 0.1)]
    np.testing.assert_array_equal(ranked[0][1], [1, 1.5])
    assert study.settings_tried(results._replace(tried=None)) == []


def test_the_last_round_has_the_rate_asked_for():
    for rounds in (2, 25):
        assert study.decay_of(0.1, rounds) ** (rounds - 1) == pytest.approx(0.1)
    assert study.decay_of(0.1, 1) == pytest.approx(0.1)  # one round has the first rate only


@pytest.mark.parametrize(
    "change, words",
    [
        ({"clients": 4}, "a multiple of three"),
        ({"own_pixels": 1601}, "a third of the picture has 1600"),
        ({"levels": [100, 2000]}, "2000 own pixels"),
        ({"ratio": 9.0}, "a smaller ratio"),
    ],
)
def test_what_cannot_be_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        study.check(study.PAPER | change)
