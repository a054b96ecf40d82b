"""Notebook 13's figures are functions of what was computed; its live piece follows the mouse."""

import numpy as np
import pytest

from fedlib.papers import stored
from fedlib.papers.beyond.one_round import claims, figures, live, problem

from ....conftest import assert_redraws_fast, assert_starts_at_and_follows, every_move

NAMES = ["one_round_poisson", "one_round_helmholtz", "newton_poisson", "heads_poisson", "allen_cahn", "pendulum",
         "error_bars", "partitions"]  # fmt: skip


@pytest.fixture(scope="module")
def results():
    """Those of the paper profile."""
    rates = ("0.0003", "0.001", "0.003", "0.01")
    rules = [f"rules_poisson/{rule}, {lr}" for rule in ("FedAvg", problem.RULES["poisson"]) for lr in rates]
    return {name: stored(problem.NOTEBOOK, name) for name in (*NAMES, *rules)}


def test_every_way_is_drawn_at_its_level(results):
    of = {name: figures.ways(name, results) for name in ("poisson", "helmholtz")}
    labels = [way.label for way in of["poisson"]]
    assert labels == ["FedAvg, as printed", "FedAvg, best rate", "best rule", "Gauss-Newton", "one round of sums"]
    fig = figures.race(of, {"poisson": 8, "helmholtz": 6})
    left, right = fig.axes[:2]
    assert len(left.lines) == len(right.lines) == len(labels) + 1
    (star,) = [line for line in left.lines if line.get_marker() == "*"]
    assert star.get_xdata() == [1] and star.get_ydata()[0] < 1e-5
    assert len(fig.axes[2].lines) == 3, "at 6 x 6 blocks there are FedAvg as printed and the sums"
    assert len(figures.against_level(of).axes) == 2
    assert_starts_at_and_follows(figures.answers(), "blocks of Helmholtz 4")


def test_the_best_rate_is_chosen_on_validation_points(results):
    error = figures.trained("poisson", "FedAvg", results).isel(round=-1).median("seed")
    printed = {way.label: way.error for way in figures.ways("poisson", results)}["FedAvg, as printed"]
    assert (error <= 1.05 * printed.isel(round=-1).median("seed")).all()


def test_places_and_tables(results):
    places = figures.places(results)
    rows = figures.place_rows(places)
    assert {len(row) for row in rows} == {len(figures.PLACES)} and len({place.problem for place in places}) == 4
    assert all(np.isfinite(place.error).all() for place in places)
    assert sum("(chosen)" in row[1] for row in figures.tried_rows(results)) == 4
    assert figures.four_problems(places).axes
    assert figures.heads({"poisson": results["heads_poisson"]}).axes and figures.bars(results["error_bars"]).axes


def test_claims_hold_on_what_is_stored(results):
    verdicts = claims.judged(results)
    assert verdicts.keys() == claims.CLAIMS.keys() and all(holds for holds, _ in verdicts.values())


def test_points_are_told_where_there_are_more_functions_than_points():
    import torch

    x = torch.linspace(0, torch.pi, 400, dtype=torch.float64)[:, None]
    blind, _, _ = figures.scan(12, 6.0, 8, x)
    told, _, data = figures.scan(60, 6.0, 8, x)
    points = data.pool["x"][data.owners[0], 0].numpy()
    assert blind.max() < 1e-8
    drops = np.flatnonzero((told[1:-1] < told[:-2]) & (told[1:-1] < told[2:])) + 1
    away = np.abs(x[drops, 0].numpy()[:, None] - points).min(1)
    assert len(drops) >= 14 and away.max() < 0.02, "each drop is one of its points"


def test_live_the_sums_do_not_move_and_a_client_may_stay_away():
    words = lambda *of: [text.get_text() for text in live.draw(*of).axes[0].get_legend().get_texts()]  # noqa: E731
    assert words(2, 32, 60, False)[-1] == words(32, 32, 60, False)[-1] == "the sums: off by 3e-06 %"
    alone, away = words(8, 32, 60, True)[1], words(8, 32, 60, True)[-1]
    alone, away = (float(of.split()[-2]) for of in (alone, away))
    assert away > 10 and away == pytest.approx(alone, rel=0.01)
    assert_starts_at_and_follows(live.explore(), "sines 60")


def test_live_follows_the_mouse():
    move = every_move(live.explore())
    assert_redraws_fast(move)
