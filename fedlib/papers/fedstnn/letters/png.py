"""A reader's own black-and-white picture, from a PNG."""

from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

LARGEST = 200_000  # pixels: a training of more takes hours
SMALLEST = 2, 3  # rows, columns: thirds, and a first and a last row


def read_png(path: str | Path) -> np.ndarray:
    """The white pixels of a PNG that has nothing but black and white, bool [rows, columns].

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no PNG, it is damaged, too small or too large, it has colours, grey levels or transparent
            pixels, or only one of black and white. It says what was found, what is expected, and how to fix it.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"picture = '{path}': no such file; give the path of a PNG, from {Path.cwd()} on")
    try:
        with Image.open(path) as image:
            rgba = rgba_of(path, image)
    except UnidentifiedImageError:
        raise ValueError(f"picture = '{path}' is no picture; expected a PNG") from None
    except (OSError, SyntaxError) as error:
        raise ValueError(f"picture = '{path}' is a damaged PNG ({error}); save it again") from None
    return white_of(path, rgba)


def rgba_of(path: Path, image: Image.Image) -> np.ndarray:
    """Red, green, blue and opacity of a PNG [rows, columns, 4], once its kind and its size are as expected."""
    if image.format != "PNG":
        raise ValueError(f"picture = '{path}' is a {image.format}; expected a PNG: save it as one")
    rows, columns = image.height, image.width
    if rows < SMALLEST[0] or columns < SMALLEST[1] or rows * columns > LARGEST:
        raise ValueError(
            f"picture = '{path}' has {rows} x {columns} pixels; expected at least {SMALLEST[0]} x {SMALLEST[1]}, and "
            f"at most {LARGEST} pixels in all: scale it, without smoothing"
        )
    if image.mode.startswith("I"):  # 16 bits of grey, which Pillow would cut at 255
        grey = np.asarray(image, float) * 255 / 65535
        return np.stack([grey, grey, grey, np.full_like(grey, 255)], -1)
    return np.asarray(image.convert("RGBA"), float)


def white_of(path: Path, rgba: np.ndarray) -> np.ndarray:
    """White pixels, bool [rows, columns], of a picture that is black and white; ValueError for any other."""
    rgb, alpha = rgba[..., :3], rgba[..., 3]
    if (alpha < 255).any():
        raise ValueError(f"picture = '{path}' has {(alpha < 255).sum()} transparent pixels; expected none: flatten it")
    white, black = (rgb == 255).all(-1), (rgb == 0).all(-1)
    if (other := ~(white | black)).any():
        i, j = np.argwhere(other)[0]
        kind = "grey" if (rgb[i, j] == rgb[i, j, 0]).all() else "coloured"
        raise ValueError(
            f"picture = '{path}' has {other.sum()} pixels that are neither black nor white; the first, at row {i}, "
            f"column {j}, is {kind} ({', '.join(f'{v:.0f}' for v in rgb[i, j])} of 255): make it black and white with "
            "a threshold"
        )
    if white.all() or black.all():
        raise ValueError(f"picture = '{path}' is all {'white' if white.all() else 'black'}; expected both colours")
    return white
