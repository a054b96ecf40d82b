"""What a run of the noisy curve and surface says: the numbers of its claims and checked facts, from its metrics."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np


class Numbers(NamedTuple):
    """Means over seeds. Without another word they are of the federation "non-IID 110" with the energy score.

    rmse, std, coverage, in_band: see ``noisy_curve.judged``; _60: 60 points per client; _squared: the squared error;
    _surface: of 5.2. elsewhere: RMSE of clients alone where they know little. index: RMSE with the printed index over
    that with the exact one. starts: RMSE with different starts over that with a common one. spreads [levels]: learnt
    std at every noise of the data, by the energy score.
    """

    rmse: float
    std: float
    coverage: float
    in_band: float
    rmse_60: float
    std_squared: float
    coverage_squared: float
    in_band_squared: float
    rmse_surface: float
    std_surface: float
    elsewhere: float
    index: float
    starts: float
    spreads: np.ndarray


def means(rows: Mapping[str, Mapping]) -> dict[str, dict[str, float]]:
    """Row -> quantity -> values over seeds [S], each as its mean."""
    return {name: {quantity: float(np.mean(v)) for quantity, v in row.items()} for name, row in rows.items()}


def numbers(metrics: Mapping) -> Numbers:
    """``Numbers`` of a run's metrics, or of a committed result's."""
    curve, trained = means(metrics["one_d"]), means(metrics["trained"])
    fed, squared = curve["non-IID 110, energy"], curve["non-IID 110, squared error"]
    surface = means(metrics["two_d"])["federated, whole grid"]
    exact, late, common, own = (row["RMSE"] for row in trained.values())
    return Numbers(
        *(fed[quantity] for quantity in ("RMSE", "std", "coverage", "in band")),
        curve["non-IID 60, energy"]["RMSE"],
        *(squared[quantity] for quantity in ("std", "coverage", "in band")),
        *(surface[quantity] for quantity in ("RMSE", "std")),
        np.mean(metrics["alone_rmse"]["elsewhere"]),
        late / exact,
        own / common,
        np.array([*means(metrics["learnt_std"])["energy score"].values()]),
    )


def facts(metrics: Mapping) -> dict[str, object]:
    """Text -> whether it is so in this run."""
    n, alone = numbers(metrics), {place: np.array(v) for place, v in metrics["alone_rmse"].items()}
    whole = np.sqrt((0.9 * alone["elsewhere"] ** 2 + 0.1 * alone["own"] ** 2).mean(0))
    on_surface = [r["RMSE"] for name, r in means(metrics["two_d"]).items() if name.endswith("alone, elsewhere")]
    spread = means(metrics["learnt_std"])
    sigma = list(spread["energy score"])[-1]
    loud, silent = (spread[loss][sigma] / float(sigma) for loss in ("energy score", "squared error"))
    return {
        "energy score: spread grows with sigma": (np.diff(n.spreads) > 0).all() if len(n.spreads) > 1 else "not run",
        f"spread at sigma = {float(sigma):g} above 3/4 of it for the energy score, "
        "below 1/4 for the squared error": f"{loud > 0.75} {silent < 0.25}",
        "squared error covers less than half of the observations, "
        "energy score more than 80 %": f"{n.coverage_squared < 0.5} {n.coverage > 0.8}",
        "and yet its paths are in the band more often": n.in_band_squared > n.in_band,
        "every client alone is worse elsewhere than at home": (alone["elsewhere"].mean(0) > alone["own"].mean(0)).all(),
        "5.1: the federation beats every client alone": (n.rmse < whole).all(),
        "5.2: the same": n.rmse_surface < min(on_surface),
        "own starts are worse than a common start": n.starts > 1,
    }
