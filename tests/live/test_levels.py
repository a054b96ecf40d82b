"""The piece to explore: what the browser unpacks is what was stored, and its sentences are true."""

import re

import numpy as np
import pytest
import xarray

from fedlib.federated.experiment import data_of
from fedlib.live.levels import explore, explored
from fedlib.live.modules import module
from fedlib.notebook.style import CLIENTS, COLORS
from fedlib.numerics.metrics import in_percent
from fedlib.papers.fedsciml.forward import live as forward
from fedlib.papers.fedsciml.forward import problem as equations
from fedlib.papers.fedsciml.forward import study as forward_study
from fedlib.papers.fedsciml.functions import live as functions
from fedlib.papers.fedsciml.functions import problem as lines
from fedlib.papers.fedsciml.functions import study as functions_study
from fedlib.trainings.store import stored

from ..pages.node import evaluate

LEVELS = module("levels")
ROOMS = {
    "04": (functions, functions_study, "line", lines.gramacy_lee),
    "05": (forward, forward_study, "poisson", equations.poisson),
}
UNPACK = """
    const data = M.unpacked(given), states = [...given.sentences.keys()];
    const of = (read, models) => states.map((state) => models.map((_, m) => read(state, m)));
    return { x: data.x, truth: states.map((state) => Array.from(data.truth(state))),
        curves: of(data.curve, given.models.filter((m) => m.curve)),
        errors: of(data.error, given.models).map((all) => all.map((seeds) => Array.from(seeds))) };
"""


@pytest.fixture(scope="module", params=ROOMS)
def room(request):
    """(what the room's explorer holds, curves, errors) of a notebook's stored trainings."""
    live, study, name, make = ROOMS[request.param]
    history = stored(study, name)
    return live.explorer().data, *explored(history, make())


@pytest.fixture
def made():
    """Curves and errors of two sliders, a model of another colour, one without a curve, and a seed that is missing."""
    x, pieces, sines = np.linspace(0, 1, 5), [2, 4, 8], [10, 20]
    rng = np.random.default_rng(0)
    curves = xarray.DataArray(
        rng.uniform(-1, 1, (3, 2, 2, 5)),
        {
            "pieces": pieces, "sines": sines, "model": ["client 1 alone", "sums"], "color": ("model", ["", "#123456"]),
            "x": x, "truth": ("x", x), "owner": (("pieces", "x"), np.arange(15).reshape(3, 5) % 2),
        },
        ("pieces", "sines", "model", "x"), attrs={"xlabel": "x", "ylabel": "u(x)"},
    )  # fmt: skip
    off = xarray.DataArray(
        10 ** rng.uniform(-5, 4, (3, 2, 3, 4)),
        {"pieces": pieces, "sines": sines, "model": ["alone", "client 1 alone", "sums"], "seed": range(4)},
        ("pieces", "sines", "model", "seed"),
    )
    off[0, 1, 2, 3] = np.nan
    return curves, off


def test_the_browser_unpacks_what_was_stored(room, tmp_path):
    data, curves, errors = room
    seen = evaluate(LEVELS, UNPACK, data, tmp_path)
    assert len(seen["x"]) <= 200 and seen["x"][-1] == pytest.approx(curves.x.values[-1])
    np.testing.assert_allclose(seen["truth"], np.broadcast_to(curves.truth, np.shape(seen["truth"])), atol=1e-6)
    (low, high), span = data["limits"], np.ptp(curves.truth.values)
    assert data["step"] < 1e-4 * span
    wanted = np.clip(curves.values, low - span, high + span)
    np.testing.assert_allclose(seen["curves"], wanted, rtol=0, atol=0.51 * data["step"])
    assert np.abs(np.array(seen["curves"]) - curves.truth.values).max() > 0.1 * span  # they are no truth
    np.testing.assert_allclose(seen["errors"], errors.values, rtol=1e-6)
    assert low < curves.truth.min() and curves.truth.max() < high


def test_each_state_may_have_a_truth_and_bands_of_its_own(made, tmp_path):
    curves, off = made
    random, names = np.random.default_rng(2), ("pieces", "sines", "x")
    truth, half, true_half = (
        random.uniform(-1, 1, (3, 2, 5)),
        random.uniform(0, 1, curves.shape),
        random.uniform(0, 1, (3, 2, 5)),
    )
    banded = curves.assign_coords(half=(curves.dims, half), truth_half=(names, true_half), truth=(names, truth))
    body = """
        const data = M.unpacked(given), states = [...given.sentences.keys()];
        return [data.truth, data.truthHalf].map((read) => states.map((s) => Array.from(read(s)))).concat(
            [states.map((s) => [0, 1].map((m) => Array.from(data.half(s, m))))]);
    """
    seen = evaluate(LEVELS, body, explore(banded, off).data, tmp_path)
    for values, wanted in zip(seen, (truth, true_half, half), strict=True):
        np.testing.assert_allclose(np.reshape(values, wanted.shape), wanted, atol=1e-6)
    assert not {"half", "truth_half"} & {*explore(curves, off).data}
    with pytest.raises(ValueError, match=r"truth_half \('x',\): expected \('pieces', 'sines', 'x'\)"):
        explore(curves.assign_coords(truth_half=("x", np.ones(5))), off)


