"""What a run of the noisy curve and surface says: the numbers of its claims and checked facts, from its metrics."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np


class Numbers(NamedTuple):
    """Means over seeds. Without another word they are of the federation "non-IID 110" with the energy score.

    rmse, std, coverage, in_band: see ``noisy_curve.report``; _60: 60 points per client; _squared: the squared error;
    _surface: of 5.2, in_band there on the worse of both slices. elsewhere: RMSE of clients alone where they know
    little; whole [S, K]: of each on the whole curve; at_home_surface: of the worst of 5.2 in its quadrant,
    elsewhere_surface: of the best elsewhere. residual, w1: of 5.2's samples, see ``noisy_readings.likeness``. index:
    RMSE with the printed index over that with the exact one. starts: RMSE with different starts over that with a
    common one. spreads [levels]: learnt std at every noise of the data, by the energy score.
    """

    rmse: float
    std: float
    coverage: float
    in_band: float
    rmse_60: float
    std_60: float
    std_squared: float
    coverage_squared: float
    in_band_squared: float
    rmse_surface: float
    std_surface: float
    coverage_surface: float
    in_band_surface: float
    at_home_surface: float
    elsewhere_surface: float
    residual: float
    w1: float
    elsewhere: float
    whole: np.ndarray
    index: float
    starts: float
    spreads: np.ndarray


def means(rows: Mapping[str, Mapping]) -> dict[str, dict[str, float]]:
    """Row -> quantity -> values over seeds [S], each as its mean."""
    return {name: {quantity: float(np.mean(v)) for quantity, v in row.items()} for name, row in rows.items()}


def whole_curve(own: np.ndarray, elsewhere: np.ndarray) -> np.ndarray:
    """RMSE on the whole curve of who has these RMSE [...] in one tenth of it and elsewhere: [...]."""
    return np.sqrt(0.1 * np.array(own) ** 2 + 0.9 * np.array(elsewhere) ** 2)


def numbers(metrics: Mapping) -> Numbers:
    """``Numbers`` of a run's metrics, or of a committed result's."""
    curve, surface = means(metrics["one_d"]), means(metrics["two_d"])
    fed, squared, sixty = (curve[f"non-IID {of}"] for of in ("110, energy", "110, squared error", "60, energy"))
    whole, alone, like = surface["federated, whole grid"], metrics["alone_rmse"], means(metrics["likeness"])["5.2"]
    slices, at_home, outside = (
        [row for name, row in surface.items() if part in name] for part in ("slice", "own quadrant", "elsewhere")
    )
    exact, late, common, own = (row["RMSE"] for row in means(metrics["trained"]).values())
    return Numbers(
        *(fed[quantity] for quantity in ("RMSE", "std", "coverage", "in band")),
        *(sixty[quantity] for quantity in ("RMSE", "std")),
        *(squared[quantity] for quantity in ("std", "coverage", "in band")),
        *(whole[quantity] for quantity in ("RMSE", "std", "coverage")),
        min(row["in band"] for row in slices),
        max(row["RMSE"] for row in at_home),
        min(row["RMSE"] for row in outside),
        like["st.dev. of sampled"],
        like["W1"],
        np.mean(alone["elsewhere"]),
        whole_curve(**alone),
        late / exact,
        own / common,
        np.array([*means(metrics["learnt_std"])["energy score"].values()]),
    )


def facts(metrics: Mapping) -> dict[str, object]:
    """Text -> whether it is so in this run."""
    n, alone = numbers(metrics), {place: np.array(v) for place, v in metrics["alone_rmse"].items()}
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
        "5.1: the federation beats every client alone": (n.rmse < n.whole.mean(0)).all(),
        "5.2: the same": n.rmse_surface < n.elsewhere_surface,
        "own starts are worse than a common start": n.starts > 1,
    }
