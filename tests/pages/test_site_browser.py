"""The pieces in a real browser, from a page on the disk: they move, fast, by keyboard too, and ask nobody."""

import pytest

from fedlib.live.training import Training
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

    def open_page(html, state=""):
        (tmp_path / "page.html").write_text(f'<!doctype html><meta charset="utf-8"><title>piece</title>{html}')
        page.goto((tmp_path / "page.html").as_uri() + state)
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
    page = opened(pieces.fragment("t", Training._esm))
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
    all_pieces = page.get_by_label("pieces", exact=True)
    all_pieces.focus()
    page.keyboard.press("ArrowRight")
    assert all_pieces.get_attribute("aria-valuetext") == "4"
    page.get_by_label("clients K").focus()
    page.keyboard.press("ArrowRight")
    assert all_pieces.get_attribute("aria-valuetext") == "6", "two for each of three clients"
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Reset").click()
    assert said.inner_text() == words
    assert words in page.locator("canvas").get_attribute("aria-label")


def test_a_piece_that_is_taken_away_leaves_nothing_running(opened):
    page = opened(pieces.fragment("t", Training._esm).replace("piece.render(", "window.end = piece.render("))
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('.fed-said').textContent.startsWith('round 1')")
    page.evaluate("window.end()")
    still = page.evaluate(PICTURE)
    page.wait_for_timeout(300)
    assert page.evaluate(PICTURE) == still


@pytest.mark.parametrize("problem", ["curve", "Poisson"])
def test_sliders_of_the_training_answer_at_once_and_are_long_enough(problem, opened):
    page = opened(pieces.fragment("t", Training._esm, {"problem": problem}))
    assert page.locator(".fed-live").bounding_box()["height"] < 700, "it fits the window"
    assert min(page.evaluate("[...document.querySelectorAll('input[type=range]')].map((i) => i.clientWidth)")) >= 140
    assert_moves_fast(page, ".fed-row input[type=range]")


def test_a_bar_is_dragged_and_a_slider_moved(opened):
    page = opened(pieces.explorer("07_operator_learning"))
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


@pytest.fixture(scope="module")
def explorers():
    return {name: pieces.explorer(name) for name in ("05_pinn_forward", "13_one_round")}


def test_the_piece_to_explore_needs_the_keyboard_only_and_says_what_it_shows(opened, explorers):
    page = opened(explorers["13_one_round"])
    said, canvas = page.locator(".fed-said"), page.locator("canvas[role=img]")
    before, words = page.evaluate(PICTURE), said.inner_text()
    stops = []
    for key, value in (("ArrowRight", "10"), ("ArrowLeft", "20"), ("ArrowRight", "64")):  # one stop of the Tab key each
        page.keyboard.press("Tab")
        page.keyboard.press(key)
        stops.append(page.evaluate("[document.activeElement.ariaLabel, document.activeElement.ariaValueText]"))
        assert stops[-1][1] == value
    assert [name for name, _ in stops] == ["pieces", "sines", "points"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement === document.body"), "there is a fourth stop"
    assert (
        said.inner_text().startswith("10 pieces, 20 sines, 64 points: client 1 alone is off by ")
        and said.inner_text() != words
    )
    assert canvas.get_attribute("aria-label") == said.inner_text() and page.evaluate(PICTURE) != before
    assert said.get_attribute("aria-live") == "polite"
    assert "sums by" in words and "federated by" in words and said.inner_text().endswith("Not trained: federated.")


def test_the_state_of_the_piece_is_in_the_address(opened, explorers):
    html = explorers["13_one_round"]
    page = opened(html, "#explorer?pieces=8&sines=20")
    said = page.locator(".fed-said")
    assert said.inner_text().startswith("8 pieces, 20 sines, 32 points:")
    page.get_by_label("pieces", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert page.url.endswith("#explorer?pieces=10&sines=20&points=32")
    page.reload()
    assert said.inner_text().startswith("10 pieces, 20 sines, 32 points:")
    page.evaluate("location.hash = '#explorer?pieces=7&sines=5'")  # there are no seven pieces
    page.wait_for_function(
        "document.querySelector('.fed-said').textContent.startsWith('8 pieces, 5 sines, 32 points:')"
    )
    assert page.url.endswith("#explorer?pieces=8&sines=5&points=32"), "the address is of what is shown"
    page.evaluate("location.hash = '#another?pieces=8&sines=5'")
    page.wait_for_timeout(100)
    assert said.inner_text().startswith("8 pieces, 5 sines, 32 points:")
    page.get_by_label("pieces", exact=True).focus()
    page.keyboard.press("End")
    assert page.url.endswith("#explorer?pieces=32&sines=5&points=32")


def test_in_a_notebook_the_address_stays_as_it_is(opened, explorers):
    page = opened(explorers["05_pinn_forward"].replace('"anchor": "explorer"', '"anchor": ""'), "#?pieces=8")
    assert page.locator(".fed-said").inner_text().startswith("2 pieces:")
    page.get_by_label("pieces", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".fed-said").inner_text().startswith("4 pieces:") and page.url.endswith("#?pieces=8")


def test_the_mark_of_the_piece_is_dragged_along_the_strip(opened, explorers):
    page = opened(explorers["05_pinn_forward"])
    box, said = page.locator("canvas").bounding_box(), page.locator(".fed-said")
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 100)  # over the curves nothing moves
    page.mouse.down()
    page.mouse.up()
    assert said.inner_text().startswith("2 pieces:")
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.96 * box["width"], box["y"] + 120, steps=5)
    page.mouse.up()
    assert said.inner_text().startswith("32 pieces:")
    assert page.get_by_label("pieces", exact=True).get_attribute("aria-valuetext") == "32"


def test_the_piece_to_explore_answers_at_once(opened, explorers):
    assert_moves_fast(opened(explorers["13_one_round"]), ".fed-row input")


def test_on_a_phone_its_panels_stand_one_above_the_other(opened, explorers):
    page = opened(explorers["05_pinn_forward"])
    wide = page.locator("canvas").bounding_box()
    assert wide["height"] < 0.6 * wide["width"]
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("document.querySelector('canvas').clientHeight > 600")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".fed-live").bounding_box()["height"] < 844
