"""Verdicts of what a server reads, and the medians that are drawn."""

import numpy as np
import pytest
import xarray

from fedlib.papers.beyond.leak import claims, figures, live
from fedlib.papers.beyond.leak.attack import of_messages
from fedlib.papers.beyond.leak.study import Results


def test_messages_are_a_table_whose_medians_are_drawn_and_which_the_piece_shows():
    messages = of_messages(3, [1, 10], [1, 5], sensors=12, width=16)
    assert (messages.off.sel(optimizer="SGD", points=1) < 0.1).all()
    gradient, _ = figures.off(messages).axes
    lines = {line.get_label(): line.get_ydata() for line in gradient.get_lines()}
    median = messages.off.sel(optimizer="SGD", E=5).median("client")
    np.testing.assert_allclose(lines["5 local steps"], median)
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
    "id, results, holds, words",
    [
        ("equal", Results(None, difference=1e-14), True, "1e-14"),
        ("equal", Results(None, difference=1e-9), False, "1e-09"),
        ("hidden", Results(None, common=0), True, "in 0 arrays"),
        ("hidden", Results(None, common=2), False, "in 2 arrays"),
        ("leak", Results(table(off=0.4)), True, "off by at most 0.4 %"),
        ("leak", Results(table(off=4)), False, "off by at most 4 %"),
        ("recognised", Results(table(span=99)), True, "99 %"),
        ("recognised", Results(table(span=80)), False, "80 %"),
        ("wire", Results(None, WIRE), True, "51 % by their span, 55 % by their fit"),
        ("wire", Results(None, WIRE + 10), False, "61 % by their span, 65 % by their fit"),
        ("price", Results(None, overhead=1.5), True, "1.5 x"),
        ("price", Results(None, overhead=2.5), False, "2.5 x"),
    ],
)
def test_verdicts(id, results, holds, words):
    verdict = claims.CLAIMS[f"fed-deeponet.target.sites.{id}"](results)
    assert (verdict.holds, verdict.why) == (holds, words)


@pytest.mark.parametrize("claim", claims.CLAIMS.values())
def test_nothing_is_judged_where_nothing_is_there(claim):
    assert claim(Results(None)) is None
    assert claim(Results(table().isel(points=[]))) is None
