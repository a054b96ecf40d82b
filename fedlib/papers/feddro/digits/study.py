"""What FedDRO's models read of test digits: after a training, by labels over several, and as rows of a table."""

from collections.abc import Mapping

import numpy as np
import pandas
import torch
import xarray
from torch import Tensor

from ..federated.history import History
from ..federated.stack import predict
from ..numerics.metrics import plus_minus
from .digits import Clients
from .feddro import CNN, answers, learn


def readings(
    net: CNN, history: History, test: tuple[Tensor, Tensor], tests: Mapping[float, Mapping[str, np.ndarray]]
) -> dict:
    """What the models of ``learn`` read.

    Args:
        test: clean digits x [n, 784] and labels [n]. tests: |Lambda| -> kind -> the first of them under some shifts
            [shifts, m, 784], float32.

    Returns:
        "way, |Lambda|" -> clean, accuracy of all clean digits in the end [1]; accuracy and commonest (see
        ``share_read``) after each round, and loss [rounds]; theta, |theta_i| [clients]; of every kind of test its
        accuracy [shifts].
    """
    found = {}
    for way, level in history.rows:
        models, at = history.models(way, level), dict(way=way, level=level)
        found[f"{way}, {level:g}"] = {
            kind: [share(net, models[0], torch.as_tensor(x), test[1]) for x in xs] for kind, xs in tests[level].items()
        } | {
            "clean": [share(net, models[0], *test)],
            "accuracy": history.metric("accuracy", client=0, **at).values,
            "commonest": history.metric("commonest", client=0, **at).values,
            "loss": history.metric("loss", **at).values.mean(1),
            "theta": models[:, :784].norm(dim=1).numpy() if net.theta is not None else np.zeros(len(models)),
        }
    return found


def trained(
    owned: Mapping[tuple[str, float], Clients],
    seed: int,
    test: tuple[Tensor, Tensor],
    curve: int,
    tests: Mapping[float, Mapping] | None = None,
    **how,
) -> dict:
    """``readings`` after ``learn`` of what is owned, (way to train, |Lambda|) -> Clients, which are one stack.

    test: clean digits and their labels; the first ``curve`` of them are read after each round, all in the end.
    tests: as of ``readings``, or none.
    """
    net, history = learn(owned, seed, tuple(v[:curve] for v in test), **how)
    return readings(net, history, test, tests or {level: {} for _, level in owned})


def share(net: CNN, model: Tensor, x: Tensor, labels: Tensor) -> float:
    """Share of right answers of a model [P] on x [n, 784]; labels of these n, and perhaps more."""
    said = answers(lambda part: predict(net, model, part), x)
    return float((said == labels[: len(said)]).float().mean())


AXES = {
    "clean": "once",
    "accuracy": "round",
    "commonest": "round",
    "long": "round",
    "loss": "round",
    "own": "client",
    "fresh": "shift",
    "theta": "client",
}
"""What is read of a model, and over what."""


def labelled(results: Mapping[str, Mapping[str, Mapping]]) -> dict[str, xarray.DataArray]:
    """``readings`` of several trainings by their labels; accuracies in %, NaN where nothing was trained.

    What is read once has no axis for that.

    Args:
        results: "iid, seed 0" -> "mapped, 0.5" -> readings, as in a result file.

    Returns:
        name of AXES -> values with the axes partition, seed, way, level and that of AXES; rounds count from 1.
    """
    found = {}
    for name, axis in AXES.items():
        rows = {
            (*run.split(", seed "), *model.rsplit(", ", 1)): read[name]
            for run, models in results.items()
            for model, read in models.items()
            if name in read
        }
        if rows:
            keys = [(partition, int(seed), way, float(level)) for partition, seed, way, level in rows]
            index = pandas.MultiIndex.from_tuples(keys, names=("partition", "seed", "way", "level"))
            values = np.array(list(rows.values())) * (1 if name in ("loss", "theta") else 100)
            coords = {"key": index, axis: np.arange(1, values.shape[1] + 1)}
            found[name] = xarray.DataArray(values, coords, ("key", axis)).unstack("key")
    if "clean" in found:
        found["clean"] = found["clean"].isel(once=0, drop=True)
    return found


def more(values: xarray.DataArray, way: str, other: str) -> xarray.DataArray:
    """How much more one way to train has than another, seed by seed."""
    return values.sel(way=way) - values.sel(way=other)


def rows(studies: Mapping[str, xarray.DataArray], digits: int = 1) -> list[list[str]]:
    """A table's rows: name -> values [level], or [level, seed] with a spread over the seeds that were trained."""
    values = {name: v.dropna("seed") if "seed" in v.dims else v for name, v in studies.items()}
    return [[name, *(plus_minus(one, digits) for _, one in v.groupby("level"))] for name, v in values.items()]
