"""What FedStNN says of the noisy sine (Section 5.1, Eq. 34): id -> claim(results) -> ``Verdict``.

Claims rest on means over seeds.
"""

from collections.abc import Callable

import numpy as np
import xarray

from ....notebook.claims import Verdict, where
from ....notebook.maps import Panel
from ..experiment import judged, rms
from ..sine import curve
from ..yardsticks import below, covers, near, spread
from .study import MAIN, SIXTY, Results, own_and_elsewhere

Claim = Callable[[Results], Verdict | None]


def quality(results: Results, answers: xarray.Dataset) -> xarray.Dataset:
    """RMSE, std, coverage, in band [seed]."""
    return judged(answers, curve(answers.x.values), results.sigma)


def shared(results: Results, level: str = MAIN) -> xarray.Dataset:
    """``quality`` of a federation."""
    return quality(results, results.shared.sel(level=level))


def mean(results: Results) -> Verdict:
    """The mean is the function everywhere."""
    return below(shared(results)["RMSE"].values, results.sigma / 2)


def noise(results: Results) -> Verdict:
    """The spread is the noise."""
    return spread(shared(results)["std"].values, results.sigma)


def band(results: Results) -> Verdict:
    """The band of 2 std covers new observations."""
    return covers(shared(results)["coverage"].values)


def sixty(results: Results) -> Verdict:
    """60 points a client do about as well as 110."""
    many, few = (shared(results, level)["RMSE"].values.mean() for level in (MAIN, SIXTY))
    return Verdict(bool(few < 1.5 * many), f"{few:.3f}")


def bandwidth(results: Results) -> Verdict:
    """With 60 points the predictions have almost the bandwidth of the observations."""
    return spread(shared(results, SIXTY)["std"].values, results.sigma)


def squared(results: Results) -> Verdict | None:
    """Target: the squared error learns the noise as well."""
    return results.squared and spread(quality(results, results.squared)["std"].values, results.sigma)


def alone(results: Results) -> Verdict | None:
    """Clients alone fail elsewhere."""
    if results.alone is None:
        return None
    elsewhere = own_and_elsewhere(results.alone, results.clients)["elsewhere"].mean().item()
    return Verdict(elsewhere > results.sigma, f"{elsewhere:.2f}")


def nobody(results: Results) -> Verdict | None:
    """No client alone predicts the whole curve, in any seed."""
    if results.alone is None:
        return None
    whole = own_and_elsewhere(results.alone, results.clients)["whole"]
    return Verdict(bool((whole > results.sigma).all()), f"{whole.min().item():.2f} at least")


def follows(results: Results) -> Verdict | None:
    """Target: with the energy score the spread follows sigma over all levels."""
    if results.one_place is None or "energy score" not in results.one_place.score:
        return None
    std = spreads(results, "energy score")
    right = all(near(value, sigma) for sigma, value in std.items())
    return Verdict(right, ", ".join(f"{value:.3f}" for value in std.values()))


def spreads(results: Results, score: str) -> dict[float, float]:
    """sigma of the data -> learnt std, mean over seeds, of models that see all points."""
    std = results.one_place["std"].sel(score=score).transpose("level", "seed", "x")
    return dict(zip(std.level.values.tolist(), rms(std.values).mean(1).tolist(), strict=True))


def index(results: Results) -> Verdict | None:
    """Target: the printed index trains as well."""
    if results.printed is None:
        return None
    ratio = quality(results, results.printed)["RMSE"].values.mean() / shared(results)["RMSE"].values.mean()
    return Verdict(bool(0.8 < ratio < 1.25), f"ratio {ratio:.2f}")


CLAIMS: dict[str, Claim] = {
    name: where(lambda results: results.shared is not None, claim)
    for name, claim in {
        "fedstnn.target.51.mean": mean,
        "fedstnn.target.51.spread": noise,
        "fedstnn.target.51.band": band,
        "fedstnn.target.51.sixty": sixty,
        "fedstnn.target.51.bandwidth": bandwidth,
        "fedstnn.target.51.squared": squared,
        "fedstnn.target.51.alone": alone,
        "fedstnn.target.51.nobody": nobody,
        "fedstnn.target.sigma": follows,
        "fedstnn.target.index": index,
    }.items()
}
"""Id of data/claims.yaml -> claim."""

PANELS = (
    Panel("Figs. 1, 2", "B2, schemes", "drawn by code"),
    Panel("Figs. 3, 4", "B3, data", "as printed"),
    Panel("Fig. 5", "section 4, clouds", "as printed; our loss and optimiser",
          ("fedstnn.target.51.mean", "fedstnn.target.51.spread", "fedstnn.target.51.band")),
    Panel("Fig. 6", "section 4, clouds", "the same with 60 points a client",
          ("fedstnn.target.51.sixty", "fedstnn.target.51.bandwidth")),
    Panel("Fig. 7", "section 4, clouds, and B3, alone", "five clients",
          ("fedstnn.target.51.alone", "fedstnn.target.51.nobody")),
    Panel("not in the paper", "section 5, noise", "three losses, four noises",
          ("fedstnn.target.sigma", "fedstnn.target.51.squared")),
    Panel("not in the paper", "B4, coverage", "every client's own points"),
    Panel("Eqs. 33 to 35", "B5", "the printed index, and training with it", ("fedstnn.target.index",)),
)  # fmt: skip
"""Where the panels of Section 5.1 are in notebook 08."""


def facts(results: Results) -> dict[str, object]:
    """Text -> whether it is so in this run."""
    energy, silent = spreads(results, "energy score"), spreads(results, "squared error")
    loudest, federation, collapsed = max(energy), shared(results), quality(results, results.squared)
    rmse = own_and_elsewhere(results.alone, results.clients)
    starts = quality(results, results.starts)["RMSE"].values.mean() / federation["RMSE"].values.mean()
    cover = results.coverage_noises.sel(level=results.noises.level.min()).mean("seed")
    return {
        "energy score: spread grows with sigma": bool((np.diff([energy[s] for s in sorted(energy)]) > 0).all()),
        f"at sigma = {loudest:g} it is within a tenth of it": bool(abs(energy[loudest] / loudest - 1) < 0.1),
        "and that of the squared error below a twentieth": bool(silent[loudest] < loudest / 20),
        "squared error covers less than a fifth of new observations": bool(collapsed["coverage"].mean() < 0.2),
        "energy score covers more than 90 %": bool(federation["coverage"].mean() > 0.9),
        "and yet the squared error is in the band more often": bool(
            collapsed["in band"].mean() > federation["in band"].mean()
        ),
        "every client alone is worse elsewhere than at home": bool(
            (rmse["elsewhere"].mean("seed") > rmse["own"].mean("seed")).all()
        ),
        "the federation beats every client alone": bool(
            (federation["RMSE"].values.mean() < rmse["whole"].mean("seed")).all()
        ),
        "own starts are worse than a common start": bool(starts > 1),
        "one band covers quiet clients more often than loud ones": bool(
            cover.sel(kind="quiet") > cover.sel(kind="loud")
        ),
    }
