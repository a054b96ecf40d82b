"""What FedStNN says of the letters (Section 5.3): id -> claim(results) -> ``Verdict``.

"Most" wrong pixels are two thirds of them, "nearly no" holes take up one per cent of the white pixels at most, and an
edge is "blurry" where a tenth of the pixels within 2 of it is wrong.
"""

from collections.abc import Callable

import numpy as np

from ....notebook.claims import Verdict, on_seeds
from ....notebook.maps import Panel
from .edges import Edges, measured, near_share
from .picture import PAPER_SHAPE, letters
from .study import Results, by_group, right

Claim = Callable[[Results], Verdict | None]


def federated(results: Results) -> np.ndarray:
    """Overlap of each letter [seed, 3]."""
    return results.picture.overlaps(results.last().values)


def together(results: Results) -> Verdict:
    """Together the clients draw all three letters."""
    share = right(results)["federated"].mean()
    return Verdict(bool(share >= 0.96), f"{share:.3f}")


def overlap(results: Results) -> Verdict:
    """Target: each letter, in every seed."""
    least = federated(results).min()
    return Verdict(bool(least >= 0.8), f"at least {least:.2f}")


def own_letter(results: Results) -> Verdict:
    """Target: every client draws its group's letter alone."""
    least = by_group(results)["own"].min()
    return Verdict(bool(least > 0.7), f"at least {least:.2f}")


def others(results: Results) -> Verdict:
    """No client draws another letter alone."""
    most = by_group(results)["others"].max()
    return Verdict(bool(most < 0.5), f"at most {most:.2f}")


def edges(results: Results) -> Verdict:
    """Wrong pixels are at the edges."""
    picture = results.picture
    least = measured(results.last().values.reshape(-1, *picture.shape), picture.white).near.min()
    return Verdict(bool(least >= 2 / 3), f"at least {least:.2f}, of all {near_share(picture.white):.2f}")


def holes(results: Results) -> Verdict | None:
    """The letters have nearly no holes; a reader's picture may have some."""
    picture = results.picture
    if picture.names != ("F", "S", "U"):
        return None
    area = measured(results.last().values.reshape(-1, *picture.shape), picture.white).area.max() / picture.xi
    return Verdict(bool(area <= 0.01), f"at most {100 * area:.1f} %")


def with_their_steps(results: Results) -> Edges | None:
    """At the authors' size, with their steps; None: it is not trained."""
    drawings = results.authors.get("their steps")
    return None if drawings is None else measured(drawings.values.reshape(-1, *PAPER_SHAPE), letters(PAPER_SHAPE))


def blurry(results: Results) -> Verdict | None:
    """So trained, the edges are blurry."""
    if (drawn := with_their_steps(results)) is None:
        return None
    least = drawn.edge.min()
    return Verdict(bool(least >= 0.1), f"at least {least:.0%} of the pixels there are wrong")


def solid(results: Results) -> Verdict | None:
    """So trained, the letters have nearly no holes."""
    if (drawn := with_their_steps(results)) is None:
        return None
    area = drawn.area.max() / letters(PAPER_SHAPE).sum()
    return Verdict(bool(area <= 0.01), f"at most {100 * area:.1f} %")


CLAIMS: dict[str, Claim] = {
    "fedstnn.target.53.iou": overlap,
    "fedstnn.target.53.own": own_letter,
    **on_seeds(lambda results: results.together.sizes["seed"], {
        "fedstnn.53.together": together,
        "fedstnn.53.edges": edges,
        "fedstnn.53.holes": holes,
    }),
    **on_seeds(lambda results: results.alone.sizes["seed"], {"fedstnn.53.others": others}),
    **on_seeds(lambda results: results.authors["their steps"].sizes["seed"], {
        "fedstnn.53.blurry": blurry,
        "fedstnn.53.solid": solid,
    }),
}  # fmt: skip
"""Id of data/claims.yaml -> claim."""

PANELS = (
    Panel("Figs. 12 to 15", "B1, picture", "letters of our own for the logo; 40 x 120 pixels"),
    Panel("Figs. 16 to 18", "the first page, answer", "L : F as printed; L and all of the training are ours",
          ("fedstnn.53.others", "fedstnn.target.53.own")),
    Panel("Fig. 19", "the first page, answer, and B3, edges", "the same",
          ("fedstnn.53.together", "fedstnn.target.53.iou", "fedstnn.53.edges", "fedstnn.53.holes")),
    Panel("Fig. 19", "B5, authors_size", "253 x 501 pixels, L = 2000; a quarter of the code's rounds",
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
    near = measured(results.last().values.reshape(-1, *picture.shape), picture.white).near
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
        "wrong pixels are nearer to the edges than pixels are": bool((near > near_share(picture.white)).all()),
        "more pixels for each client, a better picture": bool(
            picture.right(levels[-1]).mean() > picture.right(levels[0]).mean()
        ),
    }
