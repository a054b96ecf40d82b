"""Maps of errors on one scale, and Table 1."""

import numpy as np

from fedlib.notebook.pages import png
from fedlib.notebook.style import CLIENTS
from fedlib.plots import function_maps as draw
from fedlib.problems.function_kinds import kinds


def test_error_maps_have_x_to_the_right_and_one_scale():
    truth = np.arange(1.0, 17).reshape(4, 4)
    fields = {"federated": truth + 0.1, "client 1 alone": truth * 2}
    fig = draw.error_maps(truth, {"2 slabs": (2, fields), "50 slabs": (50, fields)})
    assert png(fig)
    function, federated, alone, below, *_ = fig.axes
    np.testing.assert_array_equal(function.images[0].get_array(), truth.T)
    np.testing.assert_allclose(federated.images[0].get_array(), np.full((4, 4), 0.1))
    np.testing.assert_allclose(alone.images[0].get_array(), truth.T)
    assert federated.images[0].get_clim() == alone.images[0].get_clim()
    assert alone.get_title() == "client 1 alone\n1e+02 %"
    assert [line.get_xdata()[0] for line in alone.get_lines()] == [0.5]
    assert len(below.get_lines()) == 49, "slabs that are too narrow for an error map are shown in the function"


def test_table_1_has_a_panel_for_each_kind():
    of = kinds(20)
    fig = draw.kinds_of_difference(of, CLIENTS)
    assert png(fig)
    for ax, (kind, (_, clouds, w1)) in zip(fig.axes, of.items(), strict=True):
        assert ax.get_title().startswith(kind) and f"{w1:.2f}" in ax.get_xlabel()
        for line, cloud in zip(ax.get_lines(), clouds, strict=True):
            np.testing.assert_array_equal(line.get_xydata(), cloud)
