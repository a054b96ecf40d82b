"""The pieces in a real browser, from a page on the disk: they move, fast, by keyboard too, and ask nobody."""

import pytest

from fedlib.pages import pieces
from tools.latency.hands import MOVES

from .. import chromium

pytestmark = chromium.needed

PICTURE = "document.querySelector('canvas').toDataURL()"


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens a fragment as a page of its own; at the end nothing was said and nobody asked."""
    page, troubles = browser.new_page(viewport={"width": 900, "height": 700}), []
    page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda r: troubles.append(r.url) if not r.url.startswith(("file:", "data:")) else None)

    def open_page(html):
        (tmp_path / "page.html").write_text(f'<!doctype html><meta charset="utf-8"><title>piece</title>{html}')
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_selector("canvas[aria-label]")
        return page

    yield open_page
    page.close()
    assert not troubles


def assert_moves_fast(page, inputs, limit_ms=50):
    times = page.evaluate(MOVES, inputs)
    assert len(times) > 10
    assert times[len(times) // 2] < limit_ms, times  # the median: other processes may stop a single one


def test_a_training_plays_pauses_steps_and_starts_again(opened):
    page = opened(pieces.fragment("t", pieces.Training))
    said = page.locator(".fed-said")
    before, words = page.evaluate(PICTURE), said.inner_text()
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('.fed-said').textContent.startsWith('round 1, local step')")
    assert page.evaluate(PICTURE) != before
    page.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Step one round").focus()
    page.keyboard.press("Space")
    assert said.inner_text().startswith("after 1 round:")
    cut = page.get_by_label("pieces", exact=True)
    cut.focus()
    page.keyboard.press("ArrowRight")
    assert cut.get_attribute("aria-valuetext") == "4"
    page.get_by_role("button", name="Reset").click()
    assert said.inner_text() == words
    assert words in page.locator("canvas").get_attribute("aria-label")


def test_a_piece_that_is_taken_away_leaves_nothing_running(opened):
    page = opened(pieces.fragment("t", pieces.Training).replace("piece.render(", "window.end = piece.render("))
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('.fed-said').textContent.startsWith('round 1')")
    page.evaluate("window.end()")
    still = page.evaluate(PICTURE)
    page.wait_for_timeout(300)
    assert page.evaluate(PICTURE) == still


def test_sliders_of_the_training_answer_at_once(opened):
    assert_moves_fast(opened(pieces.fragment("t", pieces.Training)), ".fed-row:not(:first-child) input")


def test_a_bar_is_dragged_and_a_slider_moved(opened):
    page = opened(pieces.fragment("o", pieces.Operator, {"weights": pieces.weights()}))
    box, slider = page.locator("canvas").bounding_box(), page.get_by_label("T1")
    assert slider.get_attribute("aria-valuetext") == "-0.4"
    before = page.evaluate(PICTURE)
    page.mouse.move(box["x"] + 0.43 * box["width"], box["y"] + 130)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.43 * box["width"], box["y"] + 60, steps=3)
    page.mouse.up()
    moved = page.evaluate(PICTURE)
    assert moved != before
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(PICTURE) != moved
    assert_moves_fast(page, ".fed-many input")
