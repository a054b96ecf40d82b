"""What a training leaves behind, found by name."""

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
import xarray
from torch import Tensor

from .federation import slices_of


@dataclass
class History:
    """The models after the last round, and what was recorded on the way. M rows, R rounds, V evaluations.

    rows: key of a federation -> its slice of the M clients. parts: names of a key's parts.
    distinct [D, P]: the different models; source [M]: which of them each client has.
    shape: (R, M). worked: (numbers [n] of those who took part, their losses [n] in each round) for rounds in a row.
    rounds [V]: after which rounds metrics were taken; metrics[name] [V, M, ...]. backend: which one really ran.
    diverged: key of a federation whose numbers are NaN from a round on -> what happened.
    """

    rows: Mapping[Hashable, slice]
    parts: Sequence[str]
    shape: tuple[int, int]
    distinct: Tensor = field(default_factory=lambda: torch.empty(0))
    source: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))
    worked: list[tuple[np.ndarray, list[np.ndarray]]] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    metrics: dict[str, np.ndarray] = field(default_factory=dict)
    backend: str = ""
    diverged: dict[Hashable, str] = field(default_factory=dict)

    @classmethod
    def empty(cls, federations: Mapping, parts: Sequence[str] | None, rounds: int) -> "History":
        """For so many rounds, before the first one."""
        rows = dict(zip(federations, slices_of(federations.values()), strict=True))
        M = sum(len(fed.shards) for fed in federations.values())
        return cls(rows, parts_of(federations, parts), (rounds, M))

    @property
    def theta(self) -> Tensor:
        """Parameters [M, P], a row per client."""
        return self.distinct[self.source]

    @property
    def losses(self) -> np.ndarray:
        """Losses [R, M]: mean over the round's local steps, NaN where a client did not take part."""
        losses, r = np.full(self.shape, np.nan), 0
        for who, rounds in self.worked:
            losses[r : r + len(rounds), who] = rounds
            r += len(rounds)
        return losses

    def add(self, who: np.ndarray, losses: np.ndarray) -> None:
        """The losses [T, n] of some rounds; they cost nothing for clients who did not take part."""
        if not self.worked or who is not self.worked[-1][0]:
            self.worked.append((who, []))
        self.worked[-1][1].extend(losses)

    def keep(self, state) -> None:
        """The models of a ``states.State``."""
        self.distinct, self.source = (x.cpu() for x in state.distinct())

    def to_dataset(self) -> xarray.Dataset:
        """All of it as arrays with named axes; ``from_dataset`` is the inverse."""
        axes = {"losses": ("loss_round", "client"), "theta": ("model", "parameter"), "source": ("client",)}
        arrays = {"losses": self.losses, "theta": self.distinct.numpy(), "source": self.source.numpy()}
        arrays |= {f"metric {name}": values for name, values in self.metrics.items()}
        axes |= {f"metric {name}": ("round", "client", *"ijk"[: v.ndim - 2]) for name, v in self.metrics.items()}
        clients = [rows.stop - rows.start for rows in self.rows.values()]
        return xarray.Dataset(
            {name: (axes[name], values) for name, values in arrays.items()} | {"clients": ("key", clients)},
            {"round": self.rounds, "loss_round": np.arange(1, self.shape[0] + 1)},
            {"keys": json.dumps([*self.rows]), "parts": json.dumps([*self.parts]), "backend": self.backend},
        )

    @classmethod
    def from_dataset(cls, dataset: xarray.Dataset) -> "History":
        """What ``to_dataset`` was given; a key that was a NamedTuple is a plain tuple, which is equal."""
        keys = [tuple(key) if isinstance(key, list) else key for key in json.loads(dataset.attrs["keys"])]
        ends = np.cumsum([0, *dataset.clients.values]).tolist()
        losses = np.full((int(dataset.loss_round[-1]), ends[-1]), np.nan)
        losses[dataset.loss_round.values - 1] = dataset.losses.values
        return cls(
            dict(zip(keys, map(slice, ends, ends[1:]), strict=True)), json.loads(dataset.attrs["parts"]), losses.shape,
            torch.from_numpy(dataset.theta.values), torch.from_numpy(dataset.source.values),
            [(np.arange(ends[-1]), [*losses])], dataset["round"].values.tolist(),
            {name[7:]: values.values for name, values in dataset.data_vars.items() if name.startswith("metric ")},
            dataset.attrs["backend"],
        )  # fmt: skip

    def models(self, *key) -> Tensor:
        """Parameters [K, P] of all clients of a federation: ``models("federated", 5, 0)``."""
        return self.distinct[self.source[self.rows[key_of(key, self.rows, self.parts)]]]

    def model(self, *key, client: int = 0) -> Tensor:
        """Parameters [P] of one of its clients (all clients hold the same after FedAvg)."""
        return self.distinct[self.source[self.rows[key_of(key, self.rows, self.parts)]][client]]

    def labels(self, part: str) -> list:
        """The labels of a part, in the order of the keys."""
        at = list(self.parts).index(part)
        return list(dict.fromkeys(labels_of(key)[at] for key in self.rows))

    def of(self, name: str, /, **chosen) -> xarray.DataArray:
        """A metric, or "loss", with the axes round, the parts of the keys, client, and the metric's own.

        "loss" is the training's, unless ``evaluate`` measured one of that name.

        ``of("e", kind="federated", client=0).isel(round=-1).mean("seed")``. A chosen part has no axis; nor has a part
        that is None in all keys that are left. What was not trained is NaN. Labels stand in the order of the keys.

        Raises:
            ValueError: there is no such metric, part or label.
        """
        if name in self.metrics:  # before "loss": one that was measured may have this name
            values, rounds = self.metrics[name], self.rounds
        elif name == "loss":
            values, rounds = self.losses, np.arange(1, len(self.losses) + 1)
        else:
            raise ValueError(f"no metric {name!r} was recorded; there are {', '.join(['loss', *self.metrics])}")
        labels = [(*labels_of(key), k) for key, at in self.rows.items() for k in range(at.stop - at.start)]
        return labelled(values, rounds, labels, [*self.parts, "client"], chosen)

    def last(self, name: str, /, **chosen) -> xarray.DataArray:
        """``of`` after the last round."""
        return self.of(name, **chosen).isel(round=-1, drop=True)


