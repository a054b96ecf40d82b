"""What the studies of the paper's three rooms have in common: one model in one place, errors, arrays joined."""

from collections.abc import Hashable, Mapping

import xarray

from ...federated import sweep
from ...federated.batches import Local
from ...federated.history import History, as_index

BATCH = 64
"""This and the rates are not printed; they are chosen in notebook 01, on validation data."""
STEPS, PASSES = {"lr": 0.008, "decay": 0.9}, {"lr": 0.002, "decay": 0.8}
"""Rates in the first round, and their factors from round to round, of one model in one place."""
EVALUATIONS = 10
"""How often errors are measured."""


def one_place(p: Mapping, clients: int, share: float) -> dict[str, dict]:
    """Changes of one model that has all triplets, by what is kept equal: "same steps" as a client does, or "same
    passes" over the data as those make together who answer, a share of the clients."""
    steps = max(1, round(share * clients)) * p["local_updates"]
    return {"same steps": STEPS, "same passes": PASSES | {"local": Local(steps, "steps", BATCH)}}


def measured(history: History) -> xarray.Dataset:
    """Every metric of a training of one kind [round, level, seed, ...], as ``experiment.measured`` names them."""
    arrays = {name: sweep.errors(history, name).isel(kind=0, drop=True) for name in history.metrics}
    data = xarray.Dataset({name: values.assign_attrs(long_name="mean error") for name, values in arrays.items()})
    data["round"].attrs["scale"] = "linear"
    return data


def last(data: xarray.Dataset, metric: str = "error") -> xarray.DataArray:
    """A metric after the last round."""
    return data[metric].isel(round=-1, drop=True)


def joined(parts: Mapping[Hashable, xarray.DataArray], axis: str) -> xarray.DataArray:
    """Arrays, or datasets, along an axis of their labels; what some have not is NaN."""
    labels = xarray.DataArray(as_index([*parts]), dims=axis, name=axis)
    return xarray.concat(parts.values(), labels, join="outer", coords="minimal", compat="override")
