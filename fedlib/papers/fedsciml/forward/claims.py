"""What FedSciML says of the forward problems (Sections 5.2 to 5.4, Figs. 7 to 9), as pure functions of labelled arrays.

A claim gets errors (%) after training [kind, level, seed] and divergences [seed, level, matrix], both at the paper's
levels and with the clients' distance along them, and says (holds, why); None where it cannot be told.
"""

from collections.abc import Mapping

import numpy as np
import xarray
from scipy.stats import spearmanr

from ....notebook.maps import Panel
from ....numerics.metrics import mean_sd
from .problem import ONLY_CODE

Verdict = tuple[bool | None, str]


def between(errors: xarray.DataArray, _) -> Verdict:
    """Q1: the federated error lies between the centralised and the isolated one, means with one st.dev. of slack."""
    mean, sd = by_kind(errors)
    above = mean["centralised"] <= mean["federated"] + sd["federated"]
    holds = above & (mean["federated"] <= mean["isolated"] + sd["isolated"])
    return bool(holds.all()), f"{holds.sum():d} of {holds.size} levels"


def falls_with_distance(errors: xarray.DataArray, _) -> Verdict:
    """Q2: the federated error falls with the distance of the clients."""
    return grows(errors.sel(kind="federated").mean("seed")), ""


def agrees(kind: str):
    """Q3: at the finest partition the error of a kind is within twice the centralised one."""

    def claim(errors: xarray.DataArray, _) -> Verdict:
        mean, _ = by_kind(errors)
        ratio = float((mean[kind] / mean["centralised"])[-1])
        return ratio <= 2, f"ratio {ratio:.2f}"

    return claim


def helps(errors: xarray.DataArray, _) -> Verdict:
    """Q7: the federation errs less than isolated clients at every level."""
    mean, _ = by_kind(errors)
    below = mean["federated"] < mean["isolated"]
    return bool(below.all()), f"{below.sum():d} of {below.size} levels"


def all_layers_diverge(_, divergences: xarray.DataArray) -> Verdict:
    """Q4: the divergence of every weight matrix grows with the distance."""
    return every([grows(layer) for layer in layers(divergences)]), ""


def inner_layers_diverge(_, divergences: xarray.DataArray) -> Verdict:
    """Q5: the divergence of the second and the third matrix grows with the distance."""
    return every([grows(layer) for layer in layers(divergences)[1:3]]), ""


def second_diverges_faster(_, divergences: xarray.DataArray) -> Verdict:
    """Q5: the second matrix's divergence has a larger slope than the third one's."""
    of = layers(divergences)
    if of.sizes["level"] < 2:
        return None, ""
    slopes = np.polyfit(of.distance.values, of.values.T, 1)[0]
    return bool(slopes[1] > slopes[2]), ""


def by_kind(errors: xarray.DataArray) -> tuple[dict, dict]:
    """Mean and st.dev. over seeds [level] of each kind."""
    return tuple({kind: v.sel(kind=kind) for kind in errors.kind.values} for v in mean_sd(errors, "seed"))


def layers(divergences: xarray.DataArray) -> xarray.DataArray:
    """Means over seeds [matrix, level]."""
    return divergences.mean("seed").transpose("matrix", "level")


def grows(values: xarray.DataArray) -> bool | None:
    """Whether values [level] grow with the clients' distance: Spearman's rank correlation above 0.7; None for three
    levels or fewer, which are in order by chance too often."""
    return bool(spearmanr(values.distance.values, values.values).statistic > 0.7) if values.sizes["level"] > 3 else None


def correlations(metrics: Mapping, name: str, levels: list[int] | None = None) -> list[float]:
    """Spearman's rank correlation of W1 and the divergence, mean over seeds, of each weight matrix of a problem.

    metrics: as of ``pictures.metrics_of``. levels: some of the problem's, all by default.
    """
    at = [metrics["levels"][name].index(n) for n in (levels or metrics["levels"][name])]
    weights = np.mean(metrics["weight_divergence"][name], 0)[at].T
    return [spearmanr(np.array(metrics["w1"][name])[at], w).statistic for w in weights]


def every(holds: list[bool | None]) -> bool | None:
    """All of them; None where one of them cannot be told."""
    return None if None in holds else all(holds)


