"""Notebook 13's figures are functions of what was computed; its live piece follows the mouse."""

import numpy as np
import pytest

from fedlib.papers import stored
from fedlib.papers.beyond.one_round import claims, figures, live, problem

from ....conftest import assert_redraws_fast, assert_starts_at_and_follows, every_move

NAMES = ["one_round_poisson", "one_round_helmholtz", "newton_poisson", "heads_poisson", "allen_cahn", "pendulum",
         "error_bars", "partitions", "leak"]  # fmt: skip


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
    assert_starts_at_and_follows(figures.solution_slider(), "blocks of Helmholtz 4")


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


def test_told_marks_where_products_are_fewer_than_points(results):
    leak = results["leak"]
    left, right = figures.told(leak).axes
    assert all(ax.get_xscale() == ax.get_yscale() == "log" for ax in (left, right))
    dots = lambda hollow: sum(  # noqa: E731
        np.isfinite(line.get_ydata()).sum() for line in right.lines
        if line.get_linestyle() == "None" and (line.get_markerfacecolor() == "w") == hollow
    )  # fmt: skip
    fewer = [(leak.products < n).sum().item() for n in leak.points]
    assert dots(True) == sum(fewer) and dots(False) == 3 * leak.products.size - sum(fewer) and min(fewer) > 0


def test_bytes_count_what_was_not_chosen(results):
    """Of the chosen features alone they are those that were stored."""
    for name in ("poisson", "helmholtz"):
        once = results[f"one_round_{name}"]
        chosen = once.sel(m=[once.attrs["chosen_m"]], scale=[once.attrs["chosen_scale"]])
        for level in once.level.values.tolist():
            assert problem.bytes_of_all(name, level, chosen) == once.bytes.sel(level=level).mean()
            assert problem.bytes_of_all(name, level, once) > 4 * once.bytes.sel(level=level).mean()
    sent = {place.problem: place.bytes for place in figures.places(results) if place.way.startswith(("one", "sums"))}
    assert sent["Poisson, 8 pieces"] == 4 * (3136 + 6976 + 14656), "roots of 16 rows: 30, 60, 120 sines at four scales"
    assert sent["Allen-Cahn, 2 pieces"] == results["allen_cahn"].bytes.sum()


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
