"""Levels of partitions: who owns what, and W1 against its closed forms."""

import numpy as np

from fedlib.federated.partitions import checkerboard, hammersley, index_rule, slices
from fedlib.problems import function_levels


def test_levels_are_the_partitions_rules():
    points = hammersley(64)
    line = function_levels.line(30, [2, 3], [1, 5])
    assert list(line) == [(2, 1), (2, 5), (3, 1), (3, 5)]
    in_x, in_xy = function_levels.x_method(points, [2], [3]), function_levels.xy_method(points, [3], [4])
    for found, expected in (
        (line[3, 5], index_rule(30, 3, 5)),
        (in_x[2, 3], slices(points[:, 0], 0, 1, 2, 3)),
        (in_xy[3, 4], checkerboard(points[:, 0], points[:, 1], (0, 1), 3, 4)),
    ):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_w1_of_two_clients_on_a_line():
    """L / (2 p) N / (N - 1) for N equispaced points of a line of length 2."""
    x = np.linspace(-1, 1, 200)[:, None]
    levels = function_levels.line(200, [2], [1, 5, 100])
    np.testing.assert_allclose(function_levels.w1(x, levels), [200 / 199 / p for p in (1, 5, 100)])


def test_w1_follows_its_closed_forms():
    methods = function_levels.w1_by_method(200, 500)
    for method in ("line [-1, 1]", "square, x method"):
        for K, (levels, w1, closed) in methods[method][1].items():
            assert (levels % K == 0).all()
            np.testing.assert_allclose(w1[:3], closed[:3], rtol=0.08)
    name, by_K = methods["square, xy method"]
    assert name == "blocks per axis s" and np.isnan(by_K[3][2]).all()
    np.testing.assert_allclose(by_K[2][2], 1 / (3 * by_K[2][0]))
    few = function_levels.w1_by_method(16)["line [-1, 1]"][1]
    assert all(max(levels) <= 16 for levels, *_ in few.values()), "no client without a point"


def test_slabs_and_blocks_of_few_parts_have_their_closed_forms():
    """Two halves are 1/2 apart, the diagonal quarters 1/3; with more parts both fall, and blocks are nearer."""
    found = function_levels.x_and_xy()
    np.testing.assert_allclose(found[0], [1 / 2, 1 / 3], rtol=0.01)
    np.testing.assert_allclose(found[:3, 0], [1 / 2, 1 / 4, 1 / 10], rtol=0.01)
    assert (np.diff(found, axis=0) < 0).all() and (found[:, 1] < found[:, 0]).all()


def test_examples_give_every_point_one_owner():
    pictures = function_levels.examples(100)
    assert list(pictures) == ["x, K = 2", "x, K = 3", *(f"xy, K = {K}" for K in (2, 3, 4, 5))]
    for title, clouds in pictures.items():
        assert len(clouds) == int(title[-1])
        assert len(np.unique(np.concatenate(clouds), axis=0)) == sum(map(len, clouds)) == 100
