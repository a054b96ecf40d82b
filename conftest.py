"""Under nbval a cell that makes a figure has to show one (it compares no pictures), part A of a lesson takes a quarter
of a minute, a busy machine may be slow, and a kernel goes on after its last cell (tests/going_on.py)."""

import os
from functools import partial
from shutil import rmtree
from tempfile import mkdtemp

import psutil
import pytest

from fedlib.notebook.pages import FIGURE_CALL
from tests.stages import STAGES, is_of, staying


def pytest_addoption(parser):
    group = parser.getgroup("fedlib")
    group.addoption("--stage", choices=["first", *STAGES], help="tests of make test (first), or of a stage of test-all")
    group.addoption("--go-on", action="store_true", help="nbval's kernels go on: other parameters, a wrong library")


def pytest_configure(config):
    if getattr(config.option, "nbval_lax", False):
        os.environ["FEDLIB_QUIET"] = "1"  # no bars of trainings: each drawing is an output that nbval waits for
        os.environ["FEDLIB_OUTPUT"] = output = mkdtemp()  # committed pictures and results stay as they are
        config.add_cleanup(partial(rmtree, output))


def pytest_ignore_collect(collection_path, config):
    """``make test`` does not even import a file that is a stage's as a whole."""
    return True if config.option.stage == "first" and staying(collection_path) == "" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if stage := config.option.stage:
        chosen = {item for item in items if is_of(stage, item.path, item.name)}
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]
    if getattr(config.option, "nbval_lax", False):
        from tests.going_on import with_what_follows

        items[:] = with_what_follows(items, config.option.go_on)


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
        said = any(o["output_type"] == "stream" for o in outputs)
        left_out = "" not in indents and (said or "if run.changed" in item.cell.source)  # under an if, and said so
        assert shown or left_out, f"the cell makes a figure, but shows none with an alt text:\n{item.cell.source}"
    if type(item).__name__ == "IPyNbCell" and item.cell is last_of_part_a(item.parent.nb.cells):
        from tests.conftest import slowness

        used = psutil.Process(item.parent.kernel.km.provisioner.pid).cpu_times()
        seconds, slow = used.user + used.system, slowness()
        assert seconds < PART_A_S * slow, f"part A took {seconds:.0f} s of the kernel's time, {slow:.1f} times as slow"
    return result


PART_A_S = 20
"""Of the kernel's own time on one thread, whatever else the machine does; more on a slow one."""


def last_of_part_a(cells):
    """The last code cell above the heading of part B; None without one."""
    from tests.going_on import parts

    part_a, part_b = parts(cells)
    return [cell for cell in part_a if cell.cell_type == "code"][-1] if part_b else None
