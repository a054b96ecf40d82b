"""Table 1 of FedSciML: four ways in which two clients' data differ, each with an example."""

import numpy as np

from ..federated.heterogeneity import mean_pairwise_w1
from ..streams import stream


def kinds(n: int = 60) -> dict[str, tuple[str, list[np.ndarray], float]]:
    """Kind -> (what is equal and what is not, clouds of (x, y) [n, 2] of two clients, W1 of their x).

    Two of them are about places x, two about what is measured there.
    """
    rng = stream(0, "kinds of heterogeneity")
    x, noise = np.sort(rng.uniform(-1, 1, (2, n)), 1), 0.08 * rng.standard_normal((2, n))
    label = np.arange(n) % 2 > 0  # a class for each point: half and half
    few, most = np.arange(n) % 5 == 0, np.arange(n) % 5 > 0
    shift = np.array([[0.0], [0.8]])
    found = {
        "covariance shift": (r"$P(x)$ differs, $P(y|x)$ does not", (x - 1) / 2 + [[0], [1]], None),
        "prior probability shift": (r"$P(y)$ differs, $P(x|y)$ does not", None, np.stack([few, most])),
        "concept drift": (r"$P(x|y)$ differs, $P(y)$ does not", None, np.stack([label, label])),
        "concept shift": (r"$P(y|x)$ differs, $P(x)$ does not", np.stack([x[0], x[0]]), None),
    }
    table = {}
    for kind, (words, places, classes) in found.items():
        if classes is not None:  # two classes, at x about -1/2 and 1/2
            places = classes - 0.5 + 2 * noise + (0.35 * shift if kind == "concept drift" else 0)
            y = classes + noise[::-1] / 2
        else:
            y = np.sin(3 * places) + noise + (shift if kind == "concept shift" else 0)
        clouds = [np.stack([a, b], 1) for a, b in zip(places, y, strict=True)]
        table[kind] = words, clouds, mean_pairwise_w1([cloud[:, :1] for cloud in clouds])
    return table
