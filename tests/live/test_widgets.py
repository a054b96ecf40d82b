"""What stands between a slider and its picture."""

import asyncio
import gc

import ipywidgets
import pytest
from traitlets import TraitError

from fedlib.live import widgets
from fedlib.notebook import style


def test_overtaken_moves_are_dropped():
    """In a kernel an update waits for the moves that have already arrived."""
    seen, state = [], {"x": 0}

    async def drag():
        request = widgets.newest_only(lambda: seen.append(state["x"]))
        for state["x"] in range(5):
            request()
        await asyncio.sleep(0.1)
        state["x"] = 7
        request()
        await asyncio.sleep(0.1)

    asyncio.run(drag())
    assert seen == [4, 7]


def test_garbage_is_collected_after_the_pictures(monkeypatch):
    """Once, a while after the last move, and in no picture; one that fails leaves the collector on."""
    monkeypatch.setattr(widgets, "TIDY", 0.1)
    seen, collected = [], []
    monkeypatch.setattr(widgets.gc, "collect", lambda: collected.append(len(seen)))

    def update():
        seen.append(gc.isenabled())
        raise ArithmeticError

    async def move():
        request = widgets.newest_only(update)
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        for _ in range(2):
            request()
            await asyncio.sleep(0.05)
            assert gc.isenabled()
        assert collected == []
        await asyncio.sleep(0.3)

    asyncio.run(move())
    assert (seen, collected) == ([False, False], [2])


def test_refused_input_is_said_and_the_last_picture_stays():
    def draw(x):
        if x > 1:
            raise ValueError("x = 2 is <too> large")
        return style.panels()[0]

    control = ipywidgets.IntSlider(0, max=3)
    box = widgets.explore(draw, "an empty panel", x=control)
    before = box.children[0].value
    control.value = 2
    assert box.children[-1].value == "<b>x = 2 is &lt;too&gt; large</b>"
    assert box.children[0].value == before
    control.value = 1
    assert box.children[-1].value == ""


def test_words_are_chosen_and_numbers_slid():
    assert widgets.slider([1, 2.5, 1e-4], 1).kind == "slider"
    assert widgets.slider([1, 2.5, 1e-4], 1).words == ["1", "2.5", "0.0001"]
    assert widgets.slider(["GRF", "sine"], "GRF").kind == "buttons", "all in sight where they fit"
    assert widgets.choice([f"a long name {i}" for i in range(5)], "a long name 3").kind == "list"
    assert widgets.choice([("yes", True), ("no", False)], False).words == ["yes", "no"]


def test_a_control_keeps_value_and_index_together():
    control, seen = widgets.choice([("a third", 1 / 3), ("all", 1.0)], 1.0, "share"), []
    control.observe(lambda change: seen.append(change["new"]), "value")
    assert (control.index, control.value) == (1, 1.0)
    control.index = 0
    control.value = 1.0
    assert seen == [1 / 3, 1.0] and control.index == 1
    with pytest.raises(TraitError, match=r"share = 2: expected one of \[0\.33.*, 1\.0\]"):
        control.value = 2
    control.options = [0.5, 1.0, 1.5]
    assert (control.value, control.index, control.words) == (1.0, 1, ["0.5", "1", "1.5"]), "it stays where it was"
    control.options = [7, 8]
    assert (control.value, control.index) == (7, 0)


def test_an_explorers_alternative_text_has_the_result_and_a_refused_picture_is_grey():
    def draw(x):
        if x == 3:
            raise ValueError("not trained")
        fig, ((ax,),) = style.panels()
        ax.plot([0, 1], [0, x], label=f"together: off by {x} %")
        ax.plot([0, 1], [0, x], label="no number")
        ax.legend()
        return fig

    x = widgets.slider([1, 2, 3], 1)
    picture, *_ = widgets.explore(draw, "a line", x=x).children
    assert picture.alt == "a line (x 1): together: off by 1 %"
    x.value = 3
    assert picture.stale
    x.value = 2
    assert not picture.stale and picture.alt.endswith("off by 2 %")
