"""The site as `make site` left it in _site; skipped where nobody built it."""

import os
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode

import pytest

from fedlib.files import ROOT
from fedlib.live import explorer
from fedlib.live.levels import counted
from fedlib.pages import build
from fedlib.pages.pieces import notebooks

from .. import chromium

SITE = Path(os.environ.get("FEDLIB_SITE", ROOT / "_site"))
pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site is built (make site)")


def pages():
    return [page for page in sorted(SITE.rglob("*.html")) if "_static" not in page.parts]  # there the theme's patterns


def test_no_page_names_an_address_outside_but_for_readers_to_follow():
    """Links to papers and to what notebooks cite; they stand at the foot of each page. Code may name one."""
    for page in pages():
        text, links = re.subn(r'<a [^>]*href="https://[^"]+"[^>]*>', "", page.read_text())
        text = re.sub(r"<code.*?</code>", "", text, flags=re.DOTALL)
        assert not re.findall(r"(?:https?:)?//[\w-]+(?:\.[\w-]+)+[^\s\"'<]*", text), page
        assert links >= 5, page


def test_links_and_pictures_lead_somewhere():
    for page in pages():
        text = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.DOTALL)
        for link in re.findall(r'(?:href|src)="([^"#?]+)', text):
            assert link.startswith(("data:", "https://")) or (page.parent / link).exists(), (page, link)


def test_every_notebook_is_there_without_dead_widgets_and_with_alt_texts():
    names = {path.relative_to(build.NOTEBOOKS).with_suffix(".html").as_posix() for path in build.published()}
    assert len(names) >= 24
    for name in names:
        text = (SITE / "notebooks" / name).read_text()
        assert "widget-view" not in text and "Traceback" not in text, name
        assert not re.findall(r'<img(?![^>]*alt="[^"]+")[^>]*>', text), name
        assert "<table" in text or "/" in name, name  # the stored tables of the notebooks


def test_the_sidebar_is_short_and_the_first_page_says_how_to_run_the_notebooks():
    text = (SITE / "index.html").read_text()
    assert len(re.findall(r'<li class="toctree-l1', text)) <= 6
    assert "press Shift+Enter three times, and move the slider" in text and 'href="running.html"' in text
    reference = (SITE / "reference.html").read_text()
    for name in ("judging", "running", "machines", "speed", "own_data", "sums", "notation"):
        assert f'href="{name}.html"' in reference


@chromium.needed
@pytest.mark.parametrize("served", [True, False], ids=["served", "from the disk"])
def test_pages_open_in_silence_and_move(served, browser):
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=SITE)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}/" if served else SITE.resolve().as_uri() + "/"
        page, troubles = browser.new_page(viewport={"width": 1200, "height": 900}), []
        page.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith((root, "data:", "blob:")) else troubles.append(r.url))
        broken_off = "net::ERR_ABORTED"  # by going on to the next page
        page.on("requestfailed", lambda r: None if r.failure == broken_off else troubles.append((r.url, r.failure)))

        page.goto(root + "index.html")
        page.get_by_role("button", name="Play").click()
        page.wait_for_function("document.querySelector('.fed-said').textContent.startsWith('round 1, local step')")
        page.goto(root + "notebooks/07_operator_learning.html")
        page.wait_for_selector("mjx-container svg")  # formulas are set
        said = page.locator(".fed-said")
        before = said.inner_text()
        page.get_by_label("T3").focus()
        page.keyboard.press("ArrowRight")
        assert said.inner_text() != before and "#explorer?n=6&c=" in page.url
        for name in notebooks():
            if name == "07_operator_learning":  # its address has bars, see above
                continue
            control = explorer(name).data["controls"][0]
            label, value = control["name"], control["options"][1]
            page.goto(f"{root}notebooks/{name}.html#explorer?{urlencode({label: value})}")
            said = page.locator("#explorer .fed-said")
            words = counted(value, label).lower(), f"{label} {value}".lower()
            assert any(phrase in said.inner_text().lower() for phrase in words), name
            page.locator("#explorer input").first.focus()
            page.keyboard.press("ArrowLeft")
            assert not any(phrase in said.inner_text().lower() for phrase in words) and "#explorer?" in page.url
        page.goto(root + "verdicts.html")
        verdict = page.locator(".sorted").first.get_by_role("button", name="verdict")
        verdict.click()
        cells = page.locator(".sorted").first.locator("tbody tr td[data-name=verdict]").all_inner_texts()
        assert cells == sorted(cells) and len(set(cells)) > 3
        assert page.evaluate("document.documentElement.scrollHeight") < 6000
        if served:  # from the disk the results come without their first lines, and the browser says so
            page.goto(root + "search.html?q=barycenter")
            page.wait_for_selector("#search-results li a")
        assert not troubles
        page.close()
        server.shutdown()
