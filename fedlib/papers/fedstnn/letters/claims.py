"""What FedStNN says of the letters (Section 5.3, Figs. 16 to 19).

"Most" wrong pixels are two thirds of them, "nearly no" holes take up one per cent of the white pixels at most, and an
edge is "blurry" where a tenth of the pixels within 2 of it is wrong; each in every seed.
"""

from collections.abc import Callable

import numpy as np
import xarray

from ....notebook.claims import Seeded, Verdict
from ....notebook.maps import Panel
from . import edges
from .picture import PAPER_SHAPE, letters
from .study import Results, by_group, right


def every(quantity: Callable[[Results], np.ndarray | xarray.DataArray | None], sign: str, bound: float) -> Seeded:
    """Values [seed, ...] are all at least (">"), or at most ("<"), a bound; None: it is not trained."""

    def claim(results: Results) -> Verdict | None:
        if (values := quantity(results)) is None:
            return None
        worst = float(values.min() if sign == ">" else values.max())
        holds = worst >= bound if sign == ">" else worst <= bound
        return Verdict(holds, f"at {'least' if sign == '>' else 'most'} {worst:.3g}")

    return Seeded(claim, lambda results: len(quantity(results)))


def federated(results: Results) -> np.ndarray:
    """Overlap of each letter [seed, 3]."""
    return results.picture.overlaps(results.last().values)


def at_edges(results: Results) -> xarray.Dataset:
    """What is ``measured`` of the federation."""
    return edges.measured(results.last().values.reshape(-1, *results.picture.shape), results.picture.white)


def holes(results: Results) -> xarray.DataArray | None:
    """Share of the white pixels that holes take up [seed]; a reader's picture may have some."""
    return at_edges(results)["area"] / results.picture.xi if results.picture.names == ("F", "S", "U") else None


def with_their_steps(quantity: str, over: float = 1) -> Callable[[Results], xarray.DataArray | None]:
    """What is ``measured`` [seed] at the authors' size, with their steps."""

    def values(results: Results) -> xarray.DataArray | None:
        drawn = results.authors.get("their steps")
        white = letters(PAPER_SHAPE)
        return None if drawn is None else edges.measured(drawn.values.reshape(-1, *PAPER_SHAPE), white)[quantity] / over

    return values


CLAIMS = {
    "fedstnn.target.53.iou": every(federated, ">", 0.8),
    "fedstnn.53.together": (lambda results: xarray.DataArray(right(results)["federated"], dims="seed"), ">", 0.96),
    "fedstnn.53.edges": every(lambda results: at_edges(results)["near"], ">", 2 / 3),
    "fedstnn.53.holes": every(holes, "<", 0.01),
    "fedstnn.53.others": every(lambda results: by_group(results)["others"], "<", 0.5),
    "fedstnn.53.blurry": every(with_their_steps("edge"), ">", 0.1),
    "fedstnn.53.solid": every(with_their_steps("area", letters(PAPER_SHAPE).sum()), "<", 0.01),
}
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""

PANELS = (
    Panel("Figs. 12 to 15", "B2, picture", "letters of our own for the logo; 40 x 120 pixels"),
    Panel("Figs. 16 to 18", "the first page, answer", "L : F as printed; L and all of the training are ours",
          ("fedstnn.53.others",)),
    Panel("Fig. 19", "the first page, answer, and B2, edges", "the same",
          ("fedstnn.53.together", "fedstnn.target.53.iou", "fedstnn.53.edges", "fedstnn.53.holes")),
    Panel("Fig. 19", "B2, authors_size", "253 x 501 pixels, L = 2000; a quarter of the code's rounds",
          ("fedstnn.53.blurry", "fedstnn.53.solid")),
    Panel("Eq. 41", "section 3", "as printed"),
)  # fmt: skip
"""Where the panels of Section 5.3 are in notebook 09."""


def facts(results: Results) -> dict[str, bool]:
    """What the lesson relies on."""
    alone, share = by_group(results), right(results)
    picture, best = results.picture, max(1 - results.picture.xi / results.picture.white.size, share["isolated"].max())
    every = picture.overlaps(results.last("isolated").values)
    group = np.arange(every.shape[1]) * 3 // every.shape[1]
    gaps = [federated(results)[:, j].mean() - every[:, group != j, j].mean() for j in range(3)]
    wrong = picture.wrong(results.last("isolated").values)
    levels = results.levels.transpose("level", "seed", "pixel").values
    return {
        "every drawing has as many white pixels": bool((results.last("isolated").sum("pixel") == picture.xi).all()),
        "so as many are white by mistake as black, and J is even": bool((wrong % 2 == 0).all()),
        "the federation beats the black picture and every client alone": bool((share["federated"] > best).all()),
        "every letter: it beats the mean client of another group by 0.7": bool(min(gaps) > 0.7),
        "alone, nine of ten clients draw their own letter best": bool(
            (alone["own"] > alone["others"].max(-1)).mean() > 0.9
        ),
        "mean overlap alone: own above 0.8": bool(alone["own"].mean() > 0.8),
        "others below 0.25": bool(alone["others"].mean() < 0.25),
        "wrong pixels are nearer to the edges than pixels are": bool(
            (at_edges(results)["near"] > edges.near_share(picture.white)).all()
        ),
        "more pixels for each client, a better picture": bool(
            picture.right(levels[-1]).mean() > picture.right(levels[0]).mean()
        ),
    }
