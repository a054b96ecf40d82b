"""Verdicts of what a server reads, what is drawn of it, and what is written down of messages and of their price."""

from pathlib import Path

import numpy as np
import pytest
import xarray

from fedlib.files import packed
from fedlib.machines.engines import ask_in_turn, sites_of
from fedlib.machines.messages import tapped
from fedlib.machines.plan import load
from fedlib.machines.points import pool_of
from fedlib.machines.server import federate
from fedlib.notebook.relations import judged
from fedlib.papers.beyond.leak import claims, figures, live, study
from fedlib.papers.beyond.leak.attack import of_messages
from fedlib.papers.beyond.leak.study import Results

from ....machines import shapes

PATH = Path(shapes.__file__)
P = 7 * 2 + 7 + 7 + 1


def test_messages_are_a_table_whose_medians_are_drawn_and_which_the_piece_shows():
    messages = of_messages(3, [1, 10], [1, 5], sensors=12, width=16)
    assert (messages.off.sel(optimizer="SGD", points=1) < 0.1).all()
    gradient, _ = figures.off(messages).axes
    lines = {line.get_label(): line.get_ydata() for line in gradient.get_lines()}
    median = messages.off.sel(optimizer="SGD", E=5).median("client")
    np.testing.assert_allclose(lines["5 local steps"], median)
    assert len(figures.attacks(messages).axes) == 2
    curves, errors = live.explored(messages)
    at, there = {"points": 10, "local steps": 5, "optimiser": "Adam"}, messages.sel(points=10, E=5, optimizer="Adam")
    np.testing.assert_array_equal(curves.sel(at).isel(model=0), there.u)
    np.testing.assert_array_equal(errors.sel(at | {"model": live.READ}), there.off)


def table(off=0.0, span=100.0) -> xarray.Dataset:
    dims = ("optimizer", "E", "points", "client")
    coords = {"optimizer": ["SGD"], "E": [1], "points": [1, 10]}
    return xarray.Dataset(
        {"off": (dims, np.full((1, 1, 2, 3), off)), "span": (dims, np.full((1, 1, 2, 3), span))}, coords
    )


WIRE = xarray.Dataset({"span": ("client", [50.0, 52.0]), "fit": ("client", [54.0, 56.0])})


@pytest.mark.parametrize(
    ("id", "holds", "fails"),
    [
        ("equal", Results(None, difference=1e-14), Results(None, difference=1e-9)),
        ("hidden", Results(None, common=0), Results(None, common=2)),
        ("leak", Results(table(off=0.4)), Results(table(off=4))),
        ("recognised", Results(table(span=99)), Results(table(span=80))),
        ("wire", Results(None, WIRE), Results(None, WIRE + 10)),
        ("price", Results(None, overhead=1.5), Results(None, overhead=2.5)),
    ],
)
def test_verdicts(id, holds, fails):
    claim = claims.CLAIMS[f"fed-deeponet.target.sites.{id}"]
    assert judged(claim, holds).holds is True and judged(claim, fails).holds is False


@pytest.mark.parametrize("claim", claims.CLAIMS.values())
def test_nothing_is_judged_where_nothing_is_there(claim):
    assert judged(claim, Results(None)) is None
    assert judged(claim, Results(table().isel(points=[]))) is None


@pytest.fixture
def heard():
    ask, heard = tapped(ask_in_turn(sites_of(load(PATH))), keep=2)
    return [*federate(load(PATH), ask)], heard


def test_every_message_is_written_down_once(heard):
    played, messages = heard
    count = {(h.what, h.up): 0 for h in messages}
    for h in messages:
        count[h.what, h.up] += 1
    assert count == {(what, up): n for what, n in (("hello", 3), ("round", 6), ("finish", 3)) for up in (False, True)}
    for done in played[:2]:
        for site, both in done.sent.items():
            own = [h for h in messages if (h.number, h.site) == (done.number, site)]
            assert both == tuple(sum(v.nbytes for v in h.content.values() if np.ndim(v)) for h in own)


def test_the_table_has_shapes_and_both_sizes(heard):
    (row,) = [r for r in figures.record(heard[1]) if r[:3] == ["round 2", "site-3", "server"]]
    assert row[3:5] == [f"rows 2 x {P}, losses 2, round", f"{2 * P * 8 + 2 * 8:,}"]
    (h,) = [h for h in heard[1] if (h.number, h.site, h.up) == (1, "site-3", True)]
    assert int(row[5].replace(",", "")) == len(packed(h.content)) > 2 * P * 8


def test_points_are_found_in_a_message_that_has_them(heard):
    pool, _ = pool_of(load(PATH), range(5))
    x = pool["x"].numpy()
    assert study.values_in_common(heard[1], x) == 0
    spoilt = heard[1][-1]._replace(content={"rows": np.array([1.0, x[3, 1]], np.float32)})
    assert study.values_in_common([*heard[1], spoilt], x) == 1


def test_prices_as_a_table():
    seconds = {"in one process": [0.1, 0.2], "a loop over the sites": [0.2, 0.3]}
    price = {"seconds": seconds, "down": [10**6, 10**6], "up": [10**6, 5 * 10**6], "data": [10**4, 10**5]}
    rows = figures.price_rows(price)
    assert rows[1] == ["MB up, all sites", "1.00", "5.00"]
    assert rows[3:] == [["CPU time over one process's, a loop over the sites", "2.0", "1.5"]]