CLAIMS = {
    f"fedsciml.{'target.' * (name == 'beam')}{question}.{name}{of}": (name, claim)  # the paper has no beam
    for name in ("poisson", "helmholtz", "allen_cahn_2", "allen_cahn_3", "beam")  # of no equation of one's own
    for question, of, claim in (
        ("q1", "", between),
        ("q2", "", falls_with_distance),
        ("q3", ".federated", agrees("federated")),
        ("q3", ".isolated", agrees("isolated")),
    )
} | {
    "fedsciml.q7.allen_cahn_2": ("allen_cahn_2", helps),
    "fedsciml.q7.allen_cahn_3": ("allen_cahn_3", helps),
    "fedsciml.q4.poisson": ("poisson", all_layers_diverge),
    "fedsciml.q5.layers": ("helmholtz", inner_layers_diverge),
    "fedsciml.q5.slope": ("helmholtz", second_diverges_faster),
}
"""Id of data/claims.yaml -> (name of the problem, claim)."""


def judged(errors: Mapping[str, xarray.DataArray], divergences: Mapping[str, xarray.DataArray]) -> dict[str, Verdict]:
    """Id -> (holds, why) of all claims on problems that were trained; levels of the code alone enter no verdict."""
    verdicts = {}
    for id, (name, claim) in CLAIMS.items():
        if name in errors and (of_paper := printed(name, errors[name].level.values.tolist())):
            verdicts[id] = claim(errors[name].sel(level=of_paper), divergences[name].sel(level=of_paper))
    return verdicts


def printed(name: str, levels: list[int]) -> list[int]:
    """Those of a problem's levels that the paper speaks of."""
    return [n for n in levels if n not in ONLY_CODE.get(name, ())]


ALLEN_CAHN = "three of eight levels, one seed, T = 50 000, tanh as coded"

PANELS = (
    Panel("Fig. 7A", "section 4, error_level", "Poisson, n = 6 to 32 of the paper and 2, 4 of the code, twenty seeds",
          ("fedsciml.q1.poisson", "fedsciml.q2.poisson", "fedsciml.q3.poisson.federated",
           "fedsciml.q3.poisson.isolated")),
    Panel("Fig. 7B", "B4, divergence", "the same", ("fedsciml.q4.poisson",)),
    Panel("Fig. 7C, D", "B3, poisson_coarse and poisson_fine", "n = 6 and 32, first seed"),
    Panel("Fig. 8A", "section 4, error_level", "Helmholtz, 2 to 24 blocks per axis, five seeds",
          ("fedsciml.q1.helmholtz", "fedsciml.q2.helmholtz", "fedsciml.q3.helmholtz.federated",
           "fedsciml.q3.helmholtz.isolated")),
    Panel("Fig. 8B", "B4, divergence", "the same", ("fedsciml.q5.layers", "fedsciml.q5.slope")),
    Panel("Fig. 8C, D, E", "B3, helmholtz_coarse and helmholtz_fine", "2 x 2 and 24 x 24 blocks, first seed"),
    Panel("Fig. 9A", "section 4, error_level", f"Allen-Cahn, two clients: {ALLEN_CAHN}",
          ("fedsciml.q1.allen_cahn_2", "fedsciml.q3.allen_cahn_2.federated", "fedsciml.q3.allen_cahn_2.isolated",
           "fedsciml.q7.allen_cahn_2")),
    Panel("Fig. 9B", "section 4, error_level", f"three clients: {ALLEN_CAHN}",
          ("fedsciml.q1.allen_cahn_3", "fedsciml.q3.allen_cahn_3.federated", "fedsciml.q3.allen_cahn_3.isolated",
           "fedsciml.q7.allen_cahn_3")),
    Panel("Fig. 9C, D, E", "B3, allen_cahn_2_coarse and _fine", "n = 2 and 40"),
    Panel("Fig. 9F, G", "B3, allen_cahn_3_coarse and _fine", "n = 3 and 60"),
    Panel("not in the paper", "B6, gap", "Poisson, n = 32: what closes the gap to the centralised model"),
)  # fmt: skip
"""Where the panels of Figs. 7 to 9 are in notebook 05."""
