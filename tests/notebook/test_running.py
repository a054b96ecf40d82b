"""The line that says what runs: where a cell stands, and one line at a time; test_lab looks at it in the browser."""

import nbformat
from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell

from fedlib.notebook import running


def test_a_cell_is_named_by_its_section_and_number_or_by_its_first_line(tmp_path, monkeypatch):
    new = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    cells = [
        new[1]("# Title"),
        new[0]("a = 1"),
        new[1]("words\n\n## 2 Data\n\nmore"),
        new[0]("b = 2\nc = 3"),
        new[1]("the end"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "n.ipynb")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "n.ipynb"))

    def place(of, id):
        return running.place(ExecutionInfo(of.source, True, False, True, id))

    assert place(cells[1], cells[1].id) == {"cell": "Title (cell 2 of 5)", "last": False}
    assert place(cells[3], cells[3].id) == {"cell": "2 Data (cell 4 of 5)", "last": True}
    assert place(cells[3], "typed since") == {"cell": "b = 2", "last": False}
    monkeypatch.delenv("JPY_SESSION_NAME")
    assert place(cells[3], cells[3].id) == {"cell": "b = 2", "last": False}


def test_the_line_follows_the_cells_and_a_second_one_takes_its_place(monkeypatch):
    shell, shown = InteractiveShell(), []
    monkeypatch.setattr(running, "get_ipython", lambda: shell)
    monkeypatch.setattr(running, "display", lambda data, raw: shown.append(data))
    running.show()
    assert not shown, "a terminal"
    monkeypatch.setattr(InteractiveShell, "kernel", None, raising=False)
    made = []
    monkeypatch.setattr(running, "Line", lambda: made.append(Line()) or made[-1])
    for _ in range(2):
        running.show()
    assert [data["text/plain"] for data in shown] == ["", ""]
    shell.run_cell("1 / 0")
    first, second = (line.seen for line in made)
    assert first == [] and [now["state"] for now in second] == ["runs", "failed"]
    shell.run_cell("x = 1")
    assert second[2:] == [{"cell": "x = 1", "last": False, "state": state} for state in ("runs", "done")]


class Line(running.Line):
    def __init__(self):
        super().__init__()
        self.seen = []
        self.observe(lambda change: self.seen.append(change.new), "now")
