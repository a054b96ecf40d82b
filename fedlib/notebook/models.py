"""Trained models that outlive a run: ``models.npz`` beside its result, those that its explorers show, in float32."""

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ..files import replacing

NAME = "models.npz"


def save(folder: Path, models: Mapping[Hashable, Tensor]) -> None:
    """Write key -> parameters [K, P] of K clients; a key is text, a number, or a tuple of them."""
    arrays = {json.dumps(key): theta.numpy(force=True).astype(np.float32) for key, theta in models.items()}
    with replacing(folder / NAME) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)


def load(folder: Path) -> dict[Hashable, np.ndarray]:
    """Key -> parameters [K, P], as ``save`` was given them; empty where a run kept none."""
    path = folder / NAME
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as file:
        return {key_of(json.loads(name)): file[name] for name in file.files}


def key_of(label: Any) -> Hashable:
    """A label that JSON has read: what it says is a list was a tuple."""
    return tuple(map(key_of, label)) if isinstance(label, list) else label
