"""What is written down is what was sent; what it costs is what one can count."""

from pathlib import Path

import numpy as np
import pytest

from fedlib.files import packed
from fedlib.machines.engines import ask_in_turn, sites_of
from fedlib.machines.messages import tapped
from fedlib.machines.plan import load
from fedlib.machines.points import pool_of
from fedlib.machines.server import federate
from fedlib.papers.beyond.leak import figures, price

from ....machines import shapes

PATH = Path(shapes.__file__)
P = 7 * 2 + 7 + 7 + 1
SIZES = [len(own) for own in shapes.SITES]


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
    (row,) = [r for r in price.record(heard[1]) if r[:3] == ["round 2", "site-3", "server"]]
    assert row[3:5] == [f"rows 2 x {P}, losses 2, round", f"{2 * P * 8 + 2 * 8:,}"]
    (h,) = [h for h in heard[1] if (h.number, h.site, h.up) == (1, "site-3", True)]
    assert int(row[5].replace(",", "")) == len(packed(h.content)) > 2 * P * 8


def test_points_are_found_in_a_message_that_has_them(heard):
    pool, _ = pool_of(load(PATH), range(5))
    x = pool["x"].numpy()
    assert price.values_in_common(heard[1], x) == 0
    spoilt = heard[1][-1]._replace(content={"rows": np.array([1.0, x[3, 1]], np.float32)})
    assert price.values_in_common([*heard[1], spoilt], x) == 1


def test_a_round_costs_what_one_counts():
    found = price.of_sites(load(PATH), 2)
    down, up = price.expected_bytes(P, SIZES, 8)
    assert found.down.tolist() == [down] * 2 and found.up.tolist() == [up] * 2
    alone = price.of_one_process(load(PATH), 3)
    assert alone.median > 0 and len(alone.seconds) == 3 and not alone.up.any()


def test_seconds_leave_out_the_first_round():
    assert price.Price(np.array([9.0, 1, 2, 3]), np.zeros(4), np.zeros(4)).median == 2
    assert price.Price(np.array([9.0]), np.zeros(1), np.zeros(1)).median == 9


def test_prices_as_a_table():
    seconds = {"in one process": [0.1, 0.2], "a loop over the sites": [0.2, 0.3]}
    rows = price.rows({"seconds": seconds, "down": [10**6, 10**6], "up": [10**6, 5 * 10**6], "data": [10**4, 10**5]})
    assert rows[1] == ["MB up, all sites", "1.00", "5.00"]
    assert rows[3:] == [["CPU time over one process's, a loop over the sites", "2.0", "1.5"]]


def test_the_price_is_drawn_in_milliseconds_and_megabytes():
    fig = figures.price([1, 5], {"in one process": [0.1, 0.2]}, [10**6] * 2, [10**6, 5 * 10**6], [10**5, 5 * 10**5])
    assert fig.axes[0].get_lines()[0].get_ydata() == pytest.approx([100, 200])
    assert [line.get_ydata()[-1] for line in fig.axes[1].get_lines()] == pytest.approx([5, 1, 0.5])