def shared(history: History, keys: Mapping[Hashable, Sequence[Hashable]]) -> History:
    """The history where the model of a key stands under each of ``keys[key]``: one model, several rows."""
    if all([*names] == [key] for key, names in keys.items()):
        return history
    rows = {name: history.rows[key] for key, names in keys.items() for name in names}
    return gathered([replace(history, rows=rows)], [*rows])


def gathered(histories: Sequence[History], keys: Iterable[Hashable]) -> History:
    """One history of some keys of several trainings, as long and as often evaluated, as if they had been one stack."""
    where = {key: history for history in histories for key in history.rows}
    lengths = {(history.shape[0], tuple(history.rounds), tuple(history.metrics)) for history in where.values()}
    if len(lengths) > 1:
        raise ValueError(f"trainings with (rounds, evaluations, metrics) {sorted(lengths)}: expected the same of all")
    first = np.cumsum([0] + [len(history.distinct) for history in histories])
    offset = {id(history): int(n) for history, n in zip(histories, first, strict=False)}
    losses = {id(history): history.losses for history in histories}
    parts = [(where[key], where[key].rows[key]) for key in keys]
    source = torch.cat([history.source[rows] + offset[id(history)] for history, rows in parts])
    used, source = torch.unique(source, return_inverse=True)
    ends = np.cumsum([0] + [rows.stop - rows.start for _, rows in parts]).tolist()
    metrics = {
        name: np.concatenate([history.metrics[name][:, rows] for history, rows in parts], 1)
        for name in parts[0][0].metrics
    }
    by_client = np.concatenate([losses[id(history)][:, rows] for history, rows in parts], 1)
    return History(
        dict(zip(keys, map(slice, ends, ends[1:]), strict=True)), histories[0].parts, by_client.shape,
        torch.cat([history.distinct for history in histories])[used], source,
        [(np.arange(ends[-1]), [*by_client])], list(histories[0].rounds), metrics,
        " and ".join(sorted({history.backend for history, _ in parts} - {""})),
        {key: where[key].diverged[key] for key in keys if key in where[key].diverged},
    )  # fmt: skip


