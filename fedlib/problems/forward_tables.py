"""What a study of forward problems says in numbers: of a run's metrics, its own or committed ones."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray
from scipy.stats import spearmanr

from ..numerics.metrics import plus_minus
from .forward_study import KINDS

HEADER = ("e (%)", "n", "federated", "isolated", "centralised", "federated / centralised")


def metrics_of(final: Mapping[str, xarray.DataArray], divergences: Mapping[str, xarray.DataArray]) -> dict:
    """The numbers of a run, each by name of the problem.

    final: errors (%) after the last round [kind, n, seed]. divergences: [seed, n, matrix]; both with w1 along n.
    """
    return {
        "levels": {name: e.n.values.tolist() for name, e in final.items()},
        "w1": {name: e.w1.values.tolist() for name, e in final.items()},
        "error_percent": {
            name: {kind: e.sel(kind=kind).transpose("seed", "n").values for kind in KINDS} for name, e in final.items()
        },
        "weight_divergence": {name: values.values for name, values in divergences.items()},
    }


def error_rows(metrics: Mapping, digits: int = 2) -> list[list[str]]:
    """A row of HEADER for each problem and level: mean ± st.dev. over seeds, and the ratio of the means."""
    rows = []
    for name, error in metrics["error_percent"].items():
        for j, n in enumerate(metrics["levels"][name]):
            isolated, federated, central = (np.array(error[kind])[:, j] for kind in KINDS)
            said = [plus_minus(e, digits) for e in (federated, isolated, central)]
            rows.append([name, str(n), *said, f"{federated.mean() / central.mean():.1f}"])
    return rows


def correlations(metrics: Mapping, name: str, levels: Sequence[int] | None = None) -> list[float]:
    """Spearman's rank correlation of W1 and the divergence, mean over seeds, of each weight matrix of a problem.

    levels: some of the problem's, all by default.
    """
    at = [metrics["levels"][name].index(n) for n in (levels or metrics["levels"][name])]
    weights = np.mean(metrics["weight_divergence"][name], 0)[at].T
    return [spearmanr(np.array(metrics["w1"][name])[at], w).statistic for w in weights]
