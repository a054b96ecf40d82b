"""The picture of three letters, its pixels, their edges; who owns which, and how right a drawing of it is."""

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.spatial.distance import cdist

from fedlib.federated.experiment import data_of
from fedlib.papers.fedstnn.letters import edges, problem
from fedlib.papers.fedstnn.letters import picture as letters
from fedlib.streams import stream, torch_stream


def normal(*shape, key=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch_stream(0, "test", key), dtype=torch.float64).to(dtype)


@pytest.fixture
def picture():
    return letters.Picture(letters.letters())


def test_psi_has_exactly_xi_white_pixels():
    """Property 15: also among ties; strictly increasing maps change nothing."""
    scores = normal(3, 4800)
    for xi in (0, 1, 1332, 4800):
        assert (letters.psi(scores, xi).sum(-1) == xi).all()
        assert letters.psi(torch.zeros(4800), xi).sum() == xi
        assert (letters.psi(scores, xi) == letters.psi(scores.exp() - 3, xi)).all()
    assert letters.psi(torch.tensor([3.0, 1.0, 2.0]), 2).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="5 white pixels"):
        letters.psi(torch.zeros(4), 5)


def test_a_finer_picture_has_the_same_centres(factor=3):
    """An odd factor puts a pixel's centre where the coarse one's was: there both pictures agree exactly."""
    fine = letters.letters((40 * factor, 120 * factor))
    np.testing.assert_array_equal(fine[factor // 2 :: factor, factor // 2 :: factor], letters.letters())


def test_pixels_of_any_size_are_square():
    xy = letters.pixels((20, 90)).reshape(20, 90, 2)
    assert xy[0, 0].tolist() == [-1, -4.5] and xy[-1, -1].tolist() == [1, 4.5]
    assert (xy[..., 0] == xy[:, :1, 0]).all() and (xy[..., 1] == xy[:1, :, 1]).all()


def test_drawings_are_judged_letter_by_letter(picture):
    truth, thirds = picture.white.ravel(), picture.thirds
    flipped = picture.truth.clone()
    flipped[thirds[1]] = False  # no S: psi has to find as many white pixels elsewhere
    scores = torch.stack(
        [picture.truth.double(), flipped.double() - 1e-3 * torch.arange(4800), normal(4800) + 100 * picture.truth]
    )
    white = picture.drawn(scores).numpy()
    assert (white.sum(-1) == picture.xi).all()
    np.testing.assert_array_equal(picture.overlaps(white)[[0, 2]], 1)
    np.testing.assert_array_equal(picture.right(white)[[0, 2]], 1)
    both, either = (white[1] & truth)[thirds[1]].sum(), (white[1] | truth)[thirds[1]].sum()
    assert picture.overlaps(white)[1, 1] == pytest.approx(both / either) and picture.overlaps(white)[1, 1] < 0.7
    assert picture.right(white)[1] == pytest.approx(1 - (white[1] ^ truth).sum() / 4800)


def test_an_empty_third_has_an_iou():
    """A reader's picture may have one: 1 where nothing is drawn there, 0 where something is."""
    white = np.zeros((2, 6), bool)
    white[0, :2] = True  # the left third
    picture = letters.Picture(white, ("left", "middle", "right"))
    overlaps = lambda scores: picture.overlaps(picture.drawn(scores).numpy()).tolist()  # noqa: E731
    assert overlaps(picture.truth.double()) == [1, 1, 1]
    assert overlaps(-picture.truth.double())[0] == 0
    assert 0 in overlaps(-picture.truth.double() - 1e-3 * torch.arange(12))[1:]


def test_the_distance_is_that_to_the_nearest_pixel_of_the_other_colour():
    """All pairs of pixels by hand; negative inside."""
    white = stream(0, "blots").uniform(size=(40, 30)) < 0.1
    places = np.argwhere(np.ones_like(white))
    far = cdist(places, places)
    far[white.ravel()[:, None] == white.ravel()] = np.inf
    expected = far.min(1).reshape(white.shape) * np.where(white, -1, 1)
    np.testing.assert_allclose(edges.edge_distance(white), expected, rtol=1e-12)


def test_pixels_at_a_distance_are_counted_with_its_farther_end():
    """Across a straight edge, white at the left, of a drawing that is too wide by one column."""
    truth = np.arange(20) < np.full((40, 1), 8)
    measured = edges.measured((np.arange(20) < np.full((40, 1), 9))[None], truth)
    assert measured.place.values.tolist() == [-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]
    assert measured.white.sel(seed=0).values.tolist() == [1, 1, 1, 1, 1, 0, 0, 0]


def test_what_is_measured_on_a_drawing_with_known_faults():
    """A hole of one pixel in the middle of a stroke, one bite at an edge, one blot far away."""
    truth = letters.letters()
    distance = edges.edge_distance(truth)
    faults = [np.argwhere(distance < -3)[0], np.argwhere(distance == -1)[0], np.argwhere(distance > 10)[0]]
    drawn = truth.copy()
    for i, j in faults:
        drawn[i, j] ^= True
    measured = edges.measured(np.stack([drawn, truth]), truth)
    assert measured.near.values == pytest.approx([1 / 3, 0])
    assert measured.edge.values == pytest.approx([1 / (abs(distance) <= 2).sum(), 0])
    assert measured.holes.values.tolist() == [1, 0] and measured.area.values.tolist() == [1, 0]


def test_no_pixel_at_the_edge_is_no_share():
    """Two rows: a pixel is 20 of the unit."""
    truth = np.array([[True, False, False], [True, False, False]])
    measured = edges.measured(truth[None], truth)
    assert measured.edge == 0 and measured.white.isel(place=[0, -1]).values.ravel().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("..... .###. .#.#. .###. .....", (1, 1)),  # a ring
        ("##.## #...# #####", (0, 0)),  # open at the top border, and at each other one
        ("##### #...# ##.##", (0, 0)),
        ("##### ....# #####", (0, 0)),
        ("##### #.... #####", (0, 0)),
        (".#.#. #.#.# .#.#.", (2, 2)),  # walls of corners close
        (".###### .#..#.# .####.# .######", (2, 4)),
    ],
)
def test_holes_of_hand_made_pictures(text, expected):
    assert edges.holes(np.array([[c == "#" for c in line] for line in text.split()])) == expected