def labelled(values, rounds, labels: Sequence[tuple], parts: Sequence[str], chosen: Mapping) -> xarray.DataArray:
    """values [V, M, ...] with a label (one entry per part) for every row, as an array with an axis per part."""
    if unknown := set(chosen) - set(parts):
        raise ValueError(f"the keys have no part {', '.join(sorted(unknown))!r}; they have {', '.join(parts)}")
    fixed = {parts.index(part): label for part, label in chosen.items()}
    rows = [i for i, label in enumerate(labels) if all(label[j] == wanted for j, wanted in fixed.items())]
    if not rows:
        given = {part: list(dict.fromkeys(label[parts.index(part)] for label in labels)) for part in chosen}
        raise ValueError(f"no model has {dict(chosen)}; there are {given}")
    free = [j for j in range(len(parts)) if j not in fixed and any(labels[i][j] is not None for i in rows)]
    axes = [list(dict.fromkeys(labels[i][j] for i in rows)) for j in free]
    whole = len(rows) == np.prod([len(axis) for axis in axes], dtype=int)
    kind = values.dtype if whole or values.dtype.kind == "f" else float
    grid = np.full((len(values), *map(len, axes), *values.shape[2:]), 0 if whole else np.nan, kind)
    for i in rows:
        grid[(slice(None), *(axis.index(labels[i][j]) for j, axis in zip(free, axes, strict=True)))] = values[:, i]
    dims = ["round", *(parts[j] for j in free), *"ijk"[: values.ndim - 2]]
    coords = {"round": list(rounds), **{parts[j]: as_index(axis) for j, axis in zip(free, axes, strict=True)}}
    return xarray.DataArray(grid, coords, dims)


def as_index(labels: Sequence[Hashable]) -> np.ndarray:
    """Labels as one axis: a tuple is one label, and no row of a table; beside a text a number stays a number."""
    if not any(isinstance(label, tuple) for label in labels) and len({isinstance(x, str) for x in labels}) == 1:
        return np.array(labels)
    axis = np.empty(len(labels), object)
    for i, label in enumerate(labels):
        axis[i] = label
    return axis


def labels_of(key: Hashable) -> tuple:
    """A key's labels, one per part: a plain name is its only one."""
    return key if isinstance(key, tuple) else (key,)


def parts_of(keys: Iterable[Hashable], parts: Sequence[str] | None = None) -> Sequence[str]:
    """Names of the parts of keys: as given, a NamedTuple's fields, "name" for plain names, "number" for numbers."""
    key = next(iter(keys))
    parts = getattr(key, "_fields", None) if parts is None else parts
    if taken := {"client", "round"} & {*(parts or ())}:
        raise ValueError(f"a part of the keys is called {taken.pop()!r}, as an axis of every metric is; rename it")
    if parts is not None:
        return parts
    if isinstance(key, tuple):
        raise ValueError(f"the parts of the key {key!r} need names: make it a NamedTuple, or pass parts=(...)")
    return ("number",) if isinstance(key, int) else ("name",)


def key_of(key: tuple, rows: Mapping, parts: Sequence[str]) -> Hashable:
    """The key of ``rows`` that is meant; a clear error where there is none."""
    for candidate in (key, *key) if len(key) == 1 else (key,):  # ("a",) means "a" where keys are plain names
        if candidate in rows:
            return candidate
    raise KeyError(f"no federation {key}; keys are ({', '.join(parts)}): {', '.join(map(str, rows))}")
