"""The browser in which tests look at pages: the mark of tests that need it, and one that is started."""

import pytest

from tools.latency.browser import CHROMIUM, chromium

needed = pytest.mark.skipif(not CHROMIUM, reason="no chromium on the PATH (.ci/run installs it)")


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started
