"""What goes on in the kernel in which nbval has run a notebook: its blank filled in; with ``--go-on`` other parameters,
and a wrong library. So each notebook is executed once.

tests/draws/<notebook>.yaml lists mappings of parameters: lists with one element, the smallest sizes, each option of
each choice, each problem alone, with tiny trainings. The first one is run, all with FEDLIB_DRAWS=1000 (`make draws`).
"""

import os
import re
import tempfile
from pathlib import Path

import nbformat
import pytest
import yaml

from fedlib.files import ROOT
from fedlib.notebook.pages import FIGURE_CALL
from fedlib.trainings.settings import read_result

DRAWS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "tests/draws").glob("*.yaml"))}
FIRST = int(os.environ.get("FEDLIB_DRAWS", 1))
CELL_S = 900  # the most that a cell may take

FILLINGS = {
    "03_pendulum_library": "(soft + stiff) / 2",
    "02_heterogeneity": "0.003 / (1 + r)",
    "01_pendulum": "sum(weights) / len(weights)",
    "04_function_approximation": "weights - rate * gradient",
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
    "15_instruments": "np.column_stack([np.ones_like(x), x, x**2])",
}
"""A lesson -> what fills its blank."""

WRONG = {
    "03_pendulum_library": ("numerics.heterogeneity", "hidden_parameter_floor", "lambda x: 0 * x[:, 0, 0]"),
    "10_transport": ("papers.feddro.measures", "project", "lambda P, y: -(P @ y) / P.sum(1, keepdims=True)"),
    "10b_digits": ("papers.feddro.digits.ways", "mean_of_classes", "lambda sent: sent[0].mean"),
    "12_real_federation": (
        "papers.beyond.leak.attack",
        "mixture",
        "lambda change, part: change[part + '.0.weight'][0]",
    ),
    "13_one_round": ("federated.sums", "added", "lambda messages: next(iter(messages))"),
    "14_sums_for_networks": ("federated.sums", "added", "lambda messages: next(iter(messages))"),
    "15_instruments": ("federated.sums", "added", "lambda messages: next(iter(messages))"),
}
"""A lesson -> module, function and what stands for it: what one client has for what all have, for instance."""
AVERAGE = ("federated.mixing", "fedavg", "lambda p, active: np.repeat(np.eye(len(p))[-1:], len(p), 0)")
"""The other lessons average: all get what the last client has."""

SWAP = """
import fedlib.{module} as module
from fedlib.notebook.run import Run
Run.figure = lambda *args, **kwargs: None  # facts are looked at, and no stored picture
module.{function}.__code__ = ({wrong}).__code__
"""

ELSEWHERE = """
import os, pathlib
from fedlib.trainings import changes as _changes
_before = os.environ["FEDLIB_OUTPUT"], _changes.folder_of_changes
os.environ["FEDLIB_OUTPUT"], _changes.folder_of_changes = {folder!r}, lambda _: pathlib.Path({folder!r})
"""
"""Neither pictures nor trainings of a draw stay, nor are read the next time."""


def parts(cells: list) -> tuple[list, list]:
    """Cells of part A, and of part B, which a solution has not."""
    cut = next((i for i, cell in enumerate(cells) if "# Part B" in cell.source), len(cells))
    return cells[:cut], cells[cut:]


class Kernel:
    """Of a notebook that nbval has run."""

    def __init__(self, client):
        self.client = client

    def execute(self, source: str) -> list:
        """Outputs of a cell; AssertionError where it fails."""
        outputs = []

        def keep(message):
            if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
                outputs.append(nbformat.v4.output_from_msg(message))

        self.client.execute_interactive(
            source, store_history=False, allow_stdin=False, timeout=CELL_S, output_hook=keep
        )
        errors = ["\n".join(output.traceback) for output in outputs if output.output_type == "error"]
        assert not errors, f"{errors[0]}\n{source}"
        return outputs


class GoingOn(pytest.Item):
    """A check in the kernel of the notebook that is its parent."""

    def __init__(self, *, check, cells, **kwargs):
        super().__init__(**kwargs)
        self.check, self.cells = check, cells

    def runtest(self):
        self.check(Kernel(self.parent.kernel.kc), self.path.stem, self.cells)

    def reportinfo(self):
        return self.path, 0, f"{self.path.stem}: {self.name}"


