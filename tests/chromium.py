"""The browser in which tests look at pages: where it is, the mark of tests that need it, and one that is started."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needed = pytest.mark.skipif(not CHROMIUM, reason="no chromium on the PATH (.ci/run installs it)")


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright  # the environments of other engines do without it

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()
