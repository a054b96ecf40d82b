"""The hook in conftest.py: a figure cell that shows no picture fails under nbval, which alone would pass it."""

import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from fedlib.files import ROOT

IMPORTS = "from fedlib.notebook import style\nfrom fedlib.notebook import pages"
SHOWS = f"{IMPORTS}\npages.inline(style.panels()[0], alt='an empty panel')"
HIDES = "class run:\n    figure = print\nrun.figure('<Figure size 640x260 with 2 Axes>')"


LEAVES_OUT = "if False:\n    run.figure(None)\nelse:\n    print('not run')"
SILENT = "if False:\n    run.figure(None)"


@pytest.mark.parametrize(("source", "passes"), [(SHOWS, True), (HIDES, False), (LEAVES_OUT, True), (SILENT, False)])
def test_a_figure_cell_shows_a_picture(tmp_path, source, passes):
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    nbformat.write(new_notebook(cells=[new_code_cell(source)]), tmp_path / "one.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval-lax", "--nbval-current-env"]
    done = subprocess.run([*command, "one.ipynb"], cwd=tmp_path, capture_output=True, text=True)
    assert ("1 passed" in done.stdout) is passes, done.stdout[-2000:]
    assert ("shows none with an alt text" in done.stdout) is not passes


TABLE = f"{IMPORTS}\npages.table(['claim', 'verdict'], [['it falls', 'holds']])"


@pytest.mark.parametrize(("words", "passes"), [("holds", True), ("does not hold", False)])
def test_the_words_of_a_table_are_compared_and_not_how_it_is_laid_out(tmp_path, words, passes):
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    data = {"text/markdown": "| laid out | otherwise |", "text/plain": f"claim     verdict\nit falls  {words}"}
    tags = {"tags": ["nbval-check-output"]}
    cell = new_code_cell(TABLE, outputs=[new_output("display_data", data)], execution_count=1, metadata=tags)
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "one.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval-lax", "--nbval-current-env"]
    done = subprocess.run([*command, "one.ipynb"], cwd=tmp_path, capture_output=True, text=True)
    assert ("1 passed" in done.stdout) is passes, done.stdout[-2000:]


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


def test_nbval_waits_longer_than_five_seconds_for_the_last_output(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    said = new_output("stream", text="True\n")
    cell = new_code_cell(LATE, outputs=[said], execution_count=1, metadata={"tags": ["nbval-check-output"]})
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "one.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval-lax", "--nbval-current-env"]
    done = subprocess.run([*command, "one.ipynb"], cwd=tmp_path, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout[-2000:]
