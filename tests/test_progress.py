"""Bars go away: a page of ten trainings has none left, a log has none at all, and nothing is red."""

import io
import sys

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from fedlib import progress

CODE = """
from fedlib import progress

progress.DELAY = progress.EVERY = -1
for training in range(10):
    for r in progress.rounds_of(0, 3, True):
        pass
print("after")
"""


def outputs(monkeypatch, folder=None):
    monkeypatch.delenv("FEDLIB_OUTPUT", raising=False)
    if folder:
        monkeypatch.setenv("FEDLIB_OUTPUT", str(folder))
    notebook, drawn = new_notebook(cells=[new_code_cell(CODE)]), []
    client = NotebookClient(notebook, kernel_name="python3")
    output = client.process_message

    def watch(message, *rest):
        drawn.append(message.get("content", {}).get("data", {}).get("text/html"))
        return output(message, *rest)

    client.process_message = watch
    client.execute()
    nbformat.validate(notebook)
    return notebook.cells[0].outputs, [html for html in drawn if html]


def test_bars_of_a_notebook_leave_nothing(monkeypatch):
    left, drawn = outputs(monkeypatch)
    assert len(drawn) == 30
    assert all("<progress" in html for html in drawn)
    assert "round 2 of 3" in drawn[-1]
    assert [o.text for o in left if o.output_type == "stream"] == ["after\n"]
    assert not any(o.data["text/html"] or o.data["text/plain"] for o in left if o.output_type == "display_data")


def test_no_bar_in_a_batch_run(monkeypatch, tmp_path):
    left, drawn = outputs(monkeypatch, tmp_path)
    assert [o.get("text") for o in left] == ["after\n"]
    assert drawn == []


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_has_a_bar_and_a_log_has_none(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0)
    for place in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", place)
        assert list(progress.rounds_of(2, 5, True)) == [2, 3, 4]
        if place.isatty():
            assert "rounds" in place.getvalue()
            assert not place.getvalue().split("\r")[-2].strip(), "cleared at the end"
        else:
            assert place.getvalue() == ""
