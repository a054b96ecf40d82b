"""What a training leaves behind, found by name."""

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
    losses [R, M]: mean over the round's local steps, NaN where a client did not take part.
    rounds [V]: after which rounds metrics were taken; metrics[name] [V, M, ...]. backend: which one really ran.
    diverged: key of a federation whose numbers are NaN from a round on -> what happened.
    title, level, distance: what was trained, what a level is called, level -> the clients' distance there, for
    pictures; ``sweep`` writes them.
    """

    rows: Mapping[Hashable, slice]
    parts: Sequence[str]
    losses: np.ndarray
    distinct: Tensor = field(default_factory=lambda: torch.empty(0))
    source: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))
    rounds: list[int] = field(default_factory=list)
    metrics: dict[str, np.ndarray] = field(default_factory=dict)
    backend: str = ""
    diverged: dict[Hashable, str] = field(default_factory=dict)
    title: str = ""
    level: str = "level"
    distance: dict[Hashable, float] = field(default_factory=dict)

    @classmethod
    def empty(cls, federations: Mapping, parts: Sequence[str] | None, rounds: int) -> "History":
        """For so many rounds, before the first one."""
        rows = dict(zip(federations, slices_of(federations.values()), strict=True))
        M = sum(len(fed.shards) for fed in federations.values())
        return cls(rows, parts_of(federations, parts), np.full((rounds, M), np.nan))

    @property
    def theta(self) -> Tensor:
        """Parameters [M, P], a row per client."""
        return self.distinct[self.source]

    def to_dataset(self) -> xarray.Dataset:
        """All of it as arrays with named axes; ``from_dataset`` is the inverse."""
        axes = {"losses": ("loss_round", "client"), "theta": ("model", "parameter"), "source": ("client",)}
        arrays = {"losses": self.losses, "theta": self.distinct.numpy(), "source": self.source.numpy()}
        arrays |= {f"metric {name}": values for name, values in self.metrics.items()}
        axes |= {f"metric {name}": ("round", "client", *"ijk"[: v.ndim - 2]) for name, v in self.metrics.items()}
        clients = [rows.stop - rows.start for rows in self.rows.values()]
        described = {"title": self.title, "level": self.level}  # one attribute: HDF5 stores nine of them dearly
        described |= {"distance": [*self.distance.items()], "diverged": [*self.diverged.items()]}
        return xarray.Dataset(
            {name: (axes[name], values) for name, values in arrays.items()} | {"clients": ("key", clients)},
            {"round": self.rounds, "loss_round": np.arange(1, len(self.losses) + 1)},
            {
                "keys": json.dumps([*self.rows]), "parts": json.dumps([*self.parts]), "backend": self.backend,
                "described": json.dumps(described),
            },
        )  # fmt: skip

    @classmethod
    def from_dataset(cls, dataset: xarray.Dataset) -> "History":
        """What ``to_dataset`` was given; a key that was a NamedTuple is a plain tuple, which is equal."""
        return cls.from_arrays({name: values.values for name, values in dataset.variables.items()}, dataset.attrs)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], attrs: Mapping) -> "History":
        """The same, of the dataset's arrays by name, and its attributes."""
        described = json.loads(attrs["described"])
        described["distance"] = dict(described["distance"])
        described["diverged"] = {key_in(label): words for label, words in described["diverged"]}
        keys = [key_in(label) for label in json.loads(attrs["keys"])]
        ends = np.cumsum([0, *arrays["clients"]]).tolist()
        losses = np.full((int(arrays["loss_round"][-1]), ends[-1]), np.nan)
        losses[arrays["loss_round"] - 1] = arrays["losses"]
        return cls(
            dict(zip(keys, map(slice, ends, ends[1:]), strict=True)), json.loads(attrs["parts"]), losses,
            torch.from_numpy(arrays["theta"]), torch.from_numpy(arrays["source"]), arrays["round"].tolist(),
            {name[7:]: values for name, values in arrays.items() if name.startswith("metric ")},
            attrs["backend"], **described,
        )  # fmt: skip

    def models(self, *key) -> Tensor:
        """Parameters [K, P] of all clients of a federation: ``models("federated", 5, 0)``."""
        return self.distinct[self.source[self.rows[key_of(key, self.rows, self.parts)]]]

    def model(self, *key, client: int = 0) -> Tensor:
        """Parameters [P] of one of its clients (all clients hold the same after FedAvg)."""
        return self.models(*key)[client]

    def labels(self, part: str) -> list:
        """The labels of a part, in the order of the keys."""
        i = list(self.parts).index(part)
        return list(dict.fromkeys(labels_of(key)[i] for key in self.rows))

    def metric(self, name: str, /, **chosen) -> xarray.DataArray:
        """A metric, or "loss", with the axes round, the parts of the keys, client, and the metric's own.

        "loss" is the training's, unless ``evaluate`` measured one of that name.

        ``metric("e", kind="federated", client=0).isel(round=-1).mean("seed")``. A chosen part has no axis; nor has a
        part that is None in all keys that are left. What was not trained is NaN. Labels stand in the order of the keys.

        Raises:
            ValueError: there is no such metric, part or label.
        """
        if name in self.metrics:  # before "loss": one that was measured may have this name
            values, rounds = self.metrics[name], self.rounds
        elif name == "loss":
            values, rounds = self.losses, np.arange(1, len(self.losses) + 1)
        else:
            raise ValueError(f"no metric {name!r} was recorded; there are {', '.join(['loss', *self.metrics])}")
        labels = [(*labels_of(key), k) for key, rows in self.rows.items() for k in range(rows.stop - rows.start)]
        return labelled(values, rounds, labels, [*self.parts, "client"], chosen)

    def last(self, name: str, /, **chosen) -> xarray.DataArray:
        """``metric`` after the last round."""
        return self.metric(name, **chosen).isel(round=-1, drop=True)


