"""Files of stored trainings: a group for each stack, whole or not at all, and every flipped bit is found."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import h5py
import numpy as np
import xarray
from filelock import FileLock, Timeout

from ..federated.history import History
from ..files import ROOT, Unreadable, clear_partials, from_git, write_atomically

LOSSES = 200  # rounds whose losses are kept, and the first three, which ``replay`` makes again
PACKED = {"zlib": True, "complevel": 4, "shuffle": True}
IN_JSON = "JSON "  # before an attribute that netCDF does not know
SEAL = b"sha256 "  # and the digest of all bytes before it: the end of a file, which netCDF does not look at


class Stored(NamedTuple):
    """A stack that was trained. settings: see ``Call.settings``. about: seconds, backend, hardware, versions, ..."""

    history: History
    settings: dict
    about: dict


def read(path: Path) -> list[Stored]:
    """The stacks of a file.

    Raises:
        Unreadable: the file is damaged, none of ours, or in use.
    """
    with reading(path) as file:
        return [stored(group) for group in stacks_in(file)]


def stored(group: h5py.Group) -> Stored:
    """A group of an open file; to ask for the axis of each array would take most of the time."""
    attrs = {name: value_of(words) for name, words in group.attrs.items()}
    arrays = {unquote(name): array[...] for name, array in group.items()}
    truths = [name for name, array in arrays.items() if array.dtype == np.int8]  # netCDF knows none
    arrays |= {name: arrays[name].astype(bool) for name in truths}
    return Stored(History.from_arrays(arrays, attrs), json.loads(attrs["settings"]), json.loads(attrs["about"]))


def stacks_in(file: h5py.File) -> list[h5py.Group]:
    """The groups of an open file, "0" first; none of what was computed, whose arrays are the file's own."""
    return [file[name] for name in sorted((name for name in file if isinstance(file[name], h5py.Group)), key=int)]


@contextmanager
def reading(path: Path) -> Iterator[h5py.File]:
    """A file, open. Unreadable: it is damaged, none of ours, or in use; says what to do."""
    try:
        with h5py.File(path) as file:  # an error where another program writes in it
            content, mark, digest = path.read_bytes().rpartition(SEAL)
            if mark and len(digest) == 32 and digest != sha256(content).digest():
                raise ValueError("its bytes are not those that were written")
            yield file
    except Exception as error:  # h5py raises half a dozen types for a damaged file
        raise Unreadable(f"{path} cannot be read as stored trainings: {remedy(path, error)}") from None


def remedy(path: Path, error: Exception) -> str:
    """What is wrong with a file, and what helps."""
    if isinstance(error, BlockingIOError):
        return f"another program has it open ({error}); close it there, or wait"
    if isinstance(error, PermissionError):
        return f"this user may not read it ({error})"
    if "lock file" in str(error):
        return f"this disk has no locks ({error}); set HDF5_USE_FILE_LOCKING=FALSE"
    again = "remove it and train anew"
    if path.resolve().is_relative_to(ROOT):
        again = f"take it from git again ({from_git(path)}), or {again}"
    return f"it is damaged, or none of ours ({type(error).__name__}: {error}); {again}"


def write(path: Path, stacks: Iterable[Stored]) -> None:
    """All stacks into a file, whole or not at all; losses of at most LOSSES rounds, in float32."""
    groups = {}
    for i, (history, settings, about) in enumerate(stacks):
        dataset = history.to_dataset()
        R = len(history.losses)
        kept = np.unique(np.concatenate([np.arange(min(3, R)), np.linspace(0, R - 1, min(LOSSES, R)).astype(int)]))
        dataset = dataset.isel(loss_round=kept)
        dataset = dataset.assign(losses=dataset.losses.astype("float32"))
        dataset.attrs |= {"settings": json.dumps(settings), "about": json.dumps(about)}
        groups[f"/{i}"] = dataset
    write_groups(path, groups)


