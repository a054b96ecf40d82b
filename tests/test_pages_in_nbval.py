"""The hook in conftest.py: under nbval fails what it alone would pass, such as a figure cell that shows no picture."""

import os
import subprocess
import sys
from xml.etree import ElementTree

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from fedlib.files import ROOT

IMPORTS = "from fedlib.notebook import style\nfrom fedlib.notebook import pages"
SHOWS = f"{IMPORTS}\npages.inline(style.panels()[0], alt='an empty panel')"
HIDES = "class run:\n    figure = print\nrun.figure('<Figure size 640x260 with 2 Axes>')"
BUSY = "import time\nwhile time.process_time() < 8: pass"
LEAVES_OUT = "if False:\n    run.figure(None)\nelse:\n    print('not run')"
SILENT = "if False:\n    run.figure(None)"
TABLE = f"{IMPORTS}\npages.table(['claim', 'verdict'], [['it falls', 'holds']])"
LATE = """
import os, time
from IPython import get_ipython
kernel = get_ipython().kernel
_publish = kernel._publish_status
def status(state, *arguments, **names):
    if state == "idle":
        time.sleep(7)  # the reply is there, the last output is not
    return _publish(state, *arguments, **names)
kernel._publish_status = status
print("FEDLIB_QUIET" in os.environ)
"""


def compared(source, *outputs):
    """A cell whose outputs nbval compares with these."""
    tags = {"tags": ["nbval-check-output"]}
    return new_code_cell(source, outputs=[*outputs], execution_count=1, metadata=tags)


def table(verdict):
    """The words are those of text/plain; how they are laid out is not compared."""
    data = {"text/markdown": "| laid out | otherwise |", "text/plain": f"claim     verdict\nit falls  {verdict}"}
    return compared(TABLE, new_output("display_data", data))


PART_B = new_markdown_cell("***\n\n# Part B · For those who check")
NOTEBOOKS = {
    "shows": [new_code_cell(SHOWS)],
    "hides": [new_code_cell(HIDES)],
    "leaves out and says so": [new_code_cell(LEAVES_OUT)],
    "leaves out": [new_code_cell(SILENT)],
    "same words": [table("holds")],
    "other words": [table("does not hold")],
    "last output after seven seconds": [compared(LATE, new_output("stream", text="True\n"))],
    "part A that is long": [new_code_cell(BUSY), PART_B, new_code_cell("pass")],
    "part B that is long": [new_code_cell("pass"), PART_B, new_code_cell(BUSY)],
}
FAILS = {
    "hides": "shows none with an alt text",
    "leaves out": "shows none with an alt text",
    "other words": "text/plain",
    "part A that is long": "part A took",
}
"""A notebook -> what nbval says of it."""


def test_nbval_fails_where_a_reader_would_miss_something_and_nowhere_else(tmp_path):
    hook = (ROOT / "conftest.py").read_text()
    changes = {"PART_A_S = 20": "PART_A_S = 5", "from tests.conftest import slowness": "slowness = lambda: 1"}
    for old, new in changes.items():
        assert old in hook
        hook = hook.replace(old, new)
    (tmp_path / "conftest.py").write_text(hook)
    for name, cells in NOTEBOOKS.items():
        nbformat.write(new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval-lax", "--nbval-current-env"]
    done = subprocess.run(
        [*command, "--junitxml=report.xml"], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    cases = [*ElementTree.parse(tmp_path / "report.xml").iter("testcase")]
    assert {case.get("classname").removesuffix(".ipynb") for case in cases} == {*NOTEBOOKS}, done.stdout[-2000:]
    failed = {case.get("classname").removesuffix(".ipynb"): fault.text for case in cases for fault in case}
    assert failed.keys() == FAILS.keys()
    assert all(words in failed[name] for name, words in FAILS.items()), failed
