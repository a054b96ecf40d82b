"""The style is a call, not a side effect of an import; bands and error bars show what ``mean_sd`` says."""

import re
import subprocess
import sys
import warnings
from ast import literal_eval
from itertools import combinations

import nbformat
import numpy as np
import pytest
from matplotlib import rc_context, rcParams
from matplotlib.colors import to_rgb

from fedlib.files import ROOT
from fedlib.notebook import style
from fedlib.numerics.metrics import mean_sd
from fedlib.trainings.settings import START
from tests.legible import check_roles, labelled

IMPORT_ALL = """
import pkgutil
from importlib import import_module
import matplotlib
before = dict(matplotlib.rcParams.copy())
import fedlib, fedlib.notebook, fedlib.papers
for room in (fedlib.notebook, fedlib.papers):
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
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


IMPORT = re.compile(r"^from fedlib\.notebook import .*\bstyle\b", re.MULTILINE)


def test_every_notebook_chooses_the_style_where_it_imports():
    """Else its pictures have the style of whoever ran the kernel before."""
    own = {*ROOT.glob("notebooks/[01]*.ipynb"), *ROOT.glob("notebooks/solutions/[01]*.ipynb")}  # no checkpoints
    for path in own - {ROOT / f"notebooks/{START}.ipynb"}:
        cells = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
        imports = [
            cell for cell in cells if re.search(r"^from fedlib\.notebook import .*\bstyle\b", cell, re.MULTILINE)
        ]
        assert [cell.count("\nstyle.use()") for cell in imports] == [1], path.stem


def test_figures_grow_with_their_letters():
    widths = []
    for name in ("page", "projector"):
        style.use(name)
        widths.append(style.panels(1, 2, size=(3, 2))[0].get_figwidth())
    np.testing.assert_allclose(widths, [6, 6 * (13 / 9) ** 0.5])


def test_an_unknown_style_is_refused(monkeypatch):
    monkeypatch.setenv("FEDLIB_STYLE", "beamer")
    with pytest.raises(ValueError, match=r"style 'beamer' .*FEDLIB_STYLE.*: expected one of page, projector"):
        style.use()


def test_bands_and_error_bars_are_mean_sd_and_empty_for_one_seed():
    """A band ends at the smallest value: mean - st.dev. may be negative, on a logarithmic axis."""
    values = np.array([[1.0, 2.0], [3.0, 2.5], [4.0, 17.0]])
    mean, sd = mean_sd(values)
    _, ((ax,),) = style.panels(1, 1)
    style.band(ax, [1, 2], values, "k", "x")
    (area,) = ax.collections
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), mean)
    ends = area.get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose(np.unique(ends), [(mean - sd)[0], 2, *(mean + sd)])
    fig, ((ax,),) = style.panels(1, 1)
    style.band(ax, [1, 2], values[:1], "k", "x")
    fig.canvas.draw()
    assert not ax.collections


def test_limits_around_zero_hold_all_values_and_rarely_change():
    assert style.around(np.array([0.3, -0.41]), np.array([0.1])) == (-0.525, 0.525)
    assert style.around(np.array([0.49])) == style.around(np.array([-0.31]))


def test_an_axis_without_a_positive_value_stays_linear():
    with warnings.catch_warnings(action="error"):
        _, ((zeros, some),) = style.panels(1, 2)
        zeros.plot([1, 2], [0, 0])
        some.plot([1, 2], [0, 3])
        for ax in (zeros, some):
            style.log_axis(ax.yaxis)
    assert (zeros.get_yscale(), some.get_yscale()) == ("linear", "log")


MACHADO = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])
"""How somebody without M cones sees linear RGB: Machado, Oliveira and Fernandes 2009, deuteranomaly, severity 1.0."""
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color):
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* of linear RGB: a distance of 2 is just seen, one of 20 is another colour."""
    x = TO_XYZ @ np.clip(rgb, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    x, y, z = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


CLOSE = {("paper", "centralised"): 15, ("isolated", "sums"): 10}
"""Roles that are nearer to each other for some eyes: what is printed is a hollow square, and nobody draws the other two
in one figure."""


@pytest.mark.parametrize("eye", [np.eye(3), MACHADO], ids=["everybody", "deuteranopia"])
def test_roles_and_clients_are_told_apart(eye):
    colors = style.COLORS | {f"client {k + 1}": c for k, c in enumerate(style.CLIENTS)}
    seen = {name: lab(eye @ linear(color)) for name, color in colors.items()}
    apart = {pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]]) for pair in combinations(seen, 2)}
    near = {pair: round(d) for pair, d in apart.items() if d < CLOSE.get(pair, 20)}
    assert not near, near
    assert apart["client 1", "client 2"] > 40, "two clients are what most pictures have"
    for color in style.CLIENTS:
        assert 1.05 / (TO_XYZ[1] @ linear(color) + 0.05) >= 3, f"{color} is faint on white"