def write_groups(path: Path, groups: dict[str, xarray.Dataset]) -> None:
    """Groups by name, "/" is the file's own, sealed."""
    groups = {name: writable(group) for name, group in groups.items()}
    encoding = {name: {v: PACKED for v in group.data_vars if group[v].size > 64} for name, group in groups.items()}
    content = bytes(xarray.DataTree.from_dict(groups).to_netcdf(engine="h5netcdf", encoding=encoding))
    write_atomically(path, content + SEAL + sha256(content).digest())


def writable(dataset: xarray.Dataset) -> xarray.Dataset:
    """The dataset with names and attributes that netCDF takes; ``loaded`` is the inverse.

    A slash in a name is %2F; None, a truth, a list, a dict as an attribute is JSON (and what JSON does not know, a
    text).
    """

    def in_words(value: Any) -> Any:
        number = isinstance(value, (int, float, np.ndarray, np.generic)) and np.asarray(value).dtype.kind in "iuf"
        text = isinstance(value, str) and not value.startswith(IN_JSON)
        return value if number or text else IN_JSON + json.dumps(value, default=str)

    return changed(dataset, percent, in_words)


def loaded(group: h5py.Group) -> xarray.Dataset:
    """A group of an open file, as it was before ``writable``."""
    return changed(in_memory(group), unquote, value_of)


def value_of(words: Any) -> Any:
    """An attribute, as it was before ``writable``."""
    in_json = isinstance(words, str) and words.startswith(IN_JSON)
    return json.loads(words[len(IN_JSON) :]) if in_json else words


OF_HDF5 = "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Coordinates", "_Netcdf4Dimid", "_NCProperties"
"""Attributes by which netCDF finds the axes of an array, and its own."""


def in_memory(group: h5py.Group) -> xarray.Dataset:
    """A group as ``xarray.open_dataset`` gives it. That asks for each axis some fifty times: seconds for a notebook."""

    def attributes(part: h5py.Group | h5py.Dataset) -> dict:
        values = {name: part.attrs[name] for name in part.attrs if name not in OF_HDF5}
        return {name: value[0] if np.shape(value) == (1,) else value for name, value in values.items()}

    arrays = {name: array for name, array in group.items() if isinstance(array, h5py.Dataset)}
    axes = {array.attrs["_Netcdf4Dimid"]: name for name, array in arrays.items() if "CLASS" in array.attrs}
    variables = {}
    for name, array in arrays.items():
        if array.attrs.get("NAME", b"").startswith(b"This is a netCDF dimension but not a netCDF variable"):
            continue
        numbers = array.attrs.get("_Netcdf4Coordinates", [array.attrs["_Netcdf4Dimid"]] if array.ndim else [])
        text = h5py.check_string_dtype(array.dtype)
        variables[name] = [axes[n] for n in numbers], array.asstr()[...] if text else array[...], attributes(array)
    return xarray.decode_cf(xarray.Dataset(variables, attrs=attributes(group)))


def changed(dataset: xarray.Dataset, name: Callable[[str], str], value: Callable[[Any], Any]) -> xarray.Dataset:
    """A dataset with other names of variables, axes and attributes, and other values of these."""
    old = {*dataset.variables, *dataset.dims}
    dataset = dataset.rename({text: name(text) for text in old if name(text) != text}).copy()
    for part in (dataset, *dataset.variables.values()):
        part.attrs = {name(text): value(words) for text, words in part.attrs.items()}
    return dataset


def percent(name: str) -> str:
    """A name with %2F for /, and so on for what netCDF refuses."""
    return re.sub(r"[/%\x00-\x1f]", lambda sign: f"%{ord(sign[0]):02X}", name)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Nobody else fills the file meanwhile. ValueError: its folder cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            print(f"{path.name}: another process is at work on it; waiting for its end", flush=True)
            lock.acquire()
    except OSError as error:
        raise ValueError(
            f"{path.parent} cannot be written ({error}), and what is trained is kept there; reading needs no more than "
            "it has"
        ) from None
    try:
        clear_partials(path)
        yield
    finally:
        lock.release()


def abouts(path: Path) -> list[dict]:
    """What ran each stack of a file, or computed it: seconds, core-seconds, versions, hardware, commit."""
    with reading(path) as file:
        return [json.loads(group.attrs["about"]) for group in stacks_in(file) or [file]]