def with_what_follows(items: list, go_on: bool) -> list:
    """Items of nbval's; before the first cell of each lesson, after its blank and after its last cell what else its
    kernel does."""
    longer, begun = [], set()
    for item, following in zip(items, [*items[1:], None], strict=True):
        file = item.parent
        if type(item).__name__ != "IPyNbCell" or file.path.stem not in FILLINGS or file.path.parent.name != "notebooks":
            longer.append(item)
            continue
        if file not in begun:
            longer.append(GoingOn.from_parent(file, name="figures are looked at", check=look_at_figures, cells=[]))
            begun.add(file)
        longer.append(item)
        if "# TODO" in item.cell.source:
            longer.append(GoingOn.from_parent(file, name="the blank filled in", check=fill_in_the_blank, cells=[item]))
        if go_on and (following is None or following.parent is not file):
            cells = file.nb.cells
            for i in range(min(FIRST, len(DRAWS[file.path.stem]))):
                longer.append(GoingOn.from_parent(file, name=f"draw {i}", check=drawn(i), cells=cells))
            longer.append(GoingOn.from_parent(file, name="a wrong library", check=wrong, cells=cells))
    return longer


def look_at_figures(kernel: Kernel, name: str, cells: list) -> None:
    """Each one that a cell draws from now on, see ``legible``."""
    kernel.execute(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom tests import legible\nlegible.watch()")


def fill_in_the_blank(kernel: Kernel, name: str, items: list) -> None:
    """The cell that leaves it to the reader, once more with what he may write."""
    (item,) = items
    filled = item.cell.source.replace("\n\n\nwith pages", f"\n    return {FILLINGS[name]}\n\n\nwith pages")
    empty, full = text_of(item.test_outputs), text_of(kernel.execute(filled))
    assert empty.startswith("Fill in the blank") and len(re.findall(r"\d", empty)) >= 2, empty
    assert re.match(r"yours \d", full) and full.split(":")[1] == empty.split(":")[1], full


def drawn(i: int):
    """Part B runs with a draw of parameters: every figure is there, and nothing is red."""

    def check(kernel: Kernel, name: str, cells: list) -> None:
        draw, (_, part_b) = DRAWS[name][i], parts(cells)
        with tempfile.TemporaryDirectory() as folder:
            kernel.execute(ELSEWHERE.format(folder=folder))
            for cell in (cell for cell in part_b if cell.cell_type == "code"):
                outputs = kernel.execute(cell.source)
                if "parameters" in cell.metadata.get("tags", []):
                    draw = {"minutes": 2.0} | draw
                    kernel.execute("\n".join(f"{parameter} = {value!r}" for parameter, value in draw.items()))
                data = [output.data for output in outputs if "data" in output]
                if "" in FIGURE_CALL.findall(cell.source):
                    assert any("image/png" in one for one in data), f"no picture: {cell.source[:200]}"
                text = "".join(one.get("text/plain", "") for one in data)
                assert not re.match(r"Run .* first: ", text), f"{text}\n{cell.source}"
                said = "".join(output.text for output in outputs if output.get("name") == "stdout")
                assert not re.search("^Not shown: ", said, re.MULTILINE), f"{said}\n{cell.source}"
                red = [output.text for output in outputs if output.get("name") == "stderr"]
                assert not red, f"{red[0][:300]}\n{cell.source[:200]}"
            kernel.execute("os.environ['FEDLIB_OUTPUT'], _changes.folder_of_changes = _before")
            assert read_result(Path(folder, "result.json"))["changed"]

    return check


def wrong(kernel: Kernel, name: str, cells: list) -> None:
    """What the library does wrong turns a fact of part A red: nothing is refused, and nothing breaks."""
    part_a, _ = parts(cells)
    facts = [cell for cell in part_a if "nbval-check-output" in cell.metadata.get("tags", [])]
    facts = [cell for cell in facts if not cell.source.startswith("show(")]
    module, function, instead = WRONG.get(name, AVERAGE)
    kernel.execute(SWAP.format(module=module, function=function, wrong=instead))
    red = []
    for cell in part_a[: part_a.index(facts[-1]) + 1]:
        if cell.cell_type == "code" and not re.match(r"live\.\w+\(", cell.source):
            now = text_of(kernel.execute(cell.source)).splitlines()
            if cell in facts:
                true = [fact for fact in text_of(cell.outputs).splitlines() if "True" in fact]
                red += [fact for fact in true if fact.replace("True", "False") in now]
    assert red, "no fact notices"


def text_of(outputs: list) -> str:
    return "".join(output.get("text", "") for output in outputs)
