"""Notebook 13's figures are functions of what was computed; its live pieces follow the mouse."""

from itertools import product

import numpy as np
import pytest
import xarray

from fedlib.federated.sweep import sweep
from fedlib.papers.beyond.one_round import figures, live, study
from fedlib.papers.beyond.one_round.problem import bytes_of_all, equation_in_halves

from ....conftest import assert_starts_at_and_follows


def test_every_way_is_drawn_at_its_level(results):
    labels = ["FedAvg, as printed", "FedAvg, best rate", "best rule", "Gauss-Newton", "one round of sums"]
    assert [*results.ways["poisson"]] == [*results.ways["helmholtz"]] == labels == [*figures.LOOKS]
    fig = figures.race(results.ways, {"poisson": 8, "helmholtz": 6})
    left, right = fig.axes[:2]
    assert len(left.lines) == len(right.lines) == len(labels) + 1
    (star,) = [line for line in left.lines if line.get_marker() == "*"]
    assert star.get_xdata() == [1] and star.get_ydata()[0] < 1e-5
    assert len(fig.axes[2].lines) == 3, "at 6 x 6 blocks there are FedAvg as printed and the sums"
    assert len(figures.against_level(results.ways).axes) == 2


def test_an_equation_without_the_level_is_drawn_at_its_first_one(results):
    fig = figures.race(results.ways, {"poisson": 7, "helmholtz": 4})
    assert [ax.get_title() for ax in fig.axes[::2]] == ["Poisson, 2 pieces", "Helmholtz, 4 x 4 blocks"]


def test_the_slider_over_levels_follows():
    assert_starts_at_and_follows(live.race_slider(), "blocks of Helmholtz 4")


def test_the_best_rate_is_chosen_on_validation_points(results):
    last = {label: way.error.isel(round=-1).median("seed") for label, way in results.ways["poisson"].items()}
    assert (last["FedAvg, best rate"] <= 1.05 * last["FedAvg, as printed"]).all()


def test_each_level_takes_its_own_rate_and_one_without_all_rates_is_left_out():
    """Made-up errors: at two pieces the second rate has the smaller validation error, at four the first one."""
    history = sweep(
        equation_in_halves("poisson"), [2, 4, 8], [0, 1], ["federated"], rounds=1,
        over={"rule": {"FedAvg": {}}, "lr": [1e-3, 1e-2]},
        rows=[("federated", level, seed, "FedAvg", lr) for level in (2, 4, 8) for seed in (0, 1)
              for lr in (1e-3, 1e-2)[: 1 + (level < 8)]],
    )  # fmt: skip
    for key, rows in history.rows.items():
        second = key[-1] == 1e-2
        history.metrics["validation error"][:, rows] = [3, 1][second] if key[1] == 2 else [1, 3][second]
        history.metrics["error"][:, rows] = 10 * key[1] + second
    error = study.at_best_rates("poisson", "FedAvg", history)
    assert error.dims == ("round", "level", "seed") and error.level.values.tolist() == [2, 4]
    assert error.values.tolist() == [[[21, 21], [40, 40]]]
    assert (
        study.at_best_rates("poisson", "SCAFFOLD", history) is None
        and study.at_best_rates("poisson", "x", None) is None
    )


def test_places_and_tables(results):
    rows = figures.place_rows(results.places)
    assert {len(row) for row in rows} == {len(figures.PLACES)} and len({place.problem for place in results.places}) == 4
    assert all(np.isfinite(place.error).all() for place in results.places)
    assert sum("(chosen)" in row[1] for row in figures.tried_rows(results.tried)) == 4
    assert [row[:3] for row in figures.newton_rows(results.newton)] == [
        *(["poisson", level, "150"] for level in ("2", "8", "32")), ["helmholtz", "4", "40"],
    ]  # fmt: skip
    assert [row[0] for row in figures.gap_rows(results.partitions.gap)] == [
        "poisson", "helmholtz", "pendulum", "noisy curve",
    ]  # fmt: skip
    assert {len(row) for row in figures.message_rows(results.messages)} == {len(figures.MESSAGES)}
    assert figures.four_problems(results.places).axes
    assert figures.heads(results.heads).axes and figures.bars(results.error_bars, results.network_coverage).axes


def test_the_leak_marks_where_products_are_fewer_than_points(results):
    table = results.leak
    left, right = figures.leak(table).axes
    assert all(ax.get_xscale() == ax.get_yscale() == "log" for ax in (left, right))
    dots = lambda hollow: sum(  # noqa: E731
        np.isfinite(line.get_ydata()).sum() for line in right.lines
        if line.get_linestyle() == "None" and (line.get_markerfacecolor() == "w") == hollow
    )  # fmt: skip
    fewer = [(table.products < n).sum().item() for n in table.points]
    assert dots(True) == sum(fewer) and dots(False) == 3 * table.products.size - sum(fewer) and min(fewer) > 0


def test_what_was_chosen_has_the_least_score():
    gcv = xarray.DataArray(
        [[[3, 9], [1, 2]], [[2, 3], [1, 4]]], {"m": [5, 6], "scale": [1.0, 2.0]}, ["m", "scale", "seed"]
    )
    best = study.chosen(xarray.Dataset({"gcv": gcv}))
    assert (best.m.item(), best.scale.item()) == (5, 2.0)
    best = study.chosen(xarray.Dataset({"gcv": gcv.isel(seed=0, drop=True).where(gcv.m == 6, np.inf)}))
    assert (best.m.item(), best.scale.item()) == (6, 2.0)


def test_bytes_count_what_was_not_chosen(results):
    """Of the chosen features alone they are those that were stored."""
    for name, once in results.once.items():
        chosen = once.sel(m=[once.attrs["chosen_m"]], scale=[once.attrs["chosen_scale"]])
        for level in once.level.values.tolist():
            assert bytes_of_all(name, level, chosen) == once.bytes.sel(level=level).mean()
            assert bytes_of_all(name, level, once) > 4 * once.bytes.sel(level=level).mean()
    sent = {place.problem: place.bytes for place in results.places if place.way.startswith(("one", "sums"))}
    assert sent["Poisson, 8 pieces"] == 4 * (3136 + 6976 + 14656), "roots of 16 rows: 30, 60, 120 sines at four scales"
    assert sent["Allen-Cahn, 2 pieces"] == 106_477_056


def test_live_the_sums_do_not_move_and_a_client_may_stay_away():
    words = lambda *of: [text.get_text() for text in live.draw(*of).axes[0].get_legend().get_texts()]  # noqa: E731
    assert words(2, 32, 60, False)[-1] == words(32, 32, 60, False)[-1] == "the sums: off by 3e-06 %"
    alone, away = words(8, 32, 60, True)[1], words(8, 32, 60, True)[-1]
    alone, away = (float(text.split()[-2]) for text in (alone, away))
    assert away > 10 and away == pytest.approx(alone, rel=0.01)


def test_the_piece_to_explore_says_the_same_at_every_number_of_pieces_of_sums_only():
    data = live.explorer().data
    states = dict(zip(product(*(one["options"] for one in data["controls"])), data["sentences"], strict=True))
    many = [states[pieces, 60] for pieces in live.PIECES]
    assert all(words.endswith("sums by less than 0.0001 %.") for words in many)
    assert len({words.split("client 1")[1] for words in many}) > 2, "clients alone differ"
    assert states[8, 60] == (
        "8 pieces, 60 sines: client 1 alone is off by 42 %, client 2 alone by 34 %, sums by less than 0.0001 %."
    )
