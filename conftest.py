"""Under nbval a cell that makes a figure has to show one: nbval itself compares no pictures."""

import re

import pytest

FIGURE = re.compile(r"^ *(run\.figure|pages\.inline)\(", re.MULTILINE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    result = yield
    if type(item).__name__ == "IPyNbCell" and FIGURE.search(item.cell.source):
        shown = [output["data"] for output in item.test_outputs if "data" in output]
        assert any("image/png" in data and 'alt="' in data["text/html"] for data in shown), (
            f"the cell makes a figure, but shows none with an alt text:\n{item.cell.source}"
        )
    return result
