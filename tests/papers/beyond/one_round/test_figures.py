"""Notebook 13's figures are functions of what was computed; its live pieces follow the mouse."""

from copy import deepcopy
from itertools import product

import numpy as np
import pytest
import xarray

from fedlib.federated import sums
from fedlib.federated.sweep import errors, sweep
from fedlib.numerics.metrics import in_percent, percent
from fedlib.papers.beyond.one_round import figures, live, pieces, privacy, problem, study
from fedlib.papers.beyond.one_round.problem import bytes_of_all, equation_in_halves
from fedlib.papers.beyond.points import ATTACKS, share_found
from fedlib.papers.fedsciml.forward import study as forward
from fedlib.trainings.store import stored


def test_every_way_is_drawn_at_its_level(results):
    labels = ["FedAvg, as printed", "FedAvg, best rate", "best rule", "Gauss-Newton", "one round of sums"]
    assert [*results.ways["poisson"]] == [*results.ways["helmholtz"]] == labels == [*figures.LOOKS]
    fig = figures.race(results.ways)
    assert [ax.get_title() for ax in fig.axes[::2]] == ["Poisson, 8 pieces", "Helmholtz, 4 x 4 blocks"]
    assert all(len(ax.lines) == len(labels) + 1 for ax in fig.axes)
    (star,) = [line for line in fig.axes[0].lines if line.get_marker() == "*"]
    assert star.get_xdata() == [1] and star.get_ydata()[0] < 1e-5
    assert len(figures.against_level(results.ways).axes) == 2


def test_what_other_notebooks_have_trained_is_marked(results):
    rows = {row[0].split(",")[0] + ", " + row[1]: row[2] for row in figures.place_rows(results.places)}
    assert rows["Poisson, FedAvg, as printed"] == "05" and rows["Poisson, best rule"] == "13"
    assert rows["Helmholtz, best rule"] == "11" and rows["Helmholtz, Gauss-Newton"] == "13"
    assert rows["pendulum's operator, all data in one place"] == "01"
    assert rows["pendulum's operator, one round of sums"] == "13"


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
    error = study.at_best_rates("poisson", "FedAvg", {"rules_poisson": history})
    assert error.dims == ("round", "level", "seed") and error.level.values.tolist() == [2, 4]
    assert error.values.tolist() == [[[21, 21], [40, 40]]]
    falling = deepcopy(history)
    falling.metrics["validation error"] += 1
    falling.metrics["error"] += 100
    both = {"rules_poisson": history, "falling_poisson": falling}
    assert study.at_best_rates("poisson", "FedAvg", both).equals(error), "validation points choose among both"
    falling.metrics["validation error"] -= 5
    assert (study.at_best_rates("poisson", "FedAvg", both) - error == 100).all()
    assert study.at_best_rates("poisson", "SCAFFOLD", both) is None and study.at_best_rates("poisson", "x", {}) is None


def test_places_and_tables(results):
    rows = figures.place_rows(results.places)
    problems = {place.problem for place in results.places}
    assert {len(row) for row in rows} == {len(figures.PLACES)} and {*study.IN_THE_PICTURE} <= problems
    assert all(np.isfinite(place.error).all() for place in results.places)
    chosen = sum("(chosen)" in row[1] for row in figures.tried_rows(results.tried))
    assert chosen == len(results.tried) == 4 + 2 + 3 + 2 + 1 + 1, (
        "equations and the pendulum, letters and digits, learnt steps, flow"
    )
    assert [row[:3] for row in figures.newton_rows(results.newton)] == [
        *(["poisson", level, "150"] for level in ("2", "8", "32")), ["helmholtz", "4", "40"],
    ]  # fmt: skip
    assert [row[0] for row in figures.gap_rows(results.partitions.gap)] == [
        "poisson", "helmholtz", "pendulum", "noisy curve",
    ]  # fmt: skip
    assert {len(row) for row in figures.message_rows(results.messages)} == {len(figures.MESSAGES)}
    (ax,) = figures.every_problem(results.places, study.IN_THE_PICTURE).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [*study.IN_THE_PICTURE]
    assert figures.bars(results.error_bars).axes


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


