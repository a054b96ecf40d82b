"""Every notebook runs with any sensible value of every parameter: draws of parameters, tiny trainings, by papermill.

tests/draws/<notebook>.yaml lists mappings of parameters: lists with one element, the smallest sizes, each option of
each choice, each problem alone. Each runs the whole notebook: the first of a notebook here, all with `make draws`.
"""

import os
import re

import papermill
import pytest
import yaml

from fedlib.files import ROOT
from fedlib.notebook.pages import FIGURE_CALL
from fedlib.trainings.profiles import NOTEBOOKS, check_parameters, parameters_of, read_result

DRAWS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "tests/draws").glob("*.yaml"))}
FIRST = int(os.environ.get("FEDLIB_DRAWS", 1))
CASES = [pytest.param(name, i, id=f"{name}-{i}") for name, draws in DRAWS.items() for i in range(len(draws))[:FIRST]]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda p: p.stem)
def test_draws_move_every_parameter(path):
    """Over all draws of a notebook every parameter but the profile takes another value than its default."""
    draws = [check_parameters(path, draw) for draw in DRAWS[path.stem]]
    assert len(draws) >= 4
    unmoved = [n for n, (_, default) in parameters_of(path).items() if all(draw[n] == default for draw in draws)]
    assert set(unmoved) <= {"profile", "device"}


@pytest.mark.parametrize(("name", "draw"), CASES)
def test_a_notebook_runs_with(name, draw, tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path / "figures"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    done = papermill.execute_notebook(
        NOTEBOOKS / f"{name}.ipynb", tmp_path / "done.ipynb", DRAWS[name][draw],
        cwd=NOTEBOOKS, kernel_name="python3", progress_bar=False,
    )  # fmt: skip
    assert read_result(tmp_path / "figures/result.json")["label"].startswith("custom")
    for cell in done.cells:
        if cell.cell_type != "code":
            continue
        outputs = [o for o in cell.outputs if "data" in o]
        if "" in FIGURE_CALL.findall(cell.source):
            assert any("image/png" in o["data"] for o in outputs), f"no picture: {cell.source[:200]}"
        text = "".join(o["data"].get("text/plain", "") for o in outputs)
        assert not re.match(r"Run .* first: ", text), f"{text}\n{cell.source}"
        red = [o.text for o in cell.outputs if o.get("name") == "stderr"]
        assert not red, f"{red[0][:300]}\n{cell.source[:200]}"
