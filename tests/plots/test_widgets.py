"""What stands between a slider and its picture."""

import asyncio

import ipywidgets

from fedlib.plots import style, widgets


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
