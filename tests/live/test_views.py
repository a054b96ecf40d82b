"""What is drawn on a page that was used before is what is drawn on a new one, for each live training; and it goes."""

import gc
from importlib import import_module
from pathlib import Path
from weakref import ref

import pytest

import fedlib
from fedlib.live import stage, views
from fedlib.live.redraw import painter
from fedlib.live.widgets import Control, within

PAPERS = Path(fedlib.__file__).parent / "papers"
ROOMS = {path.parent.name: path.parent.relative_to(PAPERS.parent) for path in sorted(PAPERS.glob("*/*/live.py"))}
LIVE = {name: import_module(".".join(("fedlib", *place.parts, "live"))) for name, place in ROOMS.items()}
LIVE = {name: room for name, room in LIVE.items() if hasattr(room, "show")}


@pytest.mark.parametrize("room", LIVE.values(), ids=LIVE)
def test_a_page_that_was_used_is_as_a_new_one(room, page, monkeypatch):
    drawn, used, view, on_new, on_used = [], [], views.view, painter(), painter()

    def both(fig, *what):
        panels = sum(ax.get_label().isdigit() for ax in fig.axes)
        new = on_new(view(views.page(panels), *what))
        drawn.append((new, on_used(view(fig, *what))))
        used[:] = fig.axes
        return fig

    monkeypatch.setattr(stage, "view", both)
    room.show()
    ((name, (box, player, _)),) = stage.OPEN.items()
    for control in [one for one in within(box) if isinstance(one, Control) and one.description != "pace"][:3]:
        before = control.value
        control.value = next(value for value in reversed(control.values) if value != before)
        control.value = before
    (step,) = (widget for widget in within(box) if getattr(widget, "description", "") == "Step one round")
    step.click()
    player.thread.join()
    stage.close(name)
    assert len(drawn) > 4
    for new, again in drawn:
        assert again == new
    artists = [ref(artist) for ax in used for artist in (*ax.lines, *ax.patches, *ax.collections, *ax.images)]
    views.wipe(used[0].figure)
    gc.collect()
    assert len(artists) > 4 and not any(artist() for artist in artists), "a page that is used for long grows"
