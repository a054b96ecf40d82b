"""What notebook 09 trains of the letters (FedStNN, Section 5.3), and what its figures and claims take.

``python -m fedlib train 09_stochastic_image --only letters`` trains what is not stored of the main run.
"""

from collections.abc import Hashable, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
import xarray

from ....federated.batches import Local
from ....federated.history import History
from ....notebook import rules
from ....trainings.calls import Call
from ....trainings.settings import paper
from ..experiment import with_truth
from .edges import measured
from .picture import PAPER_SHAPE, SHAPE, Picture, letters
from .problem import drawing, others_of, owners, picture_of

NOTEBOOK, NAME = "09_stochastic_image", "letters"
PAPER = paper(NOTEBOOK)
"""The paper's settings."""
AGAIN = "letters", "together"
"""A training of which some rounds are begun again in each run, see ``trainings.again``."""
IN_SHORT = True
"""Its rounds have hundreds of steps, see ``trainings.store.calls_of``."""
BATCH = 64  # the paper does not say
LR, LR_END = 0.08, 0.001  # of Adam in the first round, and of the last one as a share of it, the best of TRIED
LOOKS = 25  # rounds after which the pictures are looked at, about
TRIED = [50, 100, 200], [0.02, 0.04, 0.08], [0.1, 0.01, 0.001]
"""Local steps in a round, first rate, and the last one as a share of it, that were tried, with as many steps in all."""
TRIED_ON = [100, 101, 102]  # seeds that count nowhere else
AUTHORS = 2000  # L, pixels that a client owns of its third in the authors' code
THEIRS = 25, 2000, 1e-4, 1.0  # rounds, a quarter of theirs; local steps and Adam's rate in their code, which stays

RULES = {
    "clients": rules.whole(3),
    **dict.fromkeys(("own_pixels", "levels"), rules.whole()),
    "ratio": rules.number(0),
}
"""Parameter -> what it may be."""


def check(p: Mapping) -> None:
    """ValueError where the picture has not the pixels that clients are to own."""
    if p["clients"] % 3:
        raise ValueError(f"clients = {p['clients']}: expected a multiple of three, as many for each letter")
    third = min(map(len, picture_of(p["picture"]).thirds))
    for L in {p["own_pixels"], *p["levels"]}:
        if third < L or others_of(L, p["ratio"]) > 2 * third:
            raise ValueError(
                f"{L} own pixels and {others_of(L, p['ratio'])} others: a third of the picture has {third}; take fewer "
                "of them, a smaller ratio, or a larger picture"
            )


def arguments_of(p: Mapping) -> dict:
    """Arguments of ``drawing``."""
    return {name: p[name] for name in ("clients", "ratio", "picture")} | {"shape": [*SHAPE]}


def decay_of(lr_end: float, rounds: int) -> float:
    """The factor per round with which the last round has lr_end times the first one's rate."""
    return lr_end ** (1 / max(rounds - 1, 1))


def fading(rounds: int, steps: int, lr: float, lr_end: float, batch: int = BATCH) -> dict:
    """Changes of the experiment: so many rounds of so many local steps, with a rate that falls."""
    return {"rounds": rounds, "local": Local(steps, "steps", batch), "lr": lr, "decay": decay_of(lr_end, rounds)}


def steps_of(p: Mapping) -> tuple[int, int, float, float]:
    """Arguments of ``fading``."""
    return p["rounds"], p["local_updates"], LR, LR_END