def test_states_of_two_sliders_are_told_apart(made, tmp_path):
    curves, off = made
    data = explore(curves, off, {"sines": 20}).data
    assert [model["color"] for model in data["models"]] == [CLIENTS[0], "#123456", COLORS["isolated"]]
    assert [control["start"] for control in data["controls"]] == [0, 1]
    seen = evaluate(LEVELS, UNPACK, data, tmp_path)
    step = 0.51 * data["step"]
    np.testing.assert_allclose(np.reshape(seen["curves"], curves.shape), curves.values, rtol=0, atol=step)
    wanted = off.sel(model=["client 1 alone", "sums", "alone"]).values
    np.testing.assert_allclose(np.reshape(np.array(seen["errors"], float), wanted.shape), wanted, rtol=1e-6)
    body = "return [[0, 0], [0, 1], [2, 1]].map((chosen) => M.stateOf(given.controls, chosen))"
    states = evaluate(LEVELS, body, data, tmp_path)
    assert [data["sentences"][state].split(":")[0] for state in states] == [
        "2 pieces, 10 sines", "2 pieces, 20 sines", "8 pieces, 20 sines",
    ]  # fmt: skip


def test_a_piece_that_was_saved_says_what_to_do(made):
    """JupyterLab shows its repr where the kernel that had it is gone."""
    assert "Shift+Enter" in repr(explore(*made))


def test_every_sentence_has_the_numbers_of_the_shown_training(room):
    data, _, errors = room
    first = errors.isel(seed=0)
    for n, words in zip(errors.pieces.values, data["sentences"], strict=True):
        e = {model: in_percent(first.sel(pieces=n, model=model).item()) for model in first.model.values}
        assert words.startswith(
            f"{n} pieces: client 1 alone is off by {e['client 1 alone']}, client 2 alone by {e['client 2 alone']}, "
            f"federated by {e['federated']}."
        )
        better = [
            k for k in (1, 2) if first.sel(pieces=n, model=f"client {k} alone") < first.sel(pieces=n, model="federated")
        ]
        assert re.findall(r"(?:Here|and) client (\d) alone", words) == [str(k) for k in better]


def test_places_are_those_of_who_has_the_nearest_point(room):
    data, curves, _ = room
    make = lines.gramacy_lee if len(data["owners"]) > 10 else equations.poisson
    for n, row in zip(curves.pieces.values, data["owners"], strict=True):
        dealt = data_of(make(), int(n))
        whose = np.argmax([np.isin(np.arange(len(dealt.pool["x"])), shard) for shard in dealt.owners], 0)
        nearest = np.abs(curves.x.values - dealt.pool["x"].numpy()).argmin(0)
        assert row == whose[nearest].tolist(), n
        assert len(set(row)) == 2


def levels(array, pieces):
    return array.assign_coords(pieces=pieces)


def named(errors, model):
    return errors.assign_coords(model=[model, "client 1 alone", "sums"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c, e: (c.transpose("sines", "model", "x", "pieces"), e), r"expected \(level, \*others, 'model', 'x'\)"),
        (lambda c, e: (c, e.sel(pieces=[2, 4])), r"pieces: curves have \[2 4 8\], errors \[2 4\]; select the same"),
        (lambda c, e: (c, e.sel(model=["sums"])), "errors lack the models client 1 alone"),
        (lambda c, e: (c.where(c.pieces > 2), e), "curves have gaps"),
        (lambda c, e: (levels(c, [0, 4, 8]), levels(e, [0, 4, 8])), "expected positive"),
        (lambda c, e: (levels(c, [4, 2, 8]), levels(e, [4, 2, 8])), r"in order; sortby\('pieces'\)"),
        (lambda c, e: (levels(c, [2, 2, 8]), levels(e, [2, 2, 8])), "leave out what is there twice"),
        (lambda c, e: (c[:0], e[:0]), "nothing along pieces: expected at least one value"),
        (lambda c, e: (c, e.where(e.pieces > 2, np.inf)), "NaN, not infinity, where one diverged"),
        (lambda c, e: (c, -e), "expected numbers in % from 0 up"),
        (lambda c, e: (c, 0 * e), "one of them above 0"),
        (lambda c, e: (c.drop_vars("truth"), e), r"expected a coordinate truth \[x\]"),
        (lambda c, e: (c.assign_coords(truth=c.truth.where(c.x > 0)), e), "without gaps"),
        (lambda c, e: (c.assign_coords(owner=c.owner.T), e), r"expected \('pieces', 'x'\); transpose it"),
        (lambda c, e: (c.drop_attrs(), e), "expected xlabel and ylabel"),
        (lambda c, e: (c, named(e, "client x")), "model 'client x' has no colour: expected 'client 1 alone'"),
    ],
)  # fmt: skip
def test_what_cannot_stand_side_by_side_is_refused(made, change, words):
    with pytest.raises(ValueError, match=words):
        explore(*change(*made))