def gathered(histories: Sequence[History], keys: Iterable[Hashable]) -> History:
    """One history of some keys of several trainings, as if they had been one stack.

    Where these have unequal numbers of rounds, a model that has ended keeps its metrics, and has no more losses; rounds
    after which only others were evaluated are NaN.

    Raises:
        ValueError: other metrics, or networks of other sizes.
    """
    where = {key: history for history in histories for key in history.rows}
    wanted = [(where[key], where[key].rows[key]) for key in keys]
    several = {id(history): history for history, _ in wanted}.values()
    for what, each in (
        ("parts of keys", lambda h: [*h.parts]),
        ("metrics", lambda h: [*h.metrics]),
        ("sizes of theta", lambda h: h.distinct.shape[1]),
    ):
        if any(each(history) != each(wanted[0][0]) for history in several):
            raise ValueError(f"trainings with {what} {[each(h) for h in several]}: expected the same of all")
    first = np.cumsum([0, *(len(history.distinct) for history in several)])
    offset = {id(history): int(n) for history, n in zip(several, first, strict=False)}
    source = torch.cat([history.source[rows] + offset[id(history)] for history, rows in wanted])
    used, source = torch.unique(source, return_inverse=True)
    ends = np.cumsum([0] + [rows.stop - rows.start for _, rows in wanted]).tolist()
    R, rounds = max(len(h.losses) for h in several), sorted({r for history in several for r in history.rounds})
    losses = {id(h): np.pad(h.losses, ((0, R - len(h.losses)), (0, 0)), constant_values=np.nan) for h in several}
    metrics = {}
    for name in wanted[0][0].metrics:
        each = {id(history): at_rounds(history, name, rounds) for history in several}
        metrics[name] = np.concatenate([each[id(history)][:, rows] for history, rows in wanted], 1)
    return History(
        dict(zip(keys, map(slice, ends, ends[1:]), strict=True)), wanted[0][0].parts,
        np.concatenate([losses[id(history)][:, rows] for history, rows in wanted], 1),
        torch.cat([history.distinct for history in several])[used], source, rounds, metrics,
        " and ".join(sorted({history.backend for history in several} - {""})),
        {key: where[key].diverged[key] for key in keys if key in where[key].diverged},
        wanted[0][0].title, wanted[0][0].level,
        {level: value for history in several for level, value in history.distance.items()},
    )  # fmt: skip


def at_rounds(history: History, name: str, rounds: Sequence[int]) -> np.ndarray:
    """A metric [V, M, ...] after these rounds: NaN where it was not measured, after the last one as it was then."""
    values = history.metrics[name]
    if rounds == history.rounds:
        return values
    spread = np.full((len(rounds), *values.shape[1:]), np.nan)
    spread[np.searchsorted(rounds, history.rounds)] = values
    spread[np.array(rounds) > history.rounds[-1]] = values[-1]
    return spread


def key_in(label):
    """A key as JSON gives it."""
    return tuple(label) if isinstance(label, list) else label


def labelled(values, rounds, labels: Sequence[tuple], parts: Sequence[str], chosen: Mapping) -> xarray.DataArray:
    """values [V, M, ...] with a label (one entry per part) for every row, as an array with an axis per part."""
    if unknown := set(chosen) - set(parts):
        raise ValueError(f"the keys have no part {', '.join(sorted(unknown))!r}; they have {', '.join(parts)}")
    fixed = {parts.index(part): label for part, label in chosen.items()}
    rows = [i for i, label in enumerate(labels) if all(label[j] == wanted for j, wanted in fixed.items())]
    if not rows:
        present = {part: list(dict.fromkeys(label[parts.index(part)] for label in labels)) for part in chosen}
        raise ValueError(f"no model has {dict(chosen)}; there are {present}")
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
