"""What FedStNN says of the noisy surface (Section 5.2): id -> claim(results) -> ``Verdict``, of means over seeds."""

from collections.abc import Callable

import numpy as np

from ....notebook.claims import Verdict, where
from ....notebook.maps import Panel
from ..experiment import likeness
from ..plane import on_grid
from ..yardsticks import below, near, spread
from .study import Results, report

Claim = Callable[[Results], Verdict | None]
GRID = "federated, whole grid"


def rows(results: Results, part: str, quantity: str) -> np.ndarray:
    """A quantity of ``report``, mean over seeds, in the rows whose name has this part."""
    return np.array([row[quantity].mean().item() for name, row in report(results).items() if part in name])


def mean(results: Results) -> Verdict:
    """The mean is the surface everywhere."""
    return below(rows(results, GRID, "RMSE"), results.sigma)


def noise(results: Results) -> Verdict:
    """The spread is the noise."""
    return spread(rows(results, GRID, "std"), results.sigma)


def band(results: Results) -> Verdict:
    """On both slices predictions mostly lie within f +- 2 sigma, and not on f."""
    inside, std = rows(results, "slice", "in band").min(), rows(results, GRID, "std").mean()
    return Verdict(bool(inside > 0.8 and std > results.sigma / 2), f"{inside:.1%}, spread {std:.3f}")


def generate(results: Results) -> Verdict:
    """The model generates more observations with a noise of similar size."""
    like = likeness(results.answers["path"].values, results.observed.values, on_grid())
    std, w1 = like["st.dev. of sampled"].mean(), like["W1"].mean()
    return Verdict(near(std, results.sigma) and bool(w1 < results.sigma / 4), f"st.dev. {std:.3f}, W1 {w1:.4f}")


def local(results: Results) -> Verdict:
    """A client alone predicts its own quadrant."""
    worst = rows(results, "own quadrant", "RMSE").max()
    return Verdict(bool(worst < results.sigma), f"{worst:.3f} at most")


def together(results: Results) -> Verdict:
    """Together the clients know the whole domain."""
    whole, elsewhere = rows(results, GRID, "RMSE").mean(), rows(results, "elsewhere", "RMSE").min()
    return Verdict(bool(whole < elsewhere), f"{whole:.3f} against {elsewhere:.2f}")


def quality(results: Results) -> Verdict:
    """Target: mean, spread and coverage are all good."""
    rmse, std, cover = (rows(results, GRID, name).mean() for name in ("RMSE", "std", "coverage"))
    good = rmse <= 0.6 * results.sigma and near(std, results.sigma, 0.1) and cover >= 0.9
    return Verdict(bool(good), f"RMSE {rmse:.3f}, spread {std:.3f}, coverage {cover:.1%}")


def complete(results: Results) -> bool:
    """Whether every model is trained: both of all clients, and one client of each quadrant."""
    return results.answers is not None and results.answers.sizes["row"] == 12


CLAIMS: dict[str, Claim] = {
    name: where(complete, claim)
    for name, claim in {
        "fedstnn.target.52.mean": mean,
        "fedstnn.target.52.spread": noise,
        "fedstnn.target.52.band": band,
        "fedstnn.target.52.generate": generate,
        "fedstnn.target.52.local": local,
        "fedstnn.target.52.together": together,
        "fedstnn.target.52.quality": quality,
    }.items()
}
"""Id of data/claims.yaml -> claim."""

PANELS = (
    Panel("Eq. 40, Fig. 8", "B6, surface_clouds", "as printed"),
    Panel("Fig. 9, MSE 2.13", "B6, surface_clouds, and B7", "25 rounds; C, rates and steps are ours",
          tuple(f"fedstnn.target.52.{what}" for what in ("mean", "spread", "together", "local"))),
    Panel("Figs. 10, 11", "B6, slices", "the same", ("fedstnn.target.52.band", "fedstnn.target.52.generate")),
)  # fmt: skip
"""Where the panels of Section 5.2 are in notebook 08."""
