"""Every notebook runs with any sensible value of every parameter: draws of parameters, tiny trainings, by papermill.

tests/draws/<notebook>.yaml lists mappings of parameters: lists with one element, the smallest sizes, each option of
each choice, each problem alone. Each runs the whole notebook: the first of a notebook here, all with `make draws`.
The blank of part A is filled in on the way.
"""

import os
import re

import nbformat
import papermill
import pytest
import yaml

from fedlib.files import ROOT
from fedlib.notebook.pages import FIGURE_CALL
from fedlib.trainings.profiles import NOTEBOOKS, check_parameters, parameters_of, read_result

DRAWS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "tests/draws").glob("*.yaml"))}
FIRST = int(os.environ.get("FEDLIB_DRAWS", 1))
CASES = [pytest.param(name, i, id=f"{name}-{i}") for name, draws in DRAWS.items() for i in range(len(draws))[:FIRST]]

FILLINGS = {
    "03_pendulum_library": "(soft + stiff) / 2",
    "02_heterogeneity": "0.003 / (1 + r)",
    "01_pendulum": "sum(weights) / len(weights)",
    "04_function_approximation": "sum(weights) / len(weights)",
    "05_pinn_forward": "sum(weights) / len(weights)",
    "06_flow": "sum(after) / len(after)",
    "06b_reaction": "np.linspace(0.05, 0.95, 10)",
    "07_operator_learning": "torch.nn.Linear(100, 40)",
    "08_stochastic_regression": "(answers.mean(-1) - y) ** 2",
    "08b_as_coded": "fresh(client, copy // 10)",
    "09_stochastic_image": "score > 0.5",
    "10_transport": "middle + 0.1 * rng.normal(size=(size, 2))",
    "10b_digits": "np.median(ten_each, 0)",
    "11_client_drift": "correction(first) / 2",
    "12_real_federation": "W.sign(), b.sign()",
    "13_one_round": "sum(solutions) / len(solutions)",
    "14_sums_for_networks": "w - 0.1 * gradient / gradient.norm()",
}
"""A lesson -> what fills its blank."""


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
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
    fill_in_the_blank(notebook, FILLINGS[name])
    nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    done = papermill.execute_notebook(
        tmp_path / f"{name}.ipynb", tmp_path / "done.ipynb", DRAWS[name][draw],
        cwd=NOTEBOOKS, kernel_name="python3", progress_bar=False,
    )  # fmt: skip
    empty, full = (cell.outputs[0]["text"] for cell in done.cells if "# TODO" in cell.source)
    assert empty.startswith("Fill in the blank") and len(re.findall(r"\d", empty)) >= 2, empty
    assert re.match(r"yours \d", full) and full.split(":")[1] == empty.split(":")[1], full
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


def fill_in_the_blank(notebook, filling):
    """Below the cell that leaves it to the reader, once more with what he may write."""
    ((i, blank),) = ((i, cell) for i, cell in enumerate(notebook.cells) if "TODO" in cell.source)
    filled = blank.source.replace("\n\n\nwith pages", f"\n    return {filling}\n\n\nwith pages")
    notebook.cells.insert(i + 1, nbformat.v4.new_code_cell(filled))
