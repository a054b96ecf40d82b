"""What stands in a notebook's first cell: a stored piece, made of what is stored, without torch."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from fedlib.live import explorer
from fedlib.live.modules import Piece, array
from fedlib.notebook.run import Run, alike
from fedlib.pages.pieces import notebooks
from fedlib.papers.fedsciml.forward import live, study
from fedlib.papers.studies import STUDIES
from fedlib.trainings.settings import FIGURES


def test_it_is_there_for_every_notebook_with_a_study():
    assert {*notebooks()} == {*STUDIES}


def test_it_needs_neither_torch_nor_matplotlib():
    code = "import sys; from fedlib.live import explorer; explorer('05_pinn_forward'); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "matplotlib", "xarray", "scipy"} & {*out}


def test_what_is_shown_is_what_the_stored_trainings_give():
    """Of one room; every notebook writes its own anew, and git says what changed."""
    made = live.explorer()
    shown = explorer("05_pinn_forward")
    assert shown.kind == made.kind and alike(shown.data, made.data)


def test_other_kinds_and_other_notebooks_are_refused():
    with pytest.raises(ValueError, match="expected one of levels, terms"):
        Piece("../levels", {})
    with pytest.raises(FileNotFoundError, match="05_pinn_forward"):
        explorer("5")


@pytest.mark.parametrize("dtype, step", [("<i2", 1), ("<f4", 1e-6)])
def test_a_step_is_alike_and_more_is_not(dtype, step):
    values = np.array([1, 2, 30])
    old = {"x": array(values, dtype), "words": "off by 3 %", "n": 0.5}
    near, far = ({**old, "x": array(values + by, dtype)} for by in (step, 1000 * step))
    assert alike(old, near) and not alike(old, far)
    assert not alike(old, {**old, "words": "off by 4 %"}) and not alike(old, {**old, "n": 0.501})
    assert not alike(old, {**old, "x": array(values[:2], dtype)}) and not alike({}, old)


def test_a_run_keeps_what_is_alike_and_writes_what_is_not(tmp_path, monkeypatch):
    run = Run(study)
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path))
    stored = explorer("05_pinn_forward")
    run.explorer(SimpleNamespace(kind="levels", data=stored.data | {"zero": stored.data["zero"] * (1 + 1e-9)}))
    committed = (FIGURES / "05_pinn_forward/explorer.json").read_text(encoding="utf-8")
    assert (tmp_path / "explorer.json").read_text(encoding="utf-8") == committed
    run.explorer(SimpleNamespace(kind="levels", data=stored.data | {"zero": 3.0}))
    assert '"zero": 3.0' in (tmp_path / "explorer.json").read_text(encoding="utf-8")
