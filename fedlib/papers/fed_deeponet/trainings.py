"""What the studies of the paper's three rooms have in common: one model in one place, rates that are tried, errors."""

from collections.abc import Mapping, Sequence

import xarray

from ...federated import sweep
from ...federated.batches import Local
from ...federated.history import History

BATCH = 64
"""This and the rates are not printed; they are chosen in notebook 01, on validation data."""
STEPS, PASSES = {"lr": 0.008, "decay": 0.9}, {"lr": 0.002, "decay": 0.8}
"""Rates in the first round, and their factors from round to round, of one model in one place."""


def one_place(p: Mapping, clients: int, share: float) -> dict[str, dict]:
    """Changes of one model that has all triplets, by what is kept equal: "same steps" as a client does, or "same
    passes" over the data as those make together who answer, a share of the clients."""
    steps = max(1, round(share * clients)) * p["local_updates"]
    return {"same steps": STEPS, "same passes": PASSES | {"local": Local(steps, "steps", BATCH)}}


def check_pairs(tried: Sequence) -> None:
    """ValueError where a tried setting is no pair of a rate and its factor from round to round."""
    for pair in tried:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, (int, float)) and x > 0 for x in pair)):
            raise ValueError(f"tried has {pair!r}; expected [rate, its factor from round to round], as [0.006, 0.85]")


def pairs(tried: Sequence[tuple[float, float]]) -> dict[tuple, dict]:
    """Changes for each pair (rate, its factor from round to round), an axis ("lr", "decay") of ``over``."""
    return {(lr, decay): {"lr": lr, "decay": decay} for lr, decay in tried}


def measured(history: History) -> xarray.Dataset:
    """Every metric of a training of one kind [round, level, seed, ...], as ``experiment.measured`` names them."""
    arrays = {name: sweep.errors(history, name).isel(kind=0, drop=True) for name in history.metrics}
    return xarray.Dataset(arrays).drop_attrs()


def last(data: xarray.Dataset, metric: str = "error") -> xarray.DataArray:
    """A metric after the last round."""
    return data[metric].isel(round=-1, drop=True)
