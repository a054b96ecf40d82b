"""Shades and markers of federations, until notebook 06b's reaction has a room."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_hex

from ..notebook.style import COLORS

MARKERS = "osD^v"


def blues(n: int) -> list[str]:
    """n colours from light to dark around the federation's blue, for several federations in one picture."""
    tints = LinearSegmentedColormap.from_list("federated", [COLORS["light"], COLORS["federated"], "#002F52"])
    return [to_hex(tints(t)) for t in (np.linspace(0, 1, n) if n > 1 else [0.5])]
