"""The same errors, over three costs."""

import numpy as np
from matplotlib.colors import to_hex

from fedlib.notebook.style import COLORS
from fedlib.plots.pendulum_costs import Path, draw_costs, sent


def test_a_round_sends_a_model_to_and_from_each_active_client():
    assert sent(3, 1_000_000) == 24.0


def test_costs_are_counted_in_rounds_steps_and_megabytes():
    error = np.array([[4.0, 2.0], [2.0, 1.0]])
    federated = {"C = 10": Path(error, 200, 0.5), "C = 20": Path(2 * error, 200, 1.0)}
    fig = draw_costs(federated, {"centralised": Path(error / 2, 3000)}, data=4.0)
    lines = [{line.get_label(): line.get_xydata().tolist() for line in ax.get_lines()} for ax in fig.axes]
    assert lines[0]["C = 10"] == [[1, 3], [2, 1.5]]
    assert lines[1]["C = 20"] == [[200, 6], [400, 3]]
    assert lines[2]["C = 20"] == [[1, 6], [2, 3]]
    assert lines[2]["C = 10"] == [[0.5, 3], [1, 1.5]]
    assert lines[1]["centralised"] == [[3000, 1.5], [6000, 0.75]]
    assert {y for _, y in lines[0]["centralised"]} == {0.75}, "no rounds: its last error as a line"
    (point,) = (line for line in fig.axes[2].get_lines() if len(line.get_xdata()) == 1)
    assert point.get_xydata().tolist() == [[4, 0.75]]
    assert to_hex(point.get_color()).upper() == COLORS["centralised"]
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["C = 10", "C = 20", "centralised"]
