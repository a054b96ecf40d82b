"""A long training that is stopped goes on where it was.

Every draw of a round is keyed by the round's number, so parameters, the state of optimisers and servers, and the
history after round r are all that the rest depends on.
"""

import time
import zipfile
from collections.abc import Collection
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from ..files import Unreadable, write_atomically

SECONDS = 120  # between two files; at most this much work is lost
HINT = "remove {} to start anew, or name another checkpoint"


class OutOfTime(Exception):
    """The hours that a training may take are over; it goes on from its checkpoint."""


class Checkpoint(NamedTuple):
    """Where a training keeps its state, and whose it is.

    key: what the result depends on (a hash of code and parameters, the training's name). No training can see all of it:
    the loss, for one, is a function. Another key's file is refused, and the first round is played again, see ``train``.
    until: a time (``time.monotonic``) after which the state is kept, and no further round is begun.
    began: (``time.monotonic``, ``time.process_time``) at the beginning, less what was spent before: see ``spent``.
    """

    path: Path
    key: str
    until: float = float("inf")
    began: tuple[float, float] = (0.0, 0.0)

    def is_due(self, saved_at: float) -> bool:
        """Whether it is time to keep the state that was last kept then."""
        return time.monotonic() > min(self.until, saved_at + SECONDS)


def spent(checkpoint: Checkpoint) -> np.ndarray:
    """Seconds and core-seconds until now, [2], with those before all interruptions; ``began`` is where they began."""
    return np.array([time.monotonic(), time.process_time()]) - checkpoint.began


def going_on(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint with a clock that goes on where its file's stood, or begins now."""
    before = opened(checkpoint.path)["spent"] if checkpoint.path.exists() else 0.0
    return checkpoint._replace(began=tuple(spent(checkpoint._replace(began=(0.0, 0.0))) - before))


def save(checkpoint: Checkpoint, state, history) -> None:
    """Keep the state after a round.

    Raises:
        OutOfTime: no further round may begin.
    """
    metrics = {name: torch.from_numpy(values) for name, values in history.metrics.items()}
    past = {"losses": torch.from_numpy(history.losses), "rounds": history.rounds, "metrics": metrics}
    past |= {"spent": spent(checkpoint).tolist(), "backend": history.backend}
    torch.save({"key": checkpoint.key, "state": tuple(state), **past}, content := BytesIO())
    write_atomically(checkpoint.path, content.getvalue())  # torch itself would hide that a disk is full
    if state.round < len(history.losses) and time.monotonic() > checkpoint.until:
        raise OutOfTime(f"{state.round} rounds are done; the same command goes on from there")


def opened(path: Path, device: str = "cpu") -> dict:
    """What ``save`` wrote. Unreadable: the file is damaged, or none of ours."""
    try:
        with zipfile.ZipFile(path) as file:  # torch writes checksums, but does not read them
            if broken := file.testzip():
                raise zipfile.BadZipFile(broken)
        return {"key": None, "spent": [0.0, 0.0]} | torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # torch raises half a dozen types for a damaged file
        raise Unreadable(
            f"{path} cannot be read as a checkpoint ({type(error).__name__}); {HINT.format(path)}"
        ) from error


def load(checkpoint: Checkpoint, device: str, history, due: Collection[int]) -> tuple | None:
    """The state that ``save`` wrote, and the past into ``history``; None where there is no file.

    due: the rounds after which this training evaluates.

    Raises:
        ValueError: the file cannot be read, or belongs to another training.
    """
    path, key, *_ = checkpoint
    if not path.exists():
        return None
    kept, hint = opened(path, device), HINT.format(path)
    if kept["key"] != key or kept["losses"].shape != history.losses.shape:
        raise ValueError(f"{path} belongs to a training with other data, clients or settings; {hint}")
    if kept["rounds"] != (expected := sorted(r for r in due if r <= kept["state"][0])):
        raise ValueError(
            f"{path} was evaluated after rounds {kept['rounds']}, this training is after {expected}; {hint}"
        )
    history.losses, history.rounds, history.backend = kept["losses"].cpu().numpy(), kept["rounds"], kept["backend"]
    history.metrics = {name: values.cpu().numpy() for name, values in kept["metrics"].items()}
    return kept["state"]
