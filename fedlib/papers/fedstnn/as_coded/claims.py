"""What a run of the three ways says: its claims and checked facts, from its metrics."""

from collections.abc import Mapping, Sequence

import numpy as np

PRINTED = {"one_d": 0.0138, "two_d": 0.0253}
"""Mean square of a path against f that the authors' notebooks print for 5.1 and 5.2."""


def off_the_noise(spreads: Mapping[str, Sequence[float]]) -> float:
    """Largest relative distance of a learnt spread, mean over seeds, to the sigma of its data: sigma -> [S]."""
    return max(abs(np.mean(v) / float(sigma) - 1) for sigma, v in spreads.items())


def claims(metrics: Mapping, sigma: float) -> dict[str, tuple[bool, str]]:
    """Claim -> whether it holds, and the numbers."""
    verdicts = {}
    for way, name in (("as printed", "printed"), ("as coded", "coded"), ("as it should be", "proper")):
        off = off_the_noise(metrics["spreads"][way])
        verdicts[f"arms.{name}"] = off < 0.25, f"off by up to {off:.0%}"
    for part, section in (("one_d", "51"), ("two_d", "52")):
        path = np.mean(metrics[part]["as coded"]["a path against f"])
        verdicts[f"target.coded.{section}"] = bool(path <= PRINTED[part]), f"{path:.4f} against {PRINTED[part]}"
    row = {name: np.mean(v) for name, v in metrics["two_d"]["as it should be"].items()}
    words = f"RMSE {row['RMSE']:.3f}, std {row['std']:.3f}, coverage {row['coverage']:.1%}"
    right = row["RMSE"] < 0.6 * sigma and 0.9 < row["std"] / sigma < 1.1 and row["coverage"] > 0.9
    return verdicts | {"target.proper.52": (bool(right), words)}


def facts(metrics: Mapping, sigma: float) -> dict[str, object]:
    """Text -> whether it is so, in the committed result."""
    spreads, alone = metrics["spreads"], metrics["spread_alone"]
    fresh = off_the_noise(alone["fresh paths"])
    off = {way: off_the_noise(spread) for way, spread in spreads.items()}
    cover = {way: np.mean(row["coverage"]) for way, row in metrics["one_d"].items()}
    return {
        "paper profile: alone, fresh paths lose more than 9/10 of the noise": fresh > 0.9,
        "frozen ones keep a spread above half of it": all(
            np.mean(v) > float(s) / 2 for s, v in alone["frozen paths"].items()
        ),
        "the way nearest to the noise": min(off, key=off.get),
        "the way with the best coverage": min(cover, key=lambda way: abs(cover[way] - 0.954)),
    }