def test_the_printed_ratio():
    """L : F = 100 : 3; also what the authors' code has."""
    printed = {50: 2, 100: 3, 200: 6, 400: 12, 800: 24, 2000: 60}
    assert {L: problem.others_of(L) for L in printed} == printed
    assert all(abs(problem.others_of(L) - 0.03 * L) <= 0.5 for L in range(1, 2000))
    assert problem.others_of(400, 0.0) == 0


def test_clients_own_their_third_and_a_little_of_the_rest():
    experiment = problem.drawing(clients=6, shape=(20, 60))
    thirds = letters.Picture(letters.letters((20, 60))).thirds
    shards = {key: data_of(experiment, *key).owners for key in ((50, 3), (50, 1), (200, 3))}
    for (L, _), mine in shards.items():
        for k, shard in enumerate(mine):
            at_home = np.isin(shard, thirds[k // 2])
            assert (at_home.sum(), (~at_home).sum()) == (L, problem.others_of(L)) and len({*shard}) == len(shard)
    assert {*shards[50, 3][0]} != {*shards[50, 1][0]}


def test_a_model_is_judged_by_what_it_draws():
    picture = letters.Picture(letters.letters((4, 9)))
    scores = torch.stack([picture.truth.double(), -torch.ones(36)], 1)  # of two paths the first counts
    test = {"x_test": torch.zeros(36, 2), "w_test": torch.zeros(36, 1, 2, 2)}
    right = problem.evaluate(lambda x, w: scores, test, picture)
    assert (right["drawn"] == picture.truth).all() and right["wrong"] == 0
    worst = problem.evaluate(lambda x, w: -scores, test, picture)
    assert worst["wrong"].item() == pytest.approx(100 * 2 * picture.xi / 36)


def test_a_readers_picture_is_black_and_white(tmp_path):
    """In every mode of a PNG; grey, one colour and too small ones are refused."""
    white, path = stream(0, "blots").uniform(size=(12, 30)) < 0.3, tmp_path / "mine.png"
    for mode in ("1", "L", "RGB", "P"):
        Image.fromarray(np.uint8(white) * 255).convert(mode).save(path)
        np.testing.assert_array_equal(letters.read_png(path), white)
    grey = np.uint8(white) * 255
    grey[3, 4] = 128
    for wrong in (grey, 0 * grey, 0 * grey + 255, grey[:2] // 255 * 255):
        Image.fromarray(wrong).save(path)
        with pytest.raises(ValueError, match=r"mine\.png': expected a PNG of at least 3 x 3 pixels"):
            letters.read_png(path)