def test_a_matplotlibrc_of_the_user_s_own_is_no_style_of_the_project(tmp_path, monkeypatch):
    with rc_context():
        style.use()
        ours = rcParams.copy()
    (tmp_path / "matplotlibrc").write_text(
        "text.usetex: True\nlines.linewidth: 9\naxes.grid: True\nfont.family: serif\n"
    )
    monkeypatch.setenv("MATPLOTLIBRC", str(tmp_path / "matplotlibrc"))
    code = """if True:
        from matplotlib import rcParams
        from fedlib.notebook import style
        assert rcParams["text.usetex"]
        style.use()
        print({name: repr(value) for name, value in rcParams.copy().items() if name != "backend"})
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    theirs = literal_eval(done.stdout)
    assert {name: value for name, value in theirs.items() if value != repr(ours[name])} == {}


def test_what_moves_in_the_browser_has_these_colours():
    script = (ROOT / "fedlib/live/canvas.js").read_text(encoding="utf-8")
    roles = dict(re.findall(r'(\w+): "(#\w+)"', re.search("const COLORS = {(.*)}", script)[1]))
    assert roles.items() <= style.COLORS.items() and {"federated", "centralised"} <= {*roles}
    assert literal_eval(re.search(r"const CLIENTS = (\[.*?\])", script)[1]) == style.CLIENTS


def drawn(label, color, title="", legend=True):
    """What is labelled of a line, at it or in a legend."""
    fig, ((ax,),) = style.panels()
    ax.plot([0, 1], [0, 1], color=color, label=label if legend else "_line")
    ax.text(0, 0, "" if legend else label, color=color)
    ax.set_title(title)
    return labelled(fig)


BLUE, GREEN, ORANGE = style.COLORS["federated"], style.COLORS["centralised"], style.OTHERS[0]


@pytest.mark.parametrize("legend", [True, False], ids=["in a legend", "at the line"])
@pytest.mark.parametrize(
    "label, right, wrong",
    [
        ("federated: off by 3 %", BLUE, GREEN), ("FedAvg, as printed", BLUE, style.COLORS["paper"]),
        ("printed, federated", style.COLORS["paper"], BLUE), ("one place, same steps", GREEN, "0.55"),
        ("one round of sums", style.COLORS["sums"], GREEN), ("sums as they are", ORANGE, style.COLORS["sums"]),
        ("alone, mean", style.COLORS["isolated"], style.CLIENTS[0]), ("client 2 alone", style.CLIENTS[1], "#D55E00"),
        ("client 61 alone", style.COLORS["isolated"], style.CLIENTS[0]), ("SCAFFOLD", ORANGE, BLUE),
    ],
)  # fmt: skip
def test_a_role_has_its_colour_and_nothing_else_has_it(label, right, wrong, legend):
    check_roles(drawn(label, right, legend=legend), "figure", {})
    with pytest.raises(AssertionError, match=re.escape(label)):
        check_roles(drawn(label, wrong, legend=legend), "figure", {})


def test_a_title_may_say_whose_colour_it_is_and_what_has_no_role_keeps_its_own():
    check_roles(drawn("rate 0.003", BLUE, "error of the federation"), "figure", {})
    with pytest.raises(AssertionError, match="does not say so"):
        check_roles(drawn("rate 0.003", BLUE, "error alone"), "figure", {})
    seen = {}
    check_roles(drawn("SCAFFOLD: 3 %", ORANGE), "one", seen)
    with pytest.raises(AssertionError, match="and was #E69F00"):
        check_roles(drawn("SCAFFOLD: 4 %", style.OTHERS[1]), "another", seen)
