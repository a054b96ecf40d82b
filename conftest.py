"""Under nbval a cell that makes a figure has to show one (it compares no pictures), and a busy machine may be slow."""

import os

import pytest

from fedlib.notebook.pages import FIGURE_CALL


def pytest_configure(config):
    if getattr(config.option, "nbval_lax", False):
        os.environ["FEDLIB_QUIET"] = "1"  # no bars of trainings: each drawing is an output that nbval waits for


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if type(item).__name__ == "IPyNbCell":
        item.parent.skip_compare = {*item.parent.skip_compare, "text/markdown"}  # the words of text/plain, laid out
    item.output_timeout = 120  # s that nbval waits for the last outputs of a finished cell; its own 5 s are too few
    result = yield
    if type(item).__name__ == "IPyNbCell" and (indents := FIGURE_CALL.findall(item.cell.source)):
        outputs = item.test_outputs
        shown = any(
            "image/png" in data and 'alt="' in data["text/html"] for data in (o.get("data", {}) for o in outputs)
        )
        left_out = "" not in indents and any(o["output_type"] == "stream" for o in outputs)  # under an if, and said so
        assert shown or left_out, f"the cell makes a figure, but shows none with an alt text:\n{item.cell.source}"
    return result
