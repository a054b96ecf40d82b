"""The style is a call, not a side effect of an import; bands and error bars show what ``mean_sd`` says."""

import re
import subprocess
import sys
import warnings

import nbformat
import numpy as np
import pytest
from matplotlib import rcParams

from fedlib.files import ROOT
from fedlib.notebook import style
from fedlib.numerics.metrics import mean_sd

IMPORT_ALL = """
import pkgutil
from importlib import import_module
import matplotlib
before = dict(matplotlib.rcParams.copy())
import fedlib, fedlib.notebook, fedlib.plots
for room in (fedlib.notebook, fedlib.plots):
    for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
        import_module(module.name)
changed = {name for name, value in matplotlib.rcParams.copy().items() if value != before[name]}
assert not changed, changed
from fedlib.notebook import style
style.use()
assert matplotlib.rcParams["font.size"] == 13
"""


def test_an_import_leaves_matplotlib_as_it_was(monkeypatch):
    monkeypatch.setenv("FEDLIB_STYLE", "projector")
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", sorted(ROOT.glob("notebooks/**/[01]*.ipynb")), ids=lambda path: path.stem)
def test_every_notebook_chooses_the_style_where_it_imports(path):
    cells = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    (imports,) = [cell for cell in cells if re.search(r"^from fedlib\.notebook import .*\bstyle\b", cell, re.MULTILINE)]
    assert imports.count("\nstyle.use()") == 1


def test_figures_grow_with_their_letters():
    def width():
        return style.panels(1, 2, size=(3, 2))[0].get_figwidth()

    assert width() == 6
    style.use("projector")
    assert rcParams["legend.fontsize"] == 11
    np.testing.assert_allclose(width(), 6 * (13 / 9) ** 0.5)
    style.use("page")
    assert width() == 6


def test_an_unknown_style_is_refused(monkeypatch):
    monkeypatch.setenv("FEDLIB_STYLE", "beamer")
    with pytest.raises(ValueError, match=r"style 'beamer' .*FEDLIB_STYLE.*: expected one of page, projector"):
        style.use()


def test_bands_and_error_bars_are_mean_sd_and_empty_for_one_seed():
    values = np.array([[1.0, 2.0], [3.0, 2.5], [4.0, 7.0]])
    mean, sd = mean_sd(values)
    _, ((ax, other),) = style.panels(1, 2)
    style.band(ax, [1, 2], values, "k", "x")
    style.paper_and_ours(other, [1, 2], None, values, "x")
    (area,), (bars,) = ax.collections, other.collections
    assert set(mean + sd) <= set(area.get_paths()[0].vertices[:, 1])
    np.testing.assert_allclose([part[:, 1] for part in bars.get_segments()], np.stack([mean - sd, mean + sd], 1))
    fig, ((ax, other),) = style.panels(1, 2)
    style.band(ax, [1, 2], values[:1], "k", "x")
    style.paper_and_ours(other, [1, 2], None, values[:1], "x")
    fig.canvas.draw()
    assert not ax.collections
    assert not other.collections
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [1, 2])


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_band_is_mean_and_standard_deviation():
    _, ((ax,),) = style.panels()
    style.band(ax, [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]), "k", "x")
    np.testing.assert_array_equal(lines(ax)["x"][:, 1], [2, 2])
    (polygon,) = ax.collections
    assert polygon.get_paths()[0].vertices[:, 1].max() == 2 + 2**0.5


def test_limits_around_zero_hold_all_values_and_rarely_change():
    assert style.around(np.array([0.3, -0.41]), np.array([0.1])) == (-0.525, 0.525)
    assert style.around(np.array([0.49])) == style.around(np.array([-0.31]))
    assert style.around(np.array([30000.0]))[1] > 30000


def test_an_axis_without_a_positive_value_stays_linear():
    with warnings.catch_warnings(action="error"):
        _, ((zeros, some),) = style.panels(1, 2)
        zeros.plot([1, 2], [0, 0])
        some.plot([1, 2], [0, 3])
        for ax in (zeros, some):
            style.log_axis(ax.yaxis)
    assert (zeros.get_yscale(), some.get_yscale()) == ("linear", "log")