def test_what_hides_is_drawn_against_what_it_costs(results):
    crowd, middle, right = figures.hiding(results.crowd, results.noise, results.private).axes
    words = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in (crowd, middle, right)]
    assert words[0] == ["4 sines", "12 sines", "60 sines", "60 sines, null space"]
    assert words[1] == ["12 sines", "60 sines", "20 directions of 60 sines", "null space"]
    assert words[2] == ["ε = 1: 55 %", "ε = 10: 84 %", "ε = 100: 100 %"], "of who knows all the others"
    share = results.noise.found.mean("seed").sel(message="12 sines")
    solid, hollow = (line for line in middle.lines if len(line.get_xdata()) == 7 and line.get_color() == "#0072B2")
    assert np.array_equal(solid.get_ydata(), 100 * share.sel(attack="non-negative fit"))
    assert np.array_equal(hollow.get_ydata(), 100 * share.sel(attack="null space"))
    assert all([20, 20] in [list(line.get_ydata()) for line in ax.lines] for ax in (crowd, middle)), "a guess"


def test_torques_are_drawn_beside_notebook_12s(results):
    left, right = figures.torques(results.torques, results.readings).axes
    words = [text.get_text() for text in left.get_legend().get_texts()]
    assert words == ["sums", "FedAvg's model, SGD", "FedAvg's model, Adam"] and left.get_ylim()[0] < 0.006
    assert [text.get_text() for text in right.get_legend().get_texts()][1] == "read off the sums of 116"
    true, read = (line.get_ydata() for line in right.lines)
    np.testing.assert_allclose(read, true, atol=0.01 * np.abs(true).max())


@pytest.mark.parametrize(("points", "sines", "noise"), [(8, 6, 0), (32, 20, 0), (16, 60, 0.1)])
def test_a_message_is_attacked_where_the_slider_stands_and_the_picture_says_how_well(points, sines, noise):
    """Rows of the picture: points, null space, fit; what it says is the share of points that have a guess near by."""
    left, right = figures.attack(points, sines, noise, 0, 1).axes
    rows = {line.get_ydata()[0]: np.asarray(line.get_xdata()) for line in left.lines}
    names = dict(zip(left.yaxis.get_majorticklocs(), left.yaxis.get_majorticklabels(), strict=True))
    x = {names[y].get_text(): places for y, places in rows.items()}
    truth = privacy.cloud(points, 1)
    np.testing.assert_array_equal(x.pop("the points"), truth)
    shares = {name: share_found(guess, truth, privacy.NEAR * np.pi / points) for name, guess in x.items()}
    assert [*shares] == ["null space", "non-negative fit"]
    assert left.get_title() == "found: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
    assert (shares["non-negative fit"] == 1) == (not noise), "all that are not hidden"
    truth, sums = (line.get_ydata() for line in right.lines)
    assert right.get_title() == f"solution off by {in_percent(percent(sums, truth))}"


def test_the_slider_attacks_as_the_stored_table_does(results):
    for m, points, seed in [(4, 16, 0), (12, 32, 3)]:
        stored = results.crowd.found.sel(m=m, points=points, seed=seed)
        live_share = privacy.attacked(m, points, seed).share
        assert live_share["non-negative fit"] == stored.sel(attack="non-negative fit") and [*live_share] == [*ATTACKS]
    assert {*live.CROWD} == {*results.crowd.points.values} and {*live.FEW} == {*results.crowd.m.values}
    assert {*live.NOISE} - {0} == {*results.noise.noise.values}
    box = live.attacks()
    picture = box.children[-1]
    assert "points 16, sines 12, noise 0, one apart 0, draw 0" in picture.alt
    assert "non-negative fit 100 %" in picture.alt
    box.children[3].value = 0.3
    assert "one apart 0.3" in picture.alt and "the one apart off by" in picture.alt
    box.children[2].value = 0.1
    assert "noise 0.1" in picture.alt and "non-negative fit 100 %" not in picture.alt


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
    ways = ("one round of sums", "sums, in windows of time")
    sent = {place.problem: place.bytes for place in results.places if place.way in ways}
    assert sent["Poisson, 8 pieces"] == 4 * (3136 + 6976 + 14656), "roots of 16 rows: 30, 60, 120 sines at four scales"
    assert sent["Allen-Cahn, 2 pieces"] == 106_477_056


