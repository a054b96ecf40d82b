"""Small arrays as study.results makes them."""

import numpy as np
import xarray

from fedlib.papers.beyond.drift.study import REPAIR, Results

NOTHING = Results({}, {}, {}, {}, {}, {}, None, None, {}, {})


def by_rule(**errors) -> xarray.DataArray:
    """rule (repair for the repair) -> values [seed], as errors [rule, seed]."""
    named = {REPAIR if rule == "repair" else rule: np.asarray(values, float) for rule, values in errors.items()}
    values = np.stack([*named.values()])
    return xarray.DataArray(values, {"rule": [*named], "seed": np.arange(values.shape[1])}, ("rule", "seed"))
