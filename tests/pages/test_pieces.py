"""Pages without a browser: every piece builds, tells what it shows, and leaves nothing behind."""

import gc
import json
import re
import threading

import anywidget
import ipywidgets
import pytest
from ipywidgets import Box
from ipywidgets.widgets.widget import _instances

from fedlib.federated.stack import predict
from fedlib.files import ROOT
from fedlib.live import stage as live
from fedlib.live import widgets
from fedlib.numerics.metrics import relative_l2
from fedlib.pages import app, page
from fedlib.pages.app import PAGES
from fedlib.papers.fed_deeponet import physics as pendulum
from fedlib.papers.fed_deeponet.pendulum import problem, study
from fedlib.trainings.store import stored

from ..conftest import choices

TEMPLATE = ROOT / "fedlib/pages/voila/share/voila/templates/fedlib"


@pytest.mark.parametrize("name", PAGES)
def test_every_piece_shows_a_picture_and_goes_without_a_trace(name):
    made = page.page(PAGES[name])
    choice, _, words, stage = made.children
    gc.collect()
    threads, counts = threading.active_count(), {0: len(_instances)}
    for i in [*range(1, len(PAGES[name])), 0]:
        choice.index = i
        (box,) = stage.children
        if isinstance(box, anywidget.AnyWidget):  # drawn by the browser
            assert box.anchor == page.address_of(PAGES[name][i]) and box.data
            continue
        picture = box.children[-1]
        for control in (c for c in widgets.within(box) if isinstance(c, widgets.Control)):
            assert control.description and control.tooltip.endswith("."), f"no tooltip: {control.description}"
        assert PAGES[name][i].words in words.value
        assert picture.value.startswith(b"\x89PNG") and len(picture.alt) > 40
        if i not in counts and not isinstance(box.children[0], Box):  # an explorer; trainings have their own tests
            before, control = picture.value, [c for c in box.children if choices(c) and not c.disabled][-1]
            control.value = next(v for v in choices(control) if v != control.value)
            assert picture.value != before, PAGES[name][i].title
        gc.collect()
        assert counts.setdefault(i, len(_instances)) == len(_instances), "widgets of a piece that was left are there"
    assert threading.active_count() == threads
    widgets.discard(stage.children[0])


def test_a_piece_that_is_being_made_says_so():
    seen = []

    def make():
        seen.append((words.value, stage.children[0].value))
        return ipywidgets.VBox(), lambda: None

    made = page.page(
        [
            app.Piece("one", "The first.", lambda: (ipywidgets.VBox(), lambda: None)),
            app.Piece("two", "The second.", make),
        ]
    )
    choice, _, words, stage = made.children
    choice.index = 1
    assert seen == [("<p>The second.</p>", "<p>One moment, this piece is being made.</p>")]
    assert isinstance(stage.children[0], ipywidgets.VBox) and len(stage.children) == 1


def test_a_training_that_plays_ends_when_its_piece_is_left():
    choice, _, _, stage = page.page(PAGES["fedsciml"]).children
    play = stage.children[0].children[0].children[0]
    assert play.description == "Play"
    play.click()
    player = live.OPEN["04"].player
    assert player.playing
    choice.index = 4
    assert not player.playing and "04" not in live.OPEN


def test_notebooks_are_a_title_and_a_line_and_the_index_names_them():
    index = (TEMPLATE / "tree.html").read_text()
    names = {path.stem for path in (ROOT / "fedlib/pages/voila").glob("*.ipynb")}
    assert names == set(PAGES)
    for name in names:
        book = json.loads((ROOT / f"fedlib/pages/voila/{name}.ipynb").read_text())
        title, cell = ("".join(c["source"]) for c in book["cells"])
        assert book["metadata"]["title"] in title and f">{book['metadata']['title']}</a>" in index
        assert f"voila/render/{name}.ipynb" in index
        assert cell.splitlines()[-1] == f'page.show("{name}")'
        assert book["cells"][1]["outputs"] == [] and book["cells"][1]["execution_count"] is None


def test_our_template_asks_nobody_else():
    for path in TEMPLATE.glob("*.*"):
        assert not re.search(r"(https?:)?//\w", path.read_text()), path.name


def test_the_trained_pendulum_is_good_and_better_than_the_client_alone():
    tests, errors = pendulum.random_tests(50, 100, 0.2, 77), {}
    for name, kind in (("clients", "federated"), ("alone", "isolated")):
        row = stored(study, name).model(kind, study.TWENTY, 0)
        guess = predict(problem.dealt().net, row, tests["u"].float()[:, None], pendulum.times(100))
        errors[kind] = float(100 * relative_l2(guess, tests["x1"].float()).mean())
    assert errors["federated"] < 2 < errors["isolated"] < 10, errors
