"""The pages in Chromium as a class would use them: quick, without code, by keyboard, two at once, nothing left."""

import time
from importlib.util import find_spec

import pytest

from fedlib.pages.app import PAGES
from tools.latency.browser import CHROMIUM, App

READY = bool(CHROMIUM and find_spec("voila"))
pytestmark = pytest.mark.skipif(not READY, reason="no voila (make app has it in .venv/app), or no chromium")

FIRST_PICTURE_S = 5
IMG, ALT = ".app-stage img[src^=blob]", "document.querySelector('.app-stage img').alt"


def slowness():
    """By which factor other processes slow this machine down: time by the clock over CPU time of the same work."""
    wall, cpu = time.monotonic(), time.process_time()
    while time.process_time() - cpu < 0.3:
        sum(range(10_000))
    return (time.monotonic() - wall) / 0.3


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = App(tmp_path_factory.mktemp("app"))
    try:
        made.wait_until_full()
        yield made
    finally:
        made.end()


@pytest.fixture
def users(browser, server):
    """A function that lets somebody open a page; returns the page and the seconds until its picture is there."""
    pages, asked, ours = [], [], (server.url(), "data:", "blob:")

    def open_page(name):
        page = browser.new_context(viewport={"width": 1600, "height": 1000}).new_page()
        page.on("request", lambda r: None if r.url.startswith(ours) else asked.append(r.url))
        pages.append(page)
        start = time.monotonic()
        page.goto(server.url(name), wait_until="commit")
        page.locator(IMG).first.wait_for(timeout=120_000)
        return page, time.monotonic() - start

    yield open_page
    for page in pages:
        if not page.is_closed():
            leave(page, server)
    assert not asked


def leave(page, server):
    """Go away, as when a tab is closed: the page asks the server to end its kernel."""
    page.goto(server.url())
    page.wait_for_timeout(500)
    page.context.close()


def alt_changes(page, old, limit_s=60):
    page.wait_for_function(
        "old => document.querySelector('.app-stage img').alt !== old", arg=old, timeout=1000 * limit_s
    )
    return page.evaluate(ALT)