def test_an_unknown_start_is_refused(made):
    for start, words in (({"pieces": 3}, "pieces to be one"), ({"piecs": 4}, "piecs to be one of")):
        with pytest.raises(ValueError, match=words):
            explore(*made, start)


def test_what_was_not_trained_has_no_curve_and_no_number(made):
    curves, off = made
    off[2, 0, 1, 0] = curves[2, 0, 0] = np.nan  # client 1 alone, the shown seed
    off[2, 1, :, 0] = curves[2, 1] = np.nan
    data = explore(curves, off).data
    words = r"8 pieces, 10 sines: sums is off by [\d. ]+ %\. Not trained: client 1 alone\."
    assert re.fullmatch(words, data["sentences"][4])
    assert data["sentences"][5] == "8 pieces, 20 sines. Not trained: client 1 alone, sums."
    assert explore(curves * np.nan, off.where(off.seed > 0)).data["limits"] == pytest.approx([-0.04, 1.04])


def test_a_client_beats_what_several_found_whatever_stands_first_and_not_what_was_not_trained(made):
    curves, off = (array.sel(sines=10, drop=True) for array in made)
    curves = curves.sel(model=["sums", "client 1 alone"])
    off.loc[{"model": "sums"}], off.loc[{"model": "client 1 alone"}] = 3.0, 1.0
    off.loc[{"model": "sums", "pieces": 4}] = np.nan
    two, four, _ = explore(curves.where((curves.pieces != 4) | (curves.model != "sums")), off).data["sentences"]
    assert two == "2 pieces: sums is off by 3.0 %, client 1 alone by 1.0 %. Here client 1 alone beats the sums."
    assert four == "4 pieces: client 1 alone is off by 1.0 %. Not trained: sums."


def test_what_is_no_error_has_a_verb_and_an_axis_of_its_own(made):
    """And one of a thing is one thing."""
    curves, off = (array.sel(sines=10, drop=True).assign_coords(pieces=[1, 4, 8]) for array in made)
    found = off.copy(data=np.full(off.shape, 25.0))
    data = explore(curves, found.assign_attrs(verb="finds", ylabel="points found (%)")).data
    assert data["sentences"][0].startswith("1 piece: ") and data["sentences"][0].count(" finds 25 %") == 2
    assert data["measure"] == "points found (%)"


def test_twelve_clients_have_places_and_colours_and_no_owner_has_none(made):
    curves, off = (array.sel(sines=10, drop=True) for array in made)
    twelve = [f"client {k} alone" for k in range(1, 13)]
    curves, off = curves[:, [0] * 12].assign_coords(model=twelve), off[:, [0] * 12].assign_coords(model=twelve)
    data = explore(curves.assign_coords(owner=curves.owner + 10), off).data
    assert data["owners"][0] == [10, 11, 10, 11, 10]
    assert [model["color"] for model in data["models"]] == (3 * CLIENTS)[:12]
    assert explore(curves.drop_vars("owner"), off).data["owners"] == []
    assert explore(curves.assign_attrs(limits=(-3.0, 4.0)), off).data["limits"] == [-3, 4]


def test_ticks_are_round_few_and_inside(tmp_path):
    body = "return [M.round(-2.7, 5.4), M.round(0, Math.PI), M.powers(0.2, 300), M.powers(3e-6, 5e4), M.powers(3, 40)]"
    lines_, angles, two, many, few = evaluate(LEVELS, body, None, tmp_path)
    assert lines_ == [-2, 0, 2, 4] and angles == [0, 1, 2, 3]
    assert two == [1, 10, 100] and many == [1e-4, 1e-2, 1, 100, 1e4] and few == [5, 10, 20]
    body = "return [M.powers(21, 49), M.powers(0.034, 0.047), M.powers(0.1, Infinity), M.powers(Infinity, -Infinity)]"
    assert evaluate(LEVELS, body, None, tmp_path) == [[30, 40], [0.035, 0.04, 0.045], [], []]
    assert evaluate(LEVELS, "return [0.05, 2e-5, 1e-5, 1e4].map(M.inWords)", None, tmp_path) == [
        "0.05", "2·10⁻⁵", "10⁻⁵", "10⁴",
    ]  # fmt: skip
    body = "return [[3, NaN, 1, 20], [4], [NaN]].map((values) => M.median(Float64Array.from(values)))"
    assert evaluate(LEVELS, body, None, tmp_path) == [3, 4, None]
