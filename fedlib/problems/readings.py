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
from .barycenters import World, owned
from .feddro import CNN, learn


def readings(net: CNN, history: History, tests: Mapping[float, Mapping[str, np.ndarray]], labels: Tensor) -> dict:
    """What the models of ``learn`` read in the end.

    Args:
        tests: |Lambda| -> kind -> test digits under some shifts [shifts, n, 784], float32. labels: of the first n.

    Returns:
        "way, |Lambda|" -> accuracy of clean digits and loss [rounds], theta, |theta_i| [clients], and of every kind of
        test its accuracy [shifts].
    """
    found = {}
    for way, level in history.rows:
        models, at = history.models(way, level), dict(way=way, level=level)
        found[f"{way}, {level:g}"] = {
            kind: [share(predict(net, models[0], torch.as_tensor(x)), labels) for x in xs]
            for kind, xs in tests[level].items()
        } | {
            "accuracy": history.of("accuracy", client=0, **at).values,
            "loss": history.of("loss", **at).values.mean(1),
            "theta": models[:, :784].norm(dim=1).numpy() if net.theta is not None else np.zeros(len(models)),
        }
    return found


def trained(
    ways: Mapping[str, str],
    worlds: Mapping[float, World],
    seed: int,
    test: tuple[Tensor, Tensor],
    tests: Mapping[float, Mapping] | None = None,
    **how,
) -> dict:
    """``readings`` after ``learn``, of all ways to train (see ``owned``) in all worlds, which are one stack.

    test: clean digits and their labels. tests: as of ``readings``, or none.
    """
    net, history = learn(owned(ways, worlds), seed, test, **how)
    return readings(net, history, tests or {level: {} for level in worlds}, test[1])


def share(logits: Tensor, labels: Tensor) -> float:
    """Share of right answers; logits [n, classes], labels of these n, and perhaps more."""
    return float((logits.argmax(1) == labels[: len(logits)]).float().mean())


AXES = {"accuracy": "round", "long": "round", "loss": "round", "own": "client", "fresh": "shift", "theta": "client"}
"""What is read of a model, and over what."""


def labelled(results: Mapping[str, Mapping[str, Mapping]]) -> dict[str, xarray.DataArray]:
    """``readings`` of several trainings by their labels; accuracies in %, NaN where nothing was trained.

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
    return found


def more(values: xarray.DataArray, way: str, other: str) -> xarray.DataArray:
    """How much more one way to train has than another, seed by seed."""
    return values.sel(way=way) - values.sel(way=other)


def gains(of: Mapping[str, xarray.DataArray], early: int, late: int) -> dict[str, xarray.DataArray]:
    """Means over seeds of one partition's readings: what the maps and the ascent change, in points of accuracy.

    Returns:
        "maps" [level, round], "early", "late" [level]: gain of mapped digits on FedAvg. "ascent", "worst fresh"
        [level]: what it changes on mapped digits, clean ones after round late and the worst fresh shift in the end.
        "loss" [level]: of training on Q less that of FedAvg, in the end.
    """
    clean, loss = of["accuracy"].mean("seed"), of["loss"].isel(round=-1).mean("seed")
    maps = more(clean, "mapped", "FedAvg")
    return {
        "maps": maps,
        "early": maps.sel(round=early),
        "late": maps.sel(round=late),
        "ascent": more(clean.sel(round=late), "mapped + ascent", "mapped"),
        "worst fresh": more(of["fresh"].min("shift").mean("seed"), "mapped + ascent", "mapped"),
        "loss": more(loss, "barycenter Q", "FedAvg"),
    }


def findings(
    even: Mapping[str, xarray.DataArray], skewed: xarray.DataArray, early: int, late: int
) -> dict[str, xarray.DataArray]:
    """What verdicts rest on, as words -> accuracy (%) or its change (points) [level], or [level, seed].

    even: readings with iid labels. skewed: accuracies with Dirichlet labels. early, late: rounds that are compared.
    """
    first = more(even["accuracy"], "mapped", "FedAvg").mean("seed").sel(round=slice(1, early - 1))
    end, dirichlet = even["accuracy"].sel(round=late), skewed.sel(round=early)
    changes = {
        "ascent: change of FedAvg, round {}": ("FedAvg + ascent", "FedAvg"),
        "ascent: change of mapped, round {}": ("mapped + ascent", "mapped"),
        "strong ascent: change of mapped (one seed)": ("mapped + strong ascent", "mapped"),
        "Q from client 1's samples: change of mapped (one seed)": ("mapped, Q from client 1's samples", "mapped"),
    }
    found = {
        f"largest mean lead of the maps in rounds 1 to {early - 1}": first.max("round"),
        f"lead of the maps, Dirichlet labels, round {early}": more(dirichlet, "mapped", "FedAvg"),
        f"mapped, Dirichlet labels, round {early}": dirichlet.sel(way="mapped"),
    }
    found |= {words.format(late): more(end, *ways) for words, ways in changes.items()}
    own, worst = even["own"].mean("client"), even["fresh"].min("shift")
    found |= {f"{way}, own shifts": own.sel(way=way) for way in ("FedAvg", "mapped")}
    return found | {
        f"{way}, worst fresh shift": worst.sel(way=way)
        for way in ("FedAvg", "mapped", "barycenter Q", "FedAvg + ascent", "mapped + ascent")
    }


def points(values: xarray.DataArray) -> list[str]:
    """Changes of an accuracy [level] as text with their signs."""
    return [f"{v:+.1f}" for v in values.values]


def rows(studies: Mapping[str, xarray.DataArray], digits: int = 1) -> list[list[str]]:
    """A table's rows: name -> values [level], or [level, seed] with a spread over the seeds that were trained."""
    values = {name: v.dropna("seed") if "seed" in v.dims else v for name, v in studies.items()}
    return [[name, *(plus_minus(one, digits) for _, one in v.groupby("level"))] for name, v in values.items()]
