"""The first notebook: nothing of torch before its piece is there, and its numbers."""

import re
import subprocess
import sys

import nbformat

from fedlib.live.training import Training
from fedlib.trainings.settings import NOTEBOOKS, START

from .pages.node import evaluate

CELLS = [cell.source for cell in nbformat.read(NOTEBOOKS / f"{START}.ipynb", 4).cells]
HEAVY = "torch", "jax", "matplotlib", "scipy", "xarray", "pandas"


def test_nothing_heavy_is_imported_before_something_moves():
    said = f"import sys; print(repr({CELLS[1].splitlines()[-1]}), [*sys.modules.keys() & {{*{HEAVY}}}])"
    done = subprocess.run([sys.executable, "-c", f"{CELLS[1]}\n{said}"], capture_output=True, text=True, check=True)
    assert done.stdout == "Click here, press Shift+Enter, and a federation trains at this place. []\n"


def test_a_federation_of_one_number_finds_the_mean_once_the_line_is_changed(capsys):
    (answer,) = re.findall("`(model = .+)`", CELLS[2])
    changed = re.sub(r"^    model = .*", f"    {answer}", CELLS[3], flags=re.M)
    for source in (CELLS[3], changed):
        exec(source, {})
    assert re.findall(r"federation (.*), all numbers together (.*)", capsys.readouterr().out) == [
        ("5.0", "4.4"), ("4.4", "4.4")
    ]  # fmt: skip
    assert "finds 5.0" in CELLS[2] and "five numbers is 4.4" in CELLS[2]


def test_twenty_pieces_are_worse_than_two_halves_and_than_fifty(tmp_path):
    body = """
        return given.map((pieces) => {
            const { fed } = M.begin({ K: 2, pieces: pieces / 2, E: 20, rate: 0.01, averaging: true });
            for (let r = 0; r < 400; r++) {
                for (let e = 0; e < 20; e++) M.localStep(fed);
                M.exchange(fed);
            }
            const x = M.linspace(-1, 1, 201);
            return 100 * M.relativeError(M.predict(fed.server, fed.widths, x)[0], x.map(M.gramacyLee));
        });
    """
    errors = evaluate(Training._esm, body, [2, 20, 50], tmp_path)
    assert [f"{e:.1g}" if e < 10 else f"{e:.0f}" for e in errors] == re.findall(r"([\d.]+) %", CELLS[4])
