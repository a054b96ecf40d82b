"""A long training that is stopped goes on where it was.

Every draw of a round is keyed by the round's number, so parameters, the state of optimisers and servers, and the
history after round r are all that the rest depends on.
"""

import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from ..files import replacing

SECONDS = 120  # between two files; at most this much work is lost


class Checkpoint(NamedTuple):
    """Where a training keeps its state, and whose it is.

    key: what the result depends on (a hash of code and parameters, the training's name). No training can see all of it:
    the loss, for one, is a function. Another key's file is refused.
    """

    path: Path
    key: str


def save(checkpoint: Checkpoint, state, history) -> None:
    """Keep the state after a round."""
    metrics = {name: torch.from_numpy(values) for name, values in history.metrics.items()}
    who, losses = zip(*history.worked, strict=True)
    counts = {"clients": [len(some) for some in who], "rounds in a row": [len(some) for some in losses]}
    who, losses = (torch.from_numpy(np.concatenate(some)) for some in (who, [x for some in losses for x in some]))
    past = counts | {"shape": history.shape, "who": who, "losses": losses, "rounds": history.rounds, "metrics": metrics}
    with replacing(checkpoint.path) as partial:
        torch.save({"key": checkpoint.key, "state": tuple(state), **past}, partial)


def load(checkpoint: Checkpoint, device: str, history, due: Collection[int]) -> tuple | None:
    """The state that ``save`` wrote, and the past into ``history``; None where there is no file.

    due: the rounds after which this training evaluates.

    Raises:
        ValueError: the file cannot be read, or belongs to another training.
    """
    path, key = checkpoint
    if not path.exists():
        return None
    hint = f"remove {path} to start anew, or name another checkpoint"
    try:
        with zipfile.ZipFile(path) as file:  # torch writes checksums, but does not read them
            if broken := file.testzip():
                raise zipfile.BadZipFile(broken)
        kept = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # torch raises half a dozen types for a damaged file
        raise ValueError(f"{path} cannot be read as a checkpoint ({type(error).__name__}); {hint}") from error
    if not isinstance(kept, dict) or kept.get("key") != key or kept["shape"] != history.shape:
        raise ValueError(f"{path} belongs to a training with other data, clients or settings; {hint}")
    if kept["rounds"] != (expected := sorted(r for r in due if r <= kept["state"][0])):
        raise ValueError(
            f"{path} was evaluated after rounds {kept['rounds']}, this training is after {expected}; {hint}"
        )
    clients, rounds = (np.array(kept[name]) for name in ("clients", "rounds in a row"))
    who = np.split(kept["who"].cpu().numpy(), np.cumsum(clients)[:-1])
    losses = np.split(kept["losses"].cpu().numpy(), np.cumsum(clients * rounds)[:-1])
    history.worked = [(w, [*x.reshape(n, -1)]) for w, x, n in zip(who, losses, rounds, strict=True)]
    history.rounds = kept["rounds"]
    history.metrics = {name: values.cpu().numpy() for name, values in kept["metrics"].items()}
    return kept["state"]
