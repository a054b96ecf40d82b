"""Which of FedStNN's claims hold as printed, as coded, and mended: id -> claim(results) -> ``Verdict``.

Claims rest on means over seeds; a statement has one yardstick for all ways, and that of notebook 08.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from ....notebook.claims import WORDS, Seeded, Verdict, fewest
from ....notebook.maps import Panel
from ..yardsticks import below, covers, inside, spread
from .problem import WAYS
from .study import PATH, Results, spreads

Claim = Callable[[Results], Verdict | None]


class Statement(NamedTuple):
    """What is said, the quantity that it is said of, and how its values [seed] are judged where the data have sigma."""

    words: str
    quantity: str
    judge: Callable[[np.ndarray, float], Verdict]


STATEMENTS = {
    "51.mean": Statement("5.1: the mean is the curve", "RMSE", lambda values, sigma: below(values, sigma / 2)),
    "51.spread": Statement("5.1: the spread is the noise", "std", spread),
    "51.inside": Statement("5.1: answers lie within 2σ of the curve", "in band", lambda values, _: inside(values)),
    "51.band": Statement("5.1: the band covers new measurements", "coverage", lambda values, _: covers(values)),
    "52.mean": Statement("5.2: the mean is the surface", "RMSE", below),
    "52.spread": Statement("5.2: the spread is the noise", "std", spread),
    "52.inside": Statement("5.2: answers lie within 2σ of the surface", "in band", lambda values, _: inside(values)),
    "52.band": Statement("5.2: the band covers new measurements", "coverage", lambda values, _: covers(values)),
}
"""End of an id in data/claims.yaml -> statement."""

FOLLOWS = "sigma"
"""One more, of all noises at once."""


def verdict(results: Results, name: str, way: str) -> Verdict | None:
    """Of a statement, for a way."""
    quality = results.quality_2d if name.startswith("52.") else results.quality
    if quality is None or way not in quality.way:
        return None
    if name == FOLLOWS:
        return follows(spreads(results)[way])
    statement, row = STATEMENTS[name], quality.sel(way=way)
    row = row.sel(level=results.sigma) if "level" in row.dims else row
    return statement.judge(row[statement.quantity].values, results.sigma)


def follows(std: Mapping[float, np.ndarray]) -> Verdict:
    """The spread, mean over seeds, is sigma at every level, within 25 %."""
    off = off_the_noise(std)
    return Verdict(off < 0.25, f"off by up to {off:.0%}")


def off_the_noise(std: Mapping[float, np.ndarray]) -> float:
    """Largest relative distance of a learnt spread, mean over seeds, to the sigma of its data."""
    return max(abs(float(values.mean()) / sigma - 1) for sigma, values in std.items())


def table(results: Results) -> list[list[str]]:
    """Rows of text: a statement, and for each way whether it holds, with the number."""
    words = {name: statement.words for name, statement in STATEMENTS.items()}
    rows = []
    for name, sentence in (words | {FOLLOWS: "5.1: the spread follows the noise over all its levels"}).items():
        verdicts = [verdict(results, name, way) for way in WAYS]
        rows.append([sentence, *("-" if v is None else f"{WORDS[v.holds]}: {v.why}" for v in verdicts)])
    return rows


PRINTED = {"51": 0.0138, "52": 0.0253}
"""Mean square of a path against f that the authors' notebooks print for 5.1 and 5.2."""


def path_as_coded(results: Results, section: str) -> Verdict | None:
    """Target: as coded, a path is as near to f as the authors' notebook prints."""
    quality = results.quality if section == "51" else results.quality_2d
    if quality is None or "as coded" not in quality.way:
        return None
    paths = quality[PATH].sel(way="as coded")
    mean = (paths.sel(level=results.sigma) if section == "51" else paths).mean().item()
    return Verdict(mean <= PRINTED[section], f"{mean:.4f} against {PRINTED[section]}")


def id_of(name: str, way: str) -> str:
    """In data/claims.yaml; what is mended is ours, and so is the question of all noises."""
    if name == FOLLOWS:
        return f"fedstnn.target.ways.{name}/{way}"
    return f"fedstnn.target.ways.{name}" if way == "mended" else f"fedstnn.ways.{name}/{way}"


def seeds(results: Results, name: str, way: str) -> int:
    """Of a statement, for a way."""
    quality = results.quality_2d if name.startswith("52.") else results.quality
    return fewest(quality["RMSE"].sel(way=way))


CLAIMS: dict[str, Claim] = {
    id_of(name, way): Seeded(partial(verdict, name=name, way=way), partial(seeds, name=name, way=way))
    for way in WAYS
    for name in (*STATEMENTS, FOLLOWS)
} | {f"fedstnn.target.coded.{section}": partial(path_as_coded, section=section) for section in PRINTED}
"""Id of data/claims.yaml -> claim."""

PANELS = (
    Panel("Figs. 5, 6", "sections 4 and 5, answer", "50 + 10 points a client, as in the authors' notebook",
          tuple(id_of(name, way) for way in WAYS for name in STATEMENTS if name.startswith("51."))),
    Panel("Figs. 8 to 11", "B4, surface", "100 + 10 points a client, as coded 100 + 20",
          tuple(id_of(name, way) for way in WAYS for name in STATEMENTS if name.startswith("52."))),
    Panel("not in the paper", "section 4, sigma", "five noises", tuple(id_of(FOLLOWS, way) for way in WAYS)),
    Panel("Eqs. 33 to 35", "B2", "gradients as printed and as coded"),
)  # fmt: skip
"""Where the paper's panels are in notebook 08b."""


def facts(results: Results, errors: Mapping[str, Mapping[str, float]]) -> dict[str, object]:
    """Text -> whether it is so in this run; errors: of ``gradients.errors``."""
    mended = results.quality.sel(way="mended").mean("seed")
    loud = mended.level[mended.level >= 0.05]
    mean = mended["RMSE"].sel(level=loud)
    return {
        "exact pairing is backpropagation to 1e-10": max(errors["pairing exact"].values()) < 1e-10,
        "pairing of 1D: the drift is exact": errors["pairing coded 1D"]["drift"] < 1e-10,
        "and the diffusion is off by more than half of its length": errors["pairing coded 1D"]["diffusion"] > 0.5,
        "pairing of 2D: the drift is off by more than 2 %": errors["pairing coded 2D"]["drift"] > 0.02,
        "printed costate, g(u_n): the drift is exact": errors["printed, g (u_n)"]["drift"] < 1e-10,
        "where g depends on the state it is not": errors["printed, g of the state"]["drift"] > 0.01,
        "mended, the spread grows with the noise": bool((mended["std"].diff("level") > 0).all()),
        "mended, from σ = 0.05 on the mean is off by less than half of it": bool((mean < loud / 2).all()),
    }
