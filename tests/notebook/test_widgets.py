"""What stands between a slider and its picture."""

import asyncio
import gc

import ipywidgets

from fedlib.notebook import style, widgets


def test_overtaken_moves_are_dropped():
    """In a kernel an update waits for the moves that have already arrived."""
    seen, state = [], {"x": 0}
    request = widgets.newest_only(lambda: seen.append(state["x"]))

    async def drag():
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

    request = widgets.newest_only(update)

    async def move():
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
    before = box.children[-1].value
    control.value = 2
    assert box.children[-2].value == "<b>x = 2 is &lt;too&gt; large</b>"
    assert box.children[-1].value == before
    control.value = 1
    assert box.children[-2].value == ""
