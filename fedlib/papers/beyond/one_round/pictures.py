"""What the sums of pictures tell: a client's G = sum_i x_i x_i^T over its pixels, of a linear classifier."""

from collections.abc import Sequence

import numpy as np
import xarray

from ....numerics.tabulated import tabulated
from ....streams import stream
from ...feddro.digits.problem import handwriting
from ..points import pictures_behind

SHOWN = 10  # pictures that are kept for a figure


def pictures_of_sums(points: Sequence[int], seeds: Sequence[int], source: str) -> xarray.Dataset:
    """Digits that a server reads off the sums of a client with so many of them, their pixels whole numbers 0 ... 255.

    share [points, seed]: of the pictures, those read exactly. false [points, seed]: how many came that are none of
    them. shown [points, place, pixel]: the first that are read, seed 0, white where there are fewer.
    """
    x = np.rint(255 * handwriting(source, "raw")["train"][0].double().numpy()).astype(np.int64)

    def attacked(points: int, seed: int) -> dict:
        X = x[stream(seed, "pictures").permutation(len(x))[:points]]
        pictures = pictures_behind(X.T @ X)
        right = {row.tobytes() for row in X}
        read = sum(picture.tobytes() in right for picture in pictures)
        shown = np.zeros((SHOWN, X.shape[1]), np.uint8)
        shown[: len(pictures)] = pictures[:SHOWN]
        return {"share": read / points, "false": len(pictures) - read, "shown": (("place", "pixel"), shown)}

    table = tabulated(attacked, points=points, seed=seeds)
    return table.assign(shown=table.shown.isel(seed=0))
