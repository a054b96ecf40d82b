"""Fig. 11: medians and every seed, W1 with the number of subdomains above, fields of all seeds."""

import numpy as np

from fedlib.notebook.style import COLORS
from fedlib.plots.reaction_levels import SHAPES, by_points, fields_of, figure_11

from ..conftest import recorded

W, LEVELS, X = (0.5, 0.1, 0.04), (2, 8, 24), np.linspace(0, 1, 7)


def errors():
    """Three seeds, of which one is far off: kind -> name -> [seeds, levels]."""
    base = {"isolated": 30.0, "federated": 10.0, "centralised": 2.0}
    return {kind: {m: e * np.array([[1, 2, 4], [2, 4, 8], [500, 5, 9]]) for m in "uk"} for kind, e in base.items()}


def test_lines_are_medians_and_every_seed_is_a_dot():
    fields = {n: {m: {kind: np.ones((2, 7)) for kind in SHAPES} for m in "uk"} for n in LEVELS}
    truth = {"u": np.sin(6 * X), "k": X}
    fig = figure_11(W, LEVELS, errors(), dict.fromkeys("uk", np.ones((3, 3, 4))), X, truth, fields)
    panel = fig.axes[0]
    lines = {line.get_label(): line for line in panel.get_lines()}
    np.testing.assert_array_equal(lines["federated"].get_ydata(), [20, 40, 80])
    assert lines["federated"].get_color() == COLORS["federated"]
    dots = [line for line in panel.get_lines() if line.get_linestyle() == "None"]
    assert sorted({float(y) for line in dots for y in line.get_ydata()})[-1] == 500 * 30
    above = next(ax for ax in fig.axes if ax.get_xlabel() == "subdomains n")
    assert [t.get_text() for t in above.get_xticklabels()] == ["24", "8", "2"] and above.get_xlim() == panel.get_xlim()
    assert [ax.get_title() for ax in fig.axes[2:4]] == ["n = 2", "n = 24"]
    shown = [line.get_label() for line in fig.axes[2].get_lines()]
    assert [name for name in shown if not name.startswith("_")] == [
        "client 1 alone", "client 2 alone", "centralised, each seed", "federated, each seed", "truth",
    ]  # fmt: skip
    names = [t.get_text() for t in fig.legends[0].get_texts()]
    assert names[:4] == ["isolated", "federated", "centralised", "matrix 1"] and names[-1] == "truth"


def test_a_panel_for_each_choice_of_points_on_one_scale():
    some = {kind: of for kind, of in errors().items() if kind != "isolated"}
    fig = by_points(W, LEVELS, {"10 inside": errors(), "8 inside, 2 ends": some})
    first, second = fig.axes[:2]
    assert (first.get_title(), second.get_title()) == ("10 inside", "8 inside, 2 ends")
    assert first.get_ylim() == second.get_ylim()
    assert "isolated" not in [line.get_label() for line in second.get_lines()]


def test_fields_are_found_by_level_kind_and_seed():
    keys = [("federated", 2, 1), ("isolated", 2, 1), ("centralised", None, 1)]
    keys += [(kind, n, 5) for kind, n, _ in keys]
    sizes = (2, 2, 1, 2, 2, 1)
    ends = np.cumsum(sizes)
    rows = {key: slice(int(b - n), int(b)) for key, b, n in zip(keys, ends, sizes, strict=True)}
    values = np.arange(2 * 10 * 3.0).reshape(2, 10, 3)
    history = recorded(rows, ("kind", "n", "seed"), [2, 4], {"u": values, "k": -values})
    u = fields_of(history, [2], 5)[2]["u"]
    np.testing.assert_array_equal(u["federated"], values[-1, [0, 5]])
    np.testing.assert_array_equal(u["centralised"], values[-1, [4, 9]])
    np.testing.assert_array_equal(u["isolated"], values[-1, [7, 8]])
