"""What a reader sees: pictures with alt texts, tables, sources, and a word where a cell came too early."""

from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from PIL import Image

from fedlib.notebook import pages
from fedlib.notebook.style import panels


def test_a_figure_is_a_picture_with_an_alt_text_at_double_density(page):
    fig, ((ax,),) = panels(size=(4, 3))
    ax.plot([0, 1])
    pages.inline(fig, 'a line from "0" to <1>')
    ((data, metadata),) = page
    image = Image.open(BytesIO(b64decode(data["image/png"])))
    assert metadata["image/png"]["width"] == image.width // 2 <= 420
    assert 'alt="a line from &quot;0&quot; to &lt;1&gt;"' in data["text/html"]
    assert data["image/png"] in data["text/html"]

    pages.inline(panels(1, 4)[0], "four empty panels")
    assert page[1][1]["image/png"]["width"] == 800, "it fits the page"
    with pytest.raises(ValueError, match="needs an alt text"):
        pages.inline(panels()[0], " ")


def test_show_prints_the_source(page):
    pages.show(pages.columns)
    data = page[0][0]
    assert data["text/plain"].startswith("def columns(")
    assert data["text/markdown"] == f"```python\n{data['text/plain']}```"


def test_a_table_has_words_left_numbers_right_and_a_mark_beside_verdicts(page):
    pages.table(["claim", "verdict", "e (%)"], [["|x|", "does not hold", np.float64(1.23456)], ["so", "holds", "-"]])
    data = page[0][0]
    lines = data["text/markdown"].splitlines()
    assert lines[1:3] == ["| :-- | :-- | --: |", "| \\|x\\| | ✗ does not hold | 1.23 |"]
    assert "✓ holds" in lines[3] and "✓" not in data["text/plain"], "what is compared are the words"
    with pytest.raises(ValueError, match="a row has 1 cells, the header 2"):
        pages.table(["a", "b"], [["x"]])


def test_a_cell_that_came_too_early_says_what_to_run_first(page):
    with pages.after("section 4"):
        models  # noqa: B018, F821
    assert page[0][0]["text/plain"] == "Run section 4 first: 'models' is made there."

    def mistaken():
        return models  # noqa: F821

    with pytest.raises(NameError), pages.after("section 4"):
        mistaken()  # a mistake further down


def test_a_table_over_seeds(page):
    pages.over_seeds({"fed": {"a": [1.0, 3.0], 2: 0.5}, "alone": {"a": np.array([2.0])}}, "who", 1)
    text = page[-1][0]["text/plain"]
    assert [line.split() for line in text.splitlines()] == [
        ["who", "a", "2"], ["fed", "2.0", "±", "1.4", "0.5"], ["alone", "2.0", "-"],
    ]  # fmt: skip


def test_a_cell_that_takes_what_is_absent_says_so(monkeypatch, capsys):
    shell, words = InteractiveShell(), [""]
    monkeypatch.setattr(pages, "get_ipython", lambda: shell)
    for _ in range(2):  # a first cell that runs again
        pages.excuse(lambda: words[0])
    for cell in ("x = 2\nx + 1", "", "# nothing", "def f():\n    return x", "f()"):
        assert shell.run_cell(cell).success
    assert "3" in capsys.readouterr().out and shell.run_cell("x + 1").result == 3
    assert not shell.run_cell("{}['line']").success
    words[0] = "not all is trained"
    capsys.readouterr()
    assert shell.run_cell("y = 1\n{}['line']").success and shell.user_ns["y"] == 1
    assert capsys.readouterr().out == "Not shown: not all is trained (KeyError: 'line')\n"
    assert not shell.run_cell("raise KeyboardInterrupt").success, "who interrupts means it"