def tab_to(page, found, most=40):
    """Press Tab until the focused element is the one that is looked for."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(found):
            return
    raise AssertionError(f"Tab never comes to {found}")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_there_at_once_shows_no_code_and_goes_with_its_kernel(name, users, server):
    waiting, slow = server.wait_until_full(), slowness()
    page, seconds = users(name)
    slow = max(slow, slowness())
    print(f"{name}: first picture after {seconds:.1f} s, machine slowed down {slow:.1f} times")
    assert seconds < FIRST_PICTURE_S * max(1.0, slow)
    text = page.inner_text("body")
    assert PAGES[name][0].title in text and "import" not in text and "page.show" not in text
    assert page.locator("h1").count() == 1 and page.title() in page.inner_text("h1")
    assert all(page.locator("img").evaluate_all("all => all.map(img => img.alt.length > 40)"))
    old = page.evaluate(ALT)
    page.locator(".app-stage input[type=range]").nth(0).focus()
    page.keyboard.press("ArrowRight")
    alt_changes(page, old)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
    leave(page, server)
    end = time.monotonic() + 60
    while len(server.kernels() & waiting) == len(PAGES) and time.monotonic() < end:
        time.sleep(0.2)
    assert len(server.kernels() & waiting) == len(PAGES) - 1, "the kernel of the page that was left is still there"


def test_a_piece_has_an_address_and_no_picture_is_cut(users):
    """Where a projector has 1280 x 900 pixels; on a phone the picture stands above the controls."""
    page, _ = users("fedsciml")
    page.set_viewport_size({"width": 1280, "height": 900})
    for i, name in enumerate(["one-curve-two-halves", *["an-equation-in-pieces", "unknown-coefficients"]]):
        page.locator(".app-pieces button").nth(i).click()
        page.wait_for_function("name => !name || location.hash === '#' + name", arg=i and name)
        page.wait_for_timeout(2000)
        assert page.locator(".app-stage img").bounding_box()["y"] < 600
        assert page.evaluate("document.querySelector('.app-stage img').getBoundingClientRect().bottom") <= 900
    page.reload()
    page.wait_for_function("document.querySelector('.app-stage img')?.alt.includes('coefficients')", timeout=60_000)
    page.set_viewport_size({"width": 390, "height": 844})
    picture, button = page.locator(".app-stage img"), page.get_by_role("button", name="Play")
    assert picture.bounding_box()["y"] < button.bounding_box()["y"] < 844


def test_an_explorers_state_stands_behind_its_name_in_the_address(users):
    page, _ = users("fedsciml")
    page.evaluate("location.hash = '#sums-not-averages?pieces=8&sines=20'")
    said = "document.querySelector('.fed-said')?.textContent"
    page.wait_for_function(f"{said}?.startsWith('8 pieces, 20 sines')", timeout=60_000)
    page.locator(".app-stage input[type=range]").nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("location.hash === '#sums-not-averages?pieces=10&sines=20&points=32'")
    page.reload()
    page.wait_for_function(f"{said}?.startsWith('10 pieces, 20 sines')", timeout=60_000)
    page.get_by_role("button", name="Pieces of an equation").click()
    page.wait_for_function(f"{said}?.startsWith('2 pieces: ')", timeout=60_000)
    assert page.evaluate("location.hash") == "#pieces-of-an-equation"
    canvas = page.locator(".app-stage canvas").bounding_box()
    assert canvas["width"] > 0.9 * page.evaluate("document.querySelector('.app-stage').clientWidth")


def test_the_first_page_shows_the_papers(users, server):
    page, _ = users("feddro")
    page.goto(server.url())
    page.wait_for_load_state("networkidle")
    assert page.locator("img").evaluate_all("all => all.map(img => img.naturalWidth > 0)") == [True] * len(PAGES)


def test_the_keyboard_alone_suffices(users):
    page, _ = users("fedsciml")
    old = page.evaluate(ALT)
    tab_to(page, "document.activeElement.innerText === 'Step one round'")
    page.keyboard.press("Enter")
    old = alt_changes(page, old)
    page.wait_for_function("document.querySelector('.app-stage img').alt.includes('round 1, averaged')")
    page.locator("h1").click()
    tab_to(page, "document.activeElement.innerText === 'Ask a trained operator'")
    page.keyboard.press("Enter")
    piece = page.locator(".app-stage canvas[aria-label]")
    piece.wait_for()
    tab_to(page, "document.activeElement.type === 'range'")
    page.keyboard.press("ArrowRight")
    assert "n = 10: " in piece.get_attribute("aria-label")


def test_two_users_at_once_do_not_disturb_each_other(users, server):
    server.wait_until_full()
    (one, _), (two, _) = users("fedsciml"), users("fedsciml")
    begin = one.evaluate(ALT)
    assert two.evaluate(ALT) == begin
    one.get_by_role("button", name="Play").click()
    alt_changes(one, begin)
    two.locator(".app-stage input[type=range]").nth(0).focus()
    two.keyboard.press("ArrowRight")  # three clients
    other = alt_changes(two, begin)
    one.get_by_role("button", name="Pause").click()
    one.wait_for_timeout(1000)
    mine = one.evaluate(ALT)
    assert "round 1, after local step 20 of 20" in other and two.evaluate(ALT) == other != mine
    two.get_by_role("button", name="Step one round").click()
    alt_changes(two, other)
    assert one.evaluate(ALT) == mine


def test_visits_leave_nothing_behind(users, server):
    server.wait_until_full()
    before = server.me.memory_info().rss, server.me.num_threads()
    for _ in range(3):
        page, _ = users("fedstnn")
        page.get_by_role("button", name="Play").click()
        page.wait_for_timeout(500)
        leave(page, server)  # while it plays
    kernels = server.wait_until_full()
    grown = server.me.memory_info().rss - before[0]
    threads = before[1], server.me.num_threads()
    print(f"server: {before[0] / 1e6:.0f} MB, {grown / 1e6:+.0f} MB after; threads before and after {threads}")
    assert len(kernels) == len(PAGES)
    assert grown < 50e6 and threads[1] <= threads[0] + 1
