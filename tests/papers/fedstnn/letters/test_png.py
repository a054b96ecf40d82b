"""A reader's own picture: what is read, and what is refused with which words."""

import numpy as np
import pytest
from PIL import Image

from fedlib.papers.fedstnn.letters import png
from fedlib.streams import stream


def saved(path, values, mode=None, **options):
    image = Image.fromarray(values)
    (image.convert(mode) if mode else image).save(path, **options)
    return path


@pytest.fixture
def white():
    return stream(0, "blots").uniform(size=(12, 30)) < 0.3


@pytest.mark.parametrize("mode", ["1", "L", "RGB", "RGBA", "P", "LA"])
def test_black_and_white_is_read_in_every_mode(tmp_path, white, mode):
    """One bit, grey, colours, a palette, with opacity: what a program saves is none of the reader's business."""
    path = saved(tmp_path / "mine.png", np.uint8(white) * 255, mode)
    np.testing.assert_array_equal(png.read_png(path), white)


def test_sixteen_bits_are_read(tmp_path, white):
    np.testing.assert_array_equal(
        png.read_png(saved(tmp_path / "deep.png", np.uint16(white) * np.uint16(65535))), white
    )
    with pytest.raises(ValueError, match="neither black nor white"):
        png.read_png(saved(tmp_path / "grey.png", np.uint16(white) * np.uint16(300)))


@pytest.mark.fault("clear error")
def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.png': no such file; give the path of a PNG"):
        png.read_png(tmp_path / "nowhere.png")


@pytest.mark.fault("clear error")
def test_other_files(tmp_path, white):
    """Text, a JPEG that is called PNG, half a PNG."""
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(ValueError, match=r"text\.png' is no picture; expected a PNG"):
        png.read_png(tmp_path / "text.png")
    saved(tmp_path / "photo.png", np.uint8(white) * 255, format="JPEG")
    with pytest.raises(ValueError, match="is a JPEG; expected a PNG: save it as one"):
        png.read_png(tmp_path / "photo.png")
    noise = stream(0, "noise").integers(0, 2, (200, 300), np.uint8) * np.uint8(255)
    whole = saved(tmp_path / "half.png", noise).read_bytes()
    (tmp_path / "half.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged PNG"):
        png.read_png(tmp_path / "half.png")


@pytest.mark.fault("clear error")
def test_other_pictures(tmp_path, white):
    """Grey, colours, transparency, one colour, too small, too large."""
    grey = np.uint8(white) * 255
    grey[3, 4] = 128
    with pytest.raises(ValueError, match=r"has 1 pixels that are neither.* row 3, column 4, is grey .128, 128, 128 of"):
        png.read_png(saved(tmp_path / "grey.png", grey))
    red = np.repeat(np.uint8(white)[..., None] * 255, 3, -1)
    red[5, 6] = 255, 0, 0
    with pytest.raises(ValueError, match=r"row 5, column 6, is coloured .255, 0, 0 of 255.: make it black and white"):
        png.read_png(saved(tmp_path / "red.png", red))
    clear = np.dstack([red, np.full(white.shape, 255, np.uint8)])
    clear[:2, :2, 3] = 0
    with pytest.raises(ValueError, match="has 4 transparent pixels; expected none: flatten it"):
        png.read_png(saved(tmp_path / "clear.png", clear))
    for value, word in ((0, "black"), (255, "white")):
        with pytest.raises(ValueError, match=f"is all {word}; expected both colours"):
            png.read_png(saved(tmp_path / f"{word}.png", np.full((9, 9), value, np.uint8)))
    for shape in ((1, 9), (9, 2), (500, 500)):
        with pytest.raises(ValueError, match=f"has {shape[0]} x {shape[1]} pixels; expected at least 2 x 3"):
            png.read_png(saved(tmp_path / "size.png", np.zeros(shape, np.uint8)))
