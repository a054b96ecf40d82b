"""Fig. 3: projections that keep distances of what lies in a plane, and a slider that answers in time."""

import numpy as np
import pytest

from fedlib.notebook.pages import png
from fedlib.plots import function_paths as draw
from fedlib.problems.function_paths import Paths
from fedlib.streams import stream

from ..conftest import assert_redraws_fast, every_move


def walk(R=40, K=2, E=5, P=30, inside=None):
    """Random paths of which each round begins where the one before it ended; inside: axes [2, P] of their plane."""
    rng = stream(0, "paths")
    axes = np.eye(P) if inside is None else inside
    steps = rng.standard_normal((R, K + 1, E, len(axes))) @ axes
    start = np.zeros((R + 1, P))
    start[1:] = steps[:, :K].sum(2).mean(1).cumsum(0)
    client = start[:-1, None, None] + np.concatenate([np.zeros((R, K, 1, P)), steps[:, :K].cumsum(2)], 2)
    central = np.concatenate([np.zeros((1, P)), steps[:, K].reshape(-1, P).cumsum(0)])
    central = np.stack([central[r * E : (r + 1) * E + 1] for r in range(R)])
    return Paths(np.arange(1, R + 1), np.stack([start[:-1], start[1:]], 1), client, central)


def test_what_lies_in_a_plane_keeps_its_distances():
    axes = np.linalg.qr(stream(1, "plane").standard_normal((30, 2)))[0].T
    paths = walk(inside=axes)
    flat = draw.flat(paths)
    np.testing.assert_allclose(np.linalg.norm(flat.server - flat.central, axis=1), paths.apart())
    np.testing.assert_allclose(flat.shares.sum(), 1)
    clients, server, central, _ = flat.near[3]
    assert central is None and clients.shape == (1, 2, 6, 2)
    far = np.linalg.norm(paths.clients[3, 0, -1] - paths.clients[3, 1, -1])
    assert np.linalg.norm(clients[0, 0, -1] - clients[0, 1, -1]) == pytest.approx(far)
    np.testing.assert_allclose(clients[0, :, -1].mean(0), server[1], atol=1e-12)


def test_the_first_two_rounds_are_in_one_plane():
    flat = draw.flat(walk())
    clients, server, central, _ = flat.first
    assert clients.shape == (2, 2, 6, 2) and server.shape == (3, 2) and central.shape == (11, 2)
    np.testing.assert_allclose(clients[1, :, 0], np.stack([server[1]] * 2), atol=1e-12)
    assert (server[-1] >= 0).all(), "ahead is to the right, and up"
    alone = draw.flat(walk(R=1))
    assert alone.first[1].shape == (2, 2)


def test_a_picture_of_any_number_of_paths():
    paths = {2: draw.flat(walk()), 100: draw.flat(walk(K=3))}
    for some in (paths, {2: paths[2]}):
        fig = draw.figure_3(some)
        assert png(fig) and len(fig.axes) == len(some) + 2
    apart = fig.axes[-1].get_lines()[0]
    np.testing.assert_allclose(apart.get_ydata(), paths[2].apart)


def test_the_slider_shows_the_training_so_far():
    paths = {2: draw.flat(walk())}
    far, close = draw.draw_paths(paths, 2, 7).axes
    lines = {line.get_label(): line for line in far.get_lines()}
    np.testing.assert_allclose(lines["server"].get_xydata()[1:], paths[2].server[:7])
    assert len(lines["_server"].get_xdata()) == 41, "what comes is faint"
    assert far.get_title().startswith("up to round 7") and close.get_title() == "round 7, magnified"


def test_the_explorer_answers_a_slider_within_200_ms():
    assert_redraws_fast(every_move(draw.paths_explorer({2: draw.flat(walk()), 100: draw.flat(walk(E=4))})))
