"""Which of FedStNN's claims hold as printed, as coded, and mended (Sections 5.1 and 5.2).

A statement has one yardstick for all ways, and that of notebook 08; mended, it is a target of ours.
"""

from collections.abc import Callable, Mapping

import xarray

from ....notebook.claims import WORDS
from ....notebook.maps import Panel
from ....notebook.relations import judged
from .problem import WAYS
from .study import PATH, SIGMA, Results

STATEMENTS = {
    "51.mean": ("5.1: the mean is the curve", "RMSE", "<", SIGMA / 2),
    "51.spread": ("5.1: the spread is the noise", "std", "near", SIGMA),
    "51.inside": ("5.1: answers lie within 2σ of the curve", "in band", ">", 0.8),
    "51.band": ("5.1: the band covers new measurements", "coverage", "within", (0.90, 0.97)),
    "52.mean": ("5.2: the mean is the surface", "RMSE", "<", SIGMA),
    "52.spread": ("5.2: the spread is the noise", "std", "near", SIGMA),
    "52.inside": ("5.2: answers lie within 2σ of the surface", "in band", ">", 0.8),
    "52.band": ("5.2: the band covers new measurements", "coverage", "within", (0.90, 0.97)),
}
"""End of an id in data/claims.yaml -> words, quantity, relation, bound."""


def id_of(name: str, way: str) -> str:
    """In data/claims.yaml; what is mended is ours."""
    return f"fedstnn.target.ways.{name}" if way == "mended" else f"fedstnn.ways.{name}/{way}"


def values(way: str, section: str, quantity: str) -> Callable[[Results], xarray.DataArray]:
    """A quantity [seed] of a way, "51" or "52"."""

    def of_way(results: Results) -> xarray.DataArray:
        quality = results.quality_2d if section == "52" else results.quality.sel(level=SIGMA, drop=True)
        return quality.sel(way=way, drop=True)[quantity]

    return of_way


PRINTED = 0.0253
"""Mean square of a path against f that the authors' notebook prints for 5.2."""

CLAIMS = {
    id_of(name, way): (values(way, name[:2], quantity), relation, bound)
    for way in WAYS
    for name, (_, quantity, relation, bound) in STATEMENTS.items()
} | {"fedstnn.target.coded.52": (values("as coded", "52", PATH), "<", PRINTED)}
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""


def table(results: Results) -> list[list[str]]:
    """Rows of text: a statement, and for each way whether it holds, with the number."""
    rows = []
    for name, (words, *_) in STATEMENTS.items():
        verdicts = [judged(CLAIMS[id_of(name, way)], results) for way in WAYS]
        rows.append([words, *("-" if v is None else f"{WORDS[v.holds]}: {v.why}" for v in verdicts)])
    return rows


PANELS = (
    Panel("Figs. 5, 6", "sections 4 and 5, answer", "50 + 10 points a client, as in the authors' notebook",
          tuple(id_of(name, way) for way in WAYS for name in STATEMENTS if name.startswith("51."))),
    Panel("Figs. 8 to 11", "B2, surface", "100 + 10 points a client, as coded 100 + 20",
          (*(id_of(name, way) for way in WAYS for name in STATEMENTS if name.startswith("52.")),
           "fedstnn.target.coded.52")),
    Panel("not in the paper", "section 4, sigma", "five noises"),
    Panel("Eqs. 33 to 35", "B3", "gradients as printed and as coded"),
)  # fmt: skip
"""Where the paper's panels are in notebook 08b."""


def facts(results: Results, errors: Mapping[str, Mapping[str, float]]) -> dict[str, bool]:
    """Text -> whether it is so in this run; errors: of ``coded.gradient_errors``."""
    mended = results.quality.sel(way="mended").mean("seed")
    loud = mended.level[mended.level >= 0.05]
    return {
        "exact pairing is backpropagation to 1e-10": max(errors["pairing exact"].values()) < 1e-10,
        "pairing of 1D: the drift is exact": errors["pairing coded 1D"]["drift"] < 1e-10,
        "and the diffusion is off by more than its length": errors["pairing coded 1D"]["diffusion"] > 1,
        "pairing of 2D: the drift is off by more than 2 %": errors["pairing coded 2D"]["drift"] > 0.02,
        "printed costate, g(u_n): the drift is exact": errors["printed, g (u_n)"]["drift"] < 1e-10,
        "where g depends on the state it is not": errors["printed, g of the state"]["drift"] > 0.01,
        "mended, the spread grows with the noise": bool((mended["std"].diff("level") > 0).all()),
        "mended, from σ = 0.05 on the mean is off by less than half of it": bool(
            (mended["RMSE"].sel(level=loud) < loud / 2).all()
        ),
    }
