"""Every figure of notebook 04 is drawn from what is stored, and says its numbers."""

import numpy as np
import pytest
import torch
import xarray

from fedlib.federated.experiment import data_of
from fedlib.papers.fedsciml.functions import figures, problem, study
from fedlib.trainings.store import folder_of, histories_of

from ....conftest import every_move


@pytest.fixture(scope="module")
def stored():
    """Results of what is stored so far."""
    p = study.PAPER
    histories = histories_of(study.trainings(p), folder_of(study.NOTEBOOK))
    return study.results(p, histories | study.earlier())


def test_at_twenty_pieces_a_client_owns_hills_or_valleys():
    data = data_of(problem.gramacy_lee(), 20)
    wave = -torch.sin(10 * torch.pi * data.pool["x"][:, 0])
    valleys, hills = (wave[own][wave[own].abs() > 0.1] for own in data.owners)
    assert (valleys < 0).all() and (hills > 0).all()


def test_rows_of_the_fall():
    coords = {"level": [2, 50], "seed": [0, 1]}
    rows = figures.fall_rows({("reset",): xarray.DataArray([[20.0, 22.0], [2.0, 2.2]], coords, ["level", "seed"])})
    assert rows == [["reset", "2", "21.00 ± 1.41", "2.10 ± 0.14", "10.0"]] and len(figures.FALL_HEADER) == 5


def test_w1_is_drawn_over_levels_beside_its_closed_form(stored):
    fig = figures.w1_curves(stored.partitions)
    for ax, clients in zip(fig.axes, (4, 4, 1), strict=True):  # of blocks it is known for two clients
        curves = [line for line in ax.lines if line.get_linestyle() != ":"]
        closed = [line for line in ax.lines if line.get_linestyle() == ":"]
        assert len(curves) == 4 and len(closed) == clients
        for line, dotted in zip(curves, closed, strict=False):
            np.testing.assert_array_equal(line.get_xdata(), dotted.get_xdata())
            if clients > 1:  # that of blocks is for many of them
                np.testing.assert_allclose(line.get_ydata()[:3], dotted.get_ydata()[:3], rtol=0.08)


def test_four_kinds_of_difference_and_what_w1_sees_of_them():
    w1 = {kind: distance for kind, (_, _, distance) in figures.kinds().items()}
    assert w1["concept shift"] == 0 < w1["concept drift"] < w1["covariance shift"]


def test_explorers_draw_at_every_move(stored):
    few = stored.walks.isel(round=[0, 5, -1])
    for box in (figures.paths_explorer(few), figures.partition_explorer()):
        every_move(box)