def trainings(p: Mapping) -> dict[Hashable, Call]:
    """("letters", "together"), watched on the way, and ("letters", "alone"); "levels": other numbers of own pixels.
    What no parameter moves: "grid", what the paper leaves open; ("authors", steps), their size, with our steps and with
    theirs."""
    seeds, L, federated, none = p["seeds"], [p["own_pixels"]], ["federated"], {"models": {}}
    arguments, changes = arguments_of(p), {"fraction": p["fraction"]} | fading(*steps_of(p))
    watched = changes | {"evaluations": LOOKS}
    calls: dict[Hashable, Call] = {
        (NAME, "together"): Call(drawing, arguments, L, seeds, ["federated", "centralised"], changes=watched, **none),
        (NAME, "alone"): Call(drawing, arguments, L, seeds, ["isolated"], changes=changes, **none),
    }
    if others := [level for level in p["levels"] if level not in L]:
        calls["levels"] = Call(drawing, arguments, others, seeds, federated, changes=changes, **none)
    share, total = {"fraction": PAPER["fraction"]}, PAPER["rounds"] * PAPER["local_updates"]
    tries = {(steps, lr, end): fading(max(1, total // steps), steps, lr, end) for steps, lr, end in product(*TRIED)}
    over, level = {("steps", "lr", "lr_end"): tries}, [PAPER["own_pixels"]]
    calls["grid"] = Call(drawing, arguments_of(PAPER), level, TRIED_ON, federated, over, share, **none)
    for name, steps in (("our steps", steps_of(PAPER)), ("their steps", THEIRS)):
        big = share | fading(*steps, batch=256)
        calls["authors", name] = Call(
            drawing, {"shape": list(PAPER_SHAPE)}, [AUTHORS], PAPER["seeds"], federated, changes=big, **none
        )
    return calls


class Results(NamedTuple):
    """What figures and claims take. Drawings are white, bool [..., pixel].

    picture: what is learnt. L: own pixels of a client. together [kind, seed, round, pixel]; alone [seed, client,
    pixel]; levels [level, seed, pixel], of federations. authors: steps -> [seed, pixel], of their size. tried: wrong
    pixels (%) [seed, steps, lr, lr_end] of the grid, or None.
    """

    picture: Picture
    L: int
    together: xarray.DataArray | None
    alone: xarray.DataArray | None
    levels: xarray.DataArray | None
    authors: dict[str, xarray.DataArray]
    tried: xarray.DataArray | None

    def last(self, kind: str = "federated") -> xarray.DataArray:
        """What a kind draws after the last round [seed, pixel]; isolated: [seed, client, pixel]."""
        return self.alone if kind == "isolated" else self.together.sel(kind=kind).isel(round=-1, drop=True)


def results(p: Mapping, histories: Mapping[Hashable, History]) -> Results:
    """The labelled arrays of what is trained."""
    L = p["own_pixels"]

    def drawn(name: Hashable, **chosen) -> xarray.DataArray | None:
        history = histories.get(name)
        return None if history is None else history.metric("drawn", **chosen).rename(i="pixel")

    def last(name: Hashable, **chosen) -> xarray.DataArray | None:
        every = drawn(name, **chosen)
        return None if every is None else every.isel(round=-1, drop=True)

    together, swept = drawn((NAME, "together"), level=L, client=0), last("levels", kind="federated", client=0)
    if together is not None:
        together = together.transpose("kind", "seed", ...)
        main = together.sel(kind="federated", drop=True).isel(round=-1, drop=True).expand_dims(level=[L])
        swept = main if swept is None else xarray.concat([swept, main], "level").sortby("level")
        swept["level"] = swept.level.assign_attrs(long_name="L, own pixels of a client")
    tried = histories.get("grid")
    return Results(
        picture_of(p["picture"]),
        L,
        together,
        last((NAME, "alone"), kind="isolated", level=L),
        swept,
        {
            name: last(("authors", name), kind="federated", level=AUTHORS, client=0)
            for name in ("our steps", "their steps")
            if ("authors", name) in histories
        },
        None if tried is None else tried.last("wrong", kind="federated", level=PAPER["own_pixels"], client=0),
    )


def owned(p: Mapping, seed: int) -> list[np.ndarray]:
    """Pixels of each client of the main run."""
    L, picture = p["own_pixels"], picture_of(p["picture"])
    return owners(picture, p["clients"], L, others_of(L, p["ratio"]), seed)


# what is measured


def edges_of(results: Results) -> dict[str, xarray.Dataset]:
    """Name of a drawing -> what is ``measured`` at its edges."""
    shape, truth, white = results.picture.shape, results.picture.white, letters(PAPER_SHAPE)
    kinds = {"federated": "federated", "in one place": "centralised"}
    made = {name: measured(results.last(kind).values.reshape(-1, *shape), truth) for name, kind in kinds.items()}
    return made | {
        f"large, {steps}": measured(every.values.reshape(-1, *PAPER_SHAPE), white)
        for steps, every in results.authors.items()
    }


def white_at_edges(edges: Mapping[str, xarray.Dataset]) -> xarray.DataArray:
    """Share of pixels drawn white [drawing, seed, place] across an edge, and in the picture, for a picture."""
    white = xarray.concat([one["white"] for one in edges.values()], xarray.Variable("drawing", [*edges]), join="outer")
    white = white.assign_attrs(long_name="share of pixels drawn white", scale="linear").rename("across an edge")
    words = {"long_name": "distance from the edge (pixels of 40 rows), negative inside a letter", "scale": "linear"}
    white = white.assign_coords(place=white.place.assign_attrs(words))
    return with_truth(white, "drawing", (white.place < 0) * 1.0)


OVERLAP = {"long_name": "overlap with a letter", "scale": "linear"}


def overlaps(results: Results, drawn: xarray.DataArray) -> xarray.DataArray:
    """Overlap [..., letter] of drawings [..., pixel], for a picture."""
    drawn = drawn.transpose(..., "pixel")
    values = drawn.isel(pixel=slice(3)).rename(pixel="letter").astype(float)
    values = values.copy(data=results.picture.overlaps(drawn.values)).drop_attrs(deep=False)
    return values.assign_coords(letter=[*results.picture.names]).assign_attrs(OVERLAP)


def together_and_alone(results: Results) -> dict[str, xarray.DataArray]:
    """Panel -> overlap [letter, seed, place]: of the federation by round; of all clients and seeds at the end."""
    federated = results.together.sel(kind="federated", drop=True)
    on_the_way = overlaps(results, federated).rename(round="place")
    each = by_group(results)
    groups = {"alone,\nother letter": each["others"], "alone,\nown letter": each["own"]}
    groups["federated"] = results.picture.overlaps(results.last().values)
    dots = [xarray.DataArray(values.ravel(), dims="seed") for values in groups.values()]
    dots = [one.assign_coords(seed=range(one.size)) for one in dots]
    last = xarray.concat(dots, xarray.Variable("place", [*groups]), join="outer").assign_attrs(OVERLAP)
    on_the_way = on_the_way.assign_coords(place=on_the_way.place.assign_attrs(long_name="round"))
    last = last.expand_dims(letter=["each letter"]).assign_coords(place=last.place.assign_attrs(long_name="at the end"))
    return {"together": on_the_way, "together and alone": last}


def by_group(results: Results) -> dict[str, np.ndarray]:
    """Overlaps of each client alone: "own" with its group's letter [seed, client], "others" [seed, client, 2]."""
    alone = results.picture.overlaps(results.last("isolated").transpose("seed", "client", "pixel").values)
    S, K, _ = alone.shape
    at_home = (np.arange(K) * 3 // K)[:, None] == np.arange(3)
    return {"own": alone[:, at_home], "others": alone[:, ~at_home].reshape(S, K, 2)}


def settings_tried(results: Results) -> list[tuple[tuple, np.ndarray]]:
    """(steps, lr, lr_end), wrong pixels (%) [seed] of what was tried, the best first."""
    if results.tried is None:
        return []
    every = results.tried.stack(setting=("steps", "lr", "lr_end")).transpose("setting", "seed")
    ranked = every.isel(setting=every.mean("seed").argsort().values)
    return list(zip(ranked.setting.values.tolist(), ranked.values, strict=True))


def right(results: Results) -> dict[str, np.ndarray]:
    """Kind -> share of right pixels [seed]; isolated: [seed, client]."""
    return {kind: results.picture.right(results.last(kind).values) for kind in ("federated", "centralised", "isolated")}


def metrics(results: Results) -> dict:
    """What result.json keeps: the numbers of all tables, over seeds."""
    picture = results.picture
    levels = (
        {}
        if results.levels is None
        else {str(L.item()): results.levels.sel(level=L).values for L in results.levels.level}
    )
    return {
        "right": right(results),
        "overlap": {kind: picture.overlaps(results.last(kind).values) for kind in ("federated", "centralised")},
        "overlap alone": by_group(results),
        "levels": {L: picture.right(white) for L, white in levels.items()},
        "levels, overlap": {L: picture.overlaps(white) for L, white in levels.items()},
        "grid": [[*setting, wrong] for setting, wrong in settings_tried(results)],
    }
