"""What clients keep from round to round: a row each, and only where an algorithm needs it.

Control variates, moments that go on, personal parameters. Everything else is one row per distinct model, or is gone
after a round; a client that keeps nothing costs nothing while it is idle.
"""

import tempfile
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from .optimizers import Optimizer

IN_MEMORY = 2**31  # bytes that all clients together may keep in memory; more of it lies in files


def split_state(optimizer: Optimizer, state: Mapping[str, Tensor], reset: bool) -> tuple[dict, dict]:
    """The part of an optimiser's state that each client keeps, and the part that goes with each distinct model.

    reset: ``reset_moments``, which leaves only what is lasting.
    """
    names = [name for name in state if name not in optimizer.passing and (name in optimizer.lasting or not reset)]
    own, shared = ([name for name in names if (name in optimizer.shared) == common] for common in (False, True))
    return {name: state[name] for name in own}, {name: state[name] for name in shared}


def spread_out(first: Mapping[str, Tensor], source: Tensor) -> dict[str, Tensor]:
    """first [D, ...] -> a row for each client [M, ...], first[source]; in files beyond ``IN_MEMORY``."""
    M, found = len(source), {}
    large = M * sum(v[:1].numel() * v.element_size() for v in first.values()) > IN_MEMORY
    for name, v in first.items():
        rows = found[name] = zeros_in_a_file(M, v) if large else v.new_zeros(M, *v.shape[1:])
        if v.cpu().any():  # nearly everything starts at 0: then no row is touched before its client works
            for some in torch.arange(M, device=source.device).split(2**12):
                put_back(rows, some, v[source[some]])
    return found


def zeros_in_a_file(M: int, like: Tensor) -> Tensor:
    """M such rows in a memory map of a temporary file, which has no name and goes away with the tensor."""
    kind = torch.empty(0, dtype=like.dtype).numpy().dtype
    with tempfile.TemporaryFile() as file:
        return torch.from_numpy(np.memmap(file, kind, "w+", shape=(M, *like.shape[1:])))


def taken(rows: Tensor, at: Tensor | slice, device) -> Tensor:
    """Some clients' rows on a device: a copy, or rows themselves for slice(None)."""
    return rows[at if isinstance(at, slice) else at.to(rows.device)].to(device)


def put_back(rows: Tensor, at: Tensor | slice, new: Tensor) -> Tensor:
    """What ``taken`` gave, after it was changed; returns rows."""
    if not isinstance(at, slice):
        rows[at.to(rows.device)] = new.to(rows.device)
    elif new.data_ptr() != rows.data_ptr():  # taken to another device
        rows.copy_(new)
    return rows