def test_the_first_picture_says_who_is_how_far_off():
    table = pieces.curves_and_errors([8], [60], [32], [0])
    (ax,) = figures.alone_and_added(table, 8, 60).axes
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == [
        "truth", "client 1 alone: 42 %", "client 2 alone: 34 %", "federated, 1000 rounds: 7.4 %",
        "sums, 1 round: below 0.0001 %",
    ]  # fmt: skip
    u = table.u.squeeze(drop=True).sel(model="sums")
    assert np.abs(u - table.truth).max() < 1e-6 and len(ax.patches) == 8, "a shade for each piece"


def test_the_arrays_of_the_explorer_are_solves_of_the_library():
    """Roots of rows computed once for all are those that each client would send; 05's network knows 32 points only."""
    table = pieces.curves_and_errors([4, 8], [10, 20], [32, 64], [0, 1])
    for n, m, seed in ((4, 10, 0), (8, 20, 1)):
        equation = problem.with_sines("poisson", m, pieces.SCALE, seed)
        step = sums.one_round(equation, equation.data(n, 0), problem.start(equation)).step
        error = problem.error(equation, step, equation.data(n, 0).test)
        cell = table.error.sel(pieces=n, sines=m, points=32, seed=seed)
        assert cell.sel(model="sums").item() == pytest.approx(error, rel=0.05)
    network = errors(stored(forward, "poisson"))[-1].sel(kind="federated", level=[4, 8])
    mine = table.error.sel(model="federated", sines=10, points=32)
    assert np.array_equal(mine.transpose("pieces", "seed"), network.transpose("level", "seed"))
    assert table.error.sel(model="federated", points=64).isnull().all()
    percent = 100 * ((table.u - table.truth) ** 2).sum("x") ** 0.5 / np.linalg.norm(table.truth)
    first = table.error.isel(seed=0)
    assert np.allclose(percent.where(first.notnull()), first, rtol=1e-5, equal_nan=True)


def test_the_piece_to_explore_says_the_same_at_every_number_of_pieces_of_sums_only():
    data = live.explorer().data
    states = dict(zip(product(*(one["options"] for one in data["controls"])), data["sentences"], strict=True))
    many = [states[n, 60, 32] for n in live.PIECES]
    assert all("sums by less than 0.0001 %, federated by" in words for words in many)
    assert len({words.split("client 1")[1] for words in many}) > 4, "clients alone differ"
    assert [model["name"] for model in data["models"]][-1] == "federated" and data["models"][-1]["curve"]
    assert states[8, 60, 64].endswith("Not trained: federated."), "notebook 05's network has 32 points"
    assert states[8, 60, 32].startswith("8 pieces, 60 sines, 32 points: client 1 alone is off by 42 %, client 2 alone")
    assert "client 2 alone beats the sums" in states[6, 5, 64]
    for same in ((6, 5, 32), (32, 60, 64)):
        assert "beat" not in states[same], "what reads alike is no victory"


def test_every_problem_has_its_networks_beside_it(results):
    """Sums err less than one network with all data in medians, but for one map; what is compared is marked."""
    median = {(place.problem, place.way): np.median(place.error) for place in results.places}
    central = {problem: error for (problem, way), error in median.items() if way == "all data in one place"}
    short = [(problem, way) for (problem, way), error in median.items()
             if way in ("one round of sums", "linear map", "lag kernel", "quadratic map", "learnt step")
             and problem in central and error >= central[problem]]  # fmt: skip
    assert short == [("diffusion-reaction, n = 2", "quadratic map")]
    assert {place.notebook for place in results.places} == {"", "01", "05", "06", "07", "09", "11", "14"}
    averaged = [place for place in results.places if place.problem == "wave, 20 pieces" and place.notebook]
    assert [round(place.bytes / 1e5) for place in averaged] == [1022, 4086, 0, 426], "as notebook 14 counts them"
